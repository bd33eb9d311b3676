"""prowess inventory: list every SKILL.md below a folder, whether an agent sees it or not."""

from __future__ import annotations

import os

from prowess._internal.files import real_path
from prowess._internal.text import neutral
from prowess.catalog import KINDS, REACHABLE, find_repository_skills, with_linked_skills
from prowess.errors import ConfigError
from prowess.hosts import evidence_marks

from ._agents import chosen_hosts
from ._commands import FAILED, OK
from ._discovery import comparison_from_args, require_paths
from ._inventory_text import inventory_lines, skipped_note
from ._options import (
    NO_SKILLS_HINT,
    add_all_option,
    add_allow_empty_option,
    add_discovery_options,
    add_json_option,
    make_parser,
)
from ._output import (
    evidence_json,
    pluralize,
    print_evidence_note,
    print_findings,
    print_json,
    print_stderr,
    print_stdout,
)
from ._progress import ProgressLine

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Sequence

    from prowess.catalog import ComparedSkill, RepositorySkill, RepositorySkills

    Row = tuple[RepositorySkill, ComparedSkill]

_EPILOG = """\
A skill is seen if the model or the user of an agent can call it, when the agent is started in DIR. `prowess why NAME`
explains one skill. Exit codes: 0 skills found; 1 no skills found."""


def parser() -> ArgumentParser:
    """Build the command's parser."""
    result = make_parser("inventory", epilog=_EPILOG)
    result.add_argument("dir", metavar="DIR", nargs="?", help="the folder to search (default: the working directory)")
    result.add_argument(
        "--kind",
        metavar="KIND",
        action="append",
        choices=KINDS,
        help=f"list only skills in places of this kind (repeatable): {', '.join(KINDS)}",
    )
    add_allow_empty_option(result)
    add_all_option(result)
    add_json_option(result)
    add_discovery_options(result, host="many")
    return result


def run(args: Namespace) -> int:
    """Print every skill below the folder, place by place."""
    require_paths(args, "cwd", "home", "role")
    top = os.path.join(args.cwd or ".", os.path.expanduser(args.dir or ""))
    if not os.path.isdir(top):
        raise ConfigError(f"`DIR` is not a folder: {neutral(args.dir or top)}", hint="check the path")
    top = real_path(top)
    args.cwd = args.cwd or top
    hosts, note = chosen_hosts(args)
    found, rows = _find_rows(args, top, hosts)
    if args.json:
        print_json(_as_json(found, rows, hosts))
    else:
        for line in inventory_lines(rows, top, hosts):
            print_stdout(line)
        print_findings(found.findings, base=top, to=print_stderr)
        if found.skipped:
            print_stderr(skipped_note(found))
        if note or len(hosts) > 1:
            print_stderr(f"agents: {', '.join(evidence_marks(hosts))}{f' ({note})' if note else ''}")
        print_evidence_note(hosts)
        print_stderr(_summary(rows, hosts))
        if not rows and not args.allow_empty:
            print_stderr(f"\nhint: {NO_SKILLS_HINT}")
    return OK if rows or args.allow_empty else FAILED


def _find_rows(args: Namespace, top: str, hosts: Sequence[str]) -> tuple[RepositorySkills, list[Row]]:
    """Return what was found, and each skill with the views of the agents."""
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
    return found, rows


def _summary(rows: Sequence[Row], hosts: Sequence[str]) -> str:
    if not rows:
        return "no skills found"
    seen = sum(map(_is_seen, rows))
    advice = "; `prowess check` says what to change" if seen < len(rows) else ""
    places = pluralize(len({item.place for item, _ in rows}), "place")
    seen_by, unseen = (hosts[0], "not") if len(hosts) == 1 else ("some agent", "by none")
    counts = f"{seen:,} seen by {seen_by}, {len(rows) - seen:,} {unseen}"
    return f"{pluralize(len(rows), 'skill')} in {places}: {counts}{advice}"


def _is_seen(row: Row) -> bool:
    return any(view.state in REACHABLE for view in row[1].views.values())


# ── JSON ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _as_json(found: RepositorySkills, rows: Sequence[Row], hosts: Sequence[str]) -> dict[str, object]:
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
                "path": item.path,
                "real": item.real,
                "name": skill.name,
                "kind": item.kind,
                "plugin": item.plugin,
                "place": item.place,
                "inside": item.inside,
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
        "skipped": [
            {"reason": item.reason, "count": item.count, "examples": [*item.examples]} for item in found.skipped
        ],
        "counts": {
            "skills": len(rows),
            "places": len(places),
            "folders": found.folders,
            "seen": seen,
            "unseen": len(rows) - seen,
            "kinds": {kind: sum(item.kind == kind for item, _ in rows) for kind in KINDS},
            "hosts": {host: sum(skill.views[host].state in REACHABLE for _, skill in rows) for host in hosts},
        },
        "findings": [item.as_dict() for item in found.findings],
    }
