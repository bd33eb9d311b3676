"""found skill + Host -> Entry, at a glance where that tells enough

Of most skills a glance tells what `view` would: name and state. All else of their entries is worked out when somebody
asks. That both agree, for every host, is a property under test.
"""

from __future__ import annotations

import os
import re

from .entry import Entry, State
from .findings import CODES
from .rules import MAX_DESCRIPTION, RESERVED_WORDS
from .skill import Requirements
from .view import PLAINLY, Verdict, View, Viewer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from .config import Settings
    from .discovery import Found
    from .disk import Disk
    from .findings import Finding
    from .glance import Glance
    from .host import Host

__all__ = ["Onlooker", "is_spotless"]

_SEEN_LATER = frozenset(
    code
    for code in CODES
    if code in ("name-not-folder", "name-reserved")
    or code.startswith(("description-", "license-", "compatibility-", "metadata-", "allowed-tools-", "field-"))
) - {"description-missing", "description-empty", "description-not-text", "description-type"}
"""What may be wrong with a skill that a glance has taken in; nothing else can."""
_NO_REQUIREMENTS = Requirements()


class Onlooker:
    """One host's rules, ready to make entries of what was found."""

    def __init__(self, host: Host, settings: Settings, disk: Disk) -> None:
        self.viewer = Viewer(host, settings, disk)
        self._flags = [frozenset(flag.when) for flag in host.flags]
        name, shown, reading = host.name_rules, host.description_rules, host.reading
        self._by_folder = name.identity == "folder"
        self._replaces = tuple(name.replace.items())
        self._limits = bool(name.max_length or name.pattern or name.must_equal_folder or name.reserved)
        self._settings = settings.trust == "untrusted" or bool(
            settings.effects or settings.folded or settings.patterns or settings.off_paths
        )
        self._not_texts = reading.not_texts
        self._glances = (
            not (reading.whole_file or reading.opening or reading.refuses)
            and _SEEN_LATER.isdisjoint(reading.rejects)
            and not (shown.limit and shown.past_limit == "drop")
            and not any(flag.file for flag in host.flags)
        )
        self.only_trims = shown.trim and not (
            shown.one_line or shown.append or shown.clean or shown.escape or shown.limit
        )
        """Whether nothing happens to a description but that white space around it is taken away."""
        self._keeps = self._by_folder or host.budget.degrade == "first-line"
        self._sights: dict[str, Sight] = {}

    def entry(self, item: Found) -> Entry:
        """Return what the host makes of a skill."""
        quick = self._quick(item) if self._glances else None
        view = None
        if quick is None:
            view = self.viewer.view(item)
            quick = view.name, view.verdict
        name, verdict = quick
        if item.place.namespace is not None:
            name = f"{item.place.namespace}:{name}"
        source = Sight(item, self, view)
        if self._keeps:
            self._sights[item.path] = source
        if verdict is PLAINLY:
            return Entry.later(source, name=name, state=State.ACTIVE)
        return Entry.later(source, name=name, state=verdict.state, reason=verdict.reason, rule=verdict.rule)

    def first_line(self, entry: Entry) -> str:
        """Return what is left of a description where only its first line is shown."""
        return self._sights[entry.path].view.first_line

    def second_name(self, entry: Entry) -> str:
        """Return what a host that goes by folders reads as the name; empty where it reads none."""
        return self._sights[entry.path].view.alias

    def _quick(self, item: Found) -> tuple[str, Verdict] | None:
        """Tell name and verdict as `view` would, or None where a glance does not tell."""
        seen = item.skill.seen
        if seen is None:
            return None
        name, _, keys, _ = seen
        for flag in self._flags:
            if flag <= keys:
                return None
        if self._not_texts and re.fullmatch(self._not_texts, name):
            return None
        verdict: Verdict | None = None
        folder = ""
        if self._limits or self._settings or self._by_folder:
            folder = os.path.basename(os.path.dirname(item.path))
        if self._limits:
            verdict = self.viewer.name_limits(name, folder)
        for old, new in self._replaces:
            name = re.sub(old, new, name)
        if self._by_folder:
            name = folder
        if verdict is None and self._settings:
            verdict = self.viewer.by_settings(item, name, folder)
        if verdict is None and item.place.nested is not None:
            verdict = self.viewer.nested(item)
        if verdict is not None and verdict.state is State.REJECTED:
            return None
        return name, verdict or PLAINLY


def is_spotless(seen: Glance, path: str) -> bool:
    """Say whether no rule minds anything about a skill of which this was seen, whatever the host."""
    name, description, _, others = seen
    return (
        others
        and path.endswith(f"/{name}/SKILL.md")
        and len(description) <= MAX_DESCRIPTION - 2
        and description.isascii()
        and description.replace("\n", "").isprintable()
        and "<" not in description
        and ">" not in description
        and not any(word in name for word in RESERVED_WORDS)
    )


class Sight:
    """A found skill in the eyes of one host: tells what its entry was not given."""

    __slots__ = ("_view", "item", "onlooker")

    def __init__(self, item: Found, onlooker: Onlooker, view: View | None) -> None:
        self.item, self.onlooker, self._view = item, onlooker, view

    def tell(self, name: str) -> Any:
        """Return an attribute of the entry."""
        return _TELLS[name](self)

    @property
    def view(self) -> View:
        """What the host makes of it, worked out in full."""
        if self._view is None:
            self._view = self.onlooker.viewer.view(self.item)
        return self._view

    def description(self) -> str:
        """Return the description as the host shows it."""
        seen = self.item.skill.seen
        return (
            seen[1] if seen is not None and self._view is None and self.onlooker.only_trims else self.view.description
        )

    def findings(self) -> tuple[Finding, ...]:
        """Return what is wrong with the skill to the host: of most it is plain to see that nothing is."""
        seen = self.item.skill.seen
        if seen is not None and self._view is None and is_spotless(seen, self.item.path):
            return ()
        return self.view.findings

    def frontmatter_name(self) -> str | None:
        """Return the name as its author wrote it."""
        seen = self.item.skill.seen
        return self.item.skill.name if seen is None else seen[0]

    def requirements(self) -> Requirements:
        """Return what the skill says it needs."""
        seen = self.item.skill.seen
        if seen is not None and seen[2].isdisjoint(("requires", "compatibility")):
            return _NO_REQUIREMENTS
        return self.item.skill.requirements


_TELLS: Mapping[str, Callable[[Sight], Any]] = {
    "alias": lambda _: None,
    "frontmatter_name": Sight.frontmatter_name,
    "folder": lambda sight: os.path.basename(os.path.dirname(sight.item.path)),
    "description": Sight.description,
    "path": lambda sight: sight.item.path,
    "real": lambda sight: sight.item.real,
    "scope": lambda sight: sight.item.place.scope,
    "root": lambda sight: sight.item.place.path,
    "namespace": lambda sight: sight.item.place.namespace,
    "reason": lambda _: None,
    "rule": lambda _: PLAINLY.rule,
    "shadowed_by": lambda _: None,
    "digest": lambda _: None,
    "requirements": Sight.requirements,
    "findings": Sight.findings,
    "skill": lambda sight: sight.item.skill,
}
