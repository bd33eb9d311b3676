"""Describe files by their status: the type, the owner, and a fingerprint that changes with them."""

from __future__ import annotations

import os
import stat
import sys
from operator import attrgetter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection
    from typing import Literal

SETTLE_NS = 2_000_000_000
"""Nanoseconds. A file that changed more recently may change again in the same tick of its file system's clock
(2 seconds on FAT, less elsewhere), and its fingerprint would stay the same."""


def describe_file_type(mode: int) -> str:
    """Return what type of file has a mode, such as "a folder"."""
    for test, words in (
        (stat.S_ISDIR, "a folder"),
        (stat.S_ISFIFO, "a FIFO"),
        (stat.S_ISSOCK, "a socket"),
        (stat.S_ISCHR, "a device"),
        (stat.S_ISBLK, "a device"),
        (stat.S_ISLNK, "a link"),
    ):
        if test(mode):
            return words
    return "a regular file" if stat.S_ISREG(mode) else "something else"


stat_fingerprint: Callable[[os.stat_result], tuple[int, ...]] = attrgetter(
    "st_mode", "st_ino", "st_dev", "st_size", "st_mtime_ns", "st_ctime_ns"
)
"""Return six numbers that change whenever the type, size, place, owner, mode or content of a file changes.

Only the system can set `ctime`; on Windows it is the time of creation."""


SHARED_VARIABLE = "PROWESS_SHARED_DIR"
"""The environment variable with the folders that the user shares with others on purpose, separated like `PATH`."""


def caller_of_sudo() -> int | None:
    """Return the user who called `sudo`, if this process is root; otherwise `None`."""
    caller = os.environ.get("SUDO_UID", "") if sys.platform != "win32" and os.geteuid() == 0 else ""
    return int(caller) if caller.isascii() and caller.isdecimal() and int(caller) < 1 << 32 else None


def shared_bits() -> int:
    """Return the permissions that others have in what is installed: they can write only if the user shares a folder."""
    return 0o022 if os.environ.get(SHARED_VARIABLE) else 0


def own_users() -> frozenset[int]:
    """Return who counts as this user: the effective one, and for root also the one who called `sudo`."""
    user, caller = os.geteuid(), caller_of_sudo()
    return frozenset((user, user if caller is None else caller))


def ownership_problem(
    path: str, status: os.stat_result, *, also: Collection[int] = ()
) -> Literal["owner", "writable"] | None:
    """Return why a file or folder may be another user's work: its owner, or its permissions.

    What is in a folder of `PROWESS_SHARED_DIR` counts as this user's own, and so does everything on Windows.

    Args:
        path: the file or folder.
        status: its status, as `os.lstat` or `os.fstat` returns it; the permissions of a link do not count.
        also: further users who are trusted, such as root.
    """
    problem = foreign_problem(status, also=also)
    return None if problem is not None and is_shared(path) else problem


def foreign_problem(status: os.stat_result, *, also: Collection[int] = ()) -> Literal["owner", "writable"] | None:
    """Return what `ownership_problem` does for a file that is in no folder of `PROWESS_SHARED_DIR`."""
    if sys.platform == "win32":
        return None
    if status.st_uid != os.geteuid() and status.st_uid not in (*also, *own_users()):
        return "owner"
    is_open = not stat.S_ISLNK(status.st_mode) and _others_can_write(status)
    return "writable" if is_open else None


def owner_and_writers(path: str) -> str:
    """Return the number of the owner of a path, links not followed, with a `w` if others can write to it.

    It is empty if the path does not exist, and on Windows.
    """
    if sys.platform == "win32":
        return ""
    try:
        status = os.lstat(path)
    except (OSError, ValueError):
        return ""
    is_open = status.st_mode & 0o022 and not stat.S_ISLNK(status.st_mode)
    return f"{status.st_uid}{'w' if is_open else ''}"


def is_own_file(path: str, status: os.stat_result, is_type: Callable[[int], bool] = stat.S_ISREG) -> bool:
    """Return whether a file belongs to the user, and other users may not write to it.

    Args:
        path: the file.
        status: as `os.lstat` or `os.fstat` returns it.
        is_type: the type it must have, such as `stat.S_ISDIR`.
    """
    return is_type(status.st_mode) and ownership_problem(path, status) is None


def _others_can_write(status: os.stat_result) -> bool:
    return bool(status.st_mode & 0o002) or bool(status.st_mode & 0o020 and not _is_private_group(status))


def _is_private_group(status: os.stat_result) -> bool:
    """Return whether the group of a file has only its owner: the group that many systems make for each user."""
    import grp
    import pwd

    try:
        user = pwd.getpwuid(status.st_uid)
    except KeyError:
        user = None
    try:
        group = grp.getgrgid(status.st_gid)
    except KeyError:  # in a container: a user of the machine outside, with the private group there
        return user is None and status.st_uid == status.st_gid
    # In some containers users without an account have the group of root.
    if user is None or group.gr_gid == 0 or (group.gr_gid, group.gr_name) != (user.pw_gid, user.pw_name):
        return False
    return {*group.gr_mem} <= {user.pw_name}


def is_shared(path: str) -> bool:
    """Return whether the user shares a path with others on purpose."""
    folders = list(filter(os.path.isabs, os.environ.get(SHARED_VARIABLE, "").split(os.pathsep)))
    if not folders:
        return False
    try:
        real, *shared = (os.path.join(os.path.realpath(each), "") for each in (path, *folders))  # noqa: TID251 - `files` imports this
    except OSError:  # a link that cannot be read
        return False
    return any(map(real.startswith, shared))
