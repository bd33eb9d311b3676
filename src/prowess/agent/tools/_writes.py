"""bytes -> a file in its place, in one step"""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from typing import TYPE_CHECKING

from prowess._internal.text import describe_os_error, quoted
from prowess.agent.policy import RefusedError, ToolFailedError

from ._paths import describe_file_type, open_error, open_folder

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["replace_file"]

_MAX_SHOWN_CHARS = 200
_CREATE_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)


def replace_file(
    root: str,
    folder: Sequence[str],
    name: str,
    path: str,
    data: bytes,
    max_bytes: int,
    *,
    expected: os.stat_result | None = None,
) -> os.stat_result | None:
    """Put a file in place and return what stood there; folders that are missing are made.

    Args:
        root: the folder that is open, absolute and without links.
        folder: the way to the file's folder.
        name: the file's.
        path: as the model gave it.
        data: all of the file.
        max_bytes: bytes that may be written.
        expected: what must stand there still, if that matters.

    Raises:
        ToolFailedError: it cannot be written, or has changed.
        RefusedError: it may not be.
    """
    if len(data) > max_bytes:
        raise ToolFailedError(f"{len(data):,} bytes are too many: at most {max_bytes:,} are written; write less")
    if any(part.lower() == ".git" for part in (*folder, name)):
        # What git finds there it runs, and nobody would be asked.
        raise RefusedError(f"{quoted(path, _MAX_SHOWN_CHARS)} is git's own; nothing is written there, use git's tools")
    with open_folder(root, folder, create=True) as fd:
        old = _existing_file(fd, name, path)
        if expected is not None and (
            old is None or not os.path.samestat(old, expected) or old.st_mtime_ns != expected.st_mtime_ns
        ):
            raise ToolFailedError(f"{quoted(path, _MAX_SHOWN_CHARS)} changed meanwhile; read it again")
        staged = f".prowess-{os.urandom(8).hex()}"
        try:
            inner = os.open(staged, _CREATE_FLAGS, 0o666, dir_fd=fd)
            try:
                if old is not None:
                    os.fchmod(inner, stat.S_IMODE(old.st_mode) & 0o777)
                left = memoryview(data)
                while left:
                    left = left[os.write(inner, left) :]
            finally:
                os.close(inner)
            os.replace(staged, name, src_dir_fd=fd, dst_dir_fd=fd)
        except OSError as error:
            with suppress(OSError):
                os.unlink(staged, dir_fd=fd)
            raise ToolFailedError(
                f"{quoted(path, _MAX_SHOWN_CHARS)} cannot be written: {describe_os_error(error)}"
            ) from None
    return old


def _existing_file(fd: int, name: str, path: str) -> os.stat_result | None:
    """Return what stands in the place of a file that is to be written.

    Raises:
        ToolFailedError: it is none that may be replaced.
    """
    try:
        old = os.stat(name, dir_fd=fd, follow_symlinks=False)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise open_error(fd, name, path, error) from None
    if not stat.S_ISREG(old.st_mode):
        raise RefusedError(
            f"{quoted(path, _MAX_SHOWN_CHARS)} is {describe_file_type(old)}, which is not replaced; choose another name"
        )
    if not old.st_mode & 0o222:
        raise RefusedError(f"{quoted(path, _MAX_SHOWN_CHARS)} is write-protected; choose another name")
    return old
