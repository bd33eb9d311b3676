"""Find the ordinary files that protected ones lead to, because they are run or obeyed as well.

`CLAUDE.md` may be a link to `docs/agents.md`, a hook a link to a script of the project, and git's configuration may
name another folder of hooks.
"""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

from prowess._internal.files import UnreadableError, read_file, real_path
from prowess._internal.frozen import Frozen
from prowess._internal.inside import is_inside
from prowess._internal.text import PATH_LIMIT, quoted

from ._git_config import parse_settings

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Item", "Obeyed", "UncheckedError", "find_obeyed"]

_MAX_INNER = 20_000
"""Files and folders in protected folders that are looked at."""
_MAX_LINKS = 40
_NOT_SEARCHED = ("packages", "python", "bytecode", "unreadable")
"""Kinds of large folders whose links are not followed."""
_DATA_OF_GIT = ("objects", "refs", "logs")


class UncheckedError(Exception):
    """A folder cannot be checked; the message says why."""


class Item(Frozen):
    """A protected file or folder that was there before."""

    kind: str
    identity: tuple[int, int]
    """Device and inode."""
    target: str | None = None
    """What it leads to, if it is a link."""


class Obeyed:
    """What protected files lead to in a folder."""

    def __init__(self) -> None:
        self.paths: dict[str, str] = {}
        """Path of a file or folder to the kind that leads to it."""
        self.missing: dict[str, str] = {}
        """Path that does not exist to the path that leads to it."""
        self.links: dict[str, Item] = {}
        """Links on the way."""


def find_obeyed(items: dict[str, Item], folder: str) -> Obeyed:
    """Find what protected files in a folder lead to, if that is in the folder too.

    Args:
        items: path to what is protected.
        folder: absolute, without links.

    Raises:
        UncheckedError: there is too much to look at.
    """
    obeyed = Obeyed()
    left = _MAX_INNER
    for path, item in items.items():
        if item.target is not None:
            _follow(path, folder, item.kind, obeyed)
        elif item.kind not in _NOT_SEARCHED and os.path.isdir(path):
            for link in _links_in(path):
                left -= 1
                if left < 0:
                    raise UncheckedError(f"its protected folders have more than {_MAX_INNER:,} files")
                if link:
                    _follow(link, folder, item.kind, obeyed)
            if hooks := _hooks_folder(path):
                _add(hooks, path, folder, item.kind, obeyed)
    return obeyed


def _links_in(folder: str) -> Iterator[str]:
    """Yield each link below a folder, and an empty text for everything else there."""
    folders = [folder]
    while folders:
        current = folders.pop()
        try:
            with os.scandir(current) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False) and entry.name not in _DATA_OF_GIT:
                        folders.append(entry.path)
                    yield entry.path if entry.is_symlink() else ""
        except OSError:
            continue


def _hooks_folder(git_folder: str) -> str | None:
    """Return the folder of hooks that a repository's configuration names."""
    try:
        settings = parse_settings(read_file(f"{git_folder}/config"))
    except UnreadableError:
        return None
    hooks = settings.get("core.hookspath")
    return os.path.join(os.path.dirname(git_folder), os.path.expanduser(hooks)) if hooks else None


def _follow(link: str, folder: str, kind: str, obeyed: Obeyed) -> None:
    """Add what a link leads to, and the links on the way."""
    path = link
    for _ in range(_MAX_LINKS):
        target = os.path.join(real_path(os.path.dirname(path)), os.readlink(path))
        path = os.path.join(real_path(os.path.dirname(target)), os.path.basename(target))
        if path in obeyed.links or not is_inside(path, folder):
            break
        status = os.lstat(path) if os.path.lexists(path) else None
        if status is None or not stat.S_ISLNK(status.st_mode):
            break
        obeyed.links[path] = Item(kind=kind, identity=(status.st_dev, status.st_ino), target=os.readlink(path))
    _add(path, link, folder, kind, obeyed)


def _add(path: str, source: str, folder: str, kind: str, obeyed: Obeyed) -> None:
    real = real_path(path)
    if is_inside(folder, real):
        raise UncheckedError(f"{quoted(source, PATH_LIMIT)} leads to the folder itself")
    if is_inside(real, folder):
        if os.path.lexists(real):
            obeyed.paths.setdefault(real, kind)
        else:
            obeyed.missing.setdefault(real, source)
