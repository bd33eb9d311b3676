"""Ask Linux which files changed, without a thread and without waiting."""

from __future__ import annotations

import os
import select
import stat
import struct
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

_ATTRIBUTES = 0x004
"""The mode, the owner or the number of names of a file changed."""
_CONTENT = 0x002 | 0x008
"""A file was written to, or closed by a program that could write to it, for example through a memory mapping."""
ENTRIES = 0x040 | 0x080 | 0x100 | 0x200
"""A name in a folder was moved away, moved in, created or removed."""
PLACE = 0x400 | 0x800
"""The watched file or folder itself was removed or moved."""
OVERFLOW = 0x4000
"""Events were lost."""
REMOVED = 0x8000
"""The watch is removed, because the file does not exist any more."""
FOLDER_EVENTS, FILE_EVENTS = _ATTRIBUTES | PLACE | ENTRIES, _ATTRIBUTES | PLACE | _CONTENT
_MOUNTS = "/proc/self/mountinfo"
"""`poll` shows when a file system is mounted over a folder, which is no event of the folder."""
_DONT_FOLLOW = 0x02000000
_ADD_TO_MASK = 0x20000000
_EVENT = struct.Struct("iIII")
_BUFFER_BYTES = 64 * 1024
_MAX_BUFFERS = 16
"""How much is read at once: more than the queue holds by default."""

_LOCAL_FILE_SYSTEMS = frozenset(
    (
        0xEF53,  # ext2, ext3, ext4
        0x58465342,  # XFS
        0x9123683E,  # btrfs
        0x01021994,  # tmpfs
        0x858458F6,  # ramfs
        0x794C7630,  # overlayfs
        0x2FC12FC1,  # ZFS
        0xF2F52010,  # F2FS
        0xCA451A4E,  # bcachefs
        0x73717368,  # squashfs
        0xE0F5E1E2,  # EROFS
        0x4D44,  # FAT
        0x2011BAB0,  # exFAT
        0x52654973,  # ReiserFS
        0x3153464A,  # JFS
    )
)
"""Those that only this machine changes. Others, such as NFS or FUSE, may change without an event."""


class Inotify:
    """A queue of changes to the files and folders that it watches, and of file systems that are mounted.

    Raises:
        OSError: the system has no inotify, or no more of them for this user.
    """

    def __init__(self) -> None:
        self.fd = self._mounts = -1
        self._libc = _load_libc()
        self._is_local: dict[int, bool] = {}
        """Whether each change of a file system is an event, by its device."""
        try:
            self.fd = self._libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
            if self.fd < 0:
                raise _last_error()
            self._mounts = os.open(_MOUNTS, os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            self.close()
            raise
        self._poll = select.poll()
        self._poll.register(self.fd, select.POLLIN)
        self._poll.register(self._mounts, select.POLLPRI)

    def watch(self, path: str, mask: int, status: tuple[int, int]) -> int:
        """Watch a path, links not followed, and return the number of its watch: one number for one file.

        Args:
            path: the file or folder.
            mask: the kinds of changes.
            status: its mode and device.

        Raises:
            OSError: the path does not exist or cannot be read, is in a file system that changes without events, or
                there are too many watches.
        """
        mode, device = status
        if device not in self._is_local:
            self._is_local[device] = self.is_local(os.path.dirname(path) if stat.S_ISLNK(mode) else path)
        if not self._is_local[device]:
            raise OSError("changes may come without events")
        number: int = self._libc.inotify_add_watch(self.fd, os.fsencode(path), mask | _DONT_FOLLOW | _ADD_TO_MASK)
        if number < 0:
            raise _last_error()
        return number

    def forget(self, number: int) -> None:
        """Remove a watch."""
        self._libc.inotify_rm_watch(self.fd, number)

    def events(self) -> Iterator[tuple[int, int, bytes]]:
        """Take what has changed since the last call: watch, kind of change, and the name in a watched folder.

        `OVERFLOW` says that everything may have changed: there was more than the queue holds, or more than is read at
        once, or a file system was mounted.
        """
        for fd, _ in self._poll.poll(0):
            if fd == self._mounts:
                yield -1, OVERFLOW, b""
            else:
                yield from self._queued_events()

    def _queued_events(self) -> Iterator[tuple[int, int, bytes]]:
        for _ in range(_MAX_BUFFERS):
            try:
                data = os.read(self.fd, _BUFFER_BYTES)
            except BlockingIOError:
                return
            position = 0
            while position < len(data):
                number, mask, _cookie, length = _EVENT.unpack_from(data, position)
                position += _EVENT.size + length
                yield number, mask, data[position - length : position].rstrip(b"\0")
        yield -1, OVERFLOW, b""

    def is_local(self, path: str) -> bool:
        """Return whether a path is in a file system that only this machine changes, so that each change is an event."""
        import ctypes

        status = ctypes.create_string_buffer(512)
        if self._libc.statfs(os.fsencode(path), status):
            return False
        # The first field is the type; only its lower 32 bits count.
        return ctypes.c_long.from_buffer(status).value & 0xFFFFFFFF in _LOCAL_FILE_SYSTEMS

    def close(self, close_fd: Callable[[int], None] = os.close) -> None:
        """Close the queue. While Python ends, the modules are gone before the last queue."""
        for fd in (self.fd, self._mounts):
            if fd >= 0:
                close_fd(fd)
        self.fd = self._mounts = -1

    __del__ = close


def _load_libc() -> Any:
    """Return the C library.

    Raises:
        OSError: it has no inotify.
    """
    if sys.platform != "linux":
        raise OSError("no inotify")
    try:
        import ctypes

        libc = ctypes.CDLL(None, use_errno=True)
        libc.inotify_add_watch.argtypes = [ctypes.c_int, ctypes.c_char_p, ctypes.c_uint32]
        libc.statfs.argtypes = [ctypes.c_char_p, ctypes.c_void_p]
        _ = libc.inotify_init1, libc.inotify_rm_watch
    except (ImportError, AttributeError):
        raise OSError("no inotify") from None
    return libc


def _last_error() -> OSError:
    import ctypes

    number = ctypes.get_errno()
    return OSError(number, os.strerror(number))
