"""what was looked at -> whether it is still so

A look is noted with what marks the state of what was seen: whatever changes a file, its kind, size, place, owner, mode
or content, changes its mark, since the system sets `ctime` itself and lets nobody else do it; Windows has no such time.
"""

from __future__ import annotations

import os
import stat
from array import array
from itertools import chain
from operator import attrgetter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

__all__ = [
    "NOT_FOUND_ERRORS",
    "FINGERPRINT_BYTES",
    "Fingerprints",
    "kind",
    "link_kind",
    "fingerprint",
    "fingerprint_path",
    "fingerprint_paths",
    "newest_time",
]

_STAT_FIELDS = attrgetter("st_mode", "st_ino", "st_dev", "st_size", "st_mtime_ns", "st_ctime_ns")
"""What a mark is made of: six numbers of eight bytes, the times last."""
FINGERPRINT_BYTES = 8 * 6
NOT_FOUND_ERRORS = (FileNotFoundError, NotADirectoryError)
"""What the system says where there is nothing."""


class Fingerprints:
    """What was looked at: each mapping by path."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        """The mark of a file that was opened, not through a link; empty where there was none."""
        self.folders: dict[str, bytes] = {}
        """The same of what was listed, or opened through links."""
        self.kinds: dict[str, str] = {}
        """What `kind` said."""
        self.links: dict[str, str] = {}
        """What `link_kind` said."""
        self.real_paths: dict[str, str] = {}
        """The path without links."""
        self.complete = True
        """Whether all was noted: of what may not be looked at, nothing tells when it may."""


def fingerprint(status: os.stat_result) -> bytes:
    """Return what marks a state; empty where it cannot be told."""
    try:
        return array("q", _STAT_FIELDS(status)).tobytes()
    except OverflowError:
        return b""


def fingerprint_path(path: str, stat_path: Callable[[str], os.stat_result] = os.lstat) -> bytes:
    """Return what marks the state of a path; empty where there is nothing.

    Raises:
        OSError: it may not be looked at.
    """
    try:
        return fingerprint(stat_path(path))
    except (*NOT_FOUND_ERRORS, ValueError):
        return b""


def fingerprint_paths(paths: Iterable[str], stat_path: Callable[[str], os.stat_result] = os.lstat) -> bytes:
    """Return the marks of many paths, one after the other, as fast as may be.

    Raises:
        OSError: there is nothing at one, or it may not be looked at.
        ValueError: one is no path.
        OverflowError: one has no mark.
    """
    return array("q", chain.from_iterable(map(_STAT_FIELDS, map(stat_path, paths)))).tobytes()


def newest_time(data: bytes) -> int:
    """Return the latest time in marks, in nanoseconds of the system's clock; 0 where there are none."""
    numbers = array("q")
    numbers.frombytes(data)
    return max(chain(numbers[4::6], numbers[5::6]), default=0)


def _kind_of_mode(mode: int) -> str:
    """Return `d` for a folder, `f` for a regular file, `l` for a link, `?` for anything else."""
    if stat.S_ISLNK(mode):
        return "l"
    return "d" if stat.S_ISDIR(mode) else "f" if stat.S_ISREG(mode) else "?"


def kind(path: str) -> str:
    """Return the letter of what a path leads to; empty for nothing.

    Raises:
        OSError: it may not be looked at.
    """
    return _kind(path, os.stat)


def link_kind(path: str) -> str:
    """Return the letter of what a path names, be it a link; empty for nothing.

    Raises:
        OSError: it may not be looked at.
    """
    return _kind(path, os.lstat)


def _kind(path: str, stat_path: Callable[[str], os.stat_result]) -> str:
    try:
        return _kind_of_mode(stat_path(path).st_mode)
    except (*NOT_FOUND_ERRORS, ValueError):
        return ""
