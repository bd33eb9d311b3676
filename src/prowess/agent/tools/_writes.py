"""Write a file in one step, for tools that may write."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

from prowess._internal.file_status import describe_file_type
from prowess._internal.fs import replacement_file, write_all
from prowess._internal.text import PATH_LIMIT, describe_os_error, quoted
from prowess.agent.policy import RefusedError, ToolFailedError

from ._paths import open_error, open_folder
from ._write_guard import refuse_obeyed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ._protection import Protection

__all__ = ["replace_file"]


def replace_file(
    root: str,
    folder: Sequence[str],
    name: str,
    path: str,
    data: bytes,
    max_bytes: int,
    *,
    protection: Protection,
    expected: os.stat_result | None = None,
) -> os.stat_result | None:
    """Write a file, create missing folders, and return the status of the file it replaced.

    Args:
        root: the folder that the tool may use, absolute and without links.
        folder: the path of the file's folder below `root`.
        name: the file's name.
        path: the path that the model gave, for messages.
        data: the content.
        max_bytes: the limit.
        protection: what must not be written.
        expected: the status that an unchanged file still has.

    Raises:
        ToolFailedError: the file cannot be written, or has changed.
        RefusedError: the file must not be written.
    """
    if len(data) > max_bytes:
        raise ToolFailedError(f"{len(data):,} bytes are too many: the limit is {max_bytes:,}; write less")
    full = "/".join((root.rstrip("/"), *folder, name))
    protection.refuse(full, path, data)
    refuse_obeyed(protection, full, path)
    with open_folder(root, folder, create=True) as fd:
        old = _existing_file(fd, name, path)
        if expected is not None and (
            old is None or not os.path.samestat(old, expected) or old.st_mtime_ns != expected.st_mtime_ns
        ):
            raise ToolFailedError(f"{quoted(path, PATH_LIMIT)} has changed since it was read; read it again")
        try:
            with replacement_file(name, mode=0o666, dir_fd=fd) as replacement:
                if old is not None:
                    os.fchmod(replacement, stat.S_IMODE(old.st_mode) & 0o777)
                write_all(replacement, data)
        except OSError as error:
            raise ToolFailedError(f"cannot write {quoted(path, PATH_LIMIT)}: {describe_os_error(error)}") from None
    return old


def _existing_file(fd: int, name: str, path: str) -> os.stat_result | None:
    """Return the status of a file that will be replaced, or `None` if the file is new.

    Raises:
        RefusedError: it is not a regular file, or is write-protected.
    """
    try:
        old = os.stat(name, dir_fd=fd, follow_symlinks=False)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise open_error(fd, name, path, error) from None
    if not stat.S_ISREG(old.st_mode):
        raise RefusedError(f"{quoted(path, PATH_LIMIT)} is {describe_file_type(old.st_mode)}; choose another name")
    if not old.st_mode & 0o222:
        raise RefusedError(f"{quoted(path, PATH_LIMIT)} is write-protected; choose another name")
    return old
