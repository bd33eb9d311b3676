"""Keep one catalog up to date for all conversations of a process, without a scan for each turn."""

from __future__ import annotations

import os
import sys
from threading import Lock
from weakref import WeakSet

from ._discover import discover_recorded
from ._fingerprints import newest_time
from ._watcher import Change, Watcher

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Self

    from ._catalog import Catalog
    from ._discover import RecordedCatalog

__all__ = ["LiveCatalog", "live_catalog"]

SETTLE_NS = 2_000_000_000
"""Nanoseconds, as for the cache: a file that changed more recently may change again and keep its fingerprint."""
_MAX_SHARED = 16
"""Directories with a shared live catalog; each has two file descriptors."""
_MAX_SCANS = 4
"""Scans in a row while files change."""
_SHOWS_CHANGES = sys.platform != "win32"
"""Whether a fingerprint shows each change of a file."""


class LiveCatalog:
    """The skills that a host sees from a directory, as they are at each call of `current`.

    While nothing changes, `current` reads nothing: inotify shows whether anything that the catalog depends on has
    changed, or else a comparison of fingerprints. Any number of threads and tasks may share one. It starts no thread.

    Args:
        cwd: the directory the client is started in.
        host: the host's name.
        home: the user's home instead of `~`.
        skill_dirs: further directories to scan, highest precedence first.
        env: the environment; the process's by default.
        client_args: the arguments that the client is started with, as far as they change its skills.
    """

    def __init__(
        self,
        cwd: str | os.PathLike[str],
        host: str = "prowess",
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
        self._recorded: RecordedCatalog | None = None
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

    def _has_same_variables(self, recorded: RecordedCatalog) -> bool:
        if os.path.expanduser("~") != self._user_home:
            return False
        return all(self._env.get(name) == value for name, value in recorded.variables.items())

    def _refresh(self, watcher: Watcher, recorded: RecordedCatalog | None, change: Change) -> RecordedCatalog:
        """Return the catalog after a change, and follow what it depends on."""
        if recorded is not None:
            # First, so that what is read now is followed before it is read.
            watcher.follow(recorded.fingerprints)
            if change is Change.MAYBE and _is_unchanged(recorded):
                return recorded
        for _ in range(_MAX_SCANS - 1):
            recorded = self._discover()
            if watcher.follow(recorded.fingerprints) or _is_unchanged(recorded):
                self._is_exact = _SHOWS_CHANGES and recorded.fingerprints.complete
                self._is_exact &= not watcher.compares_contents or _is_settled(recorded)
                return recorded
        self._is_exact = False
        return self._discover()

    def _discover(self) -> RecordedCatalog:
        self._user_home = os.path.expanduser("~")
        return discover_recorded(
            self._cwd,
            self._host,
            self._home,
            self._skill_dirs,
            env=self._env,
            client_args=self._client_args,
        )

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


def _is_settled(recorded: RecordedCatalog) -> bool:
    """Return whether all that was read had changed some time before."""
    fingerprints = recorded.fingerprints
    states = b"".join((*fingerprints.files.values(), *fingerprints.folders.values()))
    return newest_time(states) <= recorded.started_ns - SETTLE_NS


def _is_unchanged(recorded: RecordedCatalog) -> bool:
    """Return whether it is certain that nothing that was read has changed."""
    fingerprints = recorded.fingerprints
    return fingerprints.complete and _is_settled(recorded) and fingerprints.still_hold()


_all: WeakSet[LiveCatalog] = WeakSet()
_shared: dict[str, LiveCatalog] = {}
"""By directory, the last used one last."""


def _after_fork() -> None:
    for live in list(_all):
        live.stop_sharing()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
