"""Keep a copy of the files that are removed after a command, in an archive in which nothing runs."""

from __future__ import annotations

import io
import os
import re
import stat
from contextlib import suppress
from time import strftime, time

from prowess._internal.fs import FOLDER_FLAGS, READ_FLAGS, open_fd
from prowess._internal.ownership import own_folder
from prowess._internal.user_dirs import cache_folder

TYPE_CHECKING = False
if TYPE_CHECKING:
    import tarfile
    from collections.abc import Mapping
    from typing import IO

KEPT_DAYS = 30
_MAX_KEPT_BYTES = 16 * 1024 * 1024
"""Of the files in one archive; larger files are left out."""
_MAX_KEPT_ENTRIES = 2_000
_MAX_KEPT_DEPTH = 30
_MAX_TOTAL_BYTES = 128 * 1024 * 1024
"""Of all archives. If they are full, no more are made: a command must not push out older ones."""


_IS_ARCHIVE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}-[0-9]{6}-[0-9a-f]{8}\.tar").fullmatch


class RemovedFiles:
    """An archive of what is removed during one command, made for the first file.

    Args:
        env: the environment, which says where the cache is. Without a cache nothing is kept.
    """

    def __init__(self, env: Mapping[str, str]) -> None:
        cache = cache_folder(env)
        self._folder = None if cache is None else os.path.join(cache, "removed")
        self._archive: tarfile.TarFile | None = None
        self._file: IO[bytes] | None = None
        self._bytes_left, self._entries_left = _MAX_KEPT_BYTES, _MAX_KEPT_ENTRIES
        self.path: str | None = None
        """Of the archive; `None` before the first file, or if it cannot be written."""
        self.complete = True
        """Whether it contains everything that was added."""

    def add(self, parent_fd: int, name: str, shown: str) -> None:
        """Add a file or folder; links are kept as links, and what cannot be read is left out.

        Args:
            parent_fd: the folder that contains it.
            name: its name there.
            shown: its path in the archive.
        """
        try:
            if self._archive is None:
                self._open()
            if self._archive is None:
                self.complete = False
            else:
                self._add(self._archive, parent_fd, name, shown.lstrip("/"), 0)
        except (OSError, ValueError):
            self.complete = False

    def close(self) -> None:
        """Finish the archive."""
        if self._archive is not None and self._file is not None and self.path is not None:
            try:
                with self._file:
                    self._archive.close()
            except OSError:
                self.complete = False
            with suppress(OSError):
                if not os.path.getsize(self.path):
                    os.unlink(self.path)
                    self.path = None
        self._archive = self._file = None

    def _open(self) -> None:
        """Make the archive, if there is room for one.

        Raises:
            OSError: it cannot be written.
        """
        import tarfile

        folder, self._folder = self._folder, None  # one attempt
        if folder is None:
            return
        own_folder(folder)
        if _remove_old(folder) > _MAX_TOTAL_BYTES - _MAX_KEPT_BYTES:
            return
        path = os.path.join(folder, f"{strftime('%Y-%m-%d-%H%M%S')}-{os.urandom(4).hex()}.tar")
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        self._file, self.path = os.fdopen(fd, "wb"), path
        self._archive = tarfile.open(fileobj=self._file, mode="w|")  # noqa: SIM115 - closed in `close`

    def _add(self, archive: tarfile.TarFile, parent_fd: int, name: str, shown: str, depth: int) -> None:
        import tarfile

        if self._entries_left <= 0 or depth > _MAX_KEPT_DEPTH:
            self.complete = False
            return
        self._entries_left -= 1
        status = os.stat(name, dir_fd=parent_fd, follow_symlinks=False)
        entry = tarfile.TarInfo(shown)
        entry.mode, entry.mtime = stat.S_IMODE(status.st_mode) & 0o777, int(status.st_mtime)
        if stat.S_ISDIR(status.st_mode):
            entry.type = tarfile.DIRTYPE
            archive.addfile(entry)
            with open_fd(name, FOLDER_FLAGS, dir_fd=parent_fd) as fd:
                for inner in sorted(os.listdir(fd)):
                    try:
                        self._add(archive, fd, inner, f"{shown}/{inner}", depth + 1)
                    except (OSError, ValueError):
                        self.complete = False
        elif stat.S_ISLNK(status.st_mode):
            entry.type, entry.linkname = tarfile.SYMTYPE, os.readlink(name, dir_fd=parent_fd)
            archive.addfile(entry)
        elif stat.S_ISREG(status.st_mode) and status.st_size <= self._bytes_left:
            with open_fd(name, READ_FLAGS, dir_fd=parent_fd) as fd, open(fd, "rb", closefd=False) as file:
                data = file.read(self._bytes_left)
            self._bytes_left -= len(data)
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
        else:
            self.complete = False


def _remove_old(folder: str) -> int:
    """Remove archives that are too old; return the bytes of the others."""
    total = 0
    with os.scandir(folder) as entries:
        for entry in entries:
            with suppress(OSError):
                status = entry.stat(follow_symlinks=False)
                if _IS_ARCHIVE(entry.name) and status.st_mtime < time() - KEPT_DAYS * 86_400:
                    os.unlink(entry.path)
                else:
                    total += status.st_size
    return total
