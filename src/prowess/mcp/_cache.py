"""Keep files of remote skills on disk, so that they are fetched once; each is hashed again whenever it is used.

The files are below `mcp/LABEL` in the cache folder and have digests for names, so no agent finds a skill there. A file
is written in one step and never changed, so many processes may share the folder.
"""

from __future__ import annotations

import hashlib
import os
import stat
from contextlib import suppress

from prowess._internal.files import read_up_to
from prowess._internal.fs import READ_FLAGS, atomic_replace, open_fd

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_MAX_BYTES = 256 << 20
"""Bytes of one server that are kept; what was written first is removed first."""
_WRITES_BETWEEN_CHECKS = 64


def has_digest(data: bytes, digest: str) -> bool:
    """Return whether bytes have a digest of the form `sha256:HEX`."""
    return f"sha256:{hashlib.sha256(data).hexdigest()}" == digest


class FileCache:
    """The files of one server.

    Args:
        folder: where they are; created when the first file is kept. `None` to keep nothing.
    """

    def __init__(self, folder: str | None) -> None:
        self._folder = folder
        self._writes = 0

    def read(self, skill: str, digest: str, size: int) -> bytes | None:
        """Return the bytes with a digest and size; `None` if they are not kept, or changed.

        Args:
            skill: the URI of the skill.
            digest: `sha256:` and 64 hexadecimal digits.
            size: in bytes.
        """
        if self._folder is None:
            return None
        try:
            with open_fd(self._path(skill, digest), READ_FLAGS) as fd:
                status = os.fstat(fd)
                if not stat.S_ISREG(status.st_mode) or status.st_size != size:
                    return None
                data = read_up_to(fd, size)
        except (OSError, ValueError):
            return None
        return data if len(data) == size and has_digest(data, digest) else None

    def write(self, skill: str, digest: str, data: bytes) -> None:
        """Keep verified bytes; a cache that cannot be written is a cache that keeps nothing."""
        if self._folder is None:
            return
        path = self._path(skill, digest)
        with suppress(OSError, ValueError):
            os.makedirs(os.path.dirname(path), 0o700, exist_ok=True)
            atomic_replace(path, data)
            if self._writes % _WRITES_BETWEEN_CHECKS == 0:
                self._remove_oldest()
            self._writes += 1

    def _path(self, skill: str, digest: str) -> str:
        folder = hashlib.sha256(skill.encode()).hexdigest()[:32]
        return os.path.join(self._folder or "", folder, digest.removeprefix("sha256:"))

    def _remove_oldest(self) -> None:
        """Remove files until the rest is small enough."""
        files = sorted(self._files())
        total = sum(size for _, size, _ in files)
        for _, size, path in files:
            if total <= _MAX_BYTES:
                return
            with suppress(OSError):
                os.unlink(path)
            total -= size

    def _files(self) -> Iterator[tuple[float, int, str]]:
        for folder in _scan(self._folder or ""):
            for file in _scan(folder.path):
                with suppress(OSError):
                    status = file.stat(follow_symlinks=False)
                    yield status.st_mtime, status.st_size, file.path


def _scan(folder: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError:
        return []
