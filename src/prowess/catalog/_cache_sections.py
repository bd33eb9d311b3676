"""Write and read the cache's files: lists of sections with a checksum.

    file = magic checksum *(" " length) newline *section

A file that is damaged, cut short, not regular or not the user's own is as if it were missing.
"""

from __future__ import annotations

import os
import stat
import sys
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
_OPEN_FLAGS = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
_OPEN_FLAGS |= getattr(os, "O_NONBLOCK", 0)


# ── files ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def file_name(kind: str, key: bytes) -> str:
    """Return the name of the file of a kind for a key."""
    # Two keys with the same name replace each other's file; the file holds the whole key, which is compared.
    return f"{kind}-{crc32(key):08x}{crc32(key[::-1]):08x}"


def read_sections(folder: str, name: str) -> list[memoryview]:
    """Return the sections of a file; none if the file is missing or invalid."""
    data = _read(folder, name)
    end = data.find(b"\n", 0, 512)
    if end < 0 or not data.startswith(_MAGIC):
        return []
    body = memoryview(data)[end + 1 :]
    checksum, *lengths = data[len(_MAGIC) : end].split(b" ")
    if checksum != b"%08x" % crc32(body, crc32(b" ".join(lengths))) or not all(map(bytes.isdigit, lengths)):
        return []
    if sum(map(int, lengths)) != len(body):
        return []
    sections, at = [], 0
    for size in map(int, lengths):
        sections.append(body[at : at + size])
        at += size
    return sections


def _read(folder: str, name: str) -> bytes:
    """Return the content of a file of the cache; empty if it is missing, not regular or not the user's own."""
    try:
        if not is_own_file(os.lstat(folder), stat.S_ISDIR):
            return b""
        fd = os.open(os.path.join(folder, name), _OPEN_FLAGS)
    except (OSError, ValueError):
        return b""
    try:
        status = os.fstat(fd)
        if not is_own_file(status) or status.st_size > MAX_FILE_BYTES:
            return b""
        parts = [os.read(fd, len(_MAGIC))]
        left = status.st_size - len(_MAGIC) if parts[0] == _MAGIC else 0
        while left > 0 and (part := os.read(fd, left)):
            parts.append(part)
            left -= len(part)
        return b"".join(parts)
    except OSError:
        return b""
    finally:
        os.close(fd)


def write_sections(folder: str, name: str, sections: Sequence[bytes | memoryview]) -> bool:
    """Write a file, and remove old ones; return whether that was possible. Never raises."""
    from ._cache_files import evict_files, write_file

    lengths = b" ".join(b"%d" % len(section) for section in sections)
    # Not joined: a copy of all would be the most memory that a process needs.
    checksum = crc32(lengths)
    for section in sections:
        checksum = crc32(section, checksum)
    head = _MAGIC + b"%08x " % checksum + lengths + b"\n"
    size = len(head) + sum(map(len, sections))
    if size > MAX_FILE_BYTES:
        return False
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        if not is_own_file(os.lstat(folder), stat.S_ISDIR):
            return False
        evict_files(folder, size)
        write_file(folder, name, head, *sections)
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
