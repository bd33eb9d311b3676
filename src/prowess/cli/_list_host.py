"""List the skills of one agent, as a table or as JSON."""

from __future__ import annotations

import sys

from prowess._internal.files import display_path
from prowess._internal.text import neutral
from prowess.findings import Severity
from prowess.hosts import DEFAULT_HOST, evidence_marks, evidence_of

from ._color import STATE_STYLES, has_color
from ._commands import OK
from ._discovery import catalog_from_args, recorded_output_from_args
from ._output import (
    encode_json,
    encode_lines,
    evidence_notes,
    format_finding,
    print_output,
)
from ._tables import format_table, terminal_width

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Mapping

    from prowess.catalog import Catalog, Entry, Filesystem
    from prowess.findings import Finding

__all__ = [
    "display_skill_path",
    "empty_hint",
    "host_output",
    "list_host",
    "list_with_servers",
    "digest_lines",
    "shown_findings",
]


def list_host(args: argparse.Namespace, host: str) -> int:
    """Print the skills of one host with what is read from their files: as JSON, or with digests."""

    def make(catalogs: Mapping[str, Catalog], filesystem: Filesystem) -> tuple[bytes, str]:
        (catalog,) = catalogs.values()
        return _output(args, catalog, filesystem)

    look = "" if args.json else f"{terminal_width()} {has_color(sys.stdout)} {has_color(sys.stderr)}"
    output, note = recorded_output_from_args(args, [host], f"host {args.json} {args.digest} {look}", make)
    print_output(output, note, is_json=args.json)
    return OK


def list_with_servers(args: argparse.Namespace, host: str = DEFAULT_HOST) -> int:
    """Print the skills of one host and those of the user's servers."""
    from prowess.catalog import Filesystem

    filesystem = Filesystem()
    output, note = _output(args, catalog_from_args(args, host, filesystem), filesystem)
    print_output(output, note, is_json=args.json)
    return OK


def _output(args: argparse.Namespace, catalog: Catalog, filesystem: Filesystem) -> tuple[bytes, str]:
    """Return a catalog as JSON or as a table, with digests if that is asked for, and what is said of it on stderr."""
    from prowess.catalog import with_digest

    if args.digest:
        catalog = catalog.with_changes(skills=tuple(with_digest(entry, filesystem) for entry in catalog.skills))
    if args.json:
        return encode_json(_as_dict(catalog)), ""
    output, note = host_output(catalog)
    if not args.digest:
        return output, note
    return output + encode_lines("\n".join(digest_lines(catalog.skills, catalog, filesystem))), note


def _as_dict(catalog: Catalog) -> dict[str, object]:
    """Return a catalog in the shape of `list --json`."""
    return {
        "host": catalog.host.name,
        "cwd": catalog.cwd,
        "home": catalog.home,
        "skills": [entry.as_dict() for entry in catalog.skills],
        "findings": [item.as_dict() for item in catalog.findings],
        "counts": catalog.counts,
        "evidence": evidence_of(catalog.host.name).as_dict(),
    }


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


def digest_lines(entries: Iterable[Entry], catalog: Catalog, filesystem: Filesystem) -> list[str]:
    """Return the lines with the digest of each skill's files."""
    from prowess.catalog import with_digest

    return [
        f"{with_digest(entry, filesystem).digest or 'no digest'}  {neutral(display_skill_path(entry.path, catalog))}"
        for entry in entries
    ]


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
