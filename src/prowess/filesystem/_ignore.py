"""Decide which paths the ignore files below a skills folder leave out.

As pi 0.73.1 reads `.gitignore`, `.ignore` and `.fdignore`: git's patterns, without regard to case; a leading `/` has no
effect, and a pattern of a folder below the root matches in that folder only.
"""

from __future__ import annotations

import os
import re

from prowess._internal.files import UnreadableError, read_file
from prowess._internal.globs import Dialect, compile_parts, matches_parts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from prowess._internal.globs import Matcher

IGNORE_FILES = (".gitignore", ".ignore", ".fdignore")
_DIALECT = Dialect(sets="javascript", escapes=True, fold=True)
_MAX_IGNORE_FILE_BYTES = 64 * 1024
_MAX_PATTERN_LENGTH = 256
_MAX_STEPS = 1_000_000
_MAX_RULES = 1000
"""Rules of one skills folder; further lines have no effect, so that no file takes long."""


def read_following_links(path: str, limit: int) -> bytes:
    """Read a small file, links followed."""
    return read_file(path, limit, follow=True)


class IgnoreRules:
    """The rules read so far on one walk; the last one that matches a path decides."""

    def __init__(self) -> None:
        self._steps_left = _MAX_STEPS
        """Comparisons of a rule with a path; after the last one, no further path is ignored."""
        self._rules: list[tuple[bool, bool, int, tuple[Matcher | None, ...]]] = []
        """Negated; for folders only; characters of a pattern with stars; as `compile_parts` returns it."""

    def __bool__(self) -> bool:
        return bool(self._rules)

    def read(self, folder: str, relative: str, read: Callable[[str, int], bytes] = read_following_links) -> None:
        """Add the rules of the ignore files in a folder.

        Args:
            folder: the folder that contains them.
            relative: the same, relative to the skills folder, with `/`; empty for that folder itself.
            read: returns the content of a file, given its path and the most bytes to read, links followed.
        """
        for name in IGNORE_FILES:
            try:
                data = read(os.path.join(folder, name), _MAX_IGNORE_FILE_BYTES)
            except UnreadableError:
                continue
            for line in data.decode(errors="replace").replace("\r\n", "\n").split("\n"):
                if len(self._rules) < _MAX_RULES:
                    self._add_rule(line, f"{relative}/" if relative else "")

    def _add_rule(self, line: str, prefix: str) -> None:
        if not line.strip() or line.strip().startswith("#"):
            return
        # pi drops the backslash of `\!`, so that in the root, with nothing before it, the `!` negates.
        negated = line.startswith("!") or (line.startswith("\\!") and not prefix)
        pattern = prefix + re.sub(r"^(?:!|\\!)", "" if negated else "!", line, count=1).removeprefix("/")
        # Blanks at the end count only after a backslash.
        bare = pattern.rstrip(" \t")
        pattern = pattern[: len(bare) + 1] if bare.endswith("\\") else bare
        if len(pattern) > _MAX_PATTERN_LENGTH:
            return
        only_folders = pattern.endswith("/")
        parts = pattern.rstrip("/").split("/")
        if not parts[0] and len(parts) == 1:
            return
        if len(parts) == 1:
            parts = ["**", *parts]
        length = len(pattern) if "*" in pattern else 0
        self._rules.append((negated, only_folders, length, compile_parts(parts, _DIALECT)))

    def __call__(self, relative: str, *, folder: bool) -> bool:
        """Return whether a path, or a folder above it, is ignored.

        Args:
            relative: to the skills folder, with `/`.
            folder: whether it is a folder.
        """
        if not self._rules:
            return False
        parts = relative.split("/")
        return any(
            self._is_ignored(parts[:count], folder=folder or count < len(parts)) for count in range(1, len(parts) + 1)
        )

    def _is_ignored(self, parts: list[str], *, folder: bool) -> bool:
        characters = sum(map(len, parts))
        for negated, only_folders, length, patterns in reversed(self._rules):
            # What is between two stars is compared at each place of a name; 256 characters take as long as a part.
            self._steps_left -= len(patterns) + len(parts) + length * characters // 256
            if self._steps_left < 0:
                return False
            if (folder or not only_folders) and matches_parts(patterns, parts):
                return not negated
        return False
