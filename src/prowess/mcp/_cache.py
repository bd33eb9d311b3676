"""Keep files of remote skills on disk, so that they are fetched once; each is hashed again whenever it is used.

The files are below `mcp/LABEL` in the cache folder and have digests for names, so no agent finds a skill there. A file
is written in one step and never changed, so many processes may share the folder.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
from contextlib import contextmanager, suppress

from prowess._internal.files import read_up_to
from prowess._internal.fs import FOLDER_FLAGS, READ_FLAGS, atomic_replace, open_fd, open_inside
from prowess._internal.ownership import own_folder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_MAX_BYTES = 256 << 20
"""Bytes of one server that are kept; what was written first is removed first."""
_WRITES_BETWEEN_CHECKS = 64
_IS_FOLDER = re.compile("[0-9a-f]{32}").fullmatch
_IS_FILE = re.compile(r"[0-9a-f]{64}|\.[0-9a-f]{32}\.[0-9a-f]{16}\.tmp").fullmatch
"""The second form is that of a file which a killed process was writing."""


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
            own_folder(os.path.dirname(path), self._folder)
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
        for _, size, (folder, name) in files:
            if total <= _MAX_BYTES:
                return
            with suppress(OSError), self._opened(folder) as fd:
                os.unlink(name, dir_fd=fd)
            total -= size

    def _files(self) -> Iterator[tuple[float, int, tuple[str, str]]]:
        """Yield time, size, folder and name of what this class has written; no link is followed."""
        with suppress(OSError), open_fd(self._folder or "", FOLDER_FLAGS) as top_fd:
            for folder in filter(_IS_FOLDER, os.listdir(top_fd)):
                with suppress(OSError), self._opened(folder) as fd:
                    for name in filter(_IS_FILE, os.listdir(fd)):
                        status = os.stat(name, dir_fd=fd, follow_symlinks=False)
                        yield status.st_mtime, status.st_size, (folder, name)

    @contextmanager
    def _opened(self, folder: str) -> Iterator[int]:
        """Open a folder of the cache.

        Raises:
            OSError: it is missing, or a link.
        """
        fd = open_inside(self._folder or "", (folder,), FOLDER_FLAGS)
        try:
            yield fd
        finally:
            os.close(fd)
