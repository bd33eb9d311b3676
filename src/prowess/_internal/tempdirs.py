"""Create temporary folders that are removed even if the process that made them is killed.

Each folder contains a file that its process keeps locked; child processes may inherit the descriptor. When the next
folder is created, those whose file is not locked any more are removed. The folder itself is not kept open: with an open
folder a client could leave its sandbox.
"""

from __future__ import annotations

import errno
import os
import stat
from contextlib import suppress

from .file_status import own_users
from .fs import NO_LINK_FLAGS, remove_tree
from .locked import lock_fd
from .signals import deferred_signals

IN_USE_FILE = "in-use"
"""The locked file in the folder."""
STALE_SECONDS = 60.0
"""Seconds after which a folder without a lock counts as left behind."""


class TemporaryDirectory:
    """A temporary folder, which is removed when it is closed or the process ends.

    Attributes:
        path: the absolute path.
        lock_fd: the descriptor of the locked file.

    Raises:
        OSError: it cannot be created.
    """

    def __init__(self, prefix: str, top: str) -> None:
        import tempfile
        import weakref

        _remove_stale_directories(top, prefix)
        with deferred_signals():
            self.path = tempfile.mkdtemp(prefix=prefix, dir=top)
            self.lock_fd = os.open(
                os.path.join(self.path, IN_USE_FILE), os.O_RDONLY | os.O_CREAT | os.O_EXCL | NO_LINK_FLAGS, 0o600
            )
            lock_fd(self.lock_fd, shared=True, wait=False)
            self.close = weakref.finalize(self, _remove_and_unlock, self.path, self.lock_fd, os.getpid())
            """Removes the folder; calling it again does nothing."""


def temporary_directory_root() -> str:
    """Return the folder in which temporary folders are created: `TMPDIR` if it is set, even if it does not exist."""
    import tempfile

    return os.path.abspath(os.fsdecode(tempfile.tempdir or os.environ.get("TMPDIR") or tempfile.gettempdir()))


def _remove_and_unlock(path: str, lock_fd: int, owner: int) -> None:
    """Remove a folder and release its lock, except in a process that was forked from the owner.

    Raises:
        OSError: something in the folder cannot be removed.
    """
    if os.getpid() != owner:
        return
    with deferred_signals():
        try:
            _remove_with_retries(path)
        finally:
            with suppress(OSError):
                os.close(lock_fd)


def _remove_with_retries(path: str) -> None:
    """Remove a folder and everything in it.

    Raises:
        OSError: something in it cannot be removed.
    """
    from time import sleep

    # A process that was started there may still be writing.
    for pause in (0.0, 0.05, 0.2, 0.5, 1.0):
        sleep(pause)
        remove_tree(path)
        if not os.path.lexists(path):
            return
    raise OSError(errno.ENOTEMPTY, os.strerror(errno.ENOTEMPTY), path)


def _remove_stale_directories(top: str, prefix: str) -> None:
    """Remove folders that killed processes left behind; only names that `mkdtemp` makes count."""
    import re

    is_our_name = re.compile(rf"{re.escape(prefix)}[a-z0-9_]{{8}}").fullmatch
    with suppress(OSError), os.scandir(top) as entries:
        for entry in entries:
            if is_our_name(entry.name):
                with suppress(OSError):
                    _remove_if_stale(entry.path)


def _remove_if_stale(path: str) -> None:
    """Remove a folder unless a running process uses it."""
    from time import time

    status = os.lstat(path)
    if (
        not stat.S_ISDIR(status.st_mode)
        or status.st_uid not in own_users()
        or abs(time() - status.st_mtime) < STALE_SECONDS
    ):
        return
    try:
        fd = os.open(os.path.join(path, IN_USE_FILE), os.O_RDONLY | NO_LINK_FLAGS)
    except FileNotFoundError:  # the process was killed before it made the file
        _remove_with_retries(path)
        return
    try:
        if lock_fd(fd, wait=False, without_locks=False):
            _remove_with_retries(path)
    finally:
        os.close(fd)
