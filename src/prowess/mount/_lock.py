"""Lock a skills folder against other processes, and create the folders on the way to it."""

from __future__ import annotations

import errno
import os
from contextlib import suppress

from prowess._internal.files import real_path
from prowess._internal.fs import FOLDER_FLAGS
from prowess._internal.text import PATH_LIMIT, describe_os_error, neutral, quoted
from prowess.errors import SkillMountError, SkillNotFoundError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

__all__ = ["check_skills_path", "open_and_lock", "remove_empty_folders", "unlock_and_close", "unusable_error"]

LOCK_TIMEOUT = 60.0
"""Seconds to wait for another process that mounts into the same folder."""
_CREATE_TIMEOUT = 5.0
"""Seconds to keep creating a folder on the way if another process removes it again and again."""
_RETRY_INTERVAL = 0.002
"""Seconds."""


def check_skills_path(home: str, root: str) -> None:
    """Check that a skills folder and the folders on the way to it can be used or created.

    Args:
        home: an absolute path; it may be a link.
        root: the skills folder, relative to the home.

    Raises:
        SkillMountError: one of them is a link, or not a folder.
    """
    path = home
    for part in ("", *filter(None, root.split("/"))):
        path = f"{path}/{part}" if part else home
        if not os.path.lexists(path):
            return
        if not os.path.isdir(path) or (part and os.path.islink(path)):
            raise unusable_error(path, NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR)))


def open_and_lock(
    home: str, root: str, *, make: bool, created: dict[str, None], deliver_signals: Callable[[], None]
) -> int:
    """Open and lock the parent of a skills folder, and return its descriptor.

    Args:
        home: an absolute path.
        root: the skills folder, relative to the home.
        make: whether to create missing folders.
        created: gets the folders that were created: the home and its parents absolute, others relative to the home.
        deliver_signals: is called while waiting.

    Raises:
        SkillMountError: a folder is unusable or cannot be created, or another process keeps the lock.
        SkillNotFoundError: a folder is missing and is not to be created.
    """
    from time import monotonic, sleep

    started = monotonic()
    path = os.path.join(home, os.path.dirname(root))
    while True:
        try:
            parent_fd = _open_parent(home, os.path.dirname(root), make, created)
        except FileNotFoundError as error:
            shown = os.path.join(home, root)
            if not make:
                raise SkillNotFoundError(f"nothing is mounted in {neutral(shown)}") from None
            if monotonic() < started + _CREATE_TIMEOUT:
                deliver_signals()
                sleep(_RETRY_INTERVAL)
                continue  # another process removed a folder between two steps
            raise _create_error(shown, error) from None
        try:
            _wait_for_lock(parent_fd, path, started + LOCK_TIMEOUT, deliver_signals)
        except BaseException:
            os.close(parent_fd)
            raise
        with suppress(OSError):
            if os.path.samestat(os.stat(path, follow_symlinks=False), os.fstat(parent_fd)):
                return parent_fd
        os.close(parent_fd)  # another process replaced the folder before it was locked


def unlock_and_close(fd: int) -> None:
    """Release the lock at once, even if a process that was forked meanwhile still has the descriptor."""
    import fcntl

    with suppress(OSError):
        fcntl.flock(fd, fcntl.LOCK_UN)
    os.close(fd)


def remove_empty_folders(home: str, paths: Iterable[str]) -> None:
    """Remove those of the folders that are empty; paths are relative to the home or absolute."""
    for path in sorted((os.path.join(home, path) for path in paths), key=len, reverse=True):
        with suppress(OSError):
            os.rmdir(path)


def unusable_error(path: str, error: OSError) -> SkillMountError:
    """Return the error for a folder on the way to the skills that cannot be used."""
    if os.path.islink(path):
        hint = f"replace it with a folder, or mount into its target: {neutral(real_path(path))}"
        return SkillMountError(f"{quoted(path, PATH_LIMIT)} is a link; skills are not mounted through links", hint=hint)
    hint = "make room on the disk" if error.errno in (errno.ENOSPC, errno.EDQUOT) else "make it a folder that you own"
    return SkillMountError(f"{quoted(path, PATH_LIMIT)} cannot be used: {describe_os_error(error)}", hint=hint)


def _create_error(path: str, error: OSError) -> SkillMountError:
    return SkillMountError(
        f"{quoted(path, PATH_LIMIT)} cannot be created: {describe_os_error(error)}",
        hint="choose a home in a folder that you can write to",
    )


def _open_parent(home: str, path: str, make: bool, created: dict[str, None]) -> int:
    """Open a folder below the home part by part, and return its descriptor.

    Raises:
        FileNotFoundError: it is missing, or was removed meanwhile.
        SkillMountError: it cannot be opened or created.
    """
    if make and not os.path.isdir(home):
        _make_home(home, created)
    fd, reached = -1, home
    try:
        fd = os.open(home, FOLDER_FLAGS & ~getattr(os, "O_NOFOLLOW", 0))
        for part in filter(None, path.split("/")):
            reached = f"{reached}/{part}"
            if make:
                with suppress(FileExistsError):
                    os.mkdir(part, 0o755, dir_fd=fd)
                    created[os.path.relpath(reached, home)] = None
            inner_fd = os.open(part, FOLDER_FLAGS, dir_fd=fd)
            os.close(fd)
            fd = inner_fd
    except OSError as error:
        if fd >= 0:
            os.close(fd)
        if isinstance(error, FileNotFoundError):
            raise
        raise unusable_error(reached, error) from None
    return fd


def _make_home(home: str, created: dict[str, None]) -> None:
    """Create a home and its missing parents.

    Raises:
        SkillMountError: one of them cannot be created.
    """
    missing: list[str] = []
    path = home
    while not os.path.lexists(path):
        missing.append(path)
        path = os.path.dirname(path)
    created.update(dict.fromkeys(missing))
    try:
        for path in reversed(missing):
            with suppress(FileExistsError):
                os.mkdir(path, 0o755)
        if os.path.lexists(home) and not os.path.isdir(home):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST))
    except OSError as error:
        raise _create_error(home, error) from None


def _wait_for_lock(fd: int, path: str, deadline: float, deliver_signals: Callable[[], None]) -> None:
    from time import monotonic, sleep

    while not _try_lock(fd):
        deliver_signals()
        if monotonic() > deadline:
            hint = "wait until it has finished, or stop it"
            raise SkillMountError(f"another process is mounting into {neutral(path)}", hint=hint)
        sleep(_RETRY_INTERVAL)


def _try_lock(fd: int) -> bool:
    import fcntl

    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return True  # this file system has no locks: its user must run one process at a time
    return True
