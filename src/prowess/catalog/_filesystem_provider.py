"""Provide the skills that a host finds on this machine to callers of `SkillProvider`."""

from __future__ import annotations

from prowess._internal.files import real_path

from ._live import LiveCatalog

TYPE_CHECKING = False
if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Mapping, Sequence

    from prowess.hosts import Host
    from prowess.skill import Skill

    from ._catalog import Catalog
    from ._entry import Entry

_MAX_CATALOGS = 16
"""Directories that are followed; each has two file descriptors."""


class FilesystemSkillProvider:
    """The skills that a host finds on this machine, as they are at each call. While nothing changes, nothing is read.

    Args:
        host: the host or its name.
        home: the user's home instead of `~`.
        skill_dirs: further directories, highest precedence first.
        env: the environment; the process's by default.
    """

    def __init__(
        self,
        host: str | Host = "prowess",
        *,
        home: str | os.PathLike[str] | None = None,
        skill_dirs: Iterable[str | os.PathLike[str]] = (),
        env: Mapping[str, str] | None = None,
    ) -> None:
        self.host = host
        self._home, self._skill_dirs, self._env = home, tuple(skill_dirs), env
        self._catalogs: dict[str, LiveCatalog] = {}
        """By directory, the last used one last."""

    def catalog(self, cwd: str | os.PathLike[str]) -> Catalog:
        """Return the catalog of a directory, with findings and settings: the same object until something changes.

        Raises:
            HostNotFoundError: the host is unknown.
        """
        key = real_path(cwd)
        live = self._catalogs.pop(key, None)
        if live is None:
            live = LiveCatalog(key, self.host, self._home, self._skill_dirs, env=self._env)
        self._catalogs[key] = live
        for oldest in list(self._catalogs)[:-_MAX_CATALOGS]:
            self._forget(oldest)
        return live.current()

    def list(self, cwd: str) -> Sequence[Entry]:
        """Return the skills that the host sees from a directory."""
        return self.catalog(cwd).skills

    def read(self, skill: Entry) -> Skill:
        """Read a skill's file now."""
        from prowess.skill import load

        return load(skill.path, real=skill.real)

    def refresh(self, cwd: str) -> None:
        """Forget the catalog of a directory, so that the next `list` reads the disk."""
        self._forget(real_path(cwd))

    def _forget(self, key: str) -> None:
        if (live := self._catalogs.pop(key, None)) is not None:
            live.close()
