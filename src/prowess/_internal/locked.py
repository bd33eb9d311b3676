"""Lock files and folders against other processes; the system releases a lock if its process dies.

Where a system or file system has no locks, nothing is locked: there one process at a time must be run.
"""

from __future__ import annotations

import errno
import os
import sys
from contextlib import contextmanager, suppress

from .fs import FOLDER_FLAGS, NO_LINK_FLAGS, give_to_caller_of_sudo

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_RETRY_INTERVAL = 0.002
"""Seconds."""


@contextmanager
def locked(
    folder: str, file: str | None = None, *, shared: bool = False, wait: bool = True, required: bool = False
) -> Iterator[bool]:
    """Lock a folder, or a file in it that is created if it is missing, and yield whether it is locked.

    Args:
        folder: absolute.
        file: the name of the file.
        shared: whether other processes may have a shared lock at the same time.
        wait: whether to wait until no other process has it locked.
        required: whether it is an error that there are no locks.

    Raises:
        OSError: it cannot be opened, or cannot be locked although it must be.
    """
    if file is None:
        fd = os.open(folder, FOLDER_FLAGS)
    else:
        fd = os.open(os.path.join(folder, file), os.O_RDWR | os.O_CREAT | NO_LINK_FLAGS, 0o600)
    try:
        if file is not None:
            give_to_caller_of_sudo(fd, folder)
        is_locked = lock_fd(fd, shared=shared, wait=wait, without_locks=not required)
        if required and not is_locked:
            raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))
        yield is_locked
    finally:
        os.close(fd)


def lock_fd(fd: int, *, shared: bool = False, wait: bool = True, without_locks: bool = True) -> bool:
    """Lock an open file or folder until it is closed, and return whether it is locked.

    Args:
        fd: its descriptor.
        shared: whether other processes may have a shared lock at the same time.
        wait: whether to wait until no other process has it locked.
        without_locks: what is returned where there are no locks.
    """
    if sys.platform == "win32":
        return without_locks if shared else _lock_on_windows(fd, wait=wait)
    import fcntl

    try:
        fcntl.flock(fd, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | (0 if wait else fcntl.LOCK_NB))
    except BlockingIOError:
        return False
    except OSError:
        return without_locks
    return True


def _lock_on_windows(fd: int, *, wait: bool) -> bool:
    import msvcrt

    while True:
        with suppress(OSError):
            msvcrt.locking(fd, msvcrt.LK_LOCK if wait else msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined,unused-ignore]
            return True
        if not wait:
            return False


def wait_for_lock(fd: int, seconds: float, each: Callable[[float], object]) -> bool:
    """Wait until an open file or folder is locked; return whether it is, after so many seconds at most.

    Args:
        fd: its descriptor.
        seconds: to wait.
        each: is called again and again while waiting, with the seconds that have passed.
    """
    from time import monotonic, sleep

    started = monotonic()
    while not lock_fd(fd, wait=False):
        waited = monotonic() - started
        if waited > seconds:
            return False
        each(waited)
        sleep(_RETRY_INTERVAL)
    return True


def unlock_and_close(fd: int) -> None:
    """Release the lock at once, even if a process that was forked meanwhile still has the descriptor."""
    with suppress(OSError, ImportError):
        import fcntl

        fcntl.flock(fd, fcntl.LOCK_UN)
    os.close(fd)
