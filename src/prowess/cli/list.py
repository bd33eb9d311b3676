"""prowess list: list skills and their states, for one agent or as a matrix of agents."""

from __future__ import annotations

import os
import sys

from prowess._internal.files import display_path
from prowess._internal.text import neutral
from prowess.catalog import State
from prowess.findings import Severity
from prowess.hosts import DEFAULT_HOST, evidence_marks, evidence_of, raw_value

from ._color import STATE_STYLES
from ._commands import OK
from ._discovery import catalog_from_args, require_paths
from ._output import (
    evidence_json,
    pluralize,
    print_evidence_note,
    print_findings,
    print_json,
    print_stderr,
    print_stdout,
)
from ._tables import format_table, terminal_width

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Sequence

    from prowess.catalog import Catalog, Entry, Filesystem
    from prowess.findings import Finding

    from ._matrix import MatrixRow

_EPILOG = """\
Without --host, the result is a table of skills, by their folders, and of the agents found on this machine:
  yes  the model sees it       user  only the user can call it      later  it appears later
  -    another skill hides it  off   it is disabled or not trusted  no     the agent does not load it
  ?    skills share that name; the winner is undefined
An empty cell means that the agent does not search that folder. Skills of one folder with the same cells share a row;
--rows prints a row for each. `prowess why NAME` explains each cell."""

_PIPE_WIDTH = 80
"""The width of the matrix if stdout is not a terminal."""


def parser() -> argparse.ArgumentParser:
    """Return the command's parser."""
    from ._options import add_all_option, add_discovery_options, add_json_option, make_parser

    result = make_parser("list", epilog=_EPILOG)
    add_discovery_options(result, host="many")
    add_all_option(result)
    result.add_argument(
        "--rows", action="store_true", help="in the table, print a row for each skill, also if several rows are equal"
    )
    result.add_argument("--digest", action="store_true", help="also print the digest of each skill's files")
    add_json_option(result)
    return result


def run(args: argparse.Namespace) -> int:
    """Print the skills of one host, or the matrix."""
    require_paths(args, "cwd", "home", "role")
    hosts = args.host or []
    args.host = None
    if len(hosts) == 1 and not args.all:
        return _list_host(args, hosts[0])
    return _list_matrix(args, [] if args.all else hosts)


# ── one host ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def _list_host(args: argparse.Namespace, host: str) -> int:
    catalog = catalog_from_args(args, host)
    if args.digest:
        from prowess.catalog import Filesystem, with_digest

        filesystem = Filesystem()
        catalog = catalog.with_changes(skills=tuple(with_digest(entry, filesystem) for entry in catalog.skills))
    if args.json:
        print_json(
            {
                "host": catalog.host.name,
                "cwd": catalog.cwd,
                "home": catalog.home,
                "skills": [entry.as_dict() for entry in catalog.skills],
                "findings": [item.as_dict() for item in catalog.findings],
                "counts": catalog.counts,
                "evidence": evidence_of(catalog.host.name).as_dict(),
            }
        )
        return OK
    if catalog.skills:
        for line in format_table(_host_table(catalog), styles={1: STATE_STYLES}):
            print_stdout(line)
    if args.digest:
        _print_digests(catalog.skills, catalog)
    _print_catalog_findings(catalog.findings, catalog, include_disabled=True)
    print_stderr(_summary(catalog))
    print_evidence_note([catalog.host.name])
    if not catalog.skills:
        _print_empty_hint(catalog)
    return OK


def _print_digests(entries: Iterable[Entry], catalog: Catalog) -> None:
    from prowess.catalog import Filesystem, with_digest

    filesystem = Filesystem()
    for entry in entries:
        digest = with_digest(entry, filesystem).digest or "no digest"
        print_stdout(f"{digest}  {neutral(_display_skill_path(entry.path, catalog))}")


def _host_table(catalog: Catalog) -> list[tuple[str, ...]]:
    return [
        ("NAME", "STATE", "SCOPE", "WHERE", "WHY OR WHAT"),
        *(
            (
                entry.name,
                str(entry.state),
                entry.scope,
                _display_skill_path(entry.path, catalog, entry.name),
                _reason_or_description(entry, catalog),
            )
            for entry in catalog.skills
        ),
    ]


