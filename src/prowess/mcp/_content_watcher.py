"""Notice when anything in the folders of skills changes, without looking at it again.

inotify watches each folder and each file of a skill, and the folders on the way to it: files too, since a file with two
names can change through the other one. What cannot be watched is compared by the caller: on other systems and network
file systems, in folders that may not be read, and beyond half of the watches that the user may have.
"""

from __future__ import annotations

import os
import select
import stat
import struct
from contextlib import suppress

from prowess._internal.inotify import ATTRIBUTES, CONTENT, ENTRIES, OVERFLOW, PLACE, REMOVED, Inotify

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ._read_content import Content

__all__ = ["ContentWatcher"]

_FOLDER_EVENTS, _FILE_EVENTS = ATTRIBUTES | PLACE | ENTRIES, ATTRIBUTES | PLACE | CONTENT
_MOUNTS = "/proc/self/mountinfo"
"""`poll` shows when a file system is mounted over a folder, which is no event of the folder."""
_LIMIT = "/proc/sys/fs/inotify/max_user_watches"


class ContentWatcher:
    """Watches the folders of skills. For one thread at a time.

    Args:
        most: watches at most; by default half of those that the user may have.
    """

    def __init__(self, most: int | None = None) -> None:
        self._most = _limit() // 2 if most is None else most
        self._inotify: Inotify | None = None
        self._mounts = -1
        self._poll: Any = None
        self._owner = 0
        self._clear()

    def _clear(self) -> None:
        self._contents: dict[int, Content | list[Content]] = {}
        """What each watch is for; a folder can be in two skills, and a file have a name in each."""
        self._above: dict[str, int] = {}
        """The watches of the folders on the way to skills."""
        self._above_numbers: set[int] = set()
        self._is_local: dict[int, bool] = {}
        """Whether inotify shows each change of a file system, by its device."""

    def _open(self) -> bool:
        """Return whether there is a queue, and open it if it is missing, or belongs to the process that forked."""
        if self._owner != os.getpid():
            self.close()
            self._owner = os.getpid()
            try:
                self._inotify = Inotify()
                self._mounts = os.open(_MOUNTS, os.O_RDONLY | os.O_CLOEXEC)
                self._poll = select.poll()
                self._poll.register(self._inotify.fd, select.POLLIN)
                self._poll.register(self._mounts, select.POLLPRI)
            except (OSError, AttributeError):  # the latter without `select.poll`
                self.close()
                self._owner = os.getpid()
        return self._poll is not None

    def close(self) -> None:
        """Close what is open. `watch` opens it again."""
        self._poll, self._owner = None, 0
        if self._inotify is not None:
            self._inotify.close()
            self._inotify = None
        if self._mounts >= 0:
            os.close(self._mounts)
            self._mounts = -1
        self._clear()

    __del__ = close

    def changed(self) -> list[Content] | None:
        """Return what has changed since the last call, which is not watched any more; `None` if it can be everything.

        In the latter case nothing is watched any more.
        """
        if self._poll is None:
            return []
        if self._owner != os.getpid():
            self.close()
            return None
        found: dict[int, Content] = {}
        for fd, _ in self._poll.poll(0):
            if fd == self._mounts or self._inotify is None or not self._take_events(found):
                self.close()
                return None
        for content in found.values():
            self.forget(content)
        return [*found.values()]

    def _take_events(self, found: dict[int, Content]) -> bool:
        """Add what has changed to `found`, by its address; return `False` if it can be everything."""
        for number, mask, _ in self._inotify.events() if self._inotify is not None else ():
            if mask & OVERFLOW or (number in self._above_numbers and mask & (PLACE | REMOVED)):
                return False
            known = self._contents.get(number, [])
            for content in known if isinstance(known, list) else [known]:
                found[id(content)] = content
        return True

    def watch(self, content: Content) -> tuple[int, ...]:
        """Watch all paths of a folder from now on, and return the watches; none if one of them cannot be watched."""
        content.watches = ()
        numbers = struct.unpack(f"{len(content.fingerprints) // 8}q", content.fingerprints)
        paths = content.paths()
        if not self._open() or len(self._contents) + len(paths) > self._most:
            return ()
        watches: list[int] = []
        try:
            self._watch_above(os.path.dirname(content.folder))
            for path, mode, device in zip(paths, numbers[::6], numbers[2::6], strict=True):
                watches.append(self._watch(path, _FOLDER_EVENTS if stat.S_ISDIR(mode) else _FILE_EVENTS, device))
                self._add(watches[-1], content)
        except (OSError, ValueError):
            content.watches = tuple(watches)
            self.forget(content)
            content.watches = ()
            return ()
        content.watches = tuple(watches)
        return content.watches

    def _add(self, number: int, content: Content) -> None:
        known = self._contents.setdefault(number, content)
        if isinstance(known, list):
            known.append(content)
        elif known is not content:
            self._contents[number] = [known, content]

    def _watch_above(self, folder: str) -> None:
        """Watch a folder and those above it: a skill is elsewhere if one of them is renamed.

        Raises:
            OSError: one of them cannot be watched.
        """
        folders: list[str] = []
        while folder not in self._above and folder not in folders:
            folders.append(folder)
            folder = os.path.dirname(folder)
        # The outermost first: otherwise a rename in between would leave a watch on another folder than the one inside.
        watches = {path: self._watch(path, PLACE, os.stat(path).st_dev) for path in reversed(folders)}
        self._above |= watches  # at the end: of a known folder, all above are known too
        self._above_numbers.update(watches.values())

    def _watch(self, path: str, events: int, device: int) -> int:
        """Return the watch of a path.

        Raises:
            OSError: there cannot be one.
        """
        if self._inotify is None:
            raise OSError("no inotify")
        if device not in self._is_local:
            self._is_local[device] = self._inotify.is_local(path)
        if not self._is_local[device]:
            raise OSError("changes may come without events")
        return self._inotify.watch(path, events)

    def forget(self, content: Content) -> None:
        """Stop watching a folder."""
        for number in content.watches or ():
            known = self._contents.get(number)
            if isinstance(known, list):
                known[:] = [other for other in known if other is not content]
            if known is content or not known:
                self._contents.pop(number, None)
                if self._inotify is not None and number not in self._above_numbers:
                    self._inotify.forget(number)
        content.watches = None


def _limit() -> int:
    """Return how many watches the user may have."""
    with suppress(OSError, ValueError), open(_LIMIT, "rb") as stream:
        return int(stream.read())
    return 8192
