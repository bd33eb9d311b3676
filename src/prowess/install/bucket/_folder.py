"""Use a folder that a team shares like a bucket."""

from __future__ import annotations

import os

from prowess._internal.files import UnreadableError, read_file
from prowess._internal.frozen import Frozen
from prowess._internal.fs import atomic_replace
from prowess._internal.text import PATH_LIMIT, describe_os_error, quoted
from prowess.errors import InstallError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    Version = Mapping[str, str]

__all__ = ["MAX_OBJECTS", "FolderBucket", "StoredObject"]

MAX_OBJECTS = 100_000
"""Objects below one URL; more are refused."""
_MAX_DEPTH = 64


class StoredObject(Frozen):
    """An object in a bucket."""

    key: str
    """Below the URL of the bucket, with `/`. Nothing else is known of its characters."""
    size: int
    tag: str
    """What the store says names the content (its ETag); empty in a folder."""
    executable: bool = False
    """Only files of a folder can be executable."""


class FolderBucket:
    """A folder that is used like a bucket, such as one that a team shares.

    Args:
        folder: absolute.
    """

    def __init__(self, folder: str) -> None:
        self.url = f"file://{folder}"
        self._folder = folder

    def close(self) -> None:
        """Do nothing: no file stays open."""

    def objects(self) -> list[StoredObject]:
        """Return all files, in the order of their paths.

        Raises:
            InstallError: the folder cannot be read, or has too many files.
        """
        try:
            return sorted(self._list("", _MAX_DEPTH, [MAX_OBJECTS]), key=lambda item: item.key)
        except OSError as error:
            message = f"the folder {quoted(self._folder, PATH_LIMIT)} cannot be read: {describe_os_error(error)}"
            raise InstallError(message, hint="check the path") from None

    def _list(self, above: str, depth: int, left: list[int]) -> Iterator[StoredObject]:
        with os.scandir(os.path.join(self._folder, above)) as found:
            entries = list(found)
        left[0] -= len(entries)
        if left[0] < 0 or depth == 0:
            problem = f"has more than {MAX_OBJECTS:,} files" if depth else "is too deep"
            raise InstallError(f"the folder {quoted(self._folder, PATH_LIMIT)} {problem}", hint="name a smaller one")
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                yield from self._list(f"{above}{entry.name}/", depth - 1, left)
            else:  # a link is an object too, and refused when it is read
                status = entry.stat(follow_symlinks=False)
                yield StoredObject(
                    key=above + entry.name, size=status.st_size, tag="", executable=bool(status.st_mode & 0o100)
                )

    def read(self, objects: Sequence[StoredObject], done: Callable[[StoredObject, bytes], None]) -> None:
        """Read files, and call `done` with each and its content.

        Raises:
            InstallError: one cannot be read.
        """
        for item in objects:
            try:
                data = read_file(os.path.join(self._folder, item.key), limit=item.size)
            except UnreadableError as error:
                message = f"{quoted(item.key, PATH_LIMIT)} cannot be read: {error.message}"
                raise InstallError(message, hint=error.hint) from None
            done(item, data)

    def compare(self, key: str, data: bytes) -> tuple[Version | None, bool]:
        """Return an empty version if there is a file, `None` if it is missing, and whether it has exactly this content.

        Raises:
            InstallError: it cannot be read.
        """
        path = os.path.join(self._folder, key)
        if not os.path.lexists(path):
            return None, False
        try:
            return {}, read_file(path, limit=len(data)) == data
        except UnreadableError as error:
            if error.code == "file-too-large":
                return {}, False
            message = f"{quoted(key, PATH_LIMIT)} cannot be read: {error.message}"
            raise InstallError(message, hint=error.hint) from None

    def write(self, key: str, data: bytes, present: Version | None) -> None:  # noqa: ARG002
        """Write a file, in place of one that has the path.

        Raises:
            InstallError: it cannot be written.
        """
        try:
            os.makedirs(os.path.dirname(path := os.path.join(self._folder, key)), exist_ok=True)
            atomic_replace(path, data, mode=0o644)
        except OSError as error:
            raise InstallError(f"cannot write {quoted(key, PATH_LIMIT)}: {describe_os_error(error)}") from None
