"""Write a file that the user names on the command line, through no link that leads out of a project."""

from __future__ import annotations

import os
import stat

from prowess._internal.fs import FOLDER_FLAGS, SUPPORTS_DIR_FD, atomic_replace, open_fd, open_inside, write_all
from prowess._internal.inside import OutsideError, real_output_path
from prowess._internal.text import describe_os_error, neutral
from prowess.errors import ConfigError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

LINK_HINT = "type the path to which the link leads, or remove it"


def require_folder_of(option: str, path: str, folders: Iterable[str] = ()) -> None:
    """Check that a file can be in the folder that its path names, before any work is done.

    Args:
        option: the option, for messages.
        path: what the user typed.
        folders: in which the command works, beside the working directory.

    Raises:
        ConfigError: the folder does not exist, the path is a folder itself, or a link leads out of a project.
    """
    if "\0" in path:
        raise ConfigError(f"`{option}`: this is not a path: {neutral(path)}", hint="name a file")
    folder = os.path.dirname(os.path.abspath(path))
    if not os.path.isdir(folder):
        raise ConfigError(f"`{option}`: no such folder: {neutral(folder)}", hint="create it first")
    if os.path.isdir(path) or not os.path.basename(path):
        raise ConfigError(f"`{option}`: this is a folder: {neutral(path)}", hint="name a file")
    place_to_write(option, path, folders)


def place_to_write(option: str, path: str, folders: Iterable[str] = ()) -> tuple[str, str | None]:
    """Return the real path of what the user names to be written, and the project in which that is, as for files.

    Raises:
        ConfigError: a link leads out of a project.
    """
    try:
        return real_output_path(path, folders)
    except OutsideError as error:
        raise ConfigError(f"`{option}`: {error}", hint=LINK_HINT) from None


def write_file(option: str, path: str, data: bytes, folders: Iterable[str] = ()) -> None:
    """Write a file in one step, or into a pipe or device of that name. The arguments are those of `require_folder_of`.

    A link stays, and the file that it leads to is written, unless it leads out of a project.

    Raises:
        ConfigError: it cannot be written; a file that was there is unchanged.
    """
    real, project = place_to_write(option, path, folders)
    try:
        # By the path as it was given: `/dev/stdout` leads to a pipe that has no path of its own.
        if os.path.exists(path) and not stat.S_ISREG(os.stat(path).st_mode):
            # Without O_NONBLOCK, opening a FIFO without a reader never ends.
            with open_fd(path, os.O_WRONLY | getattr(os, "O_NONBLOCK", 0)) as fd:
                if hasattr(os, "set_blocking"):
                    os.set_blocking(fd, True)
                write_all(fd, data)
        elif project is None or not SUPPORTS_DIR_FD:
            atomic_replace(real, data, mode=0o666)
        else:
            folder, name = os.path.split(os.path.relpath(real, project))
            fd = open_inside(project, folder.split(os.sep) if folder else [], FOLDER_FLAGS)
            try:
                atomic_replace(name, data, mode=0o666, dir_fd=fd)
            finally:
                os.close(fd)
    except OSError as error:
        message = f"cannot write the report: {neutral(path)}: {describe_os_error(error)}"
        raise ConfigError(message, hint="name another file") from None
