"""Check the paths in a repository's index, which git believes: it would read files outside the repository.

The format is git's ("gitformat-index"), versions 2 to 4.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from prowess._internal.text import PATH_LIMIT, quoted
from prowess.agent.policy import RefusedError

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["check_index"]

_HEADER_BYTES = 12
_STATUS_BYTES = 40
_EXTENDED_FLAG = 0x4000


def check_index(data: bytes, hash_bytes: int) -> None:
    """Check that every path in an index is inside the working tree.

    Args:
        data: the file.
        hash_bytes: 20 for SHA-1, 32 for SHA-256.

    Raises:
        RefusedError: a path leads out, or the file is damaged.
    """
    try:
        for path in _paths(data, hash_bytes):
            # An entry of a split index without a path has that of the shared index.
            if path and not _UNSAFE.isdisjoint(path.removesuffix(b"/").lower().split(b"/")):
                shown = quoted(path.decode("utf-8", "replace"), PATH_LIMIT)
                raise RefusedError(f"the repository's index contains the path {shown}, which is not a file in it")
    except (IndexError, ValueError):
        raise RefusedError("the repository's index is damaged; ask the user to check it with `git status`") from None


_UNSAFE = frozenset((b"", b".", b"..", b".git"))


def _paths(data: bytes, hash_bytes: int) -> Iterator[bytes]:
    """Yield the path of each entry.

    Raises:
        IndexError, ValueError: the file is damaged.
    """
    version, count = int.from_bytes(data[4:8], "big"), int.from_bytes(data[8:12], "big")
    if data[:4] != b"DIRC" or version not in (2, 3, 4):
        raise ValueError
    position, path = _HEADER_BYTES, b""
    for _ in range(count):
        start = position
        position += _STATUS_BYTES + hash_bytes
        flags = int.from_bytes(data[position : position + 2], "big")
        position += 4 if flags & _EXTENDED_FLAG and version >= 3 else 2
        if version == 4:
            removed, position = _read_number(data, position)
            if removed > len(path):
                raise ValueError
            end = data.index(b"\0", position)
            path = path[: len(path) - removed] + data[position:end]
            position = end + 1
        else:
            end = data.index(b"\0", position)
            # Git uses the length in the flags, if it fits there.
            length = flags & 0xFFF
            if length != min(end - position, 0xFFF):
                raise ValueError
            path = data[position:end]
            position = start + (end - start + 8) // 8 * 8
        yield path


def _read_number(data: bytes, position: int) -> tuple[int, int]:
    """Return a number of variable length, and the position after it."""
    byte = data[position]
    position += 1
    value = byte & 127
    while byte & 128:
        byte = data[position]
        position += 1
        value = ((value + 1) << 7) + (byte & 127)
    return value, position
