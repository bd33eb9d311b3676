"""Open the paths that a model gives, inside one folder and never through a link.

Each part of a path is opened from the descriptor of the one above, starting at the system's root. No link is followed,
wherever it leads: a link could change its target at any moment. Only regular files and folders are opened.
"""

from __future__ import annotations

import errno
import os
import stat
from contextlib import contextmanager
from typing import TYPE_CHECKING

from prowess._internal.file_status import describe_file_type
from prowess._internal.files import is_inside
from prowess._internal.fs import FOLDER_FLAGS, READ_FLAGS, SUPPORTS_DIR_FD
from prowess._internal.text import PATH_LIMIT, describe_os_error, quoted
from prowess.agent.policy import RefusedError, ToolFailedError
from prowess.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from prowess.agent.policy import ToolContext

_MAX_PATH_CHARS = 4096
_TRAVERSE_FLAGS = FOLDER_FLAGS | getattr(os, "O_PATH", 0)
"""Open a folder only to reach what is in it, which needs no permission to list it."""


def resolve_folder(context: ToolContext, text: str, option: str) -> str:
    """Resolve a folder in a tool's configuration.

    Args:
        context: what the tool is made with.
        text: the path.
        option: the key that contains the path.

    Returns:
        The absolute path, without links.

    Raises:
        ConfigError: the folder does not exist, or the policy does not allow it.
    """
    if not SUPPORTS_DIR_FD:
        raise ConfigError("this tool does not work on Windows yet", hint="run Prowess in WSL")
    if "\0" in text:
        raise ConfigError(f"`{option}` contains a NUL character", hint="give the path of a folder")
    path = context.absolute_path(text)
    try:
        real = context.resolve_allowed(path)
    except RefusedError as error:
        raise ConfigError(
            f"`{option}`: {error}", hint="name a folder inside them, or add it to `security.roots`"
        ) from None
    if not os.path.isdir(real):
        raise ConfigError(
            f"`{option}` is {quoted(path, PATH_LIMIT)}, which is not a folder", hint="name an existing folder"
        )
    return real


def split_path(path: str, root: str) -> list[str]:
    """Split a path into its parts below `root`; an absolute path must begin with `root`.

    Raises:
        RefusedError: the path leads out of the folder.
        ToolFailedError: the path is empty or too long.
    """
    if not path or len(path) > _MAX_PATH_CHARS:
        problem = f"{len(path):,} characters long" if path else "empty"
        raise ToolFailedError(f"the path is {problem}; give one like `docs/notes.md`")
    relative = path[len(root) :] if is_inside(path, root) else path
    parts = [part for part in relative.split("/") if part not in ("", ".")]
    if (relative is path and path.startswith("/")) or ".." in parts:
        raise RefusedError(
            f"{quoted(path, PATH_LIMIT)} is outside the folder that this tool may use; "
            "give a path relative to that folder, without `..`"
        )
    return parts


@contextmanager
def open_folder(root: str, parts: Sequence[str], *, create: bool = False) -> Iterator[int]:
    """Open a folder, to reach what is in it; on Linux the descriptor cannot list it.

    Args:
        root: the folder that the tool may use, absolute and without links.
        parts: the path from there.
        create: whether to create missing folders below `root`.

    Raises:
        ToolFailedError: the folder does not exist.
        RefusedError: a part of the path is a link.
    """
    root_parts = [part for part in root.split("/") if part]
    fd = os.open("/", _TRAVERSE_FLAGS)
    try:
        for number, part in enumerate((*root_parts, *parts)):
            display_path = "/".join(parts[: number - len(root_parts) + 1]) or "."
            inner_fd = _open_child_folder(fd, part, display_path, create=create and number >= len(root_parts))
            os.close(fd)
            fd = inner_fd
        yield fd
    finally:
        os.close(fd)


def _open_child_folder(fd: int, part: str, display_path: str, *, create: bool) -> int:
    try:
        return os.open(part, _TRAVERSE_FLAGS, dir_fd=fd)
    except OSError as error:
        if error.errno != errno.ENOENT or not create:
            raise open_error(fd, part, display_path, error) from None
    try:
        os.mkdir(part, dir_fd=fd)
    except FileExistsError:
        pass
    except OSError as error:
        raise ToolFailedError(
            f"cannot create the folder {quoted(display_path, PATH_LIMIT)}: {describe_os_error(error)}"
        ) from None
    try:
        return os.open(part, _TRAVERSE_FLAGS, dir_fd=fd)
    except OSError as error:
        raise open_error(fd, part, display_path, error) from None


@contextmanager
def open_regular_file(fd: int, name: str, display_path: str) -> Iterator[tuple[int, os.stat_result]]:
    """Open a regular file in a folder for reading; yield its descriptor and status.

    Raises:
        ToolFailedError: the file does not exist, or is not a regular file.
        RefusedError: it is a link.
    """
    try:
        status = os.stat(name, dir_fd=fd, follow_symlinks=False)
        if not stat.S_ISREG(status.st_mode):
            raise _not_a_file_error(display_path, status)
        inner_fd = os.open(name, READ_FLAGS, dir_fd=fd)
    except OSError as error:
        raise open_error(fd, name, display_path, error) from None
    try:
        status = os.fstat(inner_fd)
        if not stat.S_ISREG(status.st_mode):
            raise _not_a_file_error(display_path, status)
        yield inner_fd, status
    finally:
        os.close(inner_fd)


def _not_a_file_error(display_path: str, status: os.stat_result) -> ToolFailedError:
    if stat.S_ISLNK(status.st_mode):
        return _link_error(display_path)
    advice = "list it with `list_directory`" if stat.S_ISDIR(status.st_mode) else "only regular files can be opened"
    return ToolFailedError(f"{quoted(display_path, PATH_LIMIT)} is {describe_file_type(status.st_mode)}; {advice}")


def _link_error(display_path: str) -> RefusedError:
    return RefusedError(
        f"{quoted(display_path, PATH_LIMIT)} is a link, and links are not followed; "
        "give the path of its target, if that is in the folder that this tool may use"
    )


def open_error(fd: int, name: str, display_path: str, error: OSError) -> ToolFailedError:
    """Return the error for a file or folder that cannot be opened."""
    try:
        status = os.stat(name, dir_fd=fd, follow_symlinks=False)
    except (OSError, ValueError):
        status = None
    if status is not None and stat.S_ISLNK(status.st_mode):
        return _link_error(display_path)
    if error.errno == errno.ENOENT:
        return ToolFailedError(f"{quoted(display_path, PATH_LIMIT)} does not exist; `list_directory` shows what does")
    if error.errno == errno.ENOTDIR and status is not None:
        shown = quoted(display_path, PATH_LIMIT)
        return ToolFailedError(f"{shown} is {describe_file_type(status.st_mode)}, not a folder; see `list_directory`")
    if error.errno == errno.ENAMETOOLONG:
        return ToolFailedError(f"{quoted(display_path, PATH_LIMIT)} is too long; give a shorter path")
    return ToolFailedError(
        f"cannot open {quoted(display_path, PATH_LIMIT)}: {describe_os_error(error)}; go on without it"
    )
