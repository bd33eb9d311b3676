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

from .held import held
from .removal import remove

__all__ = ["IN_USE", "Lodging", "place_for"]

IN_USE = "in-use"
"""The file, in the folder."""
STALE = 60.0
"""Seconds after which a folder that nobody holds was left behind."""
_FILE = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)


class Lodging:
    """A temporary folder of this process, which is removed when it is closed, and at the end of the process.

    Attributes:
        path: absolute.
        mark: the descriptor of the file that shows that it is in use.

    Raises:
        OSError: it cannot be created.
    """

    def __init__(self, prefix: str, top: str) -> None:
        import tempfile
        import weakref

        _sweep(top, prefix)
        with held():
            self.path = tempfile.mkdtemp(prefix=prefix, dir=top)
            self.mark = os.open(os.path.join(self.path, IN_USE), _FILE | os.O_CREAT | os.O_EXCL, 0o600)
            _lock(self.mark, exclusive=False)
            self.close = weakref.finalize(self, _close, self.path, self.mark, os.getpid())
            """Removes the folder; once closed it stays so."""


def place_for() -> str:
    """Return the folder that temporary folders are made in; `TMPDIR` counts even if it is none."""
    import tempfile

    return os.path.abspath(os.fsdecode(tempfile.tempdir or os.environ.get("TMPDIR") or tempfile.gettempdir()))


def _lock(fd: int, *, exclusive: bool) -> bool:
    """Hold an open file, and say whether that was possible."""
    try:
        import fcntl

        fcntl.flock(fd, (fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH) | fcntl.LOCK_NB)
    except (ImportError, OSError):
        return False
    return True


def _close(path: str, mark: int, owner: int) -> None:
    """Remove a folder, but not in a process that was forked from its owner.

    Raises:
        OSError: something in it cannot be removed.
    """
    if os.getpid() != owner:
        return
    with held():
        try:
            _remove(path)
        finally:
            with suppress(OSError):
                os.close(mark)


def _remove(path: str) -> None:
    """Remove a folder with all that is in it.

    Raises:
        OSError: something in it cannot be removed.
    """
    from time import sleep

    # What was started there may still be writing.
    for pause in (0.0, 0.05, 0.2, 0.5, 1.0):
        sleep(pause)
        remove(path)
        if not os.path.lexists(path):
            return
    raise OSError(errno.ENOTEMPTY, os.strerror(errno.ENOTEMPTY), path)


def _sweep(top: str, prefix: str) -> None:
    """Remove folders that nobody holds any more."""
    with suppress(OSError), os.scandir(top) as entries:
        for entry in entries:
            if entry.name.startswith(prefix):
                with suppress(OSError):
                    _sweep_one(entry.path)


def _sweep_one(path: str) -> None:
    """Remove a folder if its process was killed."""
    from time import time

    status = os.lstat(path)
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid() or abs(time() - status.st_mtime) < STALE:
        return
    try:
        fd = os.open(os.path.join(path, IN_USE), _FILE)
    except FileNotFoundError:  # the process was killed before it made the file
        _remove(path)
        return
    try:
        if _lock(fd, exclusive=True):
            _remove(path)
    finally:
        os.close(fd)
