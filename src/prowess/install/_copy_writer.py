"""Write what is read of a skill into a new folder, with the permissions that git would give."""

from __future__ import annotations

import os
from contextlib import contextmanager

from prowess._internal.fs import CREATE_FLAGS, write_all
from prowess._internal.text import describe_os_error
from prowess.errors import InstallError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["CopyWriter"]


class CopyWriter:
    """Gets what `read_tree` reads, and writes it.

    Args:
        into_fd: a descriptor of the folder to write into.
        name: of the new folder in it.
    """

    def __init__(self, into_fd: int, name: str) -> None:
        self._into_fd, self._name = into_fd, name
        self._fd = -1

    def _target(self, path: str) -> str:
        return f"{self._name}/{path}" if path else self._name

    def open_folder(self, path: str) -> None:
        with _write_errors():
            os.mkdir(self._target(path), 0o777, dir_fd=self._into_fd)

    def close_folder(self, path: str, mode: int) -> None:
        pass

    def open_file(self, path: str) -> Callable[[bytes], None]:
        with _write_errors():
            self._fd = os.open(self._target(path), CREATE_FLAGS, 0o666, dir_fd=self._into_fd)
        return self._write

    def _write(self, data: bytes) -> None:
        with _write_errors():
            write_all(self._fd, data)

    def close_file(self, path: str, mode: int) -> None:  # noqa: ARG002
        with _write_errors():
            if mode & 0o100:
                given = os.fstat(self._fd).st_mode
                os.fchmod(self._fd, given | (given & 0o444) >> 2)  # executable for those who can read it
            self.close()

    def add_link(self, path: str, target: str) -> None:
        with _write_errors():
            os.symlink(target, self._target(path), dir_fd=self._into_fd)

    def close(self) -> None:
        """Close the file of a copy that was not completed."""
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)


@contextmanager
def _write_errors() -> Iterator[None]:
    """Turn an error of the system into one that says that the copy failed, not the source.

    Raises:
        InstallError: writing failed.
    """
    try:
        yield
    except OSError as error:
        raise InstallError(f"cannot copy the skill: {describe_os_error(error)}", hint="make room on the disk") from None
