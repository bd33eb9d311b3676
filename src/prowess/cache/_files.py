"""Read the cache's files.

    file = magic checksum newline (key and value, marshalled)

A file that is damaged, cut short, not regular or not the user's own is as if it were missing.
"""

from __future__ import annotations

import marshal
import os
import stat
import sys
from zlib import crc32

from prowess._internal.file_status import SHARED_VARIABLE, is_own_file, own_users

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

MAX_FILE_BYTES = 64 * 1024 * 1024
"""Bytes of one file."""
_MAGIC = b"prowess-cache 2 %08x " % sys.hexversion
_HEAD_BYTES = len(_MAGIC) + 9
_OPEN_FLAGS = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
_OPEN_FLAGS |= getattr(os, "O_NONBLOCK", 0)


def user_identity() -> str:
    """Return the user and groups of the process, which decide what files it can read, and which it believes."""
    if sys.platform == "win32":
        return ""
    ours = f"{sorted(own_users())} {os.environ.get(SHARED_VARIABLE, '')}"  # what counts as this user's own
    return f"{os.geteuid()} {os.getegid()} {sorted(os.getgroups())} {ours}"


def read_value(folder: str, kind: str, key: Sequence[str]) -> Any:
    """Return the value that a file holds for a key; `None` if the file is missing or invalid."""
    try:
        if not is_own_file(folder, os.lstat(folder), stat.S_ISDIR):
            return None
        path = os.path.join(folder, file_name(kind, key))
        fd = os.open(path, _OPEN_FLAGS)
        try:
            status = os.fstat(fd)
            if not is_own_file(path, status) or status.st_size > MAX_FILE_BYTES:
                return None
            content = memoryview(os.read(fd, status.st_size))
        finally:
            os.close(fd)
        data = content[_HEAD_BYTES:]
        if content[:_HEAD_BYTES] != head(data):
            return None
        known_key, value = marshal.loads(data)  # noqa: S302 - the user's own file, and this Python has written it
    except (OSError, EOFError, ValueError, TypeError):
        return None
    return value if known_key == tuple(key) else None


def file_name(kind: str, key: Sequence[str]) -> str:
    """Return the name of the file of a kind for a key."""
    # Two keys with the same name replace each other's file; the file holds the whole key, which is compared.
    data = "\0".join(key).encode("utf-8", "surrogatepass")
    return f"{kind}-{crc32(data):08x}{crc32(data[::-1]):08x}"


def head(data: bytes | memoryview) -> bytes:
    """Return what comes before the data in a file."""
    return _MAGIC + b"%08x\n" % crc32(data)
