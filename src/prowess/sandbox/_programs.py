"""Say where programs are: the folders of the system and of Pythons with programs, libraries and their data, no others.

What a project says about itself is not trusted. A virtual environment has the parts that every one has, without links,
and the Python that it names counts only if it is one, at a place where the user keeps some.
"""

from __future__ import annotations

import os
import sys
from fnmatch import fnmatchcase
from functools import cache

from prowess._internal.files import is_inside, real_path
from prowess._internal.fs import READ_FLAGS, open_fd

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
"""Where commands are looked up, after `python` and `python3`."""
_SYSTEM_PYTHONS = ("python", "python3")
"""Programs that every sandbox provides."""
_PARTS = ("bin", "sbin", "lib", "lib32", "lib64", "libx32", "libexec", "share", "include", "games")
"""What is visible of `/usr` and `/usr/local`. Not `src`, nor `etc`, which has settings of servers and keys."""
_SOFTWARE = ("cuda", "cuda-*", "go", "julia", "openjdk-*", "rustup", "texlive")
"""What software is installed as in a folder of its own in `/usr/local`."""
_PROJECT_MARKS = (".git", ".agents", ".claude", ".env")
_ENVIRONMENT_FILES = ("include", "share", ".gitignore", ".lock", "CACHEDIR.TAG")
"""Other files and folders of a virtual environment."""
_PYTHON_PARTS = (*_PARTS[:-2], "ssl", *(("Python", "Resources") if sys.platform == "darwin" else ()))
"""What is visible of a Python that is not a virtual environment; `ssl` has certificates."""
_KNOWN_PYTHONS = (
    *(".pyenv/versions", ".local/share/uv/python", ".asdf/installs/python", ".local/share/mise/installs/python"),
    *(".local/share/hatch/env/virtual/.pythons", ".rye/py"),
)
"""Hidden folders of a home with Pythons, each in a folder."""
_PYTHON_VARIABLES = {"PYENV_ROOT": "versions", "UV_PYTHON_INSTALL_DIR": "", "ASDF_DATA_DIR": "installs/python"}
"""Variables that name other folders with Pythons, each with what follows."""
_MAX_SETTINGS = 64 * 1024
"""Bytes of a `pyvenv.cfg`."""


# ── the system ───────────────────────────────────────────────────────────────────────────────────────────────────────


def system_folders() -> tuple[str, ...]:
    """Return the folders of the system that contain programs and what they need."""
    return tuple(path for path in ("/usr", "/nix/store", "/gnu/store", "/run/current-system") if os.path.isdir(path))


def hidden_parts(paths: Iterable[str], usr: str = "/usr") -> tuple[str, ...]:
    """Return the files and folders of `/usr` that no program needs; links are left out, and most empty folders.

    A mount costs a tenth of a millisecond or two at the start of a command: these few are hidden, and not all others
    shown.

    Args:
        paths: folders of projects, some perhaps in `/usr`.
        usr: `/usr` itself.
    """
    local = os.path.join(usr, "local")
    software = [entry for entry in _others(local, _PARTS) if not any(fnmatchcase(entry, name) for name in _SOFTWARE)]
    others = [os.path.join(usr, name) for name in _others(usr, (*_PARTS, "local"))]
    others += [os.path.join(local, name) for name in software]
    return (*others, *dict.fromkeys(project for path in paths for project in _projects(real_path(path), usr)))


def _others(folder: str, known: Sequence[str]) -> list[str]:
    """Return the names of the other files and folders in a folder, which are no links and not empty folders."""
    return [
        entry.name
        for entry in _entries(folder)
        if entry.name not in known and not entry.is_symlink() and not _is_empty_folder(entry)
    ]


def _projects(path: str, usr: str) -> Iterator[str]:
    """Yield the outermost folder with `.git` or the like in a folder for programs, if a path is in such a folder."""
    for top in (f"{folder}/{name}" for folder in (usr, f"{usr}/local") for name in _PARTS):
        inner = top
        for part in path[len(top) + 1 :].split("/") if path != top and is_inside(path, top) else ():
            inner = f"{inner}/{part}"
            if any(os.path.lexists(f"{inner}/{mark}") for mark in _PROJECT_MARKS):
                yield inner
                return


