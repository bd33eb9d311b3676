"""Switch skills off and on by their paths, with patterns of a client's settings.

`!GLOB` switches off, `+PATH` on again and `-PATH` off, in this order wherever they are in the list. A glob matches the
path of a SKILL.md or of its folder, relative to the base or absolute, or the name of either; a path is exact.
"""

from __future__ import annotations

import os

from prowess._internal.frozen import Frozen
from prowess._internal.text import neutral
from prowess.filesystem import minimatch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

MAX_PATTERNS = 200
"""Patterns of one list that count."""


def is_pattern(text: str) -> bool:
    """Say whether an entry of a list is a pattern, and no path of a folder."""
    return text.startswith(("!", "+", "-")) or "*" in text or "?" in text


class PathPatterns(Frozen):
    """The patterns of one list."""

    base: str
    """The folder that relative paths belong to."""
    patterns: tuple[str, ...]
    file: str
    """The settings file with the list, for reasons."""
    form: str = "switch"
    """`switch` (globs without a sign have no effect), `select` (only what one of them matches is on, if there are any),
    `only` (nothing is on but what a pattern switches on; the last that matches counts) or `change` (the same over what
    `changed` says)."""
    changed: tuple[PathPatterns, ...] = ()

    def reason_off(self, path: str) -> str:
        """Return why the skill with this SKILL.md is off; empty if it is on."""
        return "" if self._is_on(path) else f"switched off in {neutral(self.file)}, so the agent does not list it"

    def _is_on(self, path: str) -> bool:
        patterns = self.patterns[:MAX_PATTERNS]
        if self.form in ("only", "change"):
            on = self.form == "change" and not any(each.reason_off(path) for each in self.changed)
            for pattern in patterns:
                matches = self._is_exact if pattern.startswith(("+", "-")) else self._matches
                if matches(path, [pattern[1:] if pattern.startswith(("+", "-", "!")) else pattern]):
                    on = not pattern.startswith(("!", "-"))
            return on
        by_sign = {sign: [item[1:] for item in patterns if item.startswith(sign)] for sign in "!+-"}
        plain = [item for item in patterns if not item.startswith(("!", "+", "-"))] if self.form == "select" else []
        on = (not plain or self._matches(path, plain)) and not self._matches(path, by_sign["!"])
        return (on or self._is_exact(path, by_sign["+"])) and not self._is_exact(path, by_sign["-"])

    def _paths(self, path: str) -> list[str]:
        """Return the path relative to the base and absolute, and those of the folder of a SKILL.md."""
        whole = [path, os.path.dirname(path)] if os.path.basename(path) == "SKILL.md" else [path]
        return [name for one in whole for name in (_relative(one, self.base), one)]

    def _matches(self, path: str, globs: Sequence[str]) -> bool:
        names = [*self._paths(path), os.path.basename(path)]
        if os.path.basename(path) == "SKILL.md":
            names.append(os.path.basename(os.path.dirname(path)))
        return any(minimatch(name, glob) for glob in globs for name in names)

    def _is_exact(self, path: str, exact: Sequence[str]) -> bool:
        return any(item.removeprefix("./") in self._paths(path) for item in exact)


def _relative(path: str, base: str) -> str:
    relative = os.path.relpath(path, base)
    return "" if relative == "." else relative
