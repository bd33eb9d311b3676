"""Find the project of a directory: the git root at or above it, and the folders in between."""

from __future__ import annotations

import os
from errno import ELOOP

from prowess._internal.files import UnreadableError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from ._filesystem import Filesystem


def git_root(
    directory: str, marker: str = "exists", filesystem: Filesystem | None = None, *, of_any_user: bool = False
) -> str | None:
    """Return the nearest directory at or above this one with a `.git` folder or a worktree's `.git` file.

    Above this one, only what belongs to this user counts (`is_own_project`), as git refuses it otherwise.

    Args:
        directory: an absolute path.
        marker: `exists`; `entry`, which is also a link to itself; `head` if a `.git` folder needs a HEAD; `valid` if
            only repositories count; `named` if a file needs only to name a folder; or `git` if the client asks git,
            which looks no further than a `.git` file.
        filesystem: what was read so far.
        of_any_user: whether what belongs to another user counts, too.
    """
    if filesystem is None:
        if marker == "exists":  # of a frequent command, whose answer is cached: `Filesystem` takes longer to load
            folders = (folder for folder in ancestors(directory, None) if os.path.exists(os.path.join(folder, ".git")))
            return next((folder for folder in folders if of_any_user or _is_own(folder, directory)), None)
        from ._filesystem import Filesystem

        filesystem = Filesystem()
    cwd = directory
    while True:
        path = os.path.join(directory, ".git")
        kind = filesystem.kind(path)
        if marker == "entry":
            is_root = bool(kind) or _is_link_loop(path, filesystem)
        elif marker == "exists" or not kind:
            is_root = bool(kind)
        elif marker in ("valid", "named", "git"):
            is_root = _is_repository(path, kind, filesystem, named=marker == "named")
        else:
            is_root = kind != "d" or filesystem.kind(f"{path}/HEAD") != ""
        if is_root and (of_any_user or filesystem.is_own_project(directory, ".git", cwd)):
            return directory
        parent = os.path.dirname(directory)
        if parent == directory or (marker == "git" and kind == "f"):
            return None
        directory = parent


def marked_root(
    directory: str, markers: Sequence[str], filesystem: Filesystem, *, of_any_user: bool = False
) -> str | None:
    """Return the nearest directory at or above this one that contains one of these names; `None` without any.

    Above this one, only what belongs to this user counts, as for `git_root`.

    Args:
        directory: an absolute path.
        markers: names of files or folders.
        filesystem: what was read so far.
        of_any_user: whether what belongs to another user counts, too.
    """
    if markers:
        for folder in ancestors(directory, None):
            found = [name for name in markers if "\0" not in name and filesystem.kind(os.path.join(folder, name))]
            if any(of_any_user or filesystem.is_own_project(folder, name, directory) for name in found):
                return folder
    return None


def _is_own(folder: str, cwd: str) -> bool:
    """Return whether the `.git` of a folder counts for a working directory in it."""
    if folder == cwd:
        return True
    from prowess._internal.ownership import is_own_project

    return is_own_project(folder, ".git", cwd)


def _is_link_loop(path: str, filesystem: Filesystem) -> bool:
    """Return whether a path is a link that leads back to itself."""
    if filesystem.link_kind(path) != "l":
        return False
    try:
        os.stat(path)
    except OSError as error:
        return error.errno == ELOOP
    return False


def _is_repository(path: str, kind: str, filesystem: Filesystem, *, named: bool) -> bool:
    """Return whether `.git` is a repository's folder, or a worktree's file that points to one, or just `named` one."""
    if kind == "f":
        try:
            text = filesystem.data(path, 4096).decode("utf-8", "replace")
        except UnreadableError:
            return False
        target = text.removeprefix("gitdir:").strip()
        path = os.path.join(os.path.dirname(path), target) if text.startswith("gitdir:") and target else ""
        return bool(path) and (named or filesystem.kind(os.path.join(path, "HEAD")) == "f")
    return all(filesystem.kind(os.path.join(path, name)) for name in ("HEAD", "objects", "refs"))


def ancestors(cwd: str, top: str | None) -> list[str]:
    """Return the folders from `cwd` up to `top`, nearest first; up to the file system's root if `top` is `None`."""
    levels = [cwd]
    while levels[-1] != top:
        parent = os.path.dirname(levels[-1])
        if parent == levels[-1]:
            break
        levels.append(parent)
    return levels
