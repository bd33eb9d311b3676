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

from prowess.agent.policy import RefusedError, ToolFailedError
from prowess.errors import ConfigError
from prowess.text import quoted, words_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from prowess.agent.policy import Around

__all__ = ["at_folder", "kind_of", "opened", "parts_of", "place"]

_MAX_PATH = 4096
_SHOWN = 200
_NO_LINK = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
_FOLDER = _NO_LINK | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_PATH", os.O_RDONLY)
_FILE = os.O_RDONLY | _NO_LINK | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0)
_BY_DESCRIPTOR = {os.open, os.stat} <= os.supports_dir_fd and hasattr(os, "O_NOFOLLOW")


def place(around: Around, text: str, what: str) -> str:
    """Return a folder that a configuration names, without links.

    A skill's tool without roots in the policy has the role's folder: what a stranger wrote opens nothing else.

    Args:
        around: what the tool is made with.
        text: the path.
        what: the key it stands at.

    Raises:
        ConfigError: there is no such folder, or the policy does not open it.
    """
    if not _BY_DESCRIPTOR:
        raise ConfigError("this tool does not work on Windows yet", hint="run Prowess in WSL")
    if "\0" in text:
        raise ConfigError(f"`{what}` holds a NUL character", hint="name a folder")
    path, policy = around.path(text), around.policy
    if not policy.roots and around.skill is not None:
        policy = policy.but(roots=(around.folder,))
    try:
        real = policy.inside(path) if policy.roots else os.path.realpath(path)
    except RefusedError as error:
        raise ConfigError(f"`{what}`: {error}", hint="name a folder inside, or open it in the role itself") from None
    if not os.path.isdir(real):
        raise ConfigError(f"`{what}` is {quoted(path, _SHOWN)}, which is no folder", hint="name a folder that is there")
    return real


def parts_of(path: str, root: str) -> list[str]:
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
            f"{quoted(path, _SHOWN)} is outside of the folder that is open to this tool; "
            "give a path relative to that folder, without `..`"
        )
    return parts


@contextmanager
def at_folder(root: str, parts: Sequence[str], *, make: bool = False) -> Iterator[int]:
    """Open a folder, to open or name things in it; where the system can, only that.

    Args:
        root: the folder that is open to the tool, absolute and without links.
        parts: the way from there.
        make: whether folders that are missing below `root` are made.

    Raises:
        ToolFailedError: there is none.
        RefusedError: a link is on the way.
    """
    above = [part for part in root.split("/") if part]
    fd = os.open("/", _FOLDER)
    try:
        for number, part in enumerate((*above, *parts)):
            shown = "/".join(parts[: number - len(above) + 1]) or "."
            inner = _step(fd, part, shown, make=make and number >= len(above))
            os.close(fd)
            fd = inner
        yield fd
    finally:
        os.close(fd)


def _step(fd: int, part: str, shown: str, *, make: bool) -> int:
    try:
        return os.open(part, _FOLDER, dir_fd=fd)
    except OSError as error:
        if error.errno != errno.ENOENT or not make:
            raise explained(fd, part, shown, error) from None
    try:
        os.mkdir(part, dir_fd=fd)
    except FileExistsError:
        pass
    except OSError as error:
        raise ToolFailedError(f"the folder {quoted(shown, _SHOWN)} cannot be made: {words_of(error)}") from None
    try:
        return os.open(part, _FOLDER, dir_fd=fd)
    except OSError as error:
        raise explained(fd, part, shown, error) from None


@contextmanager
def opened(fd: int, name: str, shown: str) -> Iterator[tuple[int, os.stat_result]]:
    """Open a regular file of a folder for reading.

    Raises:
        ToolFailedError: there is none, or it is something else.
        RefusedError: it is a link.
    """
    try:
        seen = os.stat(name, dir_fd=fd, follow_symlinks=False)
        if not stat.S_ISREG(seen.st_mode):
            raise _not_file(shown, seen)
        inner = os.open(name, _FILE, dir_fd=fd)
    except OSError as error:
        raise explained(fd, name, shown, error) from None
    try:
        status = os.fstat(inner)
        if not stat.S_ISREG(status.st_mode):
            raise _not_file(shown, status)
        yield inner, status
    finally:
        os.close(inner)


def kind_of(status: os.stat_result) -> str:
    """Say what something is."""
    kinds = {stat.S_IFREG: "a file", stat.S_IFDIR: "a folder", stat.S_IFLNK: "a link", stat.S_IFIFO: "a FIFO"}
    return kinds.get(stat.S_IFMT(status.st_mode), "a device or socket")


def _not_file(shown: str, status: os.stat_result) -> ToolFailedError:
    if stat.S_ISLNK(status.st_mode):
        return _linked(shown)
    todo = "list it with `list_directory`" if stat.S_ISDIR(status.st_mode) else "only regular files can be opened"
    return ToolFailedError(f"{quoted(shown, _SHOWN)} is {kind_of(status)}; {todo}")


def _linked(shown: str) -> RefusedError:
    return RefusedError(
        f"{quoted(shown, _SHOWN)} is a link, and links are not followed, wherever they lead; "
        "name the file itself, if it lies in the folder that is open to this tool"
    )


def explained(fd: int, name: str, shown: str, error: OSError) -> ToolFailedError:
    """Say why something in a folder was not opened."""
    try:
        status = os.stat(name, dir_fd=fd, follow_symlinks=False)
    except (OSError, ValueError):
        status = None
    if status is not None and stat.S_ISLNK(status.st_mode):
        return _linked(shown)
    if error.errno == errno.ENOENT:
        return ToolFailedError(f"there is no {quoted(shown, _SHOWN)}; `list_directory` shows what there is")
    if error.errno == errno.ENOTDIR and status is not None:
        return ToolFailedError(f"{quoted(shown, _SHOWN)} is {kind_of(status)}, not a folder; see `list_directory`")
    if error.errno == errno.ENAMETOOLONG:
        return ToolFailedError(f"{quoted(shown, _SHOWN)} is too long for a name; give a shorter one")
    return ToolFailedError(f"{quoted(shown, _SHOWN)} cannot be opened: {words_of(error)}; go on without it")