def _reason_or_description(entry: Entry, catalog: Catalog) -> str:
    text = entry.reason or entry.description
    if entry.shadowed_by:
        text = text.replace(entry.shadowed_by, _display_skill_path(entry.shadowed_by, catalog), 1)
    return " ".join(text.split())


def _display_skill_path(path: str, catalog: Catalog, name: str = "") -> str:
    """Return the path of a skill for display, without `SKILL.md`, and without its folder if that is called `name`."""
    path = path.removesuffix("/SKILL.md").removesuffix(f"/{name}" if name else "")
    return display_path(path, catalog.cwd, catalog.home)


def _summary(catalog: Catalog) -> str:
    counts = catalog.counts
    parts = [f"{count} {state}" for state, count in counts.items() if count and state != "found"]
    mark = "".join(evidence_marks([catalog.host.name])).removeprefix(catalog.host.name)
    return f"{catalog.host.title}{mark}: {counts['found']} found" + (f" ({', '.join(parts)})" if parts else "")


def _print_catalog_findings(findings: Iterable[Finding], catalog: Catalog, *, include_disabled: bool) -> None:
    """Print errors and warnings; with `include_disabled` also the hosts whose skills are disabled."""
    shown = (
        item
        for item in findings
        if (include_disabled if item.code == "host-disabled" else item.severity is not Severity.INFO)
    )
    print_findings(shown, base=catalog.cwd, to=print_stderr)


def _print_empty_hint(catalog: Catalog) -> None:
    roots = [scan_root.path for scan_root in catalog.scan_roots if scan_root.scope in ("project", "user")]
    if roots:
        host = f" --host {catalog.host.name}" if catalog.host.name != DEFAULT_HOST else ""
        folder = neutral(_display_skill_path(roots[0], catalog))
        print_stderr(f"\nhint: put skills into {folder}, or run `prowess new my-skill{host}`")


# ── the matrix ───────────────────────────────────────────────────────────────────────────────────────────────────────


def _list_matrix(args: argparse.Namespace, names: Sequence[str]) -> int:
    from functools import cache

    from prowess.catalog import count_losses, new_filesystem

    from ._agents import chosen_hosts
    from ._losses import summarize_losses

    filesystem = cache(new_filesystem)
    args.host = [*names]
    hosts, note = chosen_hosts(args)
    if note is not None:
        print_stderr(note)
    hosts = hosts if names else [DEFAULT_HOST, *hosts]
    catalogs = [catalog_from_args(args, host, filesystem) for host in hosts]
    skills = _matrix_rows(hosts, catalogs)
    findings = {(item.code, item.path, item.message): item for catalog in catalogs for item in catalog.findings}
    if args.json:
        print_json(_matrix_json(hosts, catalogs, skills, findings.values(), digests=args.digest))
        return OK
    base = catalogs[0]
    if skills:
        _print_matrix(hosts, skills, base, merge=not args.rows)
    if args.digest:
        _print_digests(map(_first_entry, skills), base)
    _print_catalog_findings(findings.values(), base, include_disabled=bool(names))
    errors = sum(item.severity is Severity.ERROR for row in skills for item in _first_entry(row).findings)
    with_errors = f"; {pluralize(errors, 'error')}, see `prowess check`" if errors else ""
    counts = f"{pluralize(len(skills), 'skill')}, {pluralize(len(catalogs), 'agent')}"
    explained = "; `prowess why NAME` explains a skill" if skills else ""
    print_stderr(f"{counts}{with_errors}{explained}")
    if skills:
        lost, total = count_losses(dict(zip(hosts, catalogs, strict=True)))
        asked = {host: count for host, count in lost.items() if names or host != DEFAULT_HOST}
        print_stderr(summarize_losses(asked, total))
    if not skills and (names or not _print_elsewhere_hint(base)):
        _print_empty_hint(base)
    return OK


def _print_elsewhere_hint(catalog: Catalog) -> bool:
    """Say how many skills of the repository no agent searches for; return whether there are any."""
    from prowess.catalog import find_repository_skills, git_root

    # Outside a repository the working directory may have any number of folders.
    found = find_repository_skills(catalog.cwd).skills if git_root(catalog.cwd) else ()
    if not found:
        return False
    are = "1 skill of this repository is" if len(found) == 1 else f"{len(found):,} skills of this repository are"
    print_stderr(
        f"\nhint: {are} in no folder that these agents search; `prowess inventory` lists every skill, and "
        "`prowess check` says how to show them to an agent"
    )
    return True