def _entries(folder: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError:
        return []


def _is_empty_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return not os.listdir(entry.path)
    except OSError:
        return False  # a file, or who knows


# ── Pythons ──────────────────────────────────────────────────────────────────────────────────────────────────────────


@cache
def python_folders() -> tuple[str, ...]:
    """Return the programs and libraries of this Python, except those in the folders of the system."""
    found: list[str] = []
    for base in (sys.base_prefix, sys.base_exec_prefix):
        found += _base_parts(base, real_path(os.path.expanduser("~")))
    if sys.prefix != sys.base_prefix:
        found += _environment_parts(sys.prefix)
    return tuple(dict.fromkeys(found))


def _base_parts(prefix: str, home: str) -> tuple[str, ...]:
    """Return what a command needs of a Python that is not a virtual environment."""
    real = real_path(prefix)
    if real in ("/", "/usr", "/usr/local"):
        return ()  # these are visible
    # One that is installed right in a home must not show other folders of that.
    if is_inside(home, real):
        return _environment_parts(prefix)
    return _own_parts(prefix, _PYTHON_PARTS, known=("include", "games"))


def _environment_parts(prefix: str) -> tuple[str, ...]:
    """Return the programs and libraries of a virtual environment, which can be a project of its user too."""
    libraries = [
        f"{folder}/{entry.name}"
        for folder in ("lib", "lib64")
        for entry in _entries(os.path.join(prefix, folder))
        if entry.name.startswith(("python", "pypy")) or ".so" in entry.name
    ]
    names = [name.partition("/")[2] for name in libraries]
    if any(_others(os.path.join(prefix, folder), names) for folder in ("lib", "lib64")):
        return _own_parts(prefix, ("bin", "pyvenv.cfg", *libraries))
    return _own_parts(prefix, ("bin", "pyvenv.cfg", "lib", "lib64"), known=_ENVIRONMENT_FILES)


def python_program() -> str:
    """Return the path of this Python: `sys.executable` is relative if Python was found by a relative PATH."""
    if not sys.executable or os.path.isabs(sys.executable):
        return sys.executable
    return os.path.join(sys.exec_prefix, "bin", os.path.basename(sys.executable))


def _own_parts(prefix: str, names: Sequence[str], known: Sequence[str] | None = None) -> tuple[str, ...]:
    """Return the parts of a Python that exist and are no links: under the path as given, and under the real one.

    Args:
        prefix: its folder.
        names: of the parts.
        known: other names that may be there, if the folder is returned in their place when there is nothing but that.
    """
    real = real_path(prefix)
    own = [name for name in names if os.path.exists(path := os.path.join(real, name)) and real_path(path) == path]
    if own and known is not None and not _others(real, (*names, *known)):
        own = [""]
    tops = dict.fromkeys((os.path.abspath(prefix), real))
    return tuple(os.path.join(top, name) if name else top for top in tops for name in own)


def _is_python(prefix: str) -> bool:
    """Return whether a folder has the library of Python, by the file that Python itself looks for."""
    return any(
        os.path.isfile(os.path.join(prefix, folder, name, "os.py"))
        for folder in ("lib", "lib64")
        for name in (entry.name for entry in _entries(os.path.join(prefix, folder)))
        if name.startswith(("python", "pypy"))
    )


def _is_at_usual_place(prefix: str, home: str, env: Mapping[str, str]) -> bool:
    """Return whether a Python is not in a hidden folder of the home, unless that is one for Pythons."""
    if not is_inside(prefix, home) or not os.path.relpath(prefix, home).startswith("."):
        return True
    known = [os.path.join(home, folder) for folder in _KNOWN_PYTHONS]
    known += [os.path.join(env[name], after) for name, after in _PYTHON_VARIABLES.items() if env.get(name)]
    if data := env.get("XDG_DATA_HOME"):
        known.append(os.path.join(data, "uv/python"))
    return any(is_inside(os.path.dirname(prefix), real_path(folder)) for folder in known)


# ── programs ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def find_user_program(name: str, env: Mapping[str, str]) -> tuple[str, tuple[str, ...]]:
    """Find a program on the user's PATH, if it is not in a system folder.

    Args:
        name: the program's name; a path is returned unchanged.
        env: the user's environment.

    Returns:
        The program's path and the files and folders it needs, some perhaps behind links; only the name if a system
        folder has it or if it is not found.
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
            return real, (real, *environment_folders(os.path.dirname(os.path.dirname(real)), env))
    return name, ()


def search_path(program: str, needed: Sequence[str]) -> str:
    """Return the PATH for a program that `find_user_program` found: the system's folders, and perhaps its own."""
    return f"{SYSTEM_PATH}:{os.path.dirname(program)}" if needed else SYSTEM_PATH


def environment_folders(prefix: str, env: Mapping[str, str]) -> tuple[str, ...]:
    """Return what a program needs of a Python virtual environment, and of the Python that this is made with.

    Args:
        prefix: the folder that may be one.
        env: the user's environment.
    """
    home = real_path(env.get("HOME") or os.path.expanduser("~"))
    found: list[str] = []
    for base in _named_bases(prefix):
        real = real_path(base)
        if real != prefix and _is_python(real) and _is_at_usual_place(real, home, env):
            found += _base_parts(base, home)
    return (*_environment_parts(prefix), *found) if found else ()


def _named_bases(prefix: str) -> Iterator[str]:
    """Yield the folders of the Python that a virtual environment is made with, as it says; nothing without one."""
    try:
        with open_fd(os.path.join(prefix, "pyvenv.cfg"), READ_FLAGS) as fd:
            text = os.read(fd, _MAX_SETTINGS).decode("utf-8", "replace")
    except (OSError, ValueError):
        return
    for line in text.splitlines():
        key, _, value = line.partition("=")
        if key.strip().lower() == "home" and os.path.isabs(value.strip()):
            yield os.path.dirname(os.path.normpath(value.strip()))
    yield os.path.dirname(os.path.dirname(real_path(os.path.join(prefix, "bin/python"))))
