"""Offer the skills of a catalog to Haystack's `SkillToolset`."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from prowess.errors import ConfigError, SkillNotFoundError
from prowess.session import Session

from ._catalog_argument import catalog_argument
from ._extras import missing_extra
from ._shown_skills import shown_skills

try:
    from haystack.core.serialization import default_to_dict
    from haystack.dataclasses import SkillInfo
except ImportError as error:
    raise ImportError(missing_extra("haystack-ai", "haystack")) from error

if TYPE_CHECKING:
    from prowess.catalog import Catalog, LiveCatalog

    Source = str | os.PathLike[str] | Catalog | LiveCatalog

__all__ = ["CatalogSkillStore", "directory_of"]


class CatalogSkillStore:
    """The skills of a catalog as a store for `SkillToolset`, without a record of conversations.

    Args:
        skills: a directory, whose skills are those of the moment, or a catalog.
        options: as for a `Session`.

    Raises:
        ConfigError: neither a directory nor a catalog, or an invalid option.
    """

    def __init__(self, skills: Source = ".", **options: Any) -> None:
        self.catalog = catalog_argument(skills)
        self._source, self._options = skills, options
        self._session()

    def _session(self) -> Session:
        return Session(self.catalog, **{**self._options, "format": "json"})

    def list_skills(self) -> dict[str, Any]:
        """Return the skills that fit into the budget, by name."""
        return {name: SkillInfo(name, description) for name, description in shown_skills(self._session()).items()}

    def load_skill(self, name: str) -> tuple[str, list[str]]:
        """Return the instructions of a skill, and the names of its files.

        Raises:
            KeyError: no skill has this name.
        """
        try:
            activation = self._session().activate(name)
        except SkillNotFoundError as error:
            raise KeyError(str(error)) from error
        return activation.content, list(activation.files)

    def read_skill_file(self, name: str, path: str) -> str:
        """Return the text of a file of a skill.

        Raises:
            KeyError: no skill has this name.
            OSError: the skill has no such text file.
        """
        try:
            return self._session().read(name, path).text
        except SkillNotFoundError as error:
            raise KeyError(str(error)) from error

    def to_dict(self) -> dict[str, Any]:
        """Return the directory and the options, for the file of a pipeline.

        Raises:
            ConfigError: the store has a catalog instead of a directory.
        """
        data: dict[str, Any] = default_to_dict(self, skills=directory_of(self._source), **self._options)
        return data

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> CatalogSkillStore:
        """Return the store of a pipeline's file."""
        return cls(**data["init_parameters"])


def directory_of(source: Source) -> str:
    """Return the directory that an adapter was given, for the file of a pipeline.

    Raises:
        ConfigError: it was given a catalog.
    """
    if isinstance(source, str | os.PathLike):
        return os.fspath(source)
    raise ConfigError("a catalog cannot be saved in a pipeline's file", hint="pass the directory of the skills")
