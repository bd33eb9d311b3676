"""Shorten the paths of a catalog with a table of the folders that they begin with.

Some clients count that table in the budget of their catalog.
"""

from __future__ import annotations

import os
import re
from collections import Counter

from prowess.hosts import measure_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from prowess.hosts import ShortPathRules

    from ._entry import Entry

__all__ = ["ShortPaths"]


class ShortPaths:
    """The short paths of the skills of one catalog."""

    def __init__(self, rules: ShortPathRules, entries: Sequence[Entry], roots: Iterable[str], *, bundled: bool) -> None:
        """Give each folder that paths begin with a number.

        Args:
            rules: the client's.
            entries: the skills of the catalog.
            roots: the folders that the client searches, in its order.
            bundled: whether the client shows skills of its own.
        """
        self._rules = rules
        bases = {entry.root: self._plugin(entry.root) for entry in entries}
        counts = Counter(base[0] for entry in entries if (base := bases[entry.root]))
        self._beginnings = {root: base[1] if base and counts[base[0]] == 1 else root for root, base in bases.items()}
        own = [rules.own] if bundled else []
        used = [*own, *(self._beginnings[root] for root in dict.fromkeys([*roots, *bases]) if root in bases)]
        self._numbers = {folder: number for number, folder in enumerate(dict.fromkeys(used))}

    def _plugin(self, root: str) -> tuple[str, str] | None:
        """Return the folder of the plugin that a root belongs to, and the folder that its plugins share."""
        match = re.match(self._rules.shared, root + os.sep) if self._rules.shared else None
        return (match[0], match[1]) if match else None

    def shorten(self, entry: Entry) -> str:
        """Return the path of a skill, beginning with the number of its folder if it is in there."""
        folder = self._beginnings[entry.root]
        prefix = os.path.join(folder, "")
        if not entry.path.startswith(prefix):
            return entry.path
        inside = entry.path[len(prefix) :]
        if inside.startswith((".", os.sep)) or f"{os.sep}{os.sep}" in inside or f"{os.sep}." in inside:
            inside = os.path.relpath(entry.path, folder)
        return f"r{self._numbers[folder]}/{inside}"

    def own(self, name: str) -> str:
        """Return the path of a skill of the client itself."""
        return f"r{self._numbers.get(self._rules.own, 0)}/{name}/SKILL.md"

    def table_cost(self, unit: str) -> int:
        """Return how much more the catalog costs with the table."""
        lines = "".join(f"- `r{number}` = `{folder}`\n" for folder, number in self._numbers.items())
        with_table = measure_text("x" * self._rules.text_with_table + lines, unit)
        return max(with_table - measure_text("x" * self._rules.text_without_table, unit), 0)
