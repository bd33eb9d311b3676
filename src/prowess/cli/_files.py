"""Write a file that the user names on the command line."""

from __future__ import annotations

import os
import stat

from prowess._internal.files import real_path
from prowess._internal.fs import atomic_replace, open_fd, write_all
from prowess._internal.text import describe_os_error, neutral
from prowess.errors import ConfigError


def require_folder_of(option: str, path: str) -> None:
    """Check that a file can be in the folder that its path names, before any work is done.

    Raises:
        ConfigError: the folder does not exist, or the path is a folder itself.
    """
    if "\0" in path:
        raise ConfigError(f"`{option}`: this is not a path: {neutral(path)}", hint="name a file")
    folder = os.path.dirname(os.path.abspath(path))
    if not os.path.isdir(folder):
        raise ConfigError(f"`{option}`: no such folder: {neutral(folder)}", hint="create it first")
    if os.path.isdir(path) or not os.path.basename(path):
        raise ConfigError(f"`{option}`: this is a folder: {neutral(path)}", hint="name a file")


def write_file(path: str, data: bytes) -> None:
    """Write a file in one step, or into a pipe or device of that name.

    A link stays, and the file that it leads to is written.

    Raises:
        ConfigError: it cannot be written; a file that was there is unchanged.
    """
    try:
        # By the path as it was given: `/dev/stdout` leads to a pipe that has no path of its own.
        if not os.path.exists(path) or stat.S_ISREG(os.stat(path).st_mode):
            atomic_replace(real_path(path), data, mode=0o666)
            return
        # Without O_NONBLOCK, opening a FIFO without a reader never ends.
        with open_fd(path, os.O_WRONLY | getattr(os, "O_NONBLOCK", 0)) as fd:
            if hasattr(os, "set_blocking"):
                os.set_blocking(fd, True)
            write_all(fd, data)
    except OSError as error:
        message = f"cannot write the report: {neutral(path)}: {describe_os_error(error)}"
        raise ConfigError(message, hint="name another file") from None
