"""where temporary folders are -> one for as long as somebody needs it

Who is killed cannot tidy up. So there is a file in the folder that its process holds, and whatever the file was handed
to as well; a folder that nobody holds any more is removed by whoever makes the next. The file is no folder, because
through an open folder a client's sandbox could be left.
"""

from __future__ import annotations

import errno
import os
import stat
from contextlib import suppress

from .fs import NO_LINK_FLAGS, remove_tree
from .signals import deferred_signals

__all__ = ["IN_USE_FILE", "TemporaryDirectory", "temporary_directory_root"]

IN_USE_FILE = "in-use"
"""The file, in the folder."""
STALE_SECONDS = 60.0
"""Seconds after which a folder that nobody holds was left behind."""


class TemporaryDirectory:
    """A temporary folder of this process, which is removed when it is closed, and at the end of the process.

    Attributes:
        path: absolute.
        lock_fd: the descriptor of the file that shows that it is in use.

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
            _try_lock(self.lock_fd, exclusive=False)
            self.close = weakref.finalize(self, _remove_and_unlock, self.path, self.lock_fd, os.getpid())
            """Removes the folder; once closed it stays so."""


def temporary_directory_root() -> str:
    """Return the folder that temporary folders are made in; `TMPDIR` counts even if it is none."""
    import tempfile

    return os.path.abspath(os.fsdecode(tempfile.tempdir or os.environ.get("TMPDIR") or tempfile.gettempdir()))


def _try_lock(fd: int, *, exclusive: bool) -> bool:
    """Hold an open file, and say whether that was possible."""
    try:
        import fcntl

        fcntl.flock(fd, (fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH) | fcntl.LOCK_NB)
    except (ImportError, OSError):
        return False
    return True


def _remove_and_unlock(path: str, lock_fd: int, owner: int) -> None:
    """Remove a folder, but not in a process that was forked from its owner.

    Raises:
        OSError: something in it cannot be removed.
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
    """Remove a folder with all that is in it.

    Raises:
        OSError: something in it cannot be removed.
    """
    from time import sleep

    # What was started there may still be writing.
    for pause in (0.0, 0.05, 0.2, 0.5, 1.0):
        sleep(pause)
        remove_tree(path)
        if not os.path.lexists(path):
            return
    raise OSError(errno.ENOTEMPTY, os.strerror(errno.ENOTEMPTY), path)


def _remove_stale_directories(top: str, prefix: str) -> None:
    """Remove folders that nobody holds any more."""
    with suppress(OSError), os.scandir(top) as entries:
        for entry in entries:
            if entry.name.startswith(prefix):
                with suppress(OSError):
                    _remove_if_stale(entry.path)


def _remove_if_stale(path: str) -> None:
    """Remove a folder if its process was killed."""
    from time import time

    status = os.lstat(path)
    if (
        not stat.S_ISDIR(status.st_mode)
        or status.st_uid != os.geteuid()
        or abs(time() - status.st_mtime) < STALE_SECONDS
    ):
        return
    try:
        fd = os.open(os.path.join(path, IN_USE_FILE), os.O_RDONLY | NO_LINK_FLAGS)
    except FileNotFoundError:  # the process was killed before it made the file
        _remove_with_retries(path)
        return
    try:
        if _try_lock(fd, exclusive=True):
            _remove_with_retries(path)
    finally:
        os.close(fd)
