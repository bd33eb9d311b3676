"""Decide whether a settings file of a project counts, where trust belongs to folders by their exact paths."""

from __future__ import annotations

import os
from collections.abc import Mapping

from prowess._internal.files import UnreadableError

from ._project import git_root

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from prowess.hosts import Setting

    from ._filesystem import Filesystem

__all__ = ["file_trust", "main_working_tree"]

_MAX_GIT_FILE_BYTES = 4096


def file_trust(setting: Setting, values: Iterable[Any], folders: Iterable[str | None]) -> str:
    """Return the trust of the first folder about which a value says something: `trusted`, `untrusted` or `unknown`.

    Args:
        setting: of the form `file-trust`.
        values: its values, highest precedence first: maps of folders.
        folders: in the order in which they decide; `None` is skipped.
    """
    tables = [value for value in values if isinstance(value, Mapping)]
    for folder in folders:
        for table in tables:
            word = table.get(folder)
            if setting.word:
                word = word.get(setting.word) if isinstance(word, Mapping) else None
            if isinstance(word, str) and word in setting.effects:
                return setting.effects[word]
    return "unknown"


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
