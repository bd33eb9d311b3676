"""Offer the skills of a catalog to the plugin `AgentSkills` of Strands."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from prowess.errors import SkillError
from prowess.session import Session

from ._catalog_argument import catalog_argument
from ._extras import missing_extra
from ._shown_skills import shown_skills

try:
    from strands.vended_plugins.skills import Skill
except ImportError as error:
    raise ImportError(missing_extra("strands-agents", "strands")) from error

if TYPE_CHECKING:
    import os

    from prowess.catalog import Catalog, LiveCatalog

__all__ = ["catalog_skills"]


def catalog_skills(skills: str | os.PathLike[str] | Catalog | LiveCatalog = ".", **options: Any) -> list[Any]:
    """Return the skills of a catalog as they are now, for `AgentSkills(skills=catalog_skills("."))`.

    Args:
        skills: a directory or a catalog.
        options: as for a `Session`; of skills that do not fit into the budget, none is returned.

    Raises:
        ConfigError: neither a directory nor a catalog, or an invalid option.
    """
    session = Session(catalog_argument(skills), **{**options, "format": "json"})
    found: list[Any] = []
    for name, description in shown_skills(session).items():
        with suppress(SkillError, OSError):  # it has changed since it was found
            activation = session.activate(name)
            folder = Path(activation.path).parent
            found.append(Skill(name=name, description=description, instructions=activation.content, path=folder))
    return found
