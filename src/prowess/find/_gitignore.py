"""Decide which paths git ignores, by the `.gitignore` files of a repository.

Git itself is not asked, since the settings of a repository can name programs that git runs. The rules of other ignore
files, and the differences between clients and git, are in `_ignore`.
"""

from __future__ import annotations

import os
import re

from prowess._internal.files import UnreadableError
from prowess._internal.frozen import Frozen
from prowess._internal.globs import GIT, compile_parts, matches_parts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from prowess._internal.globs import Matcher
    from prowess.filesystem import Filesystem

    Rule = tuple[int, bool, bool, int, tuple[Matcher | None, ...]]

_MAX_FILE_BYTES = 64 * 1024
_MAX_PATTERN_LENGTH = 256
_MAX_RULES = 20_000
"""Rules of one repository; further lines have no effect."""
_MAX_STEPS = 5_000_000
"""Comparisons of a part of a rule with a part of a path, so that no repository takes long."""


class IgnoreFile(Frozen):
    """The rules of one ignore file."""

    above: IgnoreFile | None
    """The rules of the folders above, which decide if no rule of this file matches."""
    depth: int
    """How many parts the path of its folder has."""
    names: Mapping[str, tuple[tuple[int, bool, bool], ...]]
    """Rules that are a plain name: number, negated, for folders only; the last one, and the last of the other kind."""
    rules: tuple[Rule, ...]
    """The other rules: number, negated, for folders only, characters of a pattern with stars, and the parts as
    `compile_parts` returns them."""


class GitIgnore:
    """Reads the ignore files of one repository and applies them."""

    def __init__(self, filesystem: Filesystem) -> None:
        self._filesystem = filesystem
        self._rules_left = _MAX_RULES
        self._steps_left = _MAX_STEPS

    def read(self, path: str, depth: int, above: IgnoreFile | None) -> IgnoreFile | None:
        """Return the rules of a file before those of the folders above; just the latter if it cannot be read.

        Args:
            path: the ignore file; a link is not followed, as in git.
            depth: how many parts the path of its folder has, counted from the folder that paths are relative to.
            above: the rules of the folders above.
        """
        try:
            text = self._filesystem.data(path, _MAX_FILE_BYTES, follow=False).decode("utf-8", "surrogateescape")
        except UnreadableError:
            return above
        names: dict[str, tuple[tuple[int, bool, bool], ...]] = {}
        rules: list[Rule] = []
        for number, line in enumerate(text.removeprefix("\ufeff").split("\n")):
            parsed = _parse_rule(line)
            if parsed is None or self._rules_left <= 0:
                continue
            self._rules_left -= 1
            negated, only_folders, parts = parsed
            if len(parts) == 2 and parts[0] == "**" and not re.search(r"[*?\[\\]", parts[1]):
                others = [rule for rule in names.get(parts[1], ()) if rule[2] != only_folders]
                names[parts[1]] = (*others, (number, negated, only_folders))
            else:
                length = sum(map(len, parts)) if "*" in line else 0
                rules.append((number, negated, only_folders, length, compile_parts(parts, GIT)))
        return IgnoreFile(above=above, depth=depth, names=names, rules=tuple(rules)) if names or rules else above

    def ignores(self, rules: IgnoreFile | None, parts: Sequence[str], *, folder: bool) -> bool:
        """Return whether a path is ignored whose parent folder is not.

        Args:
            rules: of the folder that contains it.
            parts: of the path.
            folder: whether it is a folder.
        """
        while rules is not None:
            last = -1
            ignored = False
            for number, negated, only_folders in rules.names.get(parts[-1], ()):
                if folder or not only_folders:
                    last, ignored = number, not negated
            below = parts[rules.depth :]
            characters = sum(map(len, below))
            for number, negated, only_folders, length, patterns in reversed(rules.rules):
                # What is between two stars is compared at each place of a name.
                self._steps_left -= len(patterns) + len(below) + length * characters // 256
                if number < last or self._steps_left < 0:
                    break
                if (folder or not only_folders) and _matches(patterns, below):
                    last, ignored = number, not negated
                    break
            if last >= 0:
                return ignored
            self._steps_left -= 1
            rules = rules.above if self._steps_left > 0 else None
        return False


def _matches(patterns: Sequence[Matcher | None], parts: Sequence[str]) -> bool:
    """Match a path. The two most common forms, `*.log` and `/docs/build`, are decided by one part."""
    first = patterns[0]
    if first is not None:
        return bool(first(parts[0])) and matches_parts(patterns, parts)
    if len(patterns) == 2 and (name := patterns[1]) is not None:
        return bool(name(parts[-1]))
    return matches_parts(patterns, parts)


def _parse_rule(line: str) -> tuple[bool, bool, list[str]] | None:
    """Return whether a rule negates, whether it is for folders only, and its parts; `None` for a comment."""
    line = line.removesuffix("\r")
    if not line.strip() or line.startswith("#"):
        return None
    negated = line.startswith("!")
    pattern = line[negated:]
    # Blanks at the end count only after a backslash.
    bare = pattern.rstrip(" ")
    pattern = pattern[: len(bare) + 1] if bare.endswith("\\") else bare
    only_folders = pattern.endswith("/")
    pattern = pattern.removesuffix("/")
    if not pattern or len(pattern) > _MAX_PATTERN_LENGTH:
        return None
    parts = pattern.removeprefix("/").split("/")
    return negated, only_folders, parts if "/" in pattern else ["**", *parts]


def ignore_files_above(top: str, repository: str) -> list[tuple[str, tuple[str, ...]]]:
    """Return the places of ignore files from a repository down to the parent of a folder, and the parts to each."""
    below = os.path.relpath(top, repository)
    parts = () if below == os.curdir else tuple(below.split(os.sep))
    places = [(os.path.join(repository, ".git", "info", "exclude"), ())]
    return places + [(os.path.join(repository, *parts[:n], ".gitignore"), parts[:n]) for n in range(len(parts))]