def _matrix_rows(hosts: Sequence[str], catalogs: Sequence[Catalog]) -> list[dict[str, Entry]]:
    """Return a row for each skill file: host to its entry of that file."""
    rows: dict[str, dict[str, Entry]] = {}
    for host, catalog in zip(hosts, catalogs, strict=True):
        for entry in catalog.skills:
            row = rows.setdefault(entry.real, {})
            known = row.get(host)
            # If a host reaches one file under two names or paths, the row shows the better state.
            if known is None or known.state is not State.ACTIVE:
                row[host] = entry
    return sorted(rows.values(), key=lambda row: (_first_entry(row).folder.casefold(), _first_entry(row).path))


def _print_matrix(hosts: Sequence[str], skills: Sequence[dict[str, Entry]], base: Catalog, *, merge: bool) -> None:
    """Print the matrix on stdout, and what its symbols mean on stderr."""
    from ._matrix import agent_titles, format_legend, format_matrix

    rows = sorted(
        (_matrix_row(row, hosts, base) for row in skills),
        # The project's folders first, then those of the user, then others.
        key=lambda row: (row.where.startswith("/"), row.where.startswith("~"), row.where),
    )
    width = terminal_width() if sys.stdout.isatty() else _PIPE_WIDTH
    names = evidence_marks(hosts)
    short = [
        str(raw_value(host, "short") or host) + name.removeprefix(host) for host, name in zip(hosts, names, strict=True)
    ]
    titles = agent_titles(names, short, rows, width)
    for line in format_matrix(rows, titles, width=width, merge=merge):
        print_stdout(line)
    if sys.stdout.isatty():
        print_stderr("")
    for line in format_legend(rows, names, titles, width=width):
        print_stderr(line)
    print_evidence_note(hosts)


def _matrix_row(row: dict[str, Entry], hosts: Sequence[str], base: Catalog) -> MatrixRow:
    from ._matrix import MatrixRow, state_symbol

    first = _first_entry(row)
    found = (row.get(host) for host in hosts)
    return MatrixRow(
        name=_row_name(row),
        folder=first.folder,
        where=os.path.dirname(_display_skill_path(first.path, base)),
        cells=tuple(state_symbol(entry.state, entry.rule) if entry else "" for entry in found),
    )


def _row_name(row: dict[str, Entry]) -> str:
    return _first_entry(row).frontmatter_name or _first_entry(row).folder


def _first_entry(row: dict[str, Entry]) -> Entry:
    return next(iter(row.values()))


def _matrix_json(
    hosts: Sequence[str],
    catalogs: Sequence[Catalog],
    skills: Sequence[dict[str, Entry]],
    findings: Iterable[Finding],
    *,
    digests: bool,
) -> dict[str, object]:
    from prowess.catalog import Filesystem

    filesystem = Filesystem()
    return {
        "cwd": catalogs[0].cwd,
        "home": catalogs[0].home,
        "hosts": hosts,
        "skills": [_row_json(row, filesystem, digest=digests) for row in skills],
        "findings": [item.as_dict() for item in findings],
        "counts": {host: catalog.counts for host, catalog in zip(hosts, catalogs, strict=True)},
        "evidence": evidence_json(hosts),
    }


def _row_json(row: dict[str, Entry], filesystem: Filesystem, *, digest: bool) -> dict[str, object]:
    from prowess.catalog import estimate_tokens
    from prowess.skill import check_skill

    entry = _first_entry(row)
    skill = filesystem.skill(entry.path, real=entry.real, whole=True)
    description = (skill.description or "").strip()
    return {
        "name": _row_name(row),
        "path": entry.path,
        "folder": entry.folder,
        "description": description,
        "hosts": {
            host: {"state": str(entry.state), "reason": entry.reason, "name": entry.name} for host, entry in row.items()
        },
        "digest": filesystem.digest(entry.path) if digest and entry.readable else None,
        "tokens": {
            "catalog": estimate_tokens(f"{_row_name(row)}: {description}"),
            "body": estimate_tokens(skill.body),
        },
        "findings": [item.as_dict() for item in check_skill(skill)],
    }
