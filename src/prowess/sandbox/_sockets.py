"""Find the Unix sockets that a command could reach by a path, to hide those that were not named.

Behind such a socket is a program outside the sandbox: a database, an agent with keys, a container engine. A mount that
is read-only does not prevent a connection.
"""

from __future__ import annotations

import os
import stat
import sys
from functools import cache

from prowess._internal.files import real_path, real_path_or_none
from prowess._internal.text import PATH_LIMIT, quoted
from prowess.errors import SandboxError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    Path = str | os.PathLike[str]

_MAX_ENTRIES = 500_000
"""Files and folders that are looked at for one command."""


def check_sockets(paths: Iterable[Path]) -> tuple[str, ...]:
    """Return the absolute paths of sockets that exist; one that does not exist yet is left out.

    Raises:
        SandboxError: something else is there, or the path leads through a link.
    """
    found = []
    for path in paths:
        text = os.path.abspath(os.fspath(path))
        if real_path_or_none(text) != text:
            # Otherwise a command that may write there could choose the socket that the next one gets.
            message = f"the socket {quoted(text, PATH_LIMIT)} is behind a link"
            raise SandboxError(message, hint=f"name {quoted(real_path(text), PATH_LIMIT)} if you mean that one")
        if os.path.lexists(text):
            if not stat.S_ISSOCK(os.lstat(text).st_mode):
                message = f"{quoted(text, PATH_LIMIT)} is not a Unix socket"
                raise SandboxError(message, hint="name the socket itself")
            found.append(text)
    return tuple(dict.fromkeys(found))


def sockets_below(paths: Iterable[str], *, without: Iterable[str] = ()) -> tuple[str, ...]:
    """Return the sockets among some files and below some folders; links are not followed.

    Args:
        paths: files and folders.
        without: folders that are not searched.

    Raises:
        SandboxError: there are too many files to look at.
    """
    left = _MAX_ENTRIES
    skipped = frozenset(without)
    sockets, folders = [], []
    for path in dict.fromkeys(paths):
        mode = os.stat(path).st_mode
        if stat.S_ISDIR(mode):
            folders.append(path)
        elif stat.S_ISSOCK(mode):
            sockets.append(path)
    while folders:
        for entry in _entries(folders.pop()):
            left -= 1
            if left < 0:
                message = f"a command with Unix sockets would see more than {_MAX_ENTRIES:,} files"
                raise SandboxError(message, hint="give it smaller folders, or no sockets")
            if entry.is_dir(follow_symlinks=False):
                if entry.path not in skipped:
                    folders.append(entry.path)
            elif not (entry.is_file(follow_symlinks=False) or entry.is_symlink()) and _is_socket(entry):
                sockets.append(entry.path)
    return tuple(sockets)


@cache
def sockets_of_python(folders: tuple[str, ...]) -> tuple[str, ...]:
    """Return the sockets in the folders of this Python, once in a process.

    Its packages are left out: they are most of its files, and only installers write there.
    """
    packages = "python{}.{}".format(*sys.version_info)
    others = [folder for folder in folders if os.path.basename(folder) != packages]
    return sockets_below(others, without=[f"{folder}/{packages}" for folder in others])


def _is_socket(entry: os.DirEntry[str]) -> bool:
    try:
        return stat.S_ISSOCK(entry.stat(follow_symlinks=False).st_mode)
    except OSError:
        return False  # it is gone


def _entries(folder: str) -> Iterator[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            yield from entries
    except OSError:
        # This user cannot list it, so neither can a command; but it could know a name in it.
        if not os.access(folder, os.R_OK) and os.access(folder, os.X_OK):
            message = f"cannot list {quoted(folder, PATH_LIMIT)}, so a Unix socket in it could not be hidden"
            raise SandboxError(message, hint="make it readable, or give the command no sockets") from None
