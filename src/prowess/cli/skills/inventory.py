"""prowess inventory: list every SKILL.md below a folder, whether an agent sees it or not."""

from __future__ import annotations

import os
from textwrap import wrap

from prowess._internal.files import real_path
from prowess._internal.text import display_width, neutral
from prowess.cli._arguments import chosen_hosts, comparison_from_args, require_paths
from prowess.cli._commands import FAILED, NO_SKILLS_HINT, OK
from prowess.cli._output import (
    Message,
    ProgressLine,
    Result,
    as_dicts,
    evidence_json,
    evidence_notes,
    finding_messages,
    json_fields,
    pluralize,
    truncate_or_pad,
)
from prowess.errors import ConfigError
from prowess.find import KINDS, find_repository_skills, with_linked_skills
from prowess.findings import CODES
from prowess.hosts import evidence_marks
from prowess.visibility import KIND_WORDS, Kind, skill_label

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from prowess.cli._parser import Arguments, Parser
    from prowess.find import RepositorySkill, RepositorySkills
    from prowess.visibility import ComparedSkill, Comparison, View

    Row = tuple[RepositorySkill, ComparedSkill]

EPILOG = """\
A skill is seen if the model or the user of an agent can call it, when the agent is started in DIR. `prowess why NAME`
explains one skill. Exit codes: 0 skills found; 1 no skills found."""


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


def options(parser: Parser) -> None:
    """Add the command's options."""
    parser.argument("dir", "DIR", "the folder to search (default: the working directory)", nargs="?")
    kinds = f"list only skills in places of this kind (repeatable): {', '.join(KINDS)}"
    parser.value("--kind", "KIND", kinds, action="append", choices=KINDS)
    parser.add_allow_empty()
    parser.add_all()
    parser.add_json()
    parser.discovery(host="many")


def run(args: Arguments) -> Result:
    """Return every skill below the folder, place by place."""
    require_paths(args, "cwd", "home", "role")
    top = os.path.join(args.cwd or ".", os.path.expanduser(args.dir or ""))
    if not os.path.isdir(top):
        raise ConfigError(f"`DIR` is not a folder: {neutral(args.dir or top)}", hint="check the path")
    top = real_path(top)
    args.cwd = args.cwd or top
    hosts, note = chosen_hosts(args)
    found, rows, counted = _find_rows(args, top, hosts)

    def text() -> Iterator[str]:
        yield from _lines(rows, top, hosts)
        yield from finding_messages(found.findings, base=top)
        if found.skipped:
            yield Message(_skipped_note(found))
        if note or len(hosts) > 1:
            yield Message(f"agents: {', '.join(evidence_marks(hosts))}{f' ({note})' if note else ''}")
        yield from evidence_notes(hosts)
        yield Message(_summary(rows, hosts))
        if not rows and not args.allow_empty:
            yield Message(NO_SKILLS_HINT)

    return Result(lambda: _as_dict(found, rows, hosts, counted), text(), OK if rows or args.allow_empty else FAILED)


def _find_rows(args: Arguments, top: str, hosts: Sequence[str]) -> tuple[RepositorySkills, list[Row], Comparison]:
    """Return what was found, each skill with the views of the agents, and the comparison of these skills."""
    progress = ProgressLine()
    found = find_repository_skills(top, home_too=True, progress=progress.show_folders)
    files = [item.path for item in found.skills]
    comparison = comparison_from_args(args, hosts, files, progress.show_skills)
    progress.clear()
    compared = {skill.real: skill for skill in comparison.skills}
    found = with_linked_skills(found, {real: skill.path for real, skill in compared.items()})
    kinds = args.kind or KINDS
    # A file that was removed or replaced since it was found may be missing here.
    rows = [(item, compared[item.real]) for item in found.skills if item.kind in kinds and item.real in compared]
    return found, rows, comparison.with_changes(skills=tuple(skill for _, skill in rows))


