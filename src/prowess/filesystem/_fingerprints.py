"""Record what was read, and fingerprint it to notice when it changes.

A fingerprint holds what the system says of a file: kind and mode, place, size and times. Any change to a file or its
content changes its fingerprint, since the system alone sets `ctime`. Windows has no such time.
"""

from __future__ import annotations

import os
import stat
import struct  # not `array`, which loads `collections`
from itertools import chain

from prowess._internal.file_status import owner_and_writers, stat_fingerprint
from prowess._internal.files import real_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

FINGERPRINT_BYTES = 8 * 6
"""Six numbers of eight bytes, the times last."""
NOT_FOUND_ERRORS = (FileNotFoundError, NotADirectoryError)
"""The errors for a path that does not exist."""


RECORDS = ("files", "folders", "kinds", "links", "real_paths", "owners")
"""The mappings of `Fingerprints`."""


class Fingerprints:
    """What was read, in mappings by path."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        """The fingerprint of a file that was opened without following links; empty for a file that does not exist."""
        self.folders: dict[str, bytes] = {}
        """The fingerprint of a path that was listed, or opened through links; empty if it does not exist."""
        self.kinds: dict[str, str] = {}
        """What `kind` returned."""
        self.links: dict[str, str] = {}
        """What `link_kind` returned."""
        self.real_paths: dict[str, str] = {}
        """The path without links."""
        self.owners: dict[str, str] = {}
        """What `owner_and_writers` returned."""
        self.complete = True
        """Whether everything was recorded. No record shows when a path becomes readable."""

    def add(self, other: Fingerprints) -> None:
        """Add another record; where both differ, something has changed in between, and this one is incomplete."""
        for name in RECORDS:
            mine, theirs = getattr(self, name), getattr(other, name)
            self.complete &= all(mine.setdefault(path, observed) == observed for path, observed in theirs.items())
        self.complete &= other.complete

    def newest_time(self) -> int:
        """Return the latest time in the fingerprints, in nanoseconds of the system's clock."""
        return newest_time(b"".join((*self.files.values(), *self.folders.values())))

    def still_hold(self) -> bool:
        """Return whether all that was read is still the same."""
        try:
            return (
                _all_same(self.files, os.lstat)
                and _all_same(self.folders, os.stat)
                and all(kind(path) == known for path, known in self.kinds.items())
                and all(link_kind(path) == known for path, known in self.links.items())
                and all(real_path(path) == known for path, known in self.real_paths.items())
                and all(owner_and_writers(path) == known for path, known in self.owners.items())
            )
        except (OSError, ValueError, OverflowError):
            return False


class RecordingEnvironment(dict[str, str]):
    """An environment that records which variables are read. Use only `get`."""

    def __init__(self, env: Mapping[str, str]) -> None:
        super().__init__()
        self._env = env
        self.variables_read: dict[str, str | None] = {}

    def get(self, name: str, default: str | None = None) -> str | None:  # type: ignore[override]
        """Return a variable, and record its value."""
        value = self.variables_read[name] = self._env.get(name)
        return default if value is None else value


def fingerprint(status: os.stat_result) -> bytes:
    """Return the fingerprint of a status; empty if a number is too large for it."""
    try:
        return struct.pack("6q", *stat_fingerprint(status))
    except struct.error:
        return b""


def fingerprint_path(path: str, stat_path: Callable[[str], os.stat_result] = os.lstat) -> bytes:
    """Return the fingerprint of a path; empty if it does not exist.

    Raises:
        OSError: the path cannot be read.
    """
    try:
        return fingerprint(stat_path(path))
    except (*NOT_FOUND_ERRORS, ValueError):
        return b""


def fingerprint_paths(paths: Iterable[str], stat_path: Callable[[str], os.stat_result] = os.lstat) -> bytes:
    """Return the fingerprints of many paths, one after the other, as fast as possible.

    Raises:
        OSError: a path does not exist or cannot be read.
        ValueError: a path is invalid.
        OverflowError: a number is too large for a fingerprint.
    """
    numbers = [*chain.from_iterable(map(stat_fingerprint, map(stat_path, paths)))]
    try:
        return struct.pack(f"{len(numbers)}q", *numbers)
    except struct.error:
        raise OverflowError("a number is too large for a fingerprint") from None


def _all_same(recorded: Mapping[str, bytes], stat_path: Callable[[str], os.stat_result]) -> bool:
    """Return whether paths have the recorded fingerprints, or still do not exist.

    Raises:
        OSError: a path cannot be read, or does not exist any more.
        ValueError: a path is invalid.
        OverflowError: a number is too large for a fingerprint.
    """
    existing = {path: state for path, state in recorded.items() if state}
    if fingerprint_paths(existing, stat_path) != b"".join(existing.values()):
        return False
    return not any(fingerprint_path(path, stat_path) for path, state in recorded.items() if not state)


def newest_time(data: bytes) -> int:
    """Return the latest time in fingerprints, in nanoseconds of the system's clock; 0 without fingerprints."""
    numbers = struct.unpack(f"{len(data) // 8}q", data)
    return max(chain(numbers[4::6], numbers[5::6]), default=0)


# ── kinds of paths ───────────────────────────────────────────────────────────────────────────────────────────────────


def kind(path: str) -> str:
    """Return the kind of a path, links followed: `d` folder, `f` regular file, `?` other; empty if it does not exist.

    Raises:
        OSError: the path cannot be read.
    """
    return _kind(path, os.stat)


def link_kind(path: str) -> str:
    """Return the kind of a path as `kind` does, but `l` for a link.

    Raises:
        OSError: the path cannot be read.
    """
    return _kind(path, os.lstat)


def _kind(path: str, stat_path: Callable[[str], os.stat_result]) -> str:
    try:
        mode = stat_path(path).st_mode
    except (*NOT_FOUND_ERRORS, ValueError):
        return ""
    if stat.S_ISLNK(mode):
        return "l"
    return "d" if stat.S_ISDIR(mode) else "f" if stat.S_ISREG(mode) else "?"


def names_with_kinds(entries: Iterable[os.DirEntry[str]]) -> list[tuple[str, str]]:
    """Return the sorted names in a directory, each with its `link_kind`."""
    found = []
    for entry in entries:
        try:
            if entry.is_dir(follow_symlinks=False):
                letter = "d"
            elif entry.is_file(follow_symlinks=False):
                letter = "f"
            else:
                letter = "l" if entry.is_symlink() else "?"
        except OSError:
            letter = "?"
        found.append((entry.name, letter))
    found.sort()
    return found


def has_name(entries: Iterable[tuple[str, str]], name: str) -> bool:
    """Return whether a name is in a listing. Its case does not matter, as on some file systems."""
    folded = ""
    for listed, _ in entries:
        if listed == name:
            return True
        if len(listed) == len(name):
            folded = folded or name.casefold()
            if listed.casefold() == folded:
                return True
    return False
