"""Write the cache's files, and remove old ones."""

from __future__ import annotations

import marshal
import os
import re
from contextlib import suppress
from operator import itemgetter
from time import time_ns

from prowess._internal.fs import replacement_file, write_all
from prowess._internal.ownership import own_folder

from ._files import MAX_FILE_BYTES, file_name, head

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

MAX_BYTES = 256 * 1024 * 1024
"""Bytes of all files of a user."""
MAX_FILES = 512
"""Files of a user."""
_STALE_NS = 3600 * 1_000_000_000
"""Nanoseconds after which the process that wrote a temporary file is taken to be dead."""
_match_cache_file = re.compile(r"(\.)?(?:catalog|table)-[0-9a-f]{16}(?(1)\.[0-9]+\.[0-9a-f]+)").fullmatch
"""The names of the cache's files, temporary ones with a dot. Other files in the folder are never touched."""


def write_value(folder: str, kind: str, key: Sequence[str], value: Any) -> bool:
    """Write a file with the value for a key, and remove old files; return whether that was possible. Never raises.

    Args:
        folder: of the cache.
        kind: the first word of the file's name.
        key: all that the value is for.
        value: of types that `marshal` knows.
    """
    try:
        data = marshal.dumps((tuple(key), value))
        size = len(head(b"")) + len(data)
        if size > MAX_FILE_BYTES:
            return False
        own_folder(folder)
        evict_files(folder, size)
        write_file(folder, file_name(kind, key), [head(data), data])
    except (OSError, ValueError, RecursionError):  # the last for a folder that is too deep to create
        return False
    return True


def write_file(folder: str, name: str, parts: Iterable[bytes | memoryview]) -> None:
    """Write a temporary file of some parts, and move it to its name in one step.

    Raises:
        OSError: the file cannot be written.
    """
    staged = os.path.join(folder, f".{name}.{os.getpid()}.{time_ns():x}")
    with replacement_file(os.path.join(folder, name), staged=staged) as fd:
        for part in parts:
            write_all(fd, part)


def evict_files(folder: str, size: int) -> None:
    """Remove the oldest files to make room for a new one, and temporary files of processes that were killed.

    Args:
        folder: of the cache.
        size: bytes of the new file.

    Raises:
        OSError: the folder cannot be listed.
    """
    found = []
    with os.scandir(folder) as entries:
        for entry in entries:
            if match := _match_cache_file(entry.name):
                with suppress(OSError):
                    status = entry.stat(follow_symlinks=False)
                    found.append((status.st_mtime_ns, status.st_size, entry.path, bool(match[1])))
    found.sort()
    now = time_ns()
    count, total = len(found), size + sum(map(itemgetter(1), found))
    for written, file_size, path, staged in found:
        if now - written > _STALE_NS if staged else count >= MAX_FILES or total > MAX_BYTES:
            with suppress(OSError):
                os.unlink(path)
                count, total = count - 1, total - file_size
