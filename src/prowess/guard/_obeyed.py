"""Find the ordinary files that protected ones lead to: by links, and by what git's configuration names."""

from __future__ import annotations

import os
from contextlib import suppress

from prowess._internal.files import is_inside, real_path

from ._git_names import named_by_git
from ._protection import links_on_the_way
from ._walk import MAX_ENTRIES, Item, UncheckedError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from ._protection import Protection

_MAX_INNER = 20_000
"""Files and folders in protected folders that are looked at."""
_NOT_SEARCHED = ("packages", "python", "bytecode", "unreadable")
"""Kinds of large folders whose links are not followed."""
_DATA_OF_GIT = ("objects", "refs", "logs")


class Obeyed:
    """What protected files lead to in a folder."""

    def __init__(self) -> None:
        self.paths: dict[str, str] = {}
        """Path of a file or folder to the kind that leads to it."""
        self.missing: dict[str, str] = {}
        """Path that does not exist to the path that leads to it."""
        self.links: dict[str, Item] = {}
        """Links on the way."""


def find_obeyed(items: dict[str, Item], folder: str, protection: Protection) -> Obeyed:
    """Find what protected files in a folder, and above it in its repository, lead to, if that is in the folder too.

    Args:
        items: path to what is protected in the folder.
        folder: absolute, without links.
        protection: what is protected.

    Raises:
        UncheckedError: there is too much to look at in the folder.
    """
    obeyed = Obeyed()
    with suppress(UncheckedError, OSError):
        _find(_protected_above(protection, folder), folder, obeyed)
    _find(items, folder, obeyed)
    for found in (obeyed.paths, obeyed.missing, obeyed.links):
        for path in [*found]:
            if protection.allows(path, "git"):  # whatever the kind is: the user named the path
                del found[path]
    return obeyed


def _find(items: dict[str, Item], folder: str, obeyed: Obeyed) -> None:
    left = _MAX_INNER
    for path, item in items.items():
        if item.target is not None:
            _follow(path, path, folder, item.kind, obeyed)
        elif item.kind not in _NOT_SEARCHED and os.path.isdir(path):
            for link in _links_in(path):
                left -= 1
                if left < 0:
                    raise UncheckedError(f"its protected folders have more than {_MAX_INNER:,} files")
                if link:
                    _follow(link, link, folder, item.kind, obeyed)
        if item.kind == "git" and (os.path.basename(path) == ".git" or os.path.isdir(path)):
            for named in named_by_git(path):
                _follow(named, path, folder, item.kind, obeyed)


def _protected_above(protection: Protection, folder: str) -> dict[str, Item]:
    """Return what is protected right in the folders above one, up to the root of its repository.

    Raises:
        OSError: one of them cannot be read.
    """
    if folder not in protection.roots:
        return {}
    above, home, found = folder, os.path.expanduser("~"), list[str]()
    while not os.path.lexists(f"{above}/.git"):
        above, below = os.path.dirname(above), above
        if above in (below, home):  # of a home, much is protected
            return {}
        found.append(above)
    return {path: item for inner in found for path, item in protected_right_in(protection, inner).items()}


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


def _follow(path: str, source: str, folder: str, kind: str, obeyed: Obeyed) -> None:
    """Add what a path leads to, and the links on the way, to files or folders.

    Args:
        path: absolute.
        source: the protected file that names it, or itself.
        folder: that contains what is added.
        kind: of the protected file.
        obeyed: what it is added to.
    """
    for link in links_on_the_way(path):
        if link != source and is_inside(link, folder):
            with suppress(OSError):
                status = os.lstat(link)
                obeyed.links[link] = Item(kind=kind, identity=(status.st_dev, status.st_ino), target=os.readlink(link))
    real = real_path(path)
    if is_inside(folder, real):
        obeyed.paths.setdefault(folder, kind)  # everything in the folder is obeyed
    elif is_inside(real, folder):
        if os.path.lexists(real):
            obeyed.paths.setdefault(real, kind)
        else:
            obeyed.missing.setdefault(real, source)


def obeyed_kinds(protection: Protection, folder: str) -> dict[str, str]:
    """Return the ordinary files that protected files in a folder lead to, there or not, and the links on the way.

    Each has the kind of the file that leads to it. In a folder with too many files, only what is right in it counts.
    """
    for find in (_leading, protected_right_in):
        try:
            items = find(protection, folder)
            obeyed = find_obeyed(items, folder, protection)
        except (UncheckedError, OSError):
            continue
        kinds = {path: item.kind for path, item in (items | obeyed.links).items() if item.target is not None}
        missing = {path: items[source].kind if source in items else "git" for path, source in obeyed.missing.items()}
        return kinds | obeyed.paths | missing
    return {}


def _leading(protection: Protection, top: str) -> dict[str, Item]:
    """Return the protected links and folders in a folder; quickly, since of ordinary files only the names are read.

    Raises:
        UncheckedError: there are too many files.
    """
    items: dict[str, Item] = {}
    pending, left = [top], MAX_ENTRIES
    while pending:
        folder = pending.pop()
        try:
            with os.scandir(folder) as found:
                entries = list(found)
        except OSError:
            continue
        left -= len(entries)
        if left < 0:
            raise UncheckedError(f"it has more than {MAX_ENTRIES:,} files")
        names = [entry.name for entry in entries]
        text = "/".join(names).lower()
        if folder != top and (not text.isascii() or any(mark in text for mark in _MARKS)):
            kind = protection.folder_kind(names)
            if kind and not protection.allows(folder, kind):
                items[folder] = Item(kind=kind, identity=(0, 0))
                continue
        parent = os.path.basename(folder)
        for entry in entries:
            if entry.is_file(follow_symlinks=False) and entry.name != ".git":
                continue
            kind = protection.part_kind(entry.name, parent) or protection.path_kind(entry.path)
            if kind and kind != "bytecode" and not protection.allows(entry.path, kind):
                items[entry.path] = Item(kind=kind, identity=(0, 0), target=_target(entry))
            elif entry.is_dir(follow_symlinks=False):
                pending.append(entry.path)
    return items


_MARKS = ("skill.md", "pyvenv.cfg", "head")
"""What is in the names of a folder that is protected because of them."""


def _target(entry: os.DirEntry[str]) -> str | None:
    return os.readlink(entry.path) if entry.is_symlink() else None


def protected_right_in(protection: Protection, folder: str) -> dict[str, Item]:
    """Return what is protected right in a folder, by its name.

    Raises:
        OSError: the folder cannot be read.
    """
    items = {}
    with os.scandir(folder) as entries:
        for entry in entries:
            kind = protection.part_kind(entry.name) or protection.path_kind(entry.path)
            if not kind or kind == "bytecode" or protection.contains_allowed(entry.path):
                continue
            if not protection.allows(entry.path, kind):
                items[entry.path] = Item(kind=kind, identity=(0, 0), target=_target(entry))
    return items
