"""Format an inventory as text: places, and in each the skills that the same agents see."""

from __future__ import annotations

import os
from textwrap import wrap

from prowess._internal.text import display_width, neutral
from prowess.catalog import REACHABLE
from prowess.findings import CODES

from ._output import pluralize
from ._tables import truncate_or_pad

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from prowess.catalog import ComparedSkill, RepositorySkill, RepositorySkills, View

    Row = tuple[RepositorySkill, ComparedSkill]

__all__ = ["inventory_lines", "skipped_note"]

_WIDTH = 80
_MAX_NAME = 64
"""Cells of a name: the longest that the specification allows."""
_MAX_TITLES = 2
"""Reasons of one agent that are named."""
_MIN_COUNTED = 4
"""If all agents are meant and they are this many, their number is shown instead of their names."""
_SKIPPED = {
    "ignored by git": "ignored by git",
    "node_modules": "called node_modules",
    "virtual environment": "a virtual environment",
    "worktree": "another worktree of the repository",
}


def inventory_lines(rows: Iterable[Row], top: str, hosts: Sequence[str]) -> Iterator[str]:
    """Yield the lines of an inventory.

    Args:
        rows: each skill, and how the agents see it.
        top: the folder that was searched.
        hosts: the agents.
    """
    places: dict[str, list[Row]] = {}
    for row in rows:
        places.setdefault(row[0].place, []).append(row)
    for number, (place, members) in enumerate(places.items()):
        if number:
            yield ""
        yield f"{neutral(os.path.relpath(place, top))}  {_describe_place(members)}"
        groups: dict[tuple[str, ...], list[Row]] = {}
        for row in members:
            groups.setdefault(tuple(_view_lines(row[1].views.values(), hosts)), []).append(row)
        for lines, group in groups.items():
            for line in lines:
                yield from wrap(line, _WIDTH, initial_indent="  ", subsequent_indent="      ", break_on_hyphens=False)
            yield from (f"    {_describe_skill(row, place)}" for row in group)


def _describe_place(members: Sequence[Row]) -> str:
    """Return what kind of place it is, and how many skills it has."""
    kinds = dict.fromkeys(item.kind for item, _ in members)
    plugins = dict.fromkeys(item.plugin for item, _ in members if item.plugin)
    words = ", ".join(kind.replace("-", " ") for kind in kinds if kind not in ("plugin", "marketplace") or not plugins)
    named = f"plugin {', '.join(map(_short, plugins))}" if plugins else ""
    return f"({', '.join(filter(None, (named, words)))}; {pluralize(len(members), 'skill')})"


def _describe_skill(row: Row, place: str) -> str:
    """Return the folder of a skill in its place, and its name if that is another one."""
    item, skill = row
    folder = os.path.dirname(item.path)
    shown = neutral(os.path.relpath(folder, place)) if folder != place else "."
    notes = [] if skill.name == skill.folder else [f"name: {_short(skill.name)}"]
    if item.inside:
        notes.append(f"inside {neutral(os.path.basename(os.path.dirname(item.inside)))}")
    return f"{shown}  ({'; '.join(notes)})" if notes else shown


def _short(name: str) -> str:
    """Return a name that is safe to show, on one line and not too long."""
    text = neutral(" ".join(name[:_MAX_NAME].split()))
    return truncate_or_pad(text, min(display_width(text), _MAX_NAME))


def _view_lines(views: Iterable[View], hosts: Sequence[str]) -> Iterator[str]:
    """Yield who sees a skill, and why the others do not."""
    seen: list[str] = []
    others: dict[tuple[str, str], list[str]] = {}
    for view in views:
        if view.state in REACHABLE:
            seen.append(view.host if view.state == "active" else f"{view.host} ({view.state})")
        else:
            others.setdefault(_why_not(view), []).append(view.host)
    if seen:
        yield f"seen by {_name_agents(seen, hosts, 'all')}"
    for (words, reason), names in others.items():
        shown = _name_agents(names, hosts, "any of the")
        yield f"{words} {shown}{f': {reason}' if reason else ''}"


def _name_agents(names: Sequence[str], hosts: Sequence[str], all_words: str) -> str:
    """Return the names of agents, or how many they are if these are all."""
    is_all = len(hosts) >= _MIN_COUNTED and set(names) == set(hosts)
    return f"{all_words} {pluralize(len(hosts), 'agent')}" if is_all else ", ".join(names)


def _why_not(view: View) -> tuple[str, str]:
    """Return in few words what an agent does with a skill that it does not show, and a reason."""
    loss = view.loss
    if loss is None:
        return ("an exact copy is seen by" if view.winner else "not searched by"), ""
    titles = "; ".join(CODES[code].title for code in loss.codes[:_MAX_TITLES])
    if loss.kind == "place":
        return ("not searched, and not loaded, by" if titles else "not searched by"), titles
    if loss.kind == "name":
        return "hidden by another skill of that name from", ""
    if loss.kind == "text" and titles:
        return "not loaded by", titles
    return "not shown by", neutral(" ".join((view.reason or loss.reason).split()))


def skipped_note(found: RepositorySkills) -> str:
    """Return which folders were not searched."""
    parts = []
    for item in found.skipped:
        names = [neutral(os.path.relpath(path, found.top)) for path in item.examples]
        more = ", ..." if item.count > len(names) else ""
        parts.append(f"{item.count:,} {_SKIPPED[item.reason]} ({', '.join(names)}{more})")
    return f"not searched: {'; '.join(parts)}"
