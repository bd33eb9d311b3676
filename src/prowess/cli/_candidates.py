"""Describe the skills that a name matches at one agent, the winner first."""

from __future__ import annotations

from prowess._internal.text import neutral

from ._output import format_finding

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from prowess.catalog import Catalog, Entry

__all__ = ["candidate_lines", "chain_json"]


def chain_json(name: str, catalog: Catalog, candidates: Iterable[Entry]) -> dict[str, object]:
    """Return the candidates of one agent in the shape of `why --json`."""
    from prowess.hosts import evidence_of

    entries = [{**entry.as_dict(), "rule": entry.rule} for entry in candidates]
    host = catalog.host.name
    return {"name": name, "host": host, "candidates": entries, "evidence": evidence_of(host).as_dict()}


def candidate_lines(candidates: Iterable[Entry]) -> list[str]:
    """Return the lines that describe candidates, each after an empty line."""
    return [line for number, entry in enumerate(candidates, 1) for line in ("", *_format_candidate(number, entry))]


def _format_candidate(number: int, entry: Entry) -> list[str]:
    no_digest = "its server makes it when it is read" if entry.scope == "remote" else "some of its files cannot be read"
    lines = [
        f"{number}. {entry.state}: {neutral(entry.path)}",
        f"   name    {neutral(entry.name)}" + (f" ({neutral(entry.alias)})" if entry.alias else ""),
        f"   root    {neutral(entry.root)} ({entry.scope})",
        f"   digest  {entry.digest or f'unknown: {no_digest}'}",
        f"   rule    {entry.rule}",
    ]
    if entry.reason:
        lines.append(f"   why     {neutral(entry.reason)}")
    for item in entry.findings:
        lines += [f"   {line}" for line in format_finding(item)]
    return lines
