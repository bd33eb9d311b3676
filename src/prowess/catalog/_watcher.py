"""Notice when anything that a catalog depends on changes, without reading it again.

inotify watches each path that was read and each folder on the way to it; links together with what they lead to; for a
path that does not exist, the folders that do. What cannot be watched is compared at each call instead: on other systems
and network file systems, in a folder that may not be read, and more paths than the user may watch.
"""

from __future__ import annotations

import os
import select
import stat
from enum import IntEnum

from prowess._internal.inotify import ATTRIBUTES, CONTENT, ENTRIES, OVERFLOW, PLACE, REMOVED, Inotify

from ._fingerprints import Fingerprints

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["Change", "Watcher"]

_FOLDER_EVENTS, _FILE_EVENTS = ATTRIBUTES | PLACE | ENTRIES, ATTRIBUTES | PLACE | CONTENT
_MAX_MOVED = 64
"""Changed names after which all watches are set anew."""
_MAX_LINKS = 40
"""Links on the way to one path; Linux follows no more."""
_MOUNTS = "/proc/self/mountinfo"
"""`poll` shows when a file system is mounted over a folder, which is no event of the folder."""
_MISSING, _UNWATCHED = 0, -1
"""Instead of the number of a watch: of a path that does not exist, and of one that is compared."""


class Change(IntEnum):
    """What a watcher knows."""

    NO = 0
    MAYBE = 1
    """There were too many events to tell, so everything must be compared."""
    YES = 2


