"""Recognise repositories inside a skill.

A client that runs git inside a skill with a repository of its own runs the hooks, filters and other commands that the
configuration of this repository names.
"""

from __future__ import annotations

import os
import re

from prowess._internal.file_names import is_bare_repository, plain_file_name, windows_file_names
from prowess._internal.text import PATH_LIMIT, quoted

from ._folders import list_folders

__all__ = ["REPOSITORY_HINT", "is_repository_name", "find_repository", "repository_problem"]

REPOSITORY_HINT = "remove it, or copy the skill without it: a client would run its hooks"
_REPOSITORY_NAMES = frozenset((".git", ".hg", ".sl"))
"""The folders of git, Mercurial and Sapling, which all run commands that are configured in them."""
_is_short_name = re.compile(r"(git|hg|sl)~[0-9]+").fullmatch


def is_repository_name(name: str) -> bool:
    """Return whether a file of this name makes its folder a repository, on any system."""
    if name.isascii() and name[:1] != "." and "~" not in name and "\\" not in name:
        return False
    plain_names = map(plain_file_name, windows_file_names(name))
    return any(plain in _REPOSITORY_NAMES or _is_short_name(plain) for plain in plain_names)


def repository_problem(path: str) -> str:
    """Return the message for a repository at a path inside a skill; the path is empty for the skill itself."""
    if not path:
        return "the skill folder is a bare git repository"
    kind = "a repository" if is_repository_name(os.path.basename(path)) else "a bare git repository"
    return f"{quoted(path, PATH_LIMIT)} is {kind}"


def find_repository(folder: str) -> str | None:
    """Return the path of a repository inside a skill folder, or `None`.

    The path is relative to the folder, and empty if the folder itself is a bare repository.
    """
    for path, entries in list_folders(folder):
        names = [entry.name for entry in entries]
        if name := next(filter(is_repository_name, names), None):
            return os.path.join(path, name)
        if is_bare_repository(names):
            return path
    return None
