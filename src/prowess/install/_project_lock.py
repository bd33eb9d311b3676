"""Lock the folder of a project, so that one process at a time changes its skills."""

from __future__ import annotations

import os
from contextlib import suppress

from prowess._internal.fs import FOLDER_FLAGS, open_or_make_folder
from prowess._internal.text import PATH_LIMIT, describe_os_error, quoted
from prowess.errors import InstallError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["LockedFolder", "lock_folder", "unlock_folder"]

_TIMEOUT = 60.0
"""Seconds to wait for another process."""
_QUIET = 0.5
"""Seconds to wait before the user is informed."""
_RETRY_INTERVAL = 0.01
"""Seconds."""


def lock_folder(folder: str, waiting: Callable[[], None], deliver_signals: Callable[[], None]) -> int:
    """Open and lock a folder, and return its descriptor.

    Args:
        folder: an absolute path; it may be a link.
        waiting: is called once if another process has the lock for longer than a moment.
        deliver_signals: is called while waiting.

    Raises:
        InstallError: the folder cannot be opened, or another process keeps the lock.
    """
    from time import monotonic, sleep

    try:
        fd = os.open(folder, FOLDER_FLAGS & ~getattr(os, "O_NOFOLLOW", 0))
    except OSError as error:
        message = f"{quoted(folder, PATH_LIMIT)} cannot be used: {describe_os_error(error)}"
        raise InstallError(message, hint="check the path and its permissions") from None
    started, announced, locked = monotonic(), False, False
    try:
        while not (locked := _try_lock(fd)) and (waited := monotonic() - started) < _TIMEOUT:
            deliver_signals()
            if waited > _QUIET and not announced:
                announced = True
                waiting()
            sleep(_RETRY_INTERVAL)
    finally:
        if not locked:
            os.close(fd)
    if not locked:
        message = f"another process is changing the skills of {quoted(folder, PATH_LIMIT)}"
        raise InstallError(message, hint="wait until it has finished, or stop it")
    return fd


def unlock_folder(fd: int) -> None:
    """Release the lock at once, even if a process that was forked meanwhile still has the descriptor."""
    with suppress(OSError, ImportError):
        import fcntl

        fcntl.flock(fd, fcntl.LOCK_UN)
    os.close(fd)


def _try_lock(fd: int) -> bool:
    try:
        import fcntl
    except ImportError:
        return True
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return True  # this file system has no locks: its user must run one process at a time
    return True


class LockedFolder:
    """The folder of a project while no other process changes its skills."""

    def __init__(self, project: str, lock_file: str, fd: int, deliver_signals: Callable[[], None]) -> None:
        self.project, self.lock_file, self.fd = project, lock_file, fd
        self.deliver_signals = deliver_signals
        """Handles the signals that arrived; to be called where the changes so far can be undone."""

    def nothing_changed(self, error: OSError) -> InstallError:
        """Return the error for a failure after which all is as it was."""
        message = f"nothing was changed in {quoted(self.project, PATH_LIMIT)}: {describe_os_error(error)}"
        return InstallError(message, hint="fix that, then try again")

    def open_root(self, root: str, *, make: bool = False) -> int:
        """Open a skills folder of the project, and return its descriptor, or -1 if it is missing.

        Raises:
            InstallError: it, or a folder on the way to it, is a link or not a folder.
        """
        fd = os.dup(self.fd)
        try:
            for part in root.split("/"):
                inner = open_or_make_folder(part, fd)[0] if make else os.open(part, FOLDER_FLAGS, dir_fd=fd)
                os.close(fd)
                fd = inner
        except FileNotFoundError:
            os.close(fd)
            return -1
        except OSError as error:
            os.close(fd)
            shown = quoted(os.path.join(self.project, root), PATH_LIMIT)
            if isinstance(error, PermissionError):
                raise self.nothing_changed(error) from None
            message = f"{shown} is or contains a link, or something that is not a folder"
            hint = "install into the folder to which the link leads, or replace the link by a folder"
            raise InstallError(message, hint=hint) from None
        return fd
