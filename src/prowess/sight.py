"""found skill + Host -> Entry, at a glance where that tells enough

Of most skills a glance tells what `view` would: name and state. All else of their entries is worked out when somebody
asks. That both agree, for every host, is a property under test.
"""

from __future__ import annotations

import os
import re

from .entry import Entry, State
from .findings import CODES
from .glance import NOT_TEXTS, plain_table
from .rules import MAX_COMPATIBILITY, MAX_DESCRIPTION, RESERVED_WORDS
from .skill import SPEC_FIELDS, Requirements
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

__all__ = ["Onlooker", "is_simple"]

_SEEN_LATER = frozenset(
    code
    for code in CODES
    if code in ("name-not-folder", "name-reserved")
    or code.startswith(("description-", "license-", "compatibility-", "metadata-", "allowed-tools-", "field-"))
) - {"description-missing", "description-empty", "description-not-text", "description-type"}
"""What may be wrong with a skill that a glance has taken in; nothing else can."""
_NO_REQUIREMENTS = Requirements()
_SIMPLE_FIELDS = frozenset(SPEC_FIELDS)
"""Only of these `is_simple` knows what the rules mind."""


class Onlooker:
    """One host's rules, ready to make entries of what was found."""

    def __init__(self, host: Host, settings: Settings, disk: Disk) -> None:
        self.viewer = Viewer(host, settings, disk)
        self._flags = [frozenset(flag.when) for flag in host.flags]
        name, shown, reading = host.name_rules, host.description_rules, host.reading
        self._by_folder = name.identity == "folder"
        self._replaces = tuple(name.replace.items())
        self._has_limits = bool(name.max_length or name.pattern or name.must_equal_folder or name.reserved)
        self._has_settings = settings.trust == "untrusted" or bool(
            settings.effects or settings.folded or settings.patterns or settings.off_paths
        )
        self._glances = (
            not (reading.whole_file or reading.opening or reading.refuses or reading.not_texts)
            and _SEEN_LATER.isdisjoint(reading.rejects)
            and not (shown.limit and shown.past_limit == "drop")
            and not any(flag.file for flag in host.flags)
        )
        self.only_trims = shown.trim and not (
            shown.one_line or shown.append or shown.clean or shown.escape or shown.limit
        )
        """Whether nothing happens to a description but that white space around it is taken away."""
        self._asks_again = self._by_folder or host.budget.degrade == "first-line"
        """Whether `decision` comes back for a second name or a first line."""
        self._views: dict[Found, View] = {}
        """What was worked out in full."""
        self._found: dict[str, Found] = {}
        """By path, where that is so."""

    def entry(self, item: Found) -> Entry:
        """Return what the host makes of a skill."""
        quick = self._quick(item) if self._glances else None
        if quick is None:
            view = self.view(item)
            quick = view.name, view.verdict
        name, verdict = quick
        if item.place.namespace is not None:
            name = f"{item.place.namespace}:{name}"
        if self._asks_again:
            self._found[item.path] = item
        if verdict is PLAINLY:
            return Entry.active(self, item, name)
        return Entry.later(self, item, name=name, state=verdict.state, reason=verdict.reason, rule=verdict.rule)

    def tell(self, item: Found, name: str) -> Any:
        """Return an attribute of a skill's entry that was not given to it."""
        return _TELLS[name](self, item)

    def view(self, item: Found) -> View:
        """Work out in full what the host makes of a skill, once."""
        view = self._views.get(item)
        if view is None:
            view = self._views[item] = self.viewer.view(item)
        return view

    def description(self, item: Found) -> str:
        """Return the description as the host shows it."""
        if item.seen is not None and item not in self._views and self.only_trims:
            return item.seen[1]
        return self.view(item).description

    def findings(self, item: Found) -> tuple[Finding, ...]:
        """Return what is wrong with a skill to the host."""
        known = self.findings_known(item)
        return self.view(item).findings if known is None else known

    def findings_known(self, item: Found) -> tuple[Finding, ...] | None:
        """Return the same if nothing must be worked out: of most skills it is plain to see that nothing is wrong."""
        if item in self._views:
            return self.view(item).findings
        return () if item.seen is not None and _is_spotless(item.seen, item.path) else None

    def requirements(self, item: Found) -> Requirements:
        """Return what a skill says it needs."""
        # They are lists in maps, which no glance takes in.
        return _NO_REQUIREMENTS if item.seen is not None else item.skill.requirements

    def first_line(self, entry: Entry) -> str:
        """Return what is left of a description where only its first line is shown."""
        return self.view(self._found[entry.path]).first_line

    def second_name(self, entry: Entry) -> str:
        """Return what a host that goes by folders reads as the name; empty where it reads none."""
        item = self._found[entry.path]
        return item.seen[0] if item.seen is not None and item not in self._views else self.view(item).alias

    def _quick(self, item: Found) -> tuple[str, Verdict] | None:
        """Tell name and verdict as `view` would, or None where a glance does not tell."""
        seen = item.seen
        if seen is None:
            return None
        name, _, keys, _ = seen
        for flag in self._flags:
            if flag <= keys:
                return None
        verdict: Verdict | None = None
        folder = ""
        if self._has_limits or self._has_settings or self._by_folder:
            folder = os.path.basename(os.path.dirname(item.path))
        if self._has_limits:
            verdict = self.viewer.name_limits(name, folder)
        for old, new in self._replaces:
            name = re.sub(old, new, name)
        if self._by_folder:
            name = folder
        if verdict is None and self._has_settings:
            verdict = self.viewer.by_settings(item, name, folder)
        if verdict is None and item.place.nested is not None:
            verdict = self.viewer.nested(item)
        if verdict is not None and verdict.state is State.REJECTED:
            return None
        return name, verdict or PLAINLY


