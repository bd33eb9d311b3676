"""Write and read the cache's files: lists of sections with a checksum.

    file = magic checksum *(" " length) newline *section

A file that is damaged, cut short, not regular or not the user's own is as if it were missing.
"""

from __future__ import annotations

import os
import stat
import sys
from itertools import chain
from zlib import crc32

from prowess._internal.file_status import is_own_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = [
    "count_texts",
    "decode_texts",
    "encode_texts",
    "file_name",
    "read_sections",
    "user_identity",
    "write_sections",
]

MAX_FILE_BYTES = 64 * 1024 * 1024
"""Bytes of one file."""

_MAGIC = b"prowess-cache 1 "
_HEAD_BYTES = 512
_OPEN_FLAGS = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
_OPEN_FLAGS |= getattr(os, "O_NONBLOCK", 0)


# ── files ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def file_name(kind: str, key: bytes) -> str:
    """Return the name of the file of a kind for a key."""
    # Two keys with the same name replace each other's file; the file holds the whole key, which is compared.
    return f"{kind}-{crc32(key):08x}{crc32(key[::-1]):08x}"


def read_sections(folder: str, name: str) -> list[memoryview]:
    """Return the sections of a file; none if the file is missing or invalid."""
    try:
        if not is_own_file(os.lstat(folder), stat.S_ISDIR):
            return []
        fd = os.open(os.path.join(folder, name), _OPEN_FLAGS)
    except (OSError, ValueError):
        return []
    try:
        return _read_sections(fd)
    except OSError:
        return []
    finally:
        os.close(fd)


def _read_sections(fd: int) -> list[memoryview]:
    """Return the sections of an open file; none if it is invalid.

    Raises:
        OSError: it cannot be read.
    """
    status = os.fstat(fd)
    if not is_own_file(status) or status.st_size > MAX_FILE_BYTES:
        return []
    rest = os.read(fd, _HEAD_BYTES)
    end = rest.find(b"\n")
    if end < 0 or not rest.startswith(_MAGIC):
        return []
    known, *lengths = rest[len(_MAGIC) : end].split(b" ")
    if not all(map(bytes.isdigit, lengths)) or sum(map(int, lengths)) != status.st_size - end - 1:
        return []
    rest, checksum = rest[end + 1 :], crc32(b" ".join(lengths))
    sections = []
    # One after the other: a caller that needs some of them does not keep the rest in memory.
    for size in map(int, lengths):
        parts, left = [rest[:size]] if rest else [], size - len(rest[:size])
        rest = rest[size:]
        while left > 0 and (part := os.read(fd, left)):
            parts.append(part)
            left -= len(part)
        section = parts[0] if len(parts) == 1 else b"".join(parts)
        checksum = crc32(section, checksum)
        sections.append(memoryview(section))
        if left:
            return []
    return sections if known == b"%08x" % checksum else []


def write_sections(
    folder: str, name: str, sections: Sequence[bytes | memoryview | Sequence[bytes | memoryview]]
) -> bool:
    """Write a file, and remove old ones; return whether that was possible. Never raises.

    Args:
        folder: of the cache.
        name: of the file.
        sections: each whole or in parts.
    """
    from ._cache_files import evict_files, write_file

    parts = [[section] if isinstance(section, bytes | memoryview) else section for section in sections]
    lengths = b" ".join(b"%d" % sum(map(len, section)) for section in parts)
    # Not joined: a copy of all would be the most memory that a process needs.
    flat = [*chain.from_iterable(parts)]
    checksum = crc32(lengths)
    for part in flat:
        checksum = crc32(part, checksum)
    head = _MAGIC + b"%08x " % checksum + lengths + b"\n"
    size = len(head) + sum(map(len, flat))
    if size > MAX_FILE_BYTES:
        return False
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        if not is_own_file(os.lstat(folder), stat.S_ISDIR):
            return False
        evict_files(folder, size)
        write_file(folder, name, [head, *flat])
    except (OSError, ValueError, RecursionError):  # the last for a folder that is too deep to create
        return False
    return True


def user_identity() -> str:
    """Return the user and groups of the process, which decide what files it can read."""
    if sys.platform == "win32":
        return ""
    return f"{os.geteuid()} {os.getegid()} {sorted(os.getgroups())}"


# ── texts ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def encode_texts(texts: Sequence[str]) -> bytes | None:
    """Join texts; `None` if one of them contains a NUL, which separates them."""
    joined = "\0".join((*texts, ""))
    if joined.count("\0") != len(texts):
        return None
    try:
        return joined.encode("utf-8", "surrogatepass")
    except UnicodeEncodeError:
        return None


def decode_texts(section: memoryview) -> list[str]:
    """Split what `encode_texts` joined.

    Raises:
        ValueError: the section is invalid.
    """
    *texts, rest = bytes(section).split(b"\0")
    if rest:
        raise ValueError("a text has no end")
    try:
        # One by one: a single character beyond Latin-1 makes a string four times as large.
        return list(map(bytes.decode, texts))
    except UnicodeDecodeError:
        return [text.decode("utf-8", "surrogatepass") for text in texts]


def count_texts(section: memoryview) -> int:
    """Return how many texts `encode_texts` joined, without splitting them.

    Raises:
        ValueError: the section is invalid.
    """
    data = bytes(section)
    if data and data[-1]:
        raise ValueError("a text has no end")
    return data.count(0)
