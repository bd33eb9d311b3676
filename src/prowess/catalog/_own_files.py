"""Decide which files a repository calls its own: those that its authors wrote, not installed ones."""

from __future__ import annotations

import os
from itertools import pairwise

from prowess._internal.files import real_path
from prowess.findings import relative_path

from ._filesystem import Filesystem
from ._git_index import tracked_skill_paths
from ._gitignore import GitIgnore, ignore_files_above
from ._project import git_root

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._gitignore import IgnoreFile

__all__ = ["OwnFiles"]

_PACKAGE_FOLDERS = frozenset(((".prowess", "packages"), (".aam", "packages")))


class OwnFiles:
    """Knows which files belong to the git repository `base` itself, with what was read to learn it.

    An installed package, a file of a repository inside it, one that git ignores, and one that a link leads to outside
    do not.
    """

    def __init__(self, base: str) -> None:
        self.base, self.filesystem = base, Filesystem()
        self.is_repository = git_root(base, filesystem=self.filesystem) == base
        self._ignore = GitIgnore()
        self._rules: dict[tuple[str, ...], IgnoreFile | None] = {}
        self._ignored: dict[tuple[str, ...], bool] = {}
        self._tracked: frozenset[str] | None = None

    def contains(self, path: str) -> bool:
        """Return whether a file is one of the repository's own."""
        real = real_path(path)
        inside = relative_path(real, self.base)
        if inside is None or "node_modules" in (parts := tuple(inside.split(os.sep))):
            return False
        if any(pair in _PACKAGE_FOLDERS for pair in pairwise(parts)):
            return False
        if git_root(os.path.dirname(real), filesystem=self.filesystem) != self.base:
            return False
        return not self._is_ignored(parts) or self._is_tracked(parts)

    def _is_ignored(self, parts: tuple[str, ...], *, folder: bool = False) -> bool:
        """Return whether git ignores a path, or a folder above it."""
        if parts not in self._ignored:
            self._ignored[parts] = (len(parts) > 1 and self._is_ignored(parts[:-1], folder=True)) or (
                self._ignore.ignores(self._rules_in(parts[:-1]), parts, folder=folder)
            )
        return self._ignored[parts]

    def _rules_in(self, folder: tuple[str, ...]) -> IgnoreFile | None:
        """Return the rules for what is in a folder."""
        if folder not in self._rules:
            above = self._rules_in(folder[:-1]) if folder else None
            if not folder:
                for path, parts in ignore_files_above(self.base, self.base):
                    above = self._ignore.read(path, len(parts), above)
            path = os.path.join(self.base, *folder, ".gitignore")
            self._rules[folder] = self._ignore.read(path, len(folder), above)
        return self._rules[folder]

    def _is_tracked(self, parts: tuple[str, ...]) -> bool:
        """Return whether git tracks a file or the folder of its skill in spite of its rules."""
        if self._tracked is None:
            self._tracked = tracked_skill_paths(self.base)
        return "/".join(parts) in self._tracked or "/".join(parts[:-1]) in self._tracked
