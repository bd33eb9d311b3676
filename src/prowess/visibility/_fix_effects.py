"""Find the other effects of `check --fix`: agents that load the skill only then, and copies that are no copies then.

A fix of one file may hide another skill of its name, and a copy that stays as it is becomes another skill.
"""

from __future__ import annotations

import os
from functools import lru_cache

from prowess._internal.text import neutral
from prowess.hosts import load_host
from prowess.skill import reason_not_to_fix

from ._losses import FixEffects

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from prowess.catalog import Entry

    from ._kinds import EntryKinds
    from ._losses import LossFinder


class FixedElsewhere:
    """Finds these effects. The agents are asked skill by skill, so the last answer is kept."""

    def __init__(
        self,
        finders: Mapping[str, LossFinder],
        kinds: Mapping[str, EntryKinds],
        rows: Mapping[str, Mapping[str, Entry]],
    ) -> None:
        """Take what is known of all agents in question.

        Args:
            finders: by agent.
            kinds: by agent.
            rows: each skill by its real path, as each agent sees it.
        """
        self._finders, self._kinds, self._rows = finders, kinds, rows
        self.effects = lru_cache(maxsize=1)(self._effects)

    def _effects(self, path: str) -> FixEffects:
        filesystem = next(iter(self._finders.values())).cures.filesystem
        real = filesystem.real(path)
        row, mounted = self._rows.get(real, {}), next(iter(self._finders.values())).cures.mounted
        copies: dict[str, None] = {}
        names: list[tuple[str, str]] = []
        for host, finder in self._finders.items():
            entry = row.get(host)
            copied = self._kinds[host].copy(entry or finder.alone(path), real)
            # A mounted copy stays the same skill, and is mounted again after the fix.
            if copied is not None and mounted.original(copied.real) != mounted.original(real):
                copies[copied.path] = None
            names += self._names(path, real, host, finder, entry)
        can_fix = [copy for copy in copies if self._can_fix(copy, path)]
        left = [copy for copy in copies if copy not in can_fix]
        return FixEffects(copies=tuple(can_fix), left=tuple(left), names=tuple(names))

    def _names(
        self, path: str, real: str, host: str, finder: LossFinder, entry: Entry | None
    ) -> Iterator[tuple[str, str]]:
        """Yield what to do about another skill of the name that an agent has only after the fix."""
        found, taken_names = finder.after_fix(path, entry), finder.taken_names
        if found is None or finder.host.collision == "keep-all":
            return
        before, after = found
        title, give = load_host(host).title, "give this skill or"
        other = taken_names.entry_of(host, after.name)
        if other is not None and other.real != real:
            shown = neutral(finder.display(other.path))
            yield host, f"{give} {shown}, which has that name, another name"
            if taken_names.comes_first(host, before.root, other.root):
                yield "", f"{give} {shown}, which has that name at {title}, another name"
        proposed = taken_names.propose(after.name, before.root, path, real.__eq__)
        if proposed is not None:
            yield "", f"{give} {neutral(finder.display(proposed[0]))}, which would get that name, another name"

    def _can_fix(self, copy: str, path: str) -> bool:
        """Return whether a copy can be fixed by the same command: it is its user's own file, with the same text."""
        finder = next(iter(self._finders.values()))
        folder, cures = os.path.dirname(copy), finder.cures
        return (
            os.path.basename(folder) == os.path.basename(os.path.dirname(path))
            and not reason_not_to_fix(copy)
            and cures.installed.at(folder) is None
            and not cures.mounted.is_mounted(folder)
            and not os.path.islink(folder)
        )
