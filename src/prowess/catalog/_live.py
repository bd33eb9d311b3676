"""Keep one catalog up to date for all conversations of a process, without a scan for each turn."""

from __future__ import annotations

import os
import sys
from threading import Lock
from time import time_ns
from weakref import WeakSet

from prowess._internal.file_status import SETTLE_NS

from ._discover import Discovery, PausedCollector, new_filesystem
from ._fingerprints import RecordingEnvironment
from ._watcher import Change, Watcher

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Self

    from prowess.hosts import Host

    from ._catalog import Catalog
    from ._fingerprints import Fingerprints

__all__ = ["LiveCatalog", "live_catalog"]

_MAX_SHARED = 16
"""Directories with a shared live catalog; each has two file descriptors."""
_MAX_SCANS = 4
"""Scans in a row while files change."""
_SHOWS_CHANGES = sys.platform != "win32"
"""Whether a fingerprint shows each change of a file."""


class _RecordedCatalog:
    """A catalog, and all that it depends on."""

    __slots__ = ("catalog", "fingerprints", "started_ns", "variables")

    def __init__(
        self, catalog: Catalog, fingerprints: Fingerprints, variables: Mapping[str, str | None], started_ns: int
    ) -> None:
        self.catalog, self.fingerprints, self.variables = catalog, fingerprints, variables
        self.started_ns = started_ns
        """When reading began, in nanoseconds of the system's clock."""

    def is_settled(self) -> bool:
        """Return whether all that was read had changed some time before."""
        return self.fingerprints.newest_time() <= self.started_ns - SETTLE_NS

    def is_unchanged(self) -> bool:
        """Return whether it is certain that nothing that was read has changed."""
        return self.fingerprints.complete and self.is_settled() and self.fingerprints.still_hold()


class LiveCatalog:
    """The skills that a host sees from a directory, as they are at each call of `current`.

    While nothing changes, `current` reads nothing: inotify shows whether anything that the catalog depends on has
    changed, or else a comparison of fingerprints. Any number of threads and tasks may share one. It starts no thread.

    Args:
        cwd: the directory the client is started in.
        host: the host or its name.
        home: the user's home instead of `~`.
        skill_dirs: further directories to scan, highest precedence first.
        env: the environment; the process's by default.
        client_args: the arguments that the client is started with, as far as they change its skills.
    """

    def __init__(
        self,
        cwd: str | os.PathLike[str],
        host: str | Host = "prowess",
        home: str | os.PathLike[str] | None = None,
        skill_dirs: Iterable[str | os.PathLike[str]] = (),
        *,
        env: Mapping[str, str] | None = None,
        client_args: Iterable[str] = (),
    ) -> None:
        self._cwd, self._host = os.path.abspath(cwd), host
        self._home = None if home is None else os.path.abspath(home)
        self._skill_dirs, self._client_args = tuple(skill_dirs), tuple(client_args)
        self._env = os.environ if env is None else env
        self._lock = Lock()
        self._recorded: _RecordedCatalog | None = None
        self._user_home = ""
        self._watcher: Watcher | None = None
        self._is_exact = False
        """Whether each change since the last scan is seen."""
        _all.add(self)

    def current(self) -> Catalog:
        """Return the catalog as it is now: the same object until something changes.

        Raises:
            HostNotFoundError: the host is unknown.
        """
        with self._lock:
            if self._watcher is None:
                self._watcher = Watcher()
                change = Change.MAYBE
            else:
                change = self._watcher.changed()
            recorded = self._recorded
            if recorded is None or not self._is_exact or not self._has_same_variables(recorded):
                change = Change.YES
            if change or recorded is None:
                recorded = self._recorded = self._refresh(self._watcher, recorded, change)
            return recorded.catalog

    def close(self) -> None:
        """Close the file descriptors. `current` opens them again."""
        with self._lock:
            if self._watcher is not None:
                self._watcher.close()
                self._watcher = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _has_same_variables(self, recorded: _RecordedCatalog) -> bool:
        if os.path.expanduser("~") != self._user_home:
            return False
        return all(self._env.get(name) == value for name, value in recorded.variables.items())

    def _refresh(self, watcher: Watcher, recorded: _RecordedCatalog | None, change: Change) -> _RecordedCatalog:
        """Return the catalog after a change, and follow what it depends on."""
        if recorded is None and (recorded := self._recall()) is not None:
            change = Change.MAYBE
            self._is_exact = _SHOWS_CHANGES
        if recorded is not None:
            # First, so that what is read now is followed before it is read.
            watcher.follow(recorded.fingerprints)
            if change is Change.MAYBE and recorded.is_unchanged():
                return recorded
        for _ in range(_MAX_SCANS - 1):
            recorded = self._discover()
            if watcher.follow(recorded.fingerprints) or recorded.is_unchanged():
                self._is_exact = _SHOWS_CHANGES and recorded.fingerprints.complete
                self._is_exact &= not watcher.compares_contents or recorded.is_settled()
                return recorded
        self._is_exact = False
        return self._discover()

    def _recall(self) -> _RecordedCatalog | None:
        """Return the catalog as `discover` keeps it in the cache; `None` if something changed a moment ago."""
        self._user_home = os.path.expanduser("~")
        started_ns = time_ns()
        with PausedCollector():
            discovery = self._discovery(self._cwd)
            recalled = discovery.recall_recorded()
        if recalled is None:
            return None
        catalog, fingerprints, variables = recalled
        fingerprints.real_paths[self._cwd] = discovery.cwd
        return _RecordedCatalog(catalog, fingerprints, variables, started_ns)

    def _discovery(self, cwd: str) -> Discovery:
        return Discovery(cwd, self._host, self._home, self._skill_dirs, self._env, None, self._client_args)

    def _discover(self) -> _RecordedCatalog:
        """Read the disk as `discover` does, and record what the catalog depends on."""
        self._user_home = os.path.expanduser("~")
        env, filesystem = RecordingEnvironment(self._env), new_filesystem()
        fingerprints = filesystem.record_fingerprints()
        cwd = filesystem.real(self._cwd)
        discovery = self._discovery(cwd)
        with PausedCollector():
            catalog = discovery.resolve(filesystem, env)
            for entry in catalog.skills:
                _ = entry.description  # what an entry reads late is recorded too
        filesystem.fingerprints = None
        return _RecordedCatalog(catalog, fingerprints, env.variables_read, filesystem.started_ns)

    def stop_sharing(self) -> None:
        """Leave the queue of events to the process that this one was forked from."""
        self._lock = Lock()
        if self._watcher is not None:
            self._watcher.close()
            self._watcher = None


def live_catalog(cwd: str | os.PathLike[str]) -> LiveCatalog:
    """Return the live catalog of a directory that all callers of this process share, for the host `prowess`."""
    key = os.path.abspath(cwd)
    # Without a lock, which a forked process could find locked: at worst two threads scan the directory.
    live = _shared.pop(key, None) or LiveCatalog(key)
    _shared[key] = live
    for oldest in list(_shared)[:-_MAX_SHARED]:
        if (dropped := _shared.pop(oldest, None)) is not None:
            dropped.close()
    return live


_all: WeakSet[LiveCatalog] = WeakSet()
_shared: dict[str, LiveCatalog] = {}
"""By directory, the last used one last."""


def _after_fork() -> None:
    for live in list(_all):
        live.stop_sharing()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
