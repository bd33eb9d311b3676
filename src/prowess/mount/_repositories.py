"""Recognize repositories inside a skill.

A client that runs git inside a skill with a repository of its own runs the hooks, filters and other commands that the
configuration of this repository names.
"""

from __future__ import annotations

import os
import re

from prowess._internal.file_names import is_bare_repository, plain_file_name, windows_file_names
from prowess._internal.text import PATH_LIMIT, quoted
from prowess.skill import MAX_DEPTH

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["REPOSITORY_HINT", "is_repository_name", "find_repository", "repository_problem"]

REPOSITORY_HINT = "remove it, or copy the skill without it: a client would run its hooks"
_MAX_FOLDERS = 10_000
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
    """Return the path of a repository inside a skill folder, or `None`. Links are not followed.

    The path is relative to the folder, and empty if the folder itself is a bare repository.
    """
    return next(_repositories(folder), None)


def _repositories(folder: str) -> Iterator[str]:
    pending, listed = [""], 0
    while pending and listed < _MAX_FOLDERS:
        inner = pending.pop()
        listed += 1
        names: list[str] = []
        try:
            with os.scandir(os.path.join(folder, inner)) as entries:
                for entry in entries:
                    path = os.path.join(inner, entry.name)
                    names.append(entry.name)
                    if is_repository_name(entry.name):
                        yield path
                    elif inner.count(os.sep) < MAX_DEPTH and entry.is_dir(follow_symlinks=False):
                        pending.append(path)
        except OSError:
            continue
        if is_bare_repository(names):
            yield inner
