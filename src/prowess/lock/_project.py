"""Find the lock of a project, without loading what reads it."""

from __future__ import annotations

import os

from prowess._internal.files import real_path
from prowess._internal.ownership import ForeignError, check_own, is_own_project
from prowess._internal.text import describe_os_error
from prowess._internal.user_dirs import data_folder
from prowess.errors import ConfigError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

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


def own_data_folder(env: Mapping[str, str]) -> str:
    """Return the folder of the user's data, which need not exist yet.

    Raises:
        ConfigError: the user has no such folder, or another user could have written what is in it.
    """
    folder = data_folder(env)
    if folder is None:
        raise ConfigError("this user has no folder for data", hint="set `PROWESS_DATA_DIR` to a folder")
    try:
        check_own(folder)
    except FileNotFoundError:
        pass
    except OSError as error:
        hint = error.hint if isinstance(error, ForeignError) else "set `PROWESS_DATA_DIR` to a folder of yours"
        raise ConfigError(f"the folder for data cannot be used: {describe_os_error(error)}", hint=hint) from None
    return folder
