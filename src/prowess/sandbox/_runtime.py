"""Make the folder with the files that a command in a sandbox needs and that no system folder has.

    bin/python bin/python3   this Python, first on a command's PATH
    pyvenv.cfg lib           if this Python has a virtual environment, so that it finds its packages
    etc/passwd etc/group etc/hosts   generated, for commands that must not see the system's
    dev                              for root, devices whose permissions a command may change

Each process makes one when it first needs it, and removes it when it ends.
"""

from __future__ import annotations

import os
import re
import stat
import sys
from contextlib import suppress
from time import time

from prowess._internal.file_status import own_users
from prowess._internal.files import real_path
from prowess._internal.fs import remove_tree
from prowess._internal.text import PATH_LIMIT, describe_os_error, quoted
from prowess.errors import SandboxError

from ._programs import python_program

_IS_TEMP_NAME = re.compile("prowess-[a-z]+-[0-9a-f]{16}").fullmatch
_MAX_AGE = 2 * 86_400.0
"""Seconds after which a folder counts as left behind."""
_folders: dict[int, str] = {}
"""Process number to its folder: a forked process makes its own."""
_swept: set[str] = set()
"""Other folders for temporary folders from which this process has removed what was left behind."""
_DEVICES = {"null": (1, 3), "zero": (1, 5), "full": (1, 7), "random": (1, 8), "urandom": (1, 9), "tty": (5, 0)}
"""Of Linux, by name: what a sandbox has in `/dev`."""
_USERS = "root:x:0:0:root:/:/bin/sh\n{user}nobody:x:65534:65534:nobody:/:/bin/false\n"
_GROUPS = "root:x:0:\n{group}nogroup:x:65534:\n"
_HOSTS = "127.0.0.1 localhost\n::1 localhost\n"


def runtime_folder() -> str:
    """Return the folder with the runtime files of this process, without links.

    Raises:
        SandboxError: it cannot be made, or cannot be on `PATH`.
    """
    folder = _folders.get(os.getpid())
    if folder is None or not os.path.lexists(os.path.join(folder, "etc/hosts")):
        folder = make_temp_folder("runtime")
        _remove_stale(os.path.dirname(folder))
        if ":" in folder:
            remove_tree(folder)
            message = (
                f"no `python` for commands in {quoted(os.path.dirname(folder), PATH_LIMIT)}: PATH cannot contain `:`"
            )
            raise SandboxError(message, hint="set `TMPDIR` to a folder without `:` in its path")
        _write_runtime_files(folder)
        # If two threads make one at the same time, the first one is kept.
        kept = _folders.setdefault(os.getpid(), folder)
        if kept != folder and os.path.lexists(os.path.join(kept, "etc/hosts")):
            remove_tree(folder)
            return kept
        _folders[os.getpid()] = folder
        _remove_at_exit(folder)
    return folder


def own_devices() -> dict[str, str]:
    """Return the path of each device that this process has made, by its name in `/dev`; empty if it could not.

    Root owns the devices of the machine, and may change their permissions from inside a sandbox.
    """
    folder, found = os.path.join(runtime_folder(), "dev"), {}
    for name in _DEVICES:
        with suppress(OSError):
            os.chmod(os.path.join(folder, name), 0o666)  # noqa: S103 - a command may have changed it
            found[name] = os.path.join(folder, name)
    return found


def make_temp_folder(name: str, *, contained: bool = True) -> str:
    """Make a new folder for temporary files that only this user can read; return its path without links.

    Args:
        name: what it is for, as a part of its name.
        contained: whether a command that runs in it is in a sandbox; see `temporary_directory_root`.

    Raises:
        SandboxError: it cannot be made.
    """
    base = os.environ.get("TMPDIR") or "/tmp"  # noqa: S108 - the folder in it is new, with a random name
    try:
        if not contained:
            from prowess._internal.tempdirs import temporary_directory_root

            base = temporary_directory_root(contained=False)
            if base not in _swept:
                _swept.add(base)
                _remove_stale(base)
        path = os.path.join(real_path(base), f"prowess-{name}-{os.urandom(8).hex()}")
        os.mkdir(path, 0o700)
    except OSError as error:
        message = f"cannot make a folder for temporary files: {describe_os_error(error)}"
        raise SandboxError(message, hint="set `TMPDIR` to a folder you may write to") from None
    return path


def _remove_stale(base: str) -> None:
    """Remove the folders of processes that were killed; none is needed for days."""
    with suppress(OSError), os.scandir(base) as entries:
        for entry in entries:
            if _IS_TEMP_NAME(entry.name):
                with suppress(OSError):
                    status = entry.stat(follow_symlinks=False)
                    is_stale = time() - status.st_mtime > _MAX_AGE
                    if is_stale and stat.S_ISDIR(status.st_mode) and status.st_uid in own_users():
                        remove_tree(entry.path)


def remove_runtime_folder() -> None:
    """Remove the folder of this process now, for a program that does not end through Python."""
    folder = _folders.pop(os.getpid(), None)
    if folder is not None:
        remove_tree(folder)


def _write_runtime_files(folder: str) -> None:
    user, group = os.getuid(), os.getgid()
    files = {
        "etc/passwd": _USERS.format(user=f"user:x:{user}:{group}:user:/:/bin/sh\n" if user else ""),
        "etc/group": _GROUPS.format(group=f"user:x:{group}:\n" if group else ""),
        "etc/hosts": _HOSTS,
    }
    try:
        for name in ("bin", "etc"):
            os.mkdir(os.path.join(folder, name), 0o755)
        for name in ("python", "python3"):
            os.symlink(python_program(), os.path.join(folder, "bin", name))
        if sys.prefix != sys.base_prefix:
            with open(os.path.join(sys.prefix, "pyvenv.cfg"), encoding="utf-8") as file:
                files = {"pyvenv.cfg": file.read(), **files}
            os.symlink(os.path.join(sys.prefix, "lib"), os.path.join(folder, "lib"))
        for name, text in files.items():
            with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                file.write(text)
        _make_devices(folder)
    except OSError as error:
        remove_tree(folder)
        message = f"cannot make the folder with `python`: {describe_os_error(error)}"
        raise SandboxError(message, hint="check whether the disk is full") from None


def _make_devices(folder: str) -> None:
    """Make the devices, if this is root on Linux and the file system has devices."""
    if sys.platform != "linux" or os.geteuid() != 0:
        return
    path = os.path.join(folder, "dev")
    try:
        os.mkdir(path, 0o755)
        for name, numbers in _DEVICES.items():
            os.mknod(os.path.join(path, name), stat.S_IFCHR | 0o666, os.makedev(*numbers))
        os.close(os.open(os.path.join(path, "null"), os.O_WRONLY))
    except OSError:
        remove_tree(path)


def _remove_at_exit(folder: str) -> None:
    import atexit

    owner = os.getpid()

    def remove() -> None:
        if os.getpid() == owner:
            remove_tree(folder)

    atexit.register(remove)
