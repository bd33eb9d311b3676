"""List the skills of several agents, as a table with a column for each, or as JSON."""

from __future__ import annotations

import os
import sys

from prowess.catalog import State
from prowess.findings import Severity
from prowess.hosts import DEFAULT_HOST, evidence_marks, raw_value

from ._color import has_color
from ._commands import OK
from ._discovery import recorded_output_from_args
from ._list_host import digest_lines, display_skill_path, empty_hint, shown_findings
from ._output import (
    encode_json,
    encode_lines,
    evidence_json,
    evidence_notes,
    format_finding,
    pluralize,
    print_output,
    print_stderr,
)
from ._tables import terminal_width

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping, Sequence

    from prowess.catalog import Catalog, Entry, Filesystem

    from ._matrix import MatrixRow

__all__ = ["list_matrix"]

_PIPE_WIDTH = 80
"""The width of the matrix if stdout is not a terminal."""


def list_matrix(args: argparse.Namespace, names: Sequence[str]) -> int:
    """Print the skills of some agents, or of all agents on this machine, as a table or as JSON."""
    from ._agents import chosen_hosts

    args.host = [*names]
    hosts, note = chosen_hosts(args)
    if note is not None:
        print_stderr(note)
    hosts = hosts if names else [DEFAULT_HOST, *hosts]

    def make(catalogs: Mapping[str, Catalog], filesystem: Filesystem) -> tuple[bytes, str]:
        matrix = _Matrix(catalogs, filesystem)
        if args.json:
            return encode_json(matrix.as_dict(digests=args.digest)), ""
        return matrix.as_text(merge=not args.rows, digests=args.digest, is_chosen=bool(names))

    options = f"{args.json} {args.rows} {args.digest} {bool(names)}"
    look = "" if args.json else f"{_width()} {has_color(sys.stdout)} {has_color(sys.stderr)} {sys.stdout.isatty()}"
    output, note = recorded_output_from_args(args, hosts, f"matrix {options} {look}", make)
    print_output(output, note, is_json=args.json)
    return OK


def _width() -> int:
    return terminal_width() if sys.stdout.isatty() else _PIPE_WIDTH


class _Matrix:
    """What some agents make of each skill."""

    def __init__(self, catalogs: Mapping[str, Catalog], filesystem: Filesystem) -> None:
        self.catalogs, self.filesystem = catalogs, filesystem
        self.hosts = [*catalogs]
        self.base = catalogs[self.hosts[0]]
        self.skills = _matrix_rows(catalogs)
        findings = {(item.code, item.path, item.message): item for each in catalogs.values() for item in each.findings}
        self.findings = [*findings.values()]

    def as_dict(self, *, digests: bool) -> dict[str, object]:
        """Return it in the shape of `list --json`."""
        return {
            "cwd": self.base.cwd,
            "home": self.base.home,
            "hosts": self.hosts,
            "skills": [_row_json(row, self.filesystem, digest=digests) for row in self.skills],
            "findings": [item.as_dict() for item in self.findings],
            "counts": {host: catalog.counts for host, catalog in self.catalogs.items()},
            "evidence": evidence_json(self.hosts),
        }

    def as_text(self, *, merge: bool, digests: bool, is_chosen: bool) -> tuple[bytes, str]:
        """Return the table for stdout, and what is said of it on stderr.

        Args:
            merge: whether skills with the same cells share a row.
            digests: whether to add the digests of the skills.
            is_chosen: whether the user named the agents.
        """
        from prowess.catalog import count_losses

        from ._losses import summarize_losses

        lines, notes = self._table(merge=merge) if self.skills else ([], [])
        if digests:
            lines += digest_lines(map(_first_entry, self.skills), self.base, self.filesystem)
        for item in shown_findings(self.findings, include_disabled=is_chosen):
            notes += format_finding(item, base=self.base.cwd, stream=sys.stderr)
        errors = sum(item.severity is Severity.ERROR for row in self.skills for item in _first_entry(row).findings)
        with_errors = f"; {pluralize(errors, 'error')}, see `prowess check`" if errors else ""
        counts = f"{pluralize(len(self.skills), 'skill')}, {pluralize(len(self.catalogs), 'agent')}"
        explained = "; `prowess why NAME` explains a skill" if self.skills else ""
        notes.append(f"{counts}{with_errors}{explained}")
        if self.skills:
            lost, total = count_losses(self.catalogs, self.filesystem)
            asked = {host: count for host, count in lost.items() if is_chosen or host != DEFAULT_HOST}
            notes.append(summarize_losses(asked, total))
        else:
            self.filesystem.mark_incomplete()  # the whole repository is searched
            notes += (not is_chosen and _elsewhere_hint(self.base)) or empty_hint(self.base)
        return encode_lines("\n".join(lines)), "\n".join(notes)

    def _table(self, *, merge: bool) -> tuple[list[str], list[str]]:
        """Return the lines of the table, and those that say what its symbols mean."""
        from ._matrix import agent_titles, format_legend, format_matrix

        rows = sorted(
            (_matrix_row(row, self.hosts, self.base) for row in self.skills),
            # The project's folders first, then those of the user, then others.
            key=lambda row: (row.where.startswith("/"), row.where.startswith("~"), row.where),
        )
        width, names = _width(), evidence_marks(self.hosts)
        short = [
            str(raw_value(host, "short") or host) + name.removeprefix(host)
            for host, name in zip(self.hosts, names, strict=True)
        ]
        titles = agent_titles(names, short, rows, width)
        legend = [*format_legend(rows, names, titles, width=width), *evidence_notes(self.hosts)]
        return format_matrix(rows, titles, width=width, merge=merge), [""] * sys.stdout.isatty() + legend


def _elsewhere_hint(catalog: Catalog) -> list[str]:
    """Return the lines that say how many skills of the repository no agent searches for, if there are any."""
    from prowess.catalog import find_repository_skills, git_root

    # Outside a repository the working directory may have any number of folders.
    found = find_repository_skills(catalog.cwd).skills if git_root(catalog.cwd) else ()
    if not found:
        return []
    are = "1 skill of this repository is" if len(found) == 1 else f"{len(found):,} skills of this repository are"
    hint = (
        f"hint: {are} in no folder that these agents search; `prowess inventory` lists every skill, and "
        "`prowess check` says how to show them to an agent"
    )
    return ["", hint]


def _matrix_rows(catalogs: Mapping[str, Catalog]) -> list[dict[str, Entry]]:
    """Return a row for each skill file: host to its entry of that file."""
    rows: dict[str, dict[str, Entry]] = {}
    for host, catalog in catalogs.items():
        for entry in catalog.skills:
            row = rows.setdefault(entry.real, {})
            known = row.get(host)
            # If a host reaches one file under two names or paths, the row shows the better state.
            if known is None or known.state is not State.ACTIVE:
                row[host] = entry
    return sorted(rows.values(), key=lambda row: (_first_entry(row).folder.casefold(), _first_entry(row).path))


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
