"""Keep one catalog up to date for all conversations of a process, without a scan for each turn."""

from __future__ import annotations

import os
import stat
import sys
from contextlib import suppress
from threading import Lock
from time import time_ns
from weakref import WeakSet

from prowess._internal.file_status import SETTLE_NS
from prowess._internal.inotify import ENTRIES, FILE_EVENTS, FOLDER_EVENTS, OVERFLOW, Inotify
from prowess.filesystem import RECORDS, Fingerprints, Question, RecordingEnvironment

from ._discover import Discovery, PausedCollector, new_filesystem

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Self

    from prowess.hosts import Host

    from ._catalog import Catalog

_MAX_SHARED = 16
"""Directories with a shared live catalog; each has two file descriptors."""
_MAX_SCANS = 4
"""Scans in a row while files change."""
_SHOWS_CHANGES = sys.platform != "win32"
"""Whether a fingerprint shows each change of a file."""
_MAX_LINKS = 40
"""Links on the way to one path; Linux follows no more."""
_MISSING = 0
"""Instead of the number of a watch."""


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
            recorded = self._recorded
            may_have_changed = self._watcher.may_have_changed()
            is_current = recorded is not None and self._is_exact and self._has_same_variables(recorded)
            if recorded is None or may_have_changed or not is_current:
                recorded = self._recorded = self._refresh(self._watcher, recorded if is_current else None)
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

    def _refresh(self, watcher: Watcher, recorded: _RecordedCatalog | None) -> _RecordedCatalog:
        """Return the catalog after a change, and follow what it depends on."""
        if self._recorded is None and (recorded := self._recall()) is not None:
            self._is_exact = _SHOWS_CHANGES
        if recorded is not None:
            # First, so that what is read now is followed before it is read.
            watcher.follow(recorded.fingerprints)
            if recorded.is_unchanged():
                return recorded
        for _ in range(_MAX_SCANS - 1):
            recorded = self._discover()
            if watcher.follow(recorded.fingerprints) or recorded.is_unchanged():
                self._is_exact = _SHOWS_CHANGES and recorded.fingerprints.complete
                self._is_exact &= watcher.sees_all or recorded.is_settled()
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
        fingerprints.real_paths[self._cwd] = discovery.question.cwd
        return _RecordedCatalog(catalog, fingerprints, variables, started_ns)

    def _discovery(self, cwd: str) -> Discovery:
        question = Question.about(cwd, self._home, self._skill_dirs, env=self._env, client_args=self._client_args)
        return Discovery(question, self._host)

    def _discover(self) -> _RecordedCatalog:
        """Read the disk as `discover` does, and record what the catalog depends on."""
        self._user_home = os.path.expanduser("~")
        env, filesystem = RecordingEnvironment(self._env), new_filesystem()
        fingerprints = filesystem.record_fingerprints()
        cwd = filesystem.real(self._cwd)
        discovery = self._discovery(cwd)
        with PausedCollector():
            catalog = discovery.resolve(filesystem, discovery.question.with_changes(env=env))
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


# ── noticing a change ────────────────────────────────────────────────────────────────────────────────────────────────


class Watcher:
    """Notices that something may have changed of what a scan has read. For one thread at a time.

    inotify watches each path that was read and each folder on the way to it; links together with what they lead to; for
    a path that does not exist, the folders that do. Where it cannot, everything is compared at each call: on other
    systems and network file systems, in a folder that may not be read, and beyond the paths that the user may watch.
    """

    def __init__(self) -> None:
        self._inotify: Inotify | None = None
        self._watches: dict[str, int] = {}
        """The watch of each path, links not followed; `_MISSING` for one that does not exist."""
        self._places: dict[str, int] = {}
        """The same of what a path leads to through links."""
        self._names: dict[int, set[bytes]] = {}
        """The names in a watched folder that matter."""
        self._listed: set[int] = set()
        """The watched folders in which every name matters."""
        self.sees_all = False
        """Whether each change of what is followed is an event."""
        with suppress(OSError):
            self._inotify = Inotify()

    def close(self) -> None:
        """Close what is open; from then on everything is compared."""
        self.sees_all = False
        if self._inotify is not None:
            self._inotify.close()
            self._inotify = None

    def may_have_changed(self) -> bool:
        """Return whether something that is followed may have changed since the last call."""
        if self._inotify is None:
            return True
        matters = [self._matters(*event) for event in self._inotify.events()]  # all are taken
        return any(matters) or not self.sees_all

    def _matters(self, number: int, mask: int, name: bytes) -> bool:
        # An event with a name is about an entry of the folder, whose content has its own watch.
        if not name or mask & OVERFLOW:
            return True
        return bool(mask & ENTRIES) and (number in self._listed or name in self._names.get(number, ()))

    def follow(self, fingerprints: Fingerprints) -> bool:
        """Follow all that was read, and nothing else.

        Returns:
            Whether all of it was followed before, so that each change since is seen.
        """
        before, self._watches, self.sees_all = self._watches, {}, self._inotify is not None
        self._places, self._names, self._listed = {}, {}, set()
        for name in RECORDS:
            places = {self._follow_path(path) for path in getattr(fingerprints, name)}
            self._listed |= places if name == "folders" else set()
        if self._inotify is not None:
            for number in {*before.values()} - {*self._watches.values(), _MISSING}:
                self._inotify.forget(number)
        return self.sees_all and self._watches == before

    def _follow_path(self, path: str, links: int = 0) -> int:
        """Follow each folder on the way to a path, the outermost first, and the path; return the watch it leads to."""
        waiting = []
        while path not in self._places:
            waiting.append(path)
            parent = os.path.dirname(path)
            if parent in (path, ""):
                break
            path = parent
        place = self._places.get(path, _MISSING)
        for inner in reversed(waiting):
            self._names.setdefault(place, set()).add(os.fsencode(os.path.basename(inner)))
            place = self._places[inner] = self._follow_entry(inner, links)
        return place

    def _follow_entry(self, path: str, links: int) -> int:
        """Follow an entry of a folder that is followed, so that any later change is seen; return where it leads to."""
        self._watches[path] = self._places[path] = _MISSING  # the latter for links in a circle
        try:
            status = os.lstat(path)
            place = self._watches[path] = self._watch(path, status.st_mode, status.st_dev)
            if not stat.S_ISLNK(status.st_mode):
                return place
            target = os.path.join(os.path.dirname(path), os.readlink(path))
        except (FileNotFoundError, NotADirectoryError, ValueError):
            return _MISSING
        except OSError:
            self.sees_all = False
            return _MISSING
        return self._follow_path(target, links + 1) if links < _MAX_LINKS else _MISSING

    def _watch(self, path: str, mode: int, device: int) -> int:
        """Return the watch of a path.

        Raises:
            OSError: there cannot be one.
        """
        if self._inotify is None:
            return _MISSING
        return self._inotify.watch(path, FOLDER_EVENTS if stat.S_ISDIR(mode) else FILE_EVENTS, (mode, device))
