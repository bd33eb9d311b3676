"""a folder -> nothing, whatever is in it

What lay in the folder may have been put there against its removal: without permissions, deeper than a process has
descriptors, or links to somebody else's, or somebody else's disk may be mounted there. So folders are opened by
descriptor, no link is followed, what is deep is moved up before the folder goes that it was in, and nothing is opened
that cannot be moved.
"""

from __future__ import annotations

import os
import stat
from contextlib import suppress

__all__ = ["remove_tree", "remove_tree_at"]

_DIRECTORY_FLAGS = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_CLOEXEC", 0)
_NOFOLLOW = getattr(os, "O_NOFOLLOW", 0)


def remove_tree(path: str) -> None:
    """Remove a folder with all that is in it, following links on the way to it only; what cannot be removed stays."""
    above, name = os.path.split(path)
    with suppress(OSError):
        fd = os.open(above, _DIRECTORY_FLAGS)
        try:
            remove_tree_at(name, fd)
        finally:
            os.close(fd)


def remove_tree_at(name: str, above: int) -> None:
    """Remove a folder with all that is in it; what cannot be removed stays.

    Args:
        name: of the folder.
        above: a descriptor of the folder in which it is.
    """
    with suppress(OSError):
        _empty_directory(name, above)
        os.rmdir(name, dir_fd=above)


def _empty_directory(name: str, above: int) -> None:
    """Remove what is in a folder. However deep it is, no more than two descriptors are open.

    Raises:
        OSError: it cannot be opened or listed.
    """
    top = _open_directory(name, above)
    try:
        moved = 0
        own: set[str] = set()
        while inner := _unlink_files(top):
            before = moved
            for found in inner:
                with suppress(OSError):
                    one = found
                    if one not in own:  # what something is mounted on cannot be moved: what is in it lies elsewhere
                        one = _rename_randomly(one, top, top)
                        own.add(one)
                    fd = _open_directory(one, top)
                    try:
                        for below in _unlink_files(fd):
                            with suppress(OSError):
                                # Who may not write to a folder may not move it.
                                os.chmod(below, 0o700, dir_fd=fd)
                                own.add(_rename_randomly(below, fd, top))
                                moved += 1
                    finally:
                        os.close(fd)
                    os.rmdir(one, dir_fd=top)
            if moved == before:
                return
    finally:
        os.close(top)


def _rename_randomly(name: str, above: int, into: int) -> str:
    """Give a folder a new name, and return it.

    Raises:
        OSError: it cannot be moved.
    """
    new = os.urandom(8).hex()
    os.rename(name, new, src_dir_fd=above, dst_dir_fd=into)
    return new


def _open_directory(name: str, above: int) -> int:
    """Open a folder, also one that nobody may look into.

    Raises:
        OSError: it is none, or another's.
    """
    try:
        fd = os.open(name, _DIRECTORY_FLAGS | _NOFOLLOW, dir_fd=above)
    except PermissionError:
        if not stat.S_ISDIR(os.lstat(name, dir_fd=above).st_mode):
            raise
        os.chmod(name, 0o700, dir_fd=above)
        fd = os.open(name, _DIRECTORY_FLAGS | _NOFOLLOW, dir_fd=above)
    with suppress(OSError):  # another's may be empty, and then goes all the same
        os.fchmod(fd, 0o700)
    return fd


def _unlink_files(fd: int) -> list[str]:
    """Remove what is not a folder from an open one; return the names of the others."""
    with os.scandir(fd) as entries:
        rows = [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in entries]
    for name, is_folder in rows:
        if not is_folder:
            with suppress(OSError):
                os.unlink(name, dir_fd=fd)
    return [name for name, is_folder in rows if is_folder]
