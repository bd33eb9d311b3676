"""Know the folders in which Prowess keeps what it trusts and needs, and those of the user's skills."""

from __future__ import annotations

import os

from prowess._internal.files import is_inside, real_path
from prowess._internal.frozen import Frozen
from prowess._internal.tempdirs import temporary_directory_root
from prowess._internal.user_dirs import cache_folder, config_folder, data_folder
from prowess._internal.variable_paths import variable_path

from ._protection import ProtectedPath

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping


class KeptFolder(Frozen):
    """A folder that no command changes."""

    path: str
    """Absolute."""
    what: str
    """What it contains, for messages."""
    kind: str = "prowess"
    """As of `ProtectedPath`."""


def kept_folders(env: Mapping[str, str], home: str) -> Iterator[KeptFolder]:
    """Yield the folders of Prowess, and those where agents look for the user's own skills; they need not exist.

    Args:
        env: the environment of the user.
        home: the user's home.
    """
    own = (
        (config_folder(env), "the folder of the trust record"),
        (data_folder(env), "the folder of installed skills"),
        (cache_folder(env), "the cache of Prowess"),
    )
    for folder, what in own:
        if folder is not None and os.path.isabs(folder):
            yield KeptFolder(path=os.path.normpath(folder), what=what)
    from prowess.hosts import TABLES

    roots = {
        root["path"]
        for table in TABLES.values()
        for root in table.get("roots", ())
        if root.get("scope") == "user" and root.get("path", "").startswith(("~/", "$"))
    }
    for path in sorted(roots):
        folder = variable_path(path, env, home)
        if os.path.isabs(folder):
            yield KeptFolder(path=os.path.normpath(folder), what="a folder of your skills", kind="skill")


def own_paths(env: Mapping[str, str], home: str) -> tuple[ProtectedPath, ...]:
    """Return what tools must not write because Prowess keeps or trusts it, and the copies that it runs."""
    paths = [ProtectedPath(folder=temporary_directory_root(), name="prowess-*", kind="prowess")]
    for folder in kept_folders(env, home):
        above, name = os.path.split(folder.path)
        paths.append(ProtectedPath(folder=above, name=name, kind=folder.kind))
        if folder.kind == "prowess":  # also if that is the folder in which may be written
            paths.append(ProtectedPath(folder=folder.path, name="trust.json*", kind="prowess"))
    return tuple(paths)


def folder_problem(folder: str, kept: Iterable[KeptFolder], home: str) -> str | None:
    """Return why commands cannot write in a folder as a whole; `None` if they can.

    Args:
        folder: absolute, without links.
        kept: the folders that no command changes.
        home: the user's home.
    """
    if folder == real_path(home):
        return "it is your home"
    for other in kept:
        path = real_path(other.path)
        if is_inside(folder, path):
            return f"it is in {other.what}"
        if is_inside(path, folder):
            return f"it contains {other.what}"
    return "it contains your home" if is_inside(real_path(home), folder) else None
