"""Decide what on the disk is this user's own, and make folders that are.

What another user could have put there does not count: a project above the working directory, settings with commands,
or what Prowess keeps. `file_status` decides about one file; here it is about paths and projects.
"""

from __future__ import annotations

import errno
import os
import stat
import sys
from contextlib import suppress

from .file_status import (
    SHARED_VARIABLE,
    caller_of_sudo,
    is_shared,
    own_users,
    owner_and_writers,
    ownership_problem,
)
from .fs import FOLDER_FLAGS, give_to_caller_of_sudo, open_fd
from .text import PATH_LIMIT, neutral, quoted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection
    from typing import Literal

_MAX_LINKS = 40


class ForeignError(PermissionError):
    """A file or folder may be another user's work. `hint` says what to do."""

    def __init__(self, path: str, problem: Literal["owner", "writable"]) -> None:
        words = "belongs to another user" if problem == "owner" else "can be changed by other users"
        super().__init__(errno.EPERM, f"{quoted(path, PATH_LIMIT)} {words}")
        shared = f"set `{SHARED_VARIABLE}` to it if you share it on purpose"
        import shlex  # which takes longer to load than this module

        command = f"if its content is yours, type `chmod go-w {neutral(shlex.quote(path))}`"
        self.hint = f"use another folder, or {shared}" if problem == "owner" else f"{command}, or {shared}"


# ── files and folders ────────────────────────────────────────────────────────────────────────────────────────────────


def check_own(path: str, *, also: Collection[int] = ()) -> None:
    """Check that a file or folder, and what a link leads to, belongs to this user, and no other user can write to it.

    Args:
        path: absolute.
        also: further users who are trusted.

    Raises:
        ForeignError: it does not.
        OSError: it is missing or cannot be read.
    """
    for status in (os.lstat(path), os.stat(path)):
        if problem := ownership_problem(path, status, also=also):
            raise ForeignError(path, problem)


def own_folder(path: str, top: str | None = None, *, follow: bool = False) -> None:
    """Make a folder for this user alone if it is missing, and those above it, whatever the umask is, and check it.

    Args:
        path: absolute.
        top: the folder above it, or itself, from which on all are checked; by default `path`.
        follow: whether `top` may be a link of this user.

    Raises:
        ForeignError: it is another user's, or others can write to it.
        OSError: it cannot be made, or is not a folder.
    """
    with suppress(FileNotFoundError, NotADirectoryError):
        os.lstat(path)  # a path that is too long is an error before anything is made
    levels = [path]
    while levels[-1] != (top or path):
        levels.append(os.path.dirname(levels[-1]))
    while not os.path.lexists(os.path.dirname(levels[-1])):
        levels.append(os.path.dirname(levels[-1]))
    for folder in reversed(levels):
        with suppress(FileExistsError):
            os.mkdir(folder, 0o700)
            if stat.S_IMODE(os.lstat(folder).st_mode) & 0o700 != 0o700:
                os.chmod(folder, 0o700)  # the umask took away what its owner needs
            if caller_of_sudo() is not None:
                with open_fd(folder, FOLDER_FLAGS) as fd:
                    give_to_caller_of_sudo(fd, os.path.dirname(folder))
        check_own(folder)  # before anything is made in it
        if not os.path.isdir(folder) or (os.path.islink(folder) and not (follow and folder == (top or path))):
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), folder)


def find_foreign(path: str) -> ForeignError | None:
    """Return what users other than this one and root could change on the way to a path; `None` if nothing.

    They could change what they own or can write to, and replace what is in a folder of theirs: a link, or a folder.

    Raises:
        OSError: a part of the path is missing or cannot be read.
    """
    if sys.platform == "win32":
        return None
    place, waiting, links = os.sep, [part for part in reversed(path.split(os.sep)) if part], 0
    while True:
        status = os.lstat(place)
        problem = ownership_problem(place, status, also=(0,))
        if problem == "writable" and waiting and status.st_mode & stat.S_ISVTX:
            problem = None  # as in /tmp, only the owner of what is there can replace it
        if problem is not None:
            return ForeignError(place, problem)
        if stat.S_ISLNK(status.st_mode):
            links += 1
            if links > _MAX_LINKS:
                raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), path)
            target = os.readlink(place)
            place = os.sep if os.path.isabs(target) else os.path.dirname(place)
            waiting += [part for part in reversed(target.split(os.sep)) if part not in ("", ".")]
        if not waiting:
            return None
        part = waiting.pop()
        place = os.path.dirname(place) if part == os.pardir else os.path.join(place, part)


def find_foreign_below(folder: str, limit: int) -> ForeignError | None:
    """Return what users other than this one and root could change in a folder; `None` if nothing.

    Args:
        folder: absolute; no link in it is followed.
        limit: how many files and folders are looked at.
    """
    for top, folders, files in os.walk(folder):
        for name in (*folders, *files):
            path = os.path.join(top, name)
            with suppress(FileNotFoundError):  # removed meanwhile
                if problem := ownership_problem(path, os.lstat(path), also=(0,)):
                    return ForeignError(path, problem)
            limit -= 1
            if limit < 0:
                return None
    return None


# ── projects ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def users_of_project(cwd: str) -> frozenset[int]:
    """Return the users whose files in a project are trusted: this user, root, and for root the owner of the project.

    In a container, root works on the files of a user of its host. With `sudo`, that is the user who called it.

    Args:
        cwd: the working directory.

    Raises:
        OSError: it does not exist.
    """
    if sys.platform == "win32" or os.geteuid() != 0 or caller_of_sudo() is not None:
        return frozenset((0, *own_users()))
    return frozenset((0, os.stat(cwd).st_uid))


def is_own_project(folder: str, name: str, cwd: str, describe: Callable[[str], str] = owner_and_writers) -> bool:
    """Return whether what makes a folder above a working directory a project, such as `.git`, counts.

    As for git, the folder and what is in it belong to this user, to the one who called `sudo`, or to root. The owner of
    the working directory is trusted too, since that is where the user went. Root without `sudo`, as in a container,
    trusts what the owner of a folder has put there, and what is in a folder to which only its owner can write.

    Args:
        folder: the working directory or a folder above it.
        name: of a file or folder in it.
        cwd: the working directory, absolute and without links.
        describe: returns what `owner_and_writers` does.
    """
    if folder == cwd or sys.platform == "win32":
        return True
    above, inner, here = (describe(path) for path in (folder, os.path.join(folder, name), cwd))
    trusted = {"0", *map(str, own_users()), here.rstrip("w")}
    if above.rstrip("w") in trusted and inner.rstrip("w") in trusted:
        return True
    by_its_owner = bool(inner) and (above.rstrip("w") == inner.rstrip("w") or not above.endswith("w"))
    return (by_its_owner and os.geteuid() == 0 and caller_of_sudo() is None) or is_shared(folder)