def _is_spotless(seen: Glance, path: str) -> bool:
    """Say whether no rule minds anything about a skill that a glance took in, whatever the host."""
    name, description, _, front = seen
    # The line end of a block of text counts too, though a glance leaves it out.
    return (
        path.endswith(f"/{name}/SKILL.md")
        and len(description) <= MAX_DESCRIPTION - 2
        and description.isascii()
        and description.replace("\n", "").isprintable()
        and "<" not in description
        and ">" not in description
        and not any(word in name for word in RESERVED_WORDS)
        and is_simple(front)
    )


def is_simple(front: bytes) -> bool:
    """Say whether no rule minds any field of a front matter but name and description, if a glance took it in."""
    table = plain_table(front) or {"": ""}
    tools = table.get("allowed-tools", "Read")
    compatibility = table.get("compatibility", "any")
    return (
        _SIMPLE_FIELDS.issuperset(table)
        and table.get("license", "any") != ""
        and compatibility.strip() != ""
        and len(compatibility) <= MAX_COMPATIBILITY
        and tools[:1].isalpha()
        and tools.lower() not in NOT_TEXTS
        and ("metadata" not in table or b"\nmetadata:\n  " in front)
        and b"\n  - " not in front
    )


_TELLS: Mapping[str, Callable[[Onlooker, Found], Any]] = {
    "alias": lambda *_: None,
    "frontmatter_name": lambda _, item: item.skill.name if item.seen is None else item.seen[0],
    "folder": lambda _, item: os.path.basename(os.path.dirname(item.path)),
    "description": Onlooker.description,
    "path": lambda _, item: item.path,
    "real": lambda _, item: item.real,
    "scope": lambda _, item: item.place.scope,
    "root": lambda _, item: item.place.path,
    "namespace": lambda _, item: item.place.namespace,
    "reason": lambda *_: None,
    "rule": lambda *_: PLAINLY.rule,
    "shadowed_by": lambda *_: None,
    "digest": lambda *_: None,
    "requirements": Onlooker.requirements,
    "findings": Onlooker.findings,
    "skill": lambda _, item: item.skill,
}
"""How attributes of an entry are told that were not given to it."""
