"""Decide which tools and scripts of a skill may be used.

A skill grants nothing itself: it must be active in the conversation, and the user must trust its bytes as they are now
unless the skill is the user's own. `allowed-tools` is not a grant.
"""

from __future__ import annotations

import os

from prowess._internal.files import real_path
from prowess._internal.frozen import Frozen
from prowess.errors import SkillError
from prowess.skill import find_code, load

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from prowess.catalog import Entry
    from prowess.skill import Skill

    from ._trust import Trust


class Grants(Frozen):
    """What a skill may use of what it declares."""

    tools: tuple[Mapping[str, Any], ...] = ()
    scripts: tuple[str, ...] = ()
    """The files that may run, relative to the skill's folder."""
    denial_reason: str | None = None
    """Why nothing is granted, and what to do."""


def find_grants(
    entry: Entry,
    trust: Trust,
    load_skill: Callable[[Entry], Skill],
    folder: str | None,
    *,
    fetched: str | None = None,
) -> Grants:
    """Return the tools and scripts of an active skill that its user allows.

    Args:
        entry: the skill.
        trust: what the user allowed.
        load_skill: reads the skill.
        folder: the folder with its files; `None` if it has no files.
        fetched: the same, if it is a copy of what a provider has.
    """
    denial_reason = trust.denial_reason(entry, folder=fetched)
    if denial_reason is not None:
        return Grants(denial_reason=denial_reason)
    if folder is None:
        return Grants(tools=_declared_tools(load_skill(entry)))
    try:
        # What is read is what is trusted: a change after the check above is seen here.
        with trust.sealed_copy(entry, folder=fetched) as copy:
            file = os.path.join(copy.folder, os.path.basename(entry.path))
            tools = _declared_tools(load(file, real=real_path(file)))
            scripts = find_code(copy.folder)
    except SkillError as error:
        return Grants(denial_reason=str(error))
    return Grants(tools=tools, scripts=scripts)


def _declared_tools(skill: Skill) -> tuple[Mapping[str, Any], ...]:
    return skill.tools if isinstance(skill.tools, tuple) else ()
