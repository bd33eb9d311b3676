"""a directory -> skills, from wherever they are

The file system is the first place skills come from; whoever has others writes a class with the same three methods.
"""

from __future__ import annotations

import os

from .catalog import discover
from .skill import load

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Protocol

    from .catalog import Catalog
    from .entry import Entry
    from .skill import Skill
else:
    Protocol = object

__all__ = ["FilesystemSkillProvider", "SkillProvider"]


class SkillProvider(Protocol):
    """Where skills come from."""

    def list(self, cwd: str) -> Sequence[Entry]:
        """Return the skills that are seen from a directory, highest precedence first; their bodies are not read."""

    def read(self, skill: Entry) -> Skill:
        """Return one of them with its body. Whatever is wrong is in the skill's findings."""

    def refresh(self, cwd: str) -> None:
        """Forget what was seen from a directory, so that the next `list` looks again."""


class FilesystemSkillProvider(SkillProvider):
    """The skills a host finds on this machine, listed once for each directory until `refresh`.

    Args:
        host: its name.
        home: the user's home instead of `~`.
        skill_dirs: further directories, highest precedence first.
        env: the environment; the process's by default.
    """

    def __init__(
        self,
        host: str = "prowess",
        *,
        home: str | os.PathLike[str] | None = None,
        skill_dirs: Iterable[str | os.PathLike[str]] = (),
        env: Mapping[str, str] | None = None,
    ) -> None:
        self.host = host
        self._home, self._skill_dirs, self._env = home, tuple(skill_dirs), env
        self._catalogs: dict[str, Catalog] = {}

    def catalog(self, cwd: str | os.PathLike[str]) -> Catalog:
        """Return all of what the host sees from a directory, findings and all.

        Raises:
            HostNotFoundError: there is no such host.
        """
        key = os.path.realpath(cwd)
        if key not in self._catalogs:
            self._catalogs[key] = discover(
                key, host=self.host, home=self._home, skill_dirs=self._skill_dirs, env=self._env
            )
        return self._catalogs[key]

    def list(self, cwd: str) -> Sequence[Entry]:
        """Return the skills that are seen from a directory."""
        return self.catalog(cwd).skills

    def read(self, skill: Entry) -> Skill:
        """Read a skill's file now."""
        return load(skill.path, real=skill.real)

    def refresh(self, cwd: str) -> None:
        """Look again at the next `list`."""
        self._catalogs.pop(os.path.realpath(cwd), None)
