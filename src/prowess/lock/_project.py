"""Find the lock of a project, without loading what reads it."""

from __future__ import annotations

import os

from prowess._internal.files import real_path
from prowess._internal.ownership import is_own_project

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

LOCK_FILE = "skills-lock.json"


def find_project(
    cwd: str,
    exists: Callable[[str], object] = os.path.lexists,
    is_own: Callable[[str, str, str], bool] = is_own_project,
) -> str:
    """Return the folder whose lock counts for a working directory.

    It is the nearest one with a lock, up to the root of the git repository; without any lock it is that root, and
    outside a repository the working directory. Above the working directory, only what belongs to this user counts.

    Args:
        cwd: the working directory.
        exists: whether a path exists, links not followed.
        is_own: whether a file of a folder counts for a working directory, as `is_own_project` says.
    """
    folder = cwd = real_path(cwd)
    nearest = None
    while True:
        if nearest is None and exists(os.path.join(folder, LOCK_FILE)) and is_own(folder, LOCK_FILE, cwd):
            nearest = folder
        if exists(os.path.join(folder, ".git")) and is_own(folder, ".git", cwd):
            return nearest or folder
        parent = os.path.dirname(folder)
        if parent == folder:
            # Not a lock that another user has put into a folder above, such as /tmp.
            return cwd
        folder = parent
