"""a folder + a path that a model gave -> a descriptor inside the folder

Each part is opened from the one before it, from the root of the system on, and no link is followed: not those that
lead out, and not those that lead to another place inside, for who can make one can make the other meanwhile. What is
neither a file nor a folder is never opened.
"""

from __future__ import annotations

import errno
import os
import stat
from contextlib import contextmanager
from typing import TYPE_CHECKING

from prowess._internal.text import describe_os_error, quoted
from prowess.agent.policy import RefusedError, ToolFailedError
from prowess.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from prowess.agent.policy import ToolContext

__all__ = ["open_folder", "describe_file_type", "open_regular_file", "split_path", "resolve_folder"]

_MAX_PATH = 4096
_MAX_SHOWN_CHARS = 200
_NO_FOLLOW_FLAGS = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
_FOLDER_FLAGS = _NO_FOLLOW_FLAGS | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_PATH", os.O_RDONLY)
_FILE_FLAGS = os.O_RDONLY | _NO_FOLLOW_FLAGS | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0)
_SUPPORTS_DIR_FD = {os.open, os.stat} <= os.supports_dir_fd and hasattr(os, "O_NOFOLLOW")


def resolve_folder(context: ToolContext, text: str, option: str) -> str:
    """Return a folder that a configuration names, without links.

    A skill's tool without roots in the policy has the role's folder: what a stranger wrote opens nothing else.

    Args:
        context: what the tool is made with.
        text: the path.
        option: the key it stands at.

    Raises:
        ConfigError: there is no such folder, or the policy does not open it.
    """
    if not _SUPPORTS_DIR_FD:
        raise ConfigError("this tool does not work on Windows yet", hint="run Prowess in WSL")
    if "\0" in text:
        raise ConfigError(f"`{option}` holds a NUL character", hint="name a folder")
    path, policy = context.absolute_path(text), context.policy
    if not policy.roots and context.skill is not None:
        policy = policy.with_changes(roots=(context.folder,))
    try:
        real = policy.resolve_in_roots(path) if policy.roots else os.path.realpath(path)
    except RefusedError as error:
        raise ConfigError(f"`{option}`: {error}", hint="name a folder inside, or open it in the role itself") from None
    if not os.path.isdir(real):
        raise ConfigError(
            f"`{option}` is {quoted(path, _MAX_SHOWN_CHARS)}, which is no folder", hint="name a folder that is there"
        )
    return real


def split_path(path: str, root: str) -> list[str]:
    """Take a path apart; an absolute one may begin with the folder itself.

    Raises:
        RefusedError: it does not lie in the folder.
        ToolFailedError: it is no path.
    """
    if not path or len(path) > _MAX_PATH:
        words = f"{len(path):,} characters long" if path else "empty"
        raise ToolFailedError(f"the path is {words}; give one like `docs/notes.md`")
    inner = path[len(root) :] if path == root or path.startswith(root.rstrip("/") + "/") else path
    parts = [part for part in inner.split("/") if part not in ("", ".")]
    if (inner is path and path.startswith("/")) or ".." in parts:
        raise RefusedError(
            f"{quoted(path, _MAX_SHOWN_CHARS)} is outside of the folder that is open to this tool; "
            "give a path relative to that folder, without `..`"
        )
    return parts


@contextmanager
def open_folder(root: str, parts: Sequence[str], *, create: bool = False) -> Iterator[int]:
    """Open a folder, to open or name things in it; where the system can, only that.

    Args:
        root: the folder that is open to the tool, absolute and without links.
        parts: the way from there.
        create: whether folders that are missing below `root` are made.

    Raises:
        ToolFailedError: there is none.
        RefusedError: a link is on the way.
    """
    above = [part for part in root.split("/") if part]
    fd = os.open("/", _FOLDER_FLAGS)
    try:
        for number, part in enumerate((*above, *parts)):
            display_path = "/".join(parts[: number - len(above) + 1]) or "."
            inner = _open_child_folder(fd, part, display_path, create=create and number >= len(above))
            os.close(fd)
            fd = inner
        yield fd
    finally:
        os.close(fd)


