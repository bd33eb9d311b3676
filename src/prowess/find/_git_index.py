"""Read git's index: which files a repository tracks, and which skills, since git ignores no tracked file.

Git itself is not asked, since the settings of a repository can name programs that git runs. The format is described in
git's documentation, `gitformat-index`.
"""

from __future__ import annotations

import os
from itertools import accumulate

from prowess._internal.files import SKILL_FILE, UnreadableError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from prowess.filesystem import Filesystem

_MAX_INDEX_BYTES = 64 * 1024 * 1024
_MAX_PATH_BYTES = 4096
_STAT_BYTES = 40
"""What an entry says about its file before the hash of its content."""
_HASH_BYTES = (20, 32)
_EXTENDED_FLAG = 0x40


def tracked_skill_paths(repository: str, filesystem: Filesystem) -> frozenset[str]:
    """Return the path of each SKILL.md that git tracks and of the folders above it, relative to the repository.

    Without a readable index, nothing is tracked.
    """
    try:
        index = os.path.join(_git_folder(repository, filesystem), "index")
        data = filesystem.data(index, _MAX_INDEX_BYTES, follow=False)
    except (UnreadableError, ValueError):
        return frozenset()
    for hash_bytes in _HASH_BYTES:
        try:
            names = [name for name in index_paths(data, hash_bytes) if name.endswith(SKILL_FILE.encode())]
        except (IndexError, ValueError):
            continue
        paths = [os.fsdecode(name) for name in names if os.path.basename(name) == SKILL_FILE.encode()]
        return frozenset(part for path in paths for part in accumulate(path.split("/"), lambda a, b: f"{a}/{b}"))
    return frozenset()


def _git_folder(repository: str, filesystem: Filesystem) -> str:
    """Return the folder of git's own files: `.git`, or what the file `.git` of a worktree or submodule names.

    Raises:
        UnreadableError: `.git` is neither a folder nor a small file.
    """
    path = os.path.join(repository, ".git")
    if filesystem.kind(path) == "d":
        return path
    text = os.fsdecode(filesystem.data(path, _MAX_PATH_BYTES, follow=False))
    return os.path.join(repository, text.removeprefix("gitdir:").strip())


def index_paths(data: bytes, hash_bytes: int) -> Iterator[bytes]:
    """Yield the path of each entry of an index.

    Args:
        data: the file.
        hash_bytes: 20 for SHA-1, 32 for SHA-256.

    Raises:
        IndexError, ValueError: the index is damaged, or has hashes of another length.
    """
    version = int.from_bytes(data[4:8])
    if not data.startswith(b"DIRC") or version not in (2, 3, 4):
        raise ValueError("no index of a known version")
    position = 12
    name = b""
    for _ in range(int.from_bytes(data[8:12])):
        start = position
        position += _STAT_BYTES + hash_bytes
        length = (data[position] & 0x0F) << 8 | data[position + 1]
        position += 4 if data[position] & _EXTENDED_FLAG else 2
        kept = 0
        if version == 4:
            removed, position = _read_number(data, position)
            kept = len(name) - removed
            if kept < 0:
                raise ValueError("a path is shorter than what it shares with the next one")
        end = data.index(0, position)
        name = name[:kept] + data[position:end]
        if length != min(len(name), 0xFFF) or len(name) > _MAX_PATH_BYTES:
            raise ValueError("the length of a path is wrong")
        yield name
        # Before version 4, entries are padded with 1 to 8 zeros to a multiple of 8 bytes.
        position = end + 1 if version == 4 else start + (end - start + 8) // 8 * 8


def _read_number(data: bytes, position: int) -> tuple[int, int]:
    """Return a number of variable length, and the position after it.

    Raises:
        IndexError: it does not end.
        ValueError: it is larger than any path.
    """
    value = data[position] & 0x7F
    while data[position] & 0x80:
        position += 1
        value = ((value + 1) << 7) | (data[position] & 0x7F)
        if value > _MAX_INDEX_BYTES:
            raise ValueError("a number is too large")
    return value, position + 1
