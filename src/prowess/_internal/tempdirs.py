"""Create temporary folders that are removed even if the process that made them is killed.

Each folder contains a file that its process keeps locked; child processes may inherit the descriptor. When the next
folder is created, those whose file is not locked any more are removed. The folder itself is not kept open: with an open
folder a client could leave its sandbox.
"""

from __future__ import annotations

import errno
import os
import stat
import sys
from contextlib import suppress
from functools import lru_cache

from .file_status import own_users
from .files import real_path
from .fs import NO_LINK_FLAGS, remove_tree
from .locked import lock_fd
from .ownership import own_folder
from .signals import deferred_signals
from .user_dirs import cache_folder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

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


_READ_ABOVE = (".env", ".git", "node_modules", "package.json")
"""What programs look for in the folders above the file that they run."""


def temporary_directory_root(*, contained: bool = True) -> str:
    """Return the folder in which temporary folders are created: `TMPDIR` if it is set, even if it does not exist.

    Args:
        contained: whether a sandbox hides what is above a temporary folder. If not, programs in it read files above it,
            and in `/tmp` every user can write them: then it is a folder of the cache, unless only this user and root
            can write above `TMPDIR`.

    Raises:
        OSError: another user has such a file above it, and there is no other place.
    """
    usual = os.path.abspath(_usual_root())
    if contained or sys.platform == "win32":
        return usual
    # A relative folder would be in the working directory, which can be any project.
    cache = cache_folder(os.environ) if os.path.isabs(os.environ.get("PROWESS_CACHE_DIR") or os.sep) else None
    private = _private_root(usual, cache)
    if private is not None and os.path.isdir(private):
        return private
    for folder in _with_those_above(usual):
        for name in _READ_ABOVE:
            path = os.path.join(folder, name)
            with suppress(FileNotFoundError):
                if os.lstat(path).st_uid not in (0, os.geteuid()):
                    raise PermissionError(errno.EACCES, "a file of another user is above it", path)
    return usual


def _usual_root() -> str:
    """Return what `tempfile` would; it is loaded only where the answer is not plain, as it loads much."""
    loaded = sys.modules.get("tempfile")
    named = getattr(loaded, "tempdir", None) or os.environ.get("TMPDIR")
    if named:
        return os.fsdecode(named)
    if not any(map(os.environ.get, ("TEMP", "TMP"))) and os.access("/tmp", os.W_OK | os.X_OK):  # noqa: S108
        return "/tmp"  # noqa: S108 - folders in it are new, with random names
    import tempfile

    return tempfile.gettempdir()


@lru_cache(maxsize=8)
def _private_root(usual: str, cache: str | None) -> str | None:
    """Return a folder above which only this user and root can write, if there is one."""
    private = None if cache is None else os.path.join(cache, "temporary")
    for folder in (usual, private):
        with suppress(OSError):
            if folder is not None and folder == private:
                own_folder(folder)
            if folder is not None and not _others_can_write_above(folder):
                return folder
    return None


def _with_those_above(folder: str) -> Iterator[str]:
    """Yield a folder and those above it, without links."""
    path = real_path(folder)
    yield path
    while path != os.path.dirname(path):
        path = os.path.dirname(path)
        yield path


def _others_can_write_above(folder: str) -> bool:
    """Return whether another user but root can write in a folder, or in one above it."""
    for path in _with_those_above(folder):
        status = os.stat(path)
        if status.st_uid not in (0, os.geteuid()) or status.st_mode & 0o022:
            return True
    return False


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