def _open_child_folder(fd: int, part: str, display_path: str, *, create: bool) -> int:
    try:
        return os.open(part, _FOLDER_FLAGS, dir_fd=fd)
    except OSError as error:
        if error.errno != errno.ENOENT or not create:
            raise open_error(fd, part, display_path, error) from None
    try:
        os.mkdir(part, dir_fd=fd)
    except FileExistsError:
        pass
    except OSError as error:
        raise ToolFailedError(
            f"the folder {quoted(display_path, _MAX_SHOWN_CHARS)} cannot be made: {describe_os_error(error)}"
        ) from None
    try:
        return os.open(part, _FOLDER_FLAGS, dir_fd=fd)
    except OSError as error:
        raise open_error(fd, part, display_path, error) from None


@contextmanager
def open_regular_file(fd: int, name: str, display_path: str) -> Iterator[tuple[int, os.stat_result]]:
    """Open a regular file of a folder for reading.

    Raises:
        ToolFailedError: there is none, or it is something else.
        RefusedError: it is a link.
    """
    try:
        seen = os.stat(name, dir_fd=fd, follow_symlinks=False)
        if not stat.S_ISREG(seen.st_mode):
            raise _not_a_file_error(display_path, seen)
        inner = os.open(name, _FILE_FLAGS, dir_fd=fd)
    except OSError as error:
        raise open_error(fd, name, display_path, error) from None
    try:
        status = os.fstat(inner)
        if not stat.S_ISREG(status.st_mode):
            raise _not_a_file_error(display_path, status)
        yield inner, status
    finally:
        os.close(inner)


def describe_file_type(status: os.stat_result) -> str:
    """Say what something is."""
    kinds = {stat.S_IFREG: "a file", stat.S_IFDIR: "a folder", stat.S_IFLNK: "a link", stat.S_IFIFO: "a FIFO"}
    return kinds.get(stat.S_IFMT(status.st_mode), "a device or socket")


def _not_a_file_error(display_path: str, status: os.stat_result) -> ToolFailedError:
    if stat.S_ISLNK(status.st_mode):
        return _link_error(display_path)
    todo = "list it with `list_directory`" if stat.S_ISDIR(status.st_mode) else "only regular files can be opened"
    return ToolFailedError(f"{quoted(display_path, _MAX_SHOWN_CHARS)} is {describe_file_type(status)}; {todo}")


def _link_error(display_path: str) -> RefusedError:
    return RefusedError(
        f"{quoted(display_path, _MAX_SHOWN_CHARS)} is a link, and links are not followed, wherever they lead; "
        "name the file itself, if it lies in the folder that is open to this tool"
    )


def open_error(fd: int, name: str, display_path: str, error: OSError) -> ToolFailedError:
    """Say why something in a folder was not opened."""
    try:
        status = os.stat(name, dir_fd=fd, follow_symlinks=False)
    except (OSError, ValueError):
        status = None
    if status is not None and stat.S_ISLNK(status.st_mode):
        return _link_error(display_path)
    if error.errno == errno.ENOENT:
        return ToolFailedError(
            f"there is no {quoted(display_path, _MAX_SHOWN_CHARS)}; `list_directory` shows what there is"
        )
    if error.errno == errno.ENOTDIR and status is not None:
        shown = quoted(display_path, _MAX_SHOWN_CHARS)
        return ToolFailedError(f"{shown} is {describe_file_type(status)}, not a folder; see `list_directory`")
    if error.errno == errno.ENAMETOOLONG:
        return ToolFailedError(f"{quoted(display_path, _MAX_SHOWN_CHARS)} is too long for a name; give a shorter one")
    return ToolFailedError(
        f"{quoted(display_path, _MAX_SHOWN_CHARS)} cannot be opened: {describe_os_error(error)}; go on without it"
    )
