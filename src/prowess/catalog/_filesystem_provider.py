"""Provide the skills that a host finds on this machine to callers of `SkillProvider`."""

from __future__ import annotations

from prowess._internal.files import real_path

from ._discover import discover

TYPE_CHECKING = False
if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Mapping, Sequence

    from prowess.skill import Skill

    from ._catalog import Catalog
    from ._entry import Entry

__all__ = ["FilesystemSkillProvider"]


class FilesystemSkillProvider:
    """The skills that a host finds on this machine. Each directory is listed once until `refresh`.

    Args:
        host: the host's name.
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
        """Return the catalog of a directory, with findings and settings.

        Raises:
            HostNotFoundError: the host is unknown.
        """
        key = real_path(cwd)
        if key not in self._catalogs:
            self._catalogs[key] = discover(
                key, host=self.host, home=self._home, skill_dirs=self._skill_dirs, env=self._env
            )
        return self._catalogs[key]

    def list(self, cwd: str) -> Sequence[Entry]:
        """Return the skills that the host sees from a directory."""
        return self.catalog(cwd).skills

    def read(self, skill: Entry) -> Skill:
        """Read a skill's file now."""
        from prowess.skill import load

        return load(skill.path, real=skill.real)

    def refresh(self, cwd: str) -> None:
        """Forget the catalog of a directory, so that the next `list` reads the disk."""
        self._catalogs.pop(real_path(cwd), None)
