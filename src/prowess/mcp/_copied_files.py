"""Write the files of a remote skill into a temporary folder, to run or trust them."""

from __future__ import annotations

import os
from contextlib import contextmanager

from prowess._internal.files import real_path
from prowess._internal.fs import CREATE_FLAGS, open_fd, write_all
from prowess._internal.tempdirs import TemporaryDirectory, temporary_directory_root
from prowess._internal.text import describe_os_error, quoted
from prowess.errors import SkillError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["copied_files"]

_PREFIX = "prowess-remote-"


@contextmanager
def copied_files(name: str, files: Iterable[tuple[str, bytes]]) -> Iterator[str]:
    """Yield a folder with files; it is removed at the end.

    Args:
        name: of the folder.
        files: verified paths, relative to the folder, and bytes.

    Raises:
        SkillError: a file cannot be written. What `files` raises is raised too.
    """
    try:
        temporary = TemporaryDirectory(_PREFIX, real_path(temporary_directory_root()))
    except OSError as error:
        raise _copy_error(name, error) from None
    try:
        folder = os.path.join(temporary.path, "copy", name)
        for path, data in files:
            try:
                _write(os.path.join(folder, *path.split("/")), data)
            except OSError as error:
                raise _copy_error(name, error) from None
        yield folder
    finally:
        temporary.close()


def _write(path: str, data: bytes) -> None:
    """Write a new file. A protocol of texts has no permissions: what begins like a program may be started."""
    os.makedirs(os.path.dirname(path), 0o700, exist_ok=True)
    with open_fd(path, CREATE_FLAGS, 0o700 if data.startswith(b"#!") else 0o600) as fd:
        write_all(fd, data)


def _copy_error(name: str, error: OSError) -> SkillError:
    message = f"the skill {quoted(name)} cannot be copied: {describe_os_error(error)}"
    return SkillError(message, hint="check whether the disk is full, or set `TMPDIR` to a folder you may write to")
