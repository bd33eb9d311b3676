"""Apply lists of entries that switch skills on and off, each by a name or by the path of a SKILL.md."""

from __future__ import annotations

import os
from collections.abc import Mapping

from prowess._internal.files import expand_home
from prowess._internal.frozen import EMPTY, Frozen

from ._argument_settings import ARGUMENTS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from ._filesystem import Filesystem

__all__ = ["EntryRules", "entry_rules"]

_MAX_ENTRIES = 10_000
"""Entries of one list that count: the last ones."""


class EntryRules(Frozen):
    """Which skills are on and off; of several entries for one skill the last counts."""

    names: Mapping[str, tuple[int, bool, str]] = EMPTY
    """Name of a skill to the number of the last entry with it, whether that is on, and the file that says so."""
    paths: Mapping[str, tuple[int, bool, str]] = EMPTY
    """The same by the real path of a SKILL.md."""

    def off(self, name: str, real: str) -> str:
        """Return the file that switches a skill off; empty if none does."""
        found = [rule for rule in (self.names.get(name), self.paths.get(real)) if rule is not None]
        _, on, file = max(found, default=(0, True, ""))
        return "" if on else file


def entry_rules(lists: Iterable[tuple[str, Any]], *, cwd: str, home: str, filesystem: Filesystem) -> EntryRules:
    """Return what lists of entries say.

    Args:
        lists: settings file and list, highest precedence first.
        cwd: the folder that paths in arguments are relative to; those in a file are relative to its folder.
        home: the user's home.
        filesystem: what was read so far.
    """
    names: dict[str, tuple[int, bool, str]] = {}
    paths: dict[str, tuple[int, bool, str]] = {}
    number = 0
    for file, entries in reversed(list(lists)):
        folder = cwd if file == ARGUMENTS else os.path.dirname(file)
        for entry in entries[-_MAX_ENTRIES:] if isinstance(entries, list | tuple) else ():
            name, path, on = (
                (entry.get(key) for key in ("name", "path", "enabled")) if isinstance(entry, Mapping) else (None,) * 3
            )
            number += 1
            if not isinstance(on, bool) or (name is None) is (path is None):
                continue
            if isinstance(name, str) and name.strip():
                names[name.strip()] = number, on, file
            elif isinstance(path, str) and path and "\0" not in path:
                real = filesystem.real(os.path.normpath(os.path.join(folder, expand_home(path, home))))
                paths[real] = number, on, file
    return EntryRules(names=names, paths=paths)
