"""Read the files of an installed skill as a lock describes them, as fast as possible.

Each file costs four system calls: it is opened from the descriptor of its folder, so that no link is followed, and read
at once. Only files that are expected are read.
"""

from __future__ import annotations

import os
import stat
from itertools import islice

from prowess._internal.files import MAX_DIGEST_BYTES, MAX_SKILL_FILES, read_up_to
from prowess._internal.fs import FOLDER_FLAGS, READ_FLAGS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

__all__ = ["read_files"]

_MAX_DEPTH = 64
_TYPE_MASK, _REGULAR = 0o170000, stat.S_IFREG


def read_files(folder_fd: int, expected: Mapping[str, str]) -> dict[str, str]:
    """Return what is in an open folder: each path, with its mode and digest as in a lock.

    Files that are not expected have a mode alone, and what cannot be read has words that say why. Folders do not count.

    Args:
        folder_fd: a descriptor of the folder.
        expected: the paths of the lock.
    """
    return _Reader(expected).read(folder_fd)


class _Reader:
    """One run of `read_files`."""

    def __init__(self, expected: Mapping[str, str]) -> None:
        from hashlib import sha256

        self.sha256: Callable[[bytes], Any] = sha256
        self.expected = expected
        self.found: dict[str, str] = {}
        self.bytes_left = MAX_DIGEST_BYTES
        self.entries_left = MAX_SKILL_FILES

    def read(self, folder_fd: int) -> dict[str, str]:
        self._read_folder(folder_fd, "", _MAX_DEPTH)
        return self.found

    def _read_folder(self, folder_fd: int, prefix: str, depth: int) -> None:
        with os.scandir(folder_fd) as listed:
            entries = list(islice(listed, self.entries_left + 1))
        self.entries_left -= len(entries)
        if self.entries_left < 0:
            self.found[prefix] = f"more than {MAX_SKILL_FILES:,} files"
            return
        expected, found, open_file, read_file = self.expected, self.found, os.open, self._read_file
        for entry in entries:
            name = entry.name
            path = prefix + name
            if entry.is_file(follow_symlinks=False):
                if path not in expected:
                    found[path] = "100644"
                    continue
                try:
                    fd = open_file(name, READ_FLAGS, dir_fd=folder_fd)
                except OSError as error:
                    found[path] = _words(error)
                    continue
                try:
                    found[path] = read_file(fd)
                except OSError as error:
                    found[path] = _words(error)
                finally:
                    os.close(fd)
            elif entry.is_dir(follow_symlinks=False):
                self._read_inner(folder_fd, name, path, depth)
            elif entry.is_symlink():
                found[path] = self._read_link(folder_fd, name)
            else:
                found[path] = "a device, socket or FIFO"

    def _read_inner(self, folder_fd: int, name: str, path: str, depth: int) -> None:
        if depth == 0:
            self.found[path] = f"more than {_MAX_DEPTH} levels of folders"
            return
        try:
            fd = os.open(name, FOLDER_FLAGS, dir_fd=folder_fd)
        except OSError as error:
            self.found[path] = _words(error)
            return
        try:
            self._read_folder(fd, f"{path}/", depth - 1)
        except OSError as error:
            self.found[path] = _words(error)
        finally:
            os.close(fd)

    def _read_link(self, folder_fd: int, name: str) -> str:
        try:
            target = os.readlink(name, dir_fd=folder_fd)
        except OSError as error:
            return _words(error)
        return f"120000 sha256:{self.sha256(os.fsencode(target)).hexdigest()}"

    def _read_file(self, fd: int) -> str:
        """Return the mode and digest of an open file.

        Raises:
            OSError: it cannot be read.
        """
        status = os.fstat(fd)
        mode, size = status.st_mode, status.st_size
        if mode & _TYPE_MASK != _REGULAR:
            return "a device, socket or FIFO"
        if size > self.bytes_left:
            return "more bytes than a skill can have"
        data = os.read(fd, size + 1)
        if len(data) != size:  # it changes now
            data += read_up_to(fd, self.bytes_left)
        self.bytes_left -= len(data)
        return f"{'100755' if mode & 0o100 else '100644'} sha256:{self.sha256(data).hexdigest()}"


def _words(error: OSError) -> str:
    return f"unreadable: {(error.strerror or 'it cannot be opened').lower()}"
