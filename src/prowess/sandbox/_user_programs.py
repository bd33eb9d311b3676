"""Find the programs that a user installed outside the system's folders, such as those of a virtual environment."""

from __future__ import annotations

import os

from prowess._internal.files import is_inside, real_path

from ._run import SYSTEM_PATH

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_SYSTEM_PYTHONS = ("python", "python3")
"""Programs that every sandbox provides."""


def find_user_program(name: str, env: Mapping[str, str]) -> tuple[str, tuple[str, ...]]:
    """Find a program on the user's PATH, if it is not in a system folder.

    Args:
        name: the program's name; a path is returned unchanged.
        env: the user's environment.

    Returns:
        The program's path and the files and folders it needs; only the name if a system folder has it or if it is not
        found.
    """
    if (
        "/" in name
        or name in _SYSTEM_PYTHONS
        or any(os.access(f"{folder}/{name}", os.X_OK) for folder in SYSTEM_PATH.split(":"))
    ):
        return name, ()
    for folder in env.get("PATH", "").split(os.pathsep):
        path = os.path.join(folder, name)
        # A relative folder on PATH could be any project's.
        if os.path.isabs(folder) and os.path.isfile(path) and os.access(path, os.X_OK):
            real = real_path(path)
            return real, (real, *_virtual_environment_folders(os.path.dirname(os.path.dirname(real)), env))
    return name, ()


def search_path(program: str, needed: Sequence[str]) -> str:
    """Return the PATH for a program that `find_user_program` found: the system's folders, and perhaps its own."""
    return f"{SYSTEM_PATH}:{os.path.dirname(program)}" if needed else SYSTEM_PATH


def _virtual_environment_folders(prefix: str, env: Mapping[str, str]) -> tuple[str, ...]:
    """Return the folders of the Python virtual environment that a program belongs to, if any."""
    if not os.path.isfile(f"{prefix}/pyvenv.cfg"):
        return ()
    base = os.path.dirname(os.path.dirname(real_path(f"{prefix}/bin/python")))
    # A virtual environment that is the home folder itself must not make all of it readable.
    home = real_path(env.get("HOME") or os.path.expanduser("~"))
    return tuple(path for path in (prefix, base) if not is_inside(home, path))
