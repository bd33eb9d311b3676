"""Compute the hash that the tool `skills` of Vercel writes into its lock for the folder of a skill.

It is the SHA-256 over the path and the bytes of each regular file, one after the other; folders named `.git` or
`node_modules` do not count, and links neither. That tool sorts the paths with JavaScript's `localeCompare`, which means
by the root collation of Unicode for most languages. Of it, this module knows the order of printable ASCII: characters
are compared without case first, punctuation before digits before letters; then `a` is before `A`. Another character
makes no difference if two paths differ before it. Otherwise the order is unknown, and so is the hash.
"""

from __future__ import annotations

import os
from functools import cmp_to_key
from itertools import islice

from prowess._internal.files import MAX_DIGEST_BYTES, MAX_SKILL_FILES, read_up_to
from prowess._internal.frozen import Frozen
from prowess._internal.fs import FOLDER_FLAGS, READ_FLAGS, open_fd
from prowess._internal.hashes import sha256_for

from ._read_files import read_files

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = [
    "SKIPPED_FOLDERS",
    "HashedFolder",
    "NotComparableError",
    "computed_hash",
    "hash_of_everything",
    "hash_open_folder",
    "sort_as_skills_does",
]

# Characters in the order of the root collation (Unicode 16, CLDR 46); capital letters follow the others of their kind.
_ORDER = " _-,;:!?.'\"()[]{}@*/\\&#%`^+<=>|~$0123456789aAbBcCdDeEfFgGhHiIjJkKlLmMnNoOpPqQrRsStTuUvVwWxXyYzZ"
_PRIMARY = {ord(char): chr(_ORDER.index(char.lower()) + 32) for char in _ORDER}
SKIPPED_FOLDERS = (".git", "node_modules")
_MAX_DEPTH = 64
_UNKNOWN_ORDER = "the order in which `skills` hashes its files is unknown, because of characters in their names"
_TOO_LARGE = "it is larger than a skill can be"


class NotComparableError(Exception):
    """The hash of a folder is unknown; the message says why."""


class HashedFolder(Frozen):
    """The hash of a folder, and what it covers."""

    digest: str
    """In hexadecimal."""
    paths: frozenset[str]
    """Of the files that were hashed."""


def computed_hash(folder: str) -> str | None:
    """Return the hash that `skills` computes for the folder of a skill.

    `None` if it is unknown: because of characters in the names of its files, or because it is too large for a skill.

    Raises:
        OSError: a file cannot be read.
    """
    fd = os.open(folder, FOLDER_FLAGS)
    try:
        return hash_open_folder(fd).digest
    except NotComparableError:
        return None
    finally:
        os.close(fd)


def hash_of_everything(folder: str) -> str | None:
    """Return the hash of a folder in which it covers everything; `None` if it does not, is unknown or cannot be read.

    Links, and what is in folders named `.git` or `node_modules`, may be the work of a user that the hash does not show.
    """
    try:
        with open_fd(folder, FOLDER_FLAGS) as fd:
            hashed = hash_open_folder(fd)
            return hashed.digest if hashed.paths >= read_files(fd, {}).keys() else None
    except (OSError, NotComparableError):
        return None


def hash_open_folder(folder_fd: int) -> HashedFolder:
    """Return the hash for an open folder.

    Raises:
        NotComparableError: the order of two files is unknown, or the folder is too large for a skill.
        OSError: a file cannot be read.
    """
    reader = _Reader()
    reader.read(folder_fd, "", _MAX_DEPTH)
    files = reader.files
    digest = sha256_for(sum(map(len, files.values())))()
    for path in sort_as_skills_does(files):
        digest.update(path.encode())
        digest.update(files[path])
    return HashedFolder(digest=digest.hexdigest(), paths=frozenset(files))


def sort_as_skills_does(paths: Iterable[str]) -> list[str]:
    """Return paths in the order in which `skills` hashes them.

    Raises:
        NotComparableError: the order of two of them is unknown.
    """
    found = sorted(paths)
    # `skills` takes a backslash for a slash, and cannot read what is not UTF-8.
    if any("\\" in path or _is_not_utf_8(path) for path in found):
        raise NotComparableError(_UNKNOWN_ORDER)
    if all(path.isascii() and path.isprintable() for path in found):
        return sorted(found, key=_ascii_key)
    return sorted(found, key=cmp_to_key(_compare))


def _ascii_key(path: str) -> tuple[str, str]:
    # Where two paths differ only in case, the small letter comes first: its code is the larger one.
    return path.translate(_PRIMARY), path.swapcase()


def _is_not_utf_8(path: str) -> bool:
    return not path.isascii() and any("\ud800" <= char <= "\udfff" for char in path)


def _compare(first: str, second: str) -> int:
    """Compare two paths.

    Raises:
        NotComparableError: they do not differ before a character that is not printable ASCII.
    """
    for index, (one, other) in enumerate(zip(first, second, strict=False)):
        if not (_is_known(one) and _is_known(other)):
            raise NotComparableError(_UNKNOWN_ORDER)
        if _PRIMARY[ord(one)] != _PRIMARY[ord(other)]:
            # The next character may be an accent of this one, or one letter together with it.
            if all(index + 1 == len(path) or _is_known(path[index + 1]) for path in (first, second)):
                return -1 if _PRIMARY[ord(one)] < _PRIMARY[ord(other)] else 1
            raise NotComparableError(_UNKNOWN_ORDER)
    if all(map(_is_known, first)) and all(map(_is_known, second)):
        return -1 if _ascii_key(first) < _ascii_key(second) else 1
    raise NotComparableError(_UNKNOWN_ORDER)


def _is_known(char: str) -> bool:
    return ord(char) in _PRIMARY


class _Reader:
    """Reads the regular files of a folder, as many as a skill can have."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self._bytes_left = MAX_DIGEST_BYTES
        self._entries_left = MAX_SKILL_FILES

    def read(self, folder_fd: int, prefix: str, depth: int) -> None:
        """Read an open folder and those below.

        Raises:
            NotComparableError: there are too many or too large files.
            OSError: one cannot be read.
        """
        with os.scandir(folder_fd) as found:
            entries = list(islice(found, self._entries_left + 1))
        self._entries_left -= len(entries)
        if self._entries_left < 0 or depth < 0:
            raise NotComparableError(_TOO_LARGE)
        for entry in entries:
            is_folder = entry.is_dir(follow_symlinks=False)
            if is_folder and entry.name not in SKIPPED_FOLDERS:
                fd = os.open(entry.name, FOLDER_FLAGS, dir_fd=folder_fd)
                try:
                    self.read(fd, f"{prefix}{entry.name}/", depth - 1)
                finally:
                    os.close(fd)
            elif not is_folder and entry.is_file(follow_symlinks=False):
                fd = os.open(entry.name, READ_FLAGS, dir_fd=folder_fd)
                try:
                    data = self.files[prefix + entry.name] = read_up_to(fd, self._bytes_left)
                finally:
                    os.close(fd)
                self._bytes_left -= len(data)
                if self._bytes_left < 0:
                    raise NotComparableError(_TOO_LARGE)
