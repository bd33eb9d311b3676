"""List the skills of one agent, as a table or as JSON."""

from __future__ import annotations

import sys

from prowess._internal.files import display_path
from prowess._internal.text import neutral
from prowess.findings import Severity
from prowess.hosts import DEFAULT_HOST, evidence_marks, evidence_of

from ._color import STATE_STYLES
from ._commands import OK
from ._discovery import catalog_from_args
from ._output import encode_lines, evidence_notes, format_finding, print_encoded, print_json, print_stderr, print_stdout
from ._tables import format_table

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable

    from prowess.catalog import Catalog, Entry
    from prowess.findings import Finding

__all__ = ["display_skill_path", "empty_hint", "host_output", "list_host", "print_digests", "shown_findings"]


def list_host(args: argparse.Namespace, host: str) -> int:
    """Print the skills of one host with what is read from their files: as JSON, or with digests."""
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
    output, note = host_output(catalog)
    print_encoded(output)
    print_digests(catalog.skills, catalog)
    print_stderr(note)
    return OK


def host_output(catalog: Catalog) -> tuple[bytes, str]:
    """Return the table of a host's skills, and what is said of them on stderr. No file is read for it."""
    lines = format_table(_host_table(catalog), styles={1: STATE_STYLES}) if catalog.skills else []
    notes = [
        line
        for item in shown_findings(catalog.findings, include_disabled=True)
        for line in format_finding(item, base=catalog.cwd, stream=sys.stderr)
    ]
    notes += [_summary(catalog), *evidence_notes([catalog.host.name])]
    return encode_lines("\n".join(lines)), "\n".join(notes if catalog.skills else [*notes, *empty_hint(catalog)])


def print_digests(entries: Iterable[Entry], catalog: Catalog) -> None:
    """Print the digest of each skill's files."""
    from prowess.catalog import Filesystem, with_digest

    filesystem = Filesystem()
    for entry in entries:
        digest = with_digest(entry, filesystem).digest or "no digest"
        print_stdout(f"{digest}  {neutral(display_skill_path(entry.path, catalog))}")


def _host_table(catalog: Catalog) -> list[tuple[str, ...]]:
    return [
        ("NAME", "STATE", "SCOPE", "WHERE", "WHY OR WHAT"),
        *(
            (
                entry.name,
                str(entry.state),
                entry.scope,
                display_skill_path(entry.path, catalog, entry.name),
                _reason_or_description(entry, catalog),
            )
            for entry in catalog.skills
        ),
    ]


def _reason_or_description(entry: Entry, catalog: Catalog) -> str:
    text = entry.reason or entry.description
    if entry.shadowed_by:
        text = text.replace(entry.shadowed_by, display_skill_path(entry.shadowed_by, catalog), 1)
    return " ".join(text.split())


def display_skill_path(path: str, catalog: Catalog, name: str = "") -> str:
    """Return the path of a skill for display, without `SKILL.md`, and without its folder if that is called `name`."""
    path = path.removesuffix("/SKILL.md").removesuffix(f"/{name}" if name else "")
    return display_path(path, catalog.cwd, catalog.home)


def _summary(catalog: Catalog) -> str:
    counts = catalog.counts
    parts = [f"{count} {state}" for state, count in counts.items() if count and state != "found"]
    mark = "".join(evidence_marks([catalog.host.name])).removeprefix(catalog.host.name)
    return f"{catalog.host.title}{mark}: {counts['found']} found" + (f" ({', '.join(parts)})" if parts else "")


def shown_findings(findings: Iterable[Finding], *, include_disabled: bool) -> list[Finding]:
    """Return errors and warnings; with `include_disabled` also the hosts whose skills are disabled."""
    return [
        item
        for item in findings
        if (include_disabled if item.code == "host-disabled" else item.severity is not Severity.INFO)
    ]


def empty_hint(catalog: Catalog) -> list[str]:
    """Return the lines that say where to put a first skill."""
    roots = [scan_root.path for scan_root in catalog.scan_roots if scan_root.scope in ("project", "user")]
    if not roots:
        return []
    host = f" --host {catalog.host.name}" if catalog.host.name != DEFAULT_HOST else ""
    folder = neutral(display_skill_path(roots[0], catalog))
    return ["", f"hint: put skills into {folder}, or run `prowess new my-skill{host}`"]
