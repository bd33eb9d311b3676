"""Find what the configuration of a repository names: the folder of its hooks, and further files of configuration."""

from __future__ import annotations

import os

from prowess._internal.files import UnreadableError, read_file, real_path
from prowess._internal.git_settings import parse_includes, parse_settings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_MAX_FILES = 50
_OF_USER = ("~/.gitconfig", "~/.config/git/config")
"""Configuration of the user, which may name a folder of hooks in each repository."""


def named_by_git(path: str) -> Iterator[str]:
    """Yield the absolute paths that a repository's configuration names; they need not exist.

    Args:
        path: of `.git`, absolute; in a worktree or a submodule it is a file that names the folder.
    """
    top, folder = os.path.dirname(path), path
    if os.path.isfile(path):
        folder = os.path.join(top, _read(path).removeprefix("gitdir:").strip())
    common = os.path.join(folder, _read(f"{folder}/commondir").strip())
    pending = [f"{folder}/config.worktree", os.path.join(common, "config"), *map(os.path.expanduser, _OF_USER)]
    for file in pending:
        data = _read(file).encode("utf-8", "surrogateescape")
        if hooks := parse_settings(data).get("core.hookspath"):
            yield os.path.join(top, os.path.expanduser(hooks))
        for name in parse_includes(data):
            included = os.path.join(os.path.dirname(file), os.path.expanduser(name))
            yield included
            if len(pending) < _MAX_FILES:
                pending.append(included)


def _read(path: str) -> str:
    try:
        return read_file(real_path(path)).decode("utf-8", "surrogateescape")
    except (UnreadableError, OSError, ValueError):
        return ""
