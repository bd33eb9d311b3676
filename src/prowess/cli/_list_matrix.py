"""List the skills of several agents, as a table with a column for each, or as JSON."""

from __future__ import annotations

import os
import sys

from prowess.catalog import State
from prowess.findings import Severity
from prowess.hosts import DEFAULT_HOST, evidence_marks, raw_value

from ._commands import OK
from ._discovery import catalog_from_args
from ._list_host import display_skill_path, empty_hint, print_digests, shown_findings
from ._output import (
    evidence_json,
    pluralize,
    print_evidence_note,
    print_findings,
    print_json,
    print_stderr,
    print_stdout,
)
from ._tables import terminal_width

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Sequence

    from prowess.catalog import Catalog, Entry, Filesystem
    from prowess.findings import Finding

    from ._matrix import MatrixRow

__all__ = ["list_matrix"]

_PIPE_WIDTH = 80
"""The width of the matrix if stdout is not a terminal."""


def list_matrix(args: argparse.Namespace, names: Sequence[str]) -> int:
    """Print the skills of some agents, or of all agents on this machine, as a table or as JSON."""
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
        print_digests(map(_first_entry, skills), base)
    shown = shown_findings(findings.values(), include_disabled=bool(names))
    print_findings(shown, base=base.cwd, to=print_stderr)
    errors = sum(item.severity is Severity.ERROR for row in skills for item in _first_entry(row).findings)
    with_errors = f"; {pluralize(errors, 'error')}, see `prowess check`" if errors else ""
    counts = f"{pluralize(len(skills), 'skill')}, {pluralize(len(catalogs), 'agent')}"
    explained = "; `prowess why NAME` explains a skill" if skills else ""
    print_stderr(f"{counts}{with_errors}{explained}")
    if skills:
        lost, total = count_losses(dict(zip(hosts, catalogs, strict=True)))
        asked = {host: count for host, count in lost.items() if names or host != DEFAULT_HOST}
        print_stderr(summarize_losses(asked, total))
    if not skills and (names or not _print_elsewhere_hint(base)) and (hint := empty_hint(base)):
        print_stderr("\n".join(hint))
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
        where=os.path.dirname(display_skill_path(first.path, base)),
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