class Watcher:
    """Watches what a scan has read. For one thread at a time."""

    def __init__(self) -> None:
        self._inotify: Inotify | None = None
        self._mounts = -1
        self._poll: Any = None
        self._clear()
        try:
            self._open()
        except (OSError, AttributeError):  # the latter without `select.poll`
            self.close()

    def _open(self) -> None:
        self._inotify = Inotify()
        self._mounts = os.open(_MOUNTS, os.O_RDONLY | os.O_CLOEXEC)
        self._poll = select.poll()
        self._poll.register(self._inotify.fd, select.POLLIN)
        self._poll.register(self._mounts, select.POLLPRI)

    def close(self) -> None:
        """Close what is open; from then on everything is compared."""
        self._poll = None
        if self._inotify is not None:
            self._inotify.close()
            self._inotify = None
        if self._mounts >= 0:
            os.close(self._mounts)
            self._mounts = -1

    __del__ = close

    def _clear(self) -> None:
        self._places: dict[str, int] = {}
        """The watch of each path, links not followed; else `_MISSING` or `_UNWATCHED`."""
        self._known: dict[str, int] = {}
        """Those from before that are still the same files."""
        self._targets: dict[str, int] = {}
        """The same of what a link leads to in the end."""
        self._paths: dict[int, str] = {}
        """The first path of a watch."""
        self._more_paths: dict[int, set[str]] = {}
        """The others: a hard link has several."""
        self._names: dict[int, bytes | set[bytes]] = {}
        """The names in a watched folder that matter; mostly one, which needs no set."""
        self._last_name = b""
        self._listed: set[int] = set()
        """The watched folders in which every name matters."""
        self._entries: dict[str, str] = {}
        """Entries of folders that are not watched, and what they are."""
        self._unwatched = Fingerprints()
        """What was read of paths that are not watched."""
        self._is_local: dict[int, bool] = {}
        """Whether inotify shows each change of a file system, by its device."""

    # ── has anything changed? ────────────────────────────────────────────────────────────────────────────────────────

    def changed(self) -> Change:
        """Return whether something that is followed changed since the last call."""
        change = Change.NO
        if self._poll is not None:
            for fd, _ in self._poll.poll(0):
                change = max(change, self._forget_places() if fd == self._mounts else self._take_events())
        if not change:
            changed = any(_entry(path) != known for path, known in self._entries.items())
            return Change.YES if changed or not self._unwatched.still_hold() else Change.NO
        return change

    @property
    def compares_contents(self) -> bool:
        """Whether only its fingerprint shows that some file or folder changed."""
        return bool(self._unwatched.files or self._unwatched.folders)

    def _take_events(self) -> Change:
        """Read the events, and forget the places of paths that may be other files now."""
        changed, moved = False, set[str]()
        for number, mask, name in self._inotify.events() if self._inotify is not None else ():
            if mask & OVERFLOW:
                return self._forget_places()
            path = self._paths.get(number)
            # An event with a name is about an entry of the folder, whose content has its own watch.
            if path is None or (name and not (mask & ENTRIES and self._matters(number, name))):
                continue
            changed, paths = True, {path, *self._more_paths.get(number, ())}
            if name:
                moved |= {os.path.join(path, os.fsdecode(name)) for path in paths}
            elif not mask & (ATTRIBUTES | CONTENT):
                moved |= paths
            if mask & REMOVED:
                del self._paths[number]
                self._more_paths.pop(number, None)
        if moved and (self._targets or len(moved) > _MAX_MOVED):
            self._forget_places()
        for path in moved if self._places else ():
            for known in [known for known in self._places if known == path or known.startswith(path + os.sep)]:
                del self._places[known]
        return Change.YES if changed else Change.NO

    def _matters(self, number: int, name: bytes) -> bool:
        names = self._names.get(number, b"")
        return number in self._listed or (name == names if isinstance(names, bytes) else name in names)

    def _forget_places(self) -> Change:
        self._places = {}
        return Change.MAYBE

    # ── follow ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def follow(self, fingerprints: Fingerprints) -> bool:
        """Follow all that was read, and nothing else.

        Returns:
            Whether all of it was followed before, so that each change since is seen.
        """
        before, links, watches = self._places, self._targets.keys(), self._paths
        self._clear()
        self._known = {path: place for path, place in before.items() if place > 0 and path not in links}
        for name in ("files", "folders", "kinds", "links", "real_paths"):
            recorded, unwatched = getattr(fingerprints, name), getattr(self._unwatched, name)
            for path, state in recorded.items():
                place = self._follow_path(path)
                if place == _UNWATCHED:
                    unwatched[path] = state
                elif place and recorded is fingerprints.folders:
                    self._listed.add(place)
        if self._inotify is not None:
            for number in watches.keys() - self._paths.keys():
                self._inotify.forget(number)
        return self._places == before

    def _follow_path(self, path: str, links: int = 0) -> int:
        """Follow each folder on the way to a path, the outermost first, and the path; return the place it leads to."""
        waiting = []
        while path not in self._places:
            waiting.append(path)
            parent = os.path.dirname(path)
            if parent in (path, ""):
                break
            path = parent
        place = self._targets.get(path, self._places.get(path, _UNWATCHED))
        for inner in reversed(waiting):
            place = self._follow_entry(inner, place, links)
        return place

    def _follow_entry(self, path: str, folder: int, links: int) -> int:
        """Follow an entry of a folder that is followed, so that any later change is seen; return where it leads to."""
        place, target = _MISSING, None
        if folder != _MISSING:
            try:
                if folder > 0:
                    self._add_name(folder, os.fsencode(os.path.basename(path)))
                if not (place := self._known.get(path, _MISSING)):
                    status = os.lstat(path)
                    place = self._watch(path, status)
                    target = os.readlink(path) if stat.S_ISLNK(status.st_mode) else None
            except (OSError, ValueError):
                place = _MISSING if folder > 0 else _UNWATCHED
        self._places[path] = place
        if place > 0 and self._paths.setdefault(place, path) != path:
            self._more_paths.setdefault(place, set()).add(path)
        in_unwatched = folder == _UNWATCHED and path != os.path.dirname(path)
        if (in_unwatched and place > 0) or (place == _UNWATCHED and target is not None):
            self._entries[path] = _entry(path)
        if target is None:
            return place
        self._targets[path] = _MISSING  # of links in a circle
        if links < _MAX_LINKS:
            self._targets[path] = self._follow_path(os.path.join(os.path.dirname(path), target), links + 1)
        return self._targets[path]

    def _add_name(self, folder: int, name: bytes) -> None:
        """Note that a name in a watched folder matters."""
        if name == self._last_name:
            name = self._last_name  # one value for thousands of SKILL.md
        self._last_name = name
        known = self._names.setdefault(folder, name)
        if isinstance(known, set):
            known.add(name)
        elif known != name:
            self._names[folder] = {known, name}

    def _watch(self, path: str, status: os.stat_result) -> int:
        """Return the watch of a path, or `_UNWATCHED` if there cannot be one."""
        if self._inotify is None:
            return _UNWATCHED
        is_folder, is_link = stat.S_ISDIR(status.st_mode), stat.S_ISLNK(status.st_mode)
        if status.st_dev not in self._is_local:
            self._is_local[status.st_dev] = self._inotify.is_local(os.path.dirname(path) if is_link else path)
        if not self._is_local[status.st_dev]:
            return _UNWATCHED
        try:
            return self._inotify.watch(path, _FOLDER_EVENTS if is_folder else _FILE_EVENTS)
        except OSError:
            return _UNWATCHED


def _entry(path: str) -> str:
    """Return what an entry of a folder is: where a link leads to, or the number of a file; empty if it is missing."""
    try:
        status = os.lstat(path)
        return os.readlink(path) if stat.S_ISLNK(status.st_mode) else f"{status.st_dev} {status.st_ino}"
    except (OSError, ValueError):
        return ""
