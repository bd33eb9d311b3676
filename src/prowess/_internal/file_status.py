"""Describe files by their status: the type, the owner, and a fingerprint that changes with them."""

from __future__ import annotations

import os
import stat
import sys
from operator import attrgetter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
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


def ownership_problem(status: os.stat_result) -> Literal["owner", "writable"] | None:
    """Return why a file or folder may be another user's work: its owner, or its permissions. `None` on Windows."""
    if sys.platform == "win32":
        return None
    if status.st_uid != os.geteuid():
        return "owner"
    return "writable" if status.st_mode & 0o022 else None


def is_own_file(status: os.stat_result, is_type: Callable[[int], bool] = stat.S_ISREG) -> bool:
    """Return whether a file belongs to the user, and other users may not write to it.

    Args:
        status: as `os.lstat` or `os.fstat` returns it.
        is_type: the type it must have, such as `stat.S_ISDIR`.
    """
    return is_type(status.st_mode) and ownership_problem(status) is None
