"""List the skills of one agent, as a table or as JSON."""

from __future__ import annotations

import os
from collections import Counter

from prowess._internal.files import display_path
from prowess._internal.text import neutral
from prowess.catalog import REACHABLE
from prowess.cli._arguments import catalog_from_args, may_offer_skills, question_from_args
from prowess.cli._losses import STYLES_OF_WORDS, untrusting_note
from prowess.cli._output import (
    Message,
    Result,
    as_dicts,
    evidence_notes,
    finding_messages,
    format_table,
)
from prowess.cli._references import outdated_notes
from prowess.errors import ConfigError
from prowess.findings import Severity
from prowess.hosts import DEFAULT_HOST, evidence_marks, evidence_of
from prowess.visibility import KIND_WORDS, EntryKinds, Kind, describe_others

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from prowess.catalog import Catalog, Entry
    from prowess.cli._parser import Arguments
    from prowess.filesystem import Filesystem
    from prowess.findings import Finding


def list_with_servers(args: Arguments, host: str = DEFAULT_HOST) -> Result:
    """Return the skills of one host and those of the user's servers."""
    from prowess.filesystem import Filesystem

    filesystem = Filesystem()
    return details(args, catalog_from_args(args, host, filesystem), filesystem)


def details(args: Arguments, catalog: Catalog, filesystem: Filesystem) -> Result:
    """Return the skills of a host, with digests if that is asked for."""
    from prowess.catalog import with_digest

    if args.digest:
        catalog = catalog.with_changes(skills=tuple(with_digest(entry, filesystem) for entry in catalog.skills))

    def as_dict() -> dict[str, object]:
        kinds = EntryKinds(catalog, filesystem)
        return {
            "host": catalog.host.name,
            "cwd": catalog.cwd,
            "home": catalog.home,
            "skills": [{**entry.as_dict(), "kind": kinds.kind(entry)} for entry in catalog.skills],
            "findings": as_dicts(catalog.findings),
            "counts": catalog.counts,
            "evidence": evidence_of(catalog.host.name).as_dict(),
        }

    def text() -> Iterator[str]:
        yield from host_text(catalog, filesystem)
        yield from outdated_notes(catalog, question_from_args(args), filesystem)
        if args.digest:
            yield from digest_lines(catalog.skills, catalog, filesystem)

    return Result(as_dict, text())


def host_text(catalog: Catalog, filesystem: Filesystem) -> Iterator[str]:
    """Yield the table of a host's skills, and messages about them."""
    finder = EntryKinds(catalog, filesystem)
    kinds = [finder.kind(entry) for entry in catalog.skills]
    if catalog.skills:
        yield from format_table(_host_table(catalog, kinds), styles={1: STYLES_OF_WORDS})
    yield from finding_messages(shown_findings(catalog.findings, "host-disabled", "argument-ignored"), base=catalog.cwd)
    yield Message(_summary(catalog, kinds))
    yield from map(Message, untrusting_note({catalog.host.name: Counter(kinds)}))
    yield from evidence_notes([catalog.host.name])
    if not catalog.skills:
        filesystem.mark_incomplete()  # the whole repository is searched, and the agents of this machine
        yield from empty_hint(catalog)
    elif may_offer_skills(catalog.cwd, filesystem.link_kind):
        from prowess.cli._references import offered_hint

        yield from offered_hint(catalog, filesystem)


def digest_lines(entries: Iterable[Entry], catalog: Catalog, filesystem: Filesystem) -> list[str]:
    """Return the lines with the digest of each skill's files."""
    from prowess.catalog import with_digest

    return [
        f"{with_digest(entry, filesystem).digest or 'no digest'}  {neutral(display_skill_path(entry.path, catalog))}"
        for entry in entries
    ]


def _host_table(catalog: Catalog, kinds: Iterable[Kind]) -> list[tuple[str, ...]]:
    return [
        ("NAME", "STATE", "SCOPE", "WHERE", "WHY OR WHAT"),
        *(
            (
                entry.name,
                KIND_WORDS[kind],
                entry.scope,
                display_skill_path(entry.path, catalog, entry.name),
                _reason_or_description(entry, catalog),
            )
            for entry, kind in zip(catalog.skills, kinds, strict=True)
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


def _summary(catalog: Catalog, kinds: Sequence[Kind]) -> str:
    counts = Counter(kinds)
    others = describe_others(counts)
    mark = "".join(evidence_marks([catalog.host.name])).removeprefix(catalog.host.name)
    if not counts:
        return f"{catalog.host.title}{mark} finds no skill"
    pairs = zip(catalog.skills, kinds, strict=True)
    copies = sum(kind is Kind.SEEN and entry.state not in REACHABLE for entry, kind in pairs)
    seen = f"{counts[Kind.SEEN]:,} of {counts.total():,} in its folders"
    seen += f" ({copies:,} {'is a copy' if copies == 1 else 'are copies'})" if copies else ""
    return f"{catalog.host.title}{mark} sees {seen}" + (f": {others}" if others else "")


def shown_findings(findings: Iterable[Finding], *codes: str) -> list[Finding]:
    """Return errors and warnings, and the findings of some codes."""
    return [item for item in findings if item.severity is not Severity.INFO or item.code in codes]


def _elsewhere_hint(catalog: Catalog) -> list[Message]:
    """Return the hint about skills that Prowess finds, and the agent does not search for; `check` names them all."""
    if catalog.host.name == DEFAULT_HOST:
        return []
    from prowess.catalog import discover
    from prowess.visibility import misnamed_files

    own = discover(catalog.cwd, home=catalog.home)
    found = len(own.skills) + len(misnamed_files({DEFAULT_HOST: own}))
    if not found:
        return []
    command = f"prowess check --host {catalog.host.name}"
    are, them = ("is 1 skill", "it") if found == 1 else (f"are {found:,} skills", "them")
    text = f"there {are} in folders that {catalog.host.title} does not search; `{command}` says how to show {them}"
    return [Message(f"\nhint: {text}")]


def empty_hint(catalog: Catalog) -> list[Message]:
    """Return the hint that says where skills are that the agent does not search, or else where `new` creates one."""
    if not catalog.scan_roots:
        return []
    from argparse import Namespace

    from prowess.cli._references import unsearched_hint

    if hints := unsearched_hint(catalog) or _elsewhere_hint(catalog):
        return hints
    from ._new_skill import SkillPlace

    host = "" if catalog.host.name == DEFAULT_HOST else f" --host {catalog.host.name}"
    home = None if catalog.home == os.path.expanduser("~") else catalog.home
    place = SkillPlace(Namespace(cwd=catalog.cwd, home=home, host=[catalog.host.name] if host else None))
    try:
        folder, _ = place.folder("prowess new", "my-skill")
    except ConfigError:  # the agent has no folder in a project
        roots = [scan_root.path for scan_root in catalog.scan_roots if scan_root.scope == "user"]
        return [Message(f"\nhint: put skills into {neutral(display_skill_path(roots[0], catalog))}")] if roots else []
    shown = neutral(display_skill_path(folder, catalog))
    return [Message(f"\nhint: put skills into {shown}, or run `prowess new my-skill{host}`")]