def _as_dict(
    found: RepositorySkills, rows: Sequence[Row], hosts: Sequence[str], counted: Comparison
) -> dict[str, object]:
    places: dict[str, list[Row]] = {}
    for row in rows:
        places.setdefault(row[0].place, []).append(row)
    seen = sum(map(_is_seen, rows))
    return {
        "top": found.top,
        "hosts": [*hosts],
        "evidence": evidence_json(hosts),
        "skills": [
            {
                **json_fields(item, "path real"),
                "name": skill.name,
                **json_fields(item, "kind plugin place inside"),
                "copy_of": skill.copy_of,
                "hosts": {host: view.as_dict() for host, view in skill.views.items()},
            }
            for item, skill in rows
        ],
        "places": [
            {
                "path": place,
                "kinds": sorted({item.kind for item, _ in members}),
                "plugins": sorted({item.plugin for item, _ in members if item.plugin}),
                "skills": len(members),
                "seen": sum(map(_is_seen, members)),
            }
            for place, members in places.items()
        ],
        "skipped": [json_fields(item, "reason count examples") for item in found.skipped],
        "counts": {
            "skills": len(rows),
            "places": len(places),
            "folders": found.folders,
            "seen": seen,
            "unseen": len(rows) - seen,
            "kinds": {kind: sum(item.kind == kind for item, _ in rows) for kind in KINDS},
            "hosts": {host: sum(skill.views[host].kind is Kind.SEEN for _, skill in rows) for host in hosts},
        },
        "kinds": counted.kinds,
        "findings": as_dicts(found.findings),
    }


def _summary(rows: Sequence[Row], hosts: Sequence[str]) -> str:
    if not rows:
        return "no skills found"
    seen = sum(map(_is_seen, rows))
    advice = "; `prowess check` says what to change" if seen < len(rows) else ""
    places = pluralize(len({item.place for item, _ in rows}), "place")
    seen_by, unseen = (hosts[0], "not") if len(hosts) == 1 else ("some agent", "by none")
    copies = sum(skill.copy_of is not None for _, skill in rows)
    where = f" ({copies:,} {'is a copy' if copies == 1 else 'are copies'})" if copies else ""
    counts = f"{seen:,} seen by {seen_by}, {len(rows) - seen:,} {unseen}"
    return f"{pluralize(len(rows), 'skill')} in {places}{where}: {counts}{advice}"


def _is_seen(row: Row) -> bool:
    return any(view.kind is Kind.SEEN for view in row[1].views.values())


def _lines(rows: Iterable[Row], top: str, hosts: Sequence[str]) -> Iterator[str]:
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
    """Return the name of a skill, and its folder in its place if that is another one."""
    item, skill = row
    folder = os.path.dirname(item.path)
    shown = skill_label(_short(skill.name), os.path.relpath(folder, place) if folder != place else skill.folder)
    inside = f"  (inside {neutral(os.path.basename(os.path.dirname(item.inside)))})" if item.inside else ""
    return f"{shown}{inside}"


def _short(name: str) -> str:
    """Return a name that is safe to show, on one line and not too long."""
    text = neutral(" ".join(name[:_MAX_NAME].split()))
    return truncate_or_pad(text, min(display_width(text), _MAX_NAME))


def _view_lines(views: Iterable[View], hosts: Sequence[str]) -> Iterator[str]:
    """Yield who sees a skill, and why the others do not."""
    seen: list[str] = []
    others: dict[str, list[str]] = {}
    for view in views:
        if view.kind is Kind.SEEN:
            seen.append(view.host if view.winner is None else f"{view.host} (a copy)")
        else:
            others.setdefault(_why_not(view), []).append(view.host)
    if seen:
        yield f"seen by {_name_agents(seen, hosts, 'all')}"
    for why, names in others.items():
        yield f"not seen by {_name_agents(names, hosts, 'any of the')}: {why}"


def _name_agents(names: Sequence[str], hosts: Sequence[str], all_words: str) -> str:
    """Return the names of agents, or how many they are if these are all."""
    is_all = len(hosts) >= _MIN_COUNTED and set(names) == set(hosts)
    return f"{all_words} {pluralize(len(hosts), 'agent')}" if is_all else ", ".join(names)


def _why_not(view: View) -> str:
    """Return why an agent does not show a skill, and the titles of what it rejects it for."""
    codes = () if view.loss is None else view.loss.codes[:_MAX_TITLES]
    return "; ".join([KIND_WORDS[view.kind], *(CODES[code].title for code in codes)])


def _skipped_note(found: RepositorySkills) -> str:
    """Return which folders were not searched."""
    parts = []
    for item in found.skipped:
        names = [neutral(os.path.relpath(path, found.top)) for path in item.examples]
        more = ", ..." if item.count > len(names) else ""
        parts.append(f"{item.count:,} {_SKIPPED[item.reason]} ({', '.join(names)}{more})")
    return f"not searched: {'; '.join(parts)}"
