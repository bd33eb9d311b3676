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

from prowess._internal.fs import FOLDER_FLAGS, READ_FLAGS
from prowess._internal.hashes import sha256_for

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["NotComparableError", "computed_hash", "hash_files", "sort_as_skills_does"]

# Characters in the order of the root collation (Unicode 16, CLDR 46); capital letters follow the others of their kind.
_ORDER = " _-,;:!?.'\"()[]{}@*/\\&#%`^+<=>|~$0123456789aAbBcCdDeEfFgGhHiIjJkKlLmMnNoOpPqQrRsStTuUvVwWxXyYzZ"
_PRIMARY = {ord(char): chr(_ORDER.index(char.lower()) + 32) for char in _ORDER}
_SKIPPED_FOLDERS = (".git", "node_modules")
_MAX_DEPTH = 64


class NotComparableError(Exception):
    """The order in which `skills` would hash two files is unknown, so their hash is, too."""


def computed_hash(folder: str) -> str | None:
    """Return the hash that `skills` computes for the folder of a skill.

    `None` if it is unknown, because of characters in the names of its files.

    Raises:
        OSError: a file cannot be read.
    """
    files: list[tuple[str, bytes]] = []
    fd = os.open(folder, FOLDER_FLAGS)
    try:
        _read_files(fd, "", files, _MAX_DEPTH)
    finally:
        os.close(fd)
    try:
        return hash_files(files)
    except NotComparableError:
        return None


def hash_files(files: Iterable[tuple[str, bytes]]) -> str:
    """Return the hash for files, each its path and content, in any order.

    Raises:
        NotComparableError: the order of two paths is unknown.
    """
    contents = dict(files)
    digest = sha256_for(sum(map(len, contents.values())))()
    for path in sort_as_skills_does(contents):
        digest.update(path.encode())
        digest.update(contents[path])
    result: str = digest.hexdigest()
    return result


def sort_as_skills_does(paths: Iterable[str]) -> list[str]:
    """Return paths in the order in which `skills` hashes them.

    Raises:
        NotComparableError: the order of two of them is unknown.
    """
    found = sorted(paths)
    if all(path.isascii() and path.isprintable() for path in found):
        return sorted(found, key=_ascii_key)
    if any(_is_not_utf_8(path) for path in found):
        raise NotComparableError
    return sorted(found, key=cmp_to_key(_compare))


def _ascii_key(path: str) -> tuple[str, str]:
    # Where two paths differ only in case, the small letter comes first: its code is the larger one.
    return path.translate(_PRIMARY), path.swapcase()


def _is_not_utf_8(path: str) -> bool:
    return any("\ud800" <= char <= "\udfff" for char in path)


def _compare(first: str, second: str) -> int:
    """Compare two paths.

    Raises:
        NotComparableError: they do not differ before a character that is not printable ASCII.
    """
    for index, (one, other) in enumerate(zip(first, second, strict=False)):
        if not (_is_known(one) and _is_known(other)):
            raise NotComparableError
        if _PRIMARY[ord(one)] != _PRIMARY[ord(other)]:
            # The next character may be an accent of this one, or one letter together with it.
            if all(index + 1 == len(path) or _is_known(path[index + 1]) for path in (first, second)):
                return -1 if _PRIMARY[ord(one)] < _PRIMARY[ord(other)] else 1
            raise NotComparableError
    if all(map(_is_known, first)) and all(map(_is_known, second)):
        return -1 if _ascii_key(first) < _ascii_key(second) else 1
    raise NotComparableError


def _is_known(char: str) -> bool:
    return ord(char) in _PRIMARY


def _read_files(folder_fd: int, prefix: str, files: list[tuple[str, bytes]], depth: int) -> None:
    """Read the regular files of an open folder and of those below.

    Raises:
        OSError: one cannot be read.
    """
    with os.scandir(folder_fd) as found:
        entries = list(found)
    for entry in entries:
        if entry.is_dir(follow_symlinks=False):
            if entry.name in _SKIPPED_FOLDERS or depth == 0:
                continue
            fd = os.open(entry.name, FOLDER_FLAGS, dir_fd=folder_fd)
            try:
                _read_files(fd, f"{prefix}{entry.name}/", files, depth - 1)
            finally:
                os.close(fd)
        elif entry.is_file(follow_symlinks=False):
            fd = os.open(entry.name, READ_FLAGS, dir_fd=folder_fd)
            with open(fd, "rb") as file:
                files.append((prefix + entry.name, file.read()))
