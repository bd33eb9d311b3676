"""Find copies of a skill, and merge what several agents found.

Find the copies of a skill: exact ones, and mounted ones whose `name` became the name of their folder.

Bring together what several agents found, skill by skill.
"""

from __future__ import annotations

import os
import re

from prowess._internal.files import SKILL_FILE, UnreadableError, read_file
from prowess._internal.text import normalize_name
from prowess.catalog import REACHABLE
from prowess.skill import MAX_NAME, change_name, is_portable_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from prowess.catalog import Catalog, Entry
    from prowess.filesystem import Filesystem


class CopyFinder:
    """Skills among which others are searched for copies."""

    def __init__(self, filesystem: Filesystem) -> None:
        self.filesystem = filesystem
        self._added: dict[str, list[tuple[str, str | None]]] = {}

    def add(self, path: str, name: str | None) -> None:
        """Add a skill.

        Args:
            path: of its SKILL.md, without links.
            name: in its front matter.
        """
        for key in _keys(path, name):
            self._added.setdefault(key, []).append((path, name))

    def original(self, path: str, name: str | None) -> str | None:
        """Return the path of the first added skill that is a copy of this one, or that this one is a copy of."""
        candidates = dict.fromkeys(item for key in _keys(path, name) for item in self._added.get(key, ()))
        return next((other for other, its in candidates if self._are_copies(path, name, other, its)), None)

    def _are_copies(self, path: str, name: str | None, other: str, other_name: str | None) -> bool:
        """Return whether two skills are the same in every byte, or in all but a `name` that became the folder's."""
        if name == other_name:
            # Sizes are compared before any file is read.
            return self.filesystem.files(path) == self.filesystem.files(other) and self._is_same(path, other)
        if _may_be_renamed(path, name, other, other_name):
            original, copy = path, other
        elif _may_be_renamed(other, other_name, path, name):
            original, copy = other, path
        else:
            return False
        return (
            self._other_files(path) == self._other_files(other)
            and _is_renamed(original, copy, _folder(copy))
            and self._is_same(path, other, without=SKILL_FILE)
        )

    def _other_files(self, path: str) -> list[tuple[str, int]]:
        return [item for item in self.filesystem.files(path) if item[0] != SKILL_FILE]

    def _is_same(self, path: str, other: str, without: str = "") -> bool:
        digest = self.filesystem.digest(path, without)
        return digest is not None and digest == self.filesystem.digest(other, without)


def are_copies(filesystem: Filesystem, path: str, other: str) -> bool:
    """Return whether two skills are copies: the same file, the same in every byte, or in all but the name.

    Args:
        filesystem: what was read so far.
        path: of a SKILL.md, without links.
        other: likewise.
    """
    if path == other:
        return True
    finder = CopyFinder(filesystem)
    finder.add(other, filesystem.skill(other).name)
    return finder.original(path, filesystem.skill(path).name) is not None


def name_of_copy(own: str | None, folder: str) -> str:
    """Return the name under which a skill is mounted: its own or that of its folder, if valid.

    Args:
        own: the name in its front matter.
        folder: the name of its folder.
    """
    for name in (own, folder):
        if name and is_portable_name(name):
            return name
    valid = re.sub("[^a-z0-9]+", "-", folder.lower()).strip("-")[:MAX_NAME].strip("-")
    return valid if len(valid) > 1 else f"skill-{valid or 1}"  # some agents want two characters


def _keys(path: str, name: str | None) -> set[str]:
    folder = _folder(path)
    return {normalize_name(name or folder), normalize_name(folder), name_of_copy(name, folder)}


def _may_be_renamed(path: str, name: str | None, copy: str, copy_name: str | None) -> bool:
    """Return whether `mount` may have given a copy its name, which is that of its folder."""
    folder = _folder(copy)
    return name is not None and copy_name == folder and folder in (_folder(path), name_of_copy(name, _folder(path)))


def _folder(path: str) -> str:
    return os.path.basename(os.path.dirname(path))


def _is_renamed(original: str, copy: str, name: str) -> bool:
    """Return whether a SKILL.md is what `mount` writes for another one that it gives a name."""
    try:
        return change_name(read_file(original), name) == read_file(copy)
    except UnreadableError:
        return False


def rows_of_entries(catalogs: Mapping[str, Catalog], filesystem: Filesystem) -> dict[str, dict[str, Entry]]:
    """Return each skill by its real path: host to its entry, in the better state if a host reaches a file twice.

    Args:
        catalogs: by host.
        filesystem: records what a SKILL.md that is a link leads to.
    """
    rows: dict[str, dict[str, Entry]] = {}
    # Not every agent follows a SKILL.md that is a link; for all of them it is the file that it leads to.
    real_paths: dict[str, str] = {}
    for host, catalog in catalogs.items():
        for entry in catalog.skills:
            if entry.real not in real_paths:
                is_link = os.path.islink(entry.real)
                real_paths[entry.real] = filesystem.real(entry.real) if is_link else entry.real
            row = rows.setdefault(real_paths[entry.real], {})
            known = row.get(host)
            if known is None or _rank(entry) < _rank(known):
                row[host] = entry
    return rows


def _rank(entry: Entry) -> int:
    """Return how good the state of an entry is; the smallest rank is the best."""
    return REACHABLE.index(entry.state) if entry.state in REACHABLE else len(REACHABLE)


def first_entry(row: Mapping[str, Entry]) -> Entry:
    """Return the entry that a skill is shown by: one whose text was read, if there is one."""
    return min(row.values(), key=lambda entry: entry.rule == "file-is-link")
