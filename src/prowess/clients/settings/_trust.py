"""Decide whether a client's user trusts a folder, as several clients do; their own lists are in their modules."""

from __future__ import annotations

import os
from collections.abc import Mapping

from prowess._internal.files import UnreadableError
from prowess.filesystem import git_root

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from prowess.filesystem import Filesystem

_MAX_FOLDERS = 10_000
"""Folders of one list whose links are resolved."""
_MAX_GIT_FILE_BYTES = 4096
_TRUST_WORDS = {"TRUST_FOLDER": "trusted", "TRUST_PARENT": "trusted", "DO_NOT_TRUST": "untrusted"}


def folders_with_trust(table: object, cwd: str) -> Iterator[tuple[str, str, str]]:
    """Yield the folders of a list: as written, as a path, and their trust, which is `trusted` or `untrusted`.

    Args:
        table: folder to `TRUST_FOLDER`, `TRUST_PARENT` (the folder that contains it) or `DO_NOT_TRUST`.
        cwd: what a relative path belongs to.
    """
    for written, word in list(table.items())[:_MAX_FOLDERS] if isinstance(table, Mapping) else ():
        effect = _TRUST_WORDS.get(word) if isinstance(word, str) else None
        if effect is not None and "\0" not in written:
            folder = os.path.dirname(written) if word == "TRUST_PARENT" else written
            yield written, os.path.normpath(os.path.join(cwd, folder)), effect


def word_of_nearest(table: object, directory: str, words: Mapping[object, str]) -> str:
    """Return the trust of the nearest folder at or above a directory for which a table has one of some words."""
    while isinstance(table, Mapping):
        word = table.get(directory)
        if isinstance(word, bool | str) and word in words:
            return words[word]
        parent = os.path.dirname(directory)
        if parent == directory:
            break
        directory = parent
    return "unknown"


def contains(folder: str, cwd: str) -> bool:
    """Return whether a folder is the working directory or above it."""
    return cwd == folder or cwd.startswith(os.path.join(folder, ""))


def main_working_tree(cwd: str, filesystem: Filesystem) -> str | None:
    """Return the top of a directory's repository; of a linked working tree, that of its main one."""
    top = git_root(cwd, filesystem=filesystem)
    if top is None or filesystem.kind(os.path.join(top, ".git")) != "f":
        return top
    try:
        text = filesystem.data(os.path.join(top, ".git"), _MAX_GIT_FILE_BYTES).decode("utf-8", "replace")
    except UnreadableError:
        return top
    target = text.removeprefix("gitdir:").strip()
    folder = os.path.normpath(os.path.join(top, target))
    if not text.startswith("gitdir:") or "\0" in target or os.path.basename(os.path.dirname(folder)) != "worktrees":
        return top
    return os.path.dirname(os.path.dirname(os.path.dirname(folder)))
