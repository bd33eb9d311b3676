"""Find the copies of a skill: exact ones, and mounted ones whose `name` became the name of their folder."""

from __future__ import annotations

import os

from prowess._internal.files import SKILL_FILE, UnreadableError, read_file
from prowess._internal.text import normalize_name
from prowess.skill import change_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._filesystem import Filesystem

__all__ = ["CopyFinder"]


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
        folder = _folder(path)
        if folder != _folder(other) or folder not in (name, other_name):
            return False
        original, copy = (other, path) if name == folder else (path, other)
        return (
            self._other_files(path) == self._other_files(other)
            and _is_renamed(original, copy, folder)
            and self._is_same(path, other, without=SKILL_FILE)
        )

    def _other_files(self, path: str) -> list[tuple[str, int]]:
        return [item for item in self.filesystem.files(path) if item[0] != SKILL_FILE]

    def _is_same(self, path: str, other: str, without: str = "") -> bool:
        digest = self.filesystem.digest(path, without)
        return digest is not None and digest == self.filesystem.digest(other, without)


def _keys(path: str, name: str | None) -> set[str]:
    return {normalize_name(name or _folder(path)), normalize_name(_folder(path))}


def _folder(path: str) -> str:
    return os.path.basename(os.path.dirname(path))


def _is_renamed(original: str, copy: str, name: str) -> bool:
    """Return whether a SKILL.md is what `mount` writes for another one that it gives a name."""
    try:
        return change_name(read_file(original), name) == read_file(copy)
    except UnreadableError:
        return False
