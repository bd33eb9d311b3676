"""Write findings as text, GitHub workflow commands or a GitLab report.

Findings contain untrusted text: nothing in it may end a line, colour a terminal, or look like a command.
"""

from __future__ import annotations

import os
import sys
from itertools import groupby

from prowess._internal.text import display_width, neutral
from prowess.cli._output import format_finding, paint, pluralize, terminal_width, truncate_or_pad, wrap_for_terminal
from prowess.findings import CODES, Finding, Severity, relative_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from prowess.checks import ReportedFinding

_CONTEXT_CHARS = 60
"""Characters of a long line to show before and after the column of a finding."""


def text(findings: Iterable[Finding], base: str) -> Iterator[str]:
    """Yield the lines of findings as text, file by file, each with the source line it is about."""
    first = True
    for path, group in groupby(findings, key=lambda item: item.path):
        if not first:
            yield ""
        first = False
        lines = _SourceLines(path)
        for item in group:
            head, *more = format_finding(item, base=base, excerpt=lines.excerpt(item), group=True)
            # At the beginning of a line, a CI system takes these for a command.
            yield f"./{head}" if head.startswith(("::", "##[")) else head
            yield from more


_MAX_OF_CODE = 3
"""Findings of one kind that a terminal shows."""


def grouped(findings: Iterable[Finding], base: str) -> Iterator[str]:
    """Yield the findings of each kind together, the worst kind first, and of each kind the first few.

    Args:
        findings: those to show.
        base: the directory that paths are relative to.
    """
    groups: dict[tuple[Severity, str], list[Finding]] = {}
    for item in findings:
        groups.setdefault((item.severity, item.code), []).append(item)
    severities = [*Severity]
    for (severity, code), items in sorted(
        groups.items(), key=lambda pair: (severities.index(pair[0][0]), -len(pair[1]))
    ):
        times = pluralize(len(items), "time")
        word = f"[{items[0].group}/{code}]"
        first, *more = wrap_for_terminal(f"{severity}: {CODES[code].title} {word}, {times}")
        lines = [first.replace(f"{severity}:", paint(f"{severity}:", severity), 1), *more]
        yield from (line.replace(word, paint(word, "dim")) for line in lines)
        for item in items[:_MAX_OF_CODE]:
            path = (item.path or "").removeprefix(base + os.sep)
            place = ":".join(str(part) for part in (neutral(path), item.line, item.column) if part not in (None, ""))
            yield f"  ./{place}" if place.startswith(("::", "##[")) else f"  {place}"
            yield from wrap_for_terminal(f"      {neutral(item.message)}", "      ")
        if len(items) > _MAX_OF_CODE:
            yield f"  ... and {len(items) - _MAX_OF_CODE:,} more"
        agents = dict.fromkeys(agent for item in items for agent in item.agents)
        if agents:
            yield from wrap_for_terminal(f"    invisible to {', '.join(agents)}", "      ")
        hints = {item.hint for item in items}
        if (hint := items[0].hint) and len(hints) == 1:
            first, *rest = wrap_for_terminal(f"    hint: {neutral(hint)}", "      ")
            yield first.replace("hint:", paint("hint:", "hint"), 1)
            yield from rest
        yield ""


class _SourceLines:
    """The lines of one file, read when the first one is needed."""

    def __init__(self, path: str | None) -> None:
        self.path = path
        self.lines: list[str] | None = None

    def excerpt(self, item: Finding) -> Iterator[str]:
        """Yield the source line of a finding, with a caret under its column."""
        if self.path is None or item.line is None or item.column is None:
            return
        if self.lines is None:
            from prowess.skill import load

            document = load(self.path).document
            self.lines = document.text.split("\n") if document else []
        if not item.line <= len(self.lines):
            return
        line = self.lines[item.line - 1]
        column = min(item.column - 1, len(line))
        if not line.strip():
            return
        number = str(item.line)
        room = terminal_width() - len(f"  {number} | ")
        is_cut = sys.stdout.isatty() and display_width(neutral(line)) > room
        start = max(column - (min(_CONTEXT_CHARS, room // 2) if is_cut else _CONTEXT_CHARS), 0)
        before = ("…" if start else "") + neutral(line[start:column].replace("\t", " "))
        after = neutral(line[column : column + _CONTEXT_CHARS].replace("\t", " "))
        after += "…" if column + _CONTEXT_CHARS < len(line) else ""
        if is_cut:  # wide characters, and those that are escaped, take more cells
            width = max(room - display_width(before), 1)
            after = truncate_or_pad(after, min(width, display_width(after)))
        yield f"  {number} | {before}{after}"
        yield f"  {' ' * len(number)} | {' ' * display_width(before)}^"


def message_with_hint(item: Finding) -> str:
    """Return the message, the agents it costs and the hint of a finding on one line."""
    agents = f"; invisible to {', '.join(item.agents)}" if item.agents else ""
    return neutral(f"{item.message}{agents}{f'; {item.hint}' if item.hint else ''}")


_GITHUB_COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}


def github(findings: Iterable[Finding], base: str) -> Iterator[str]:
    """Yield findings as workflow commands, which GitHub shows next to the lines they are about.

    Source: GitHub Docs, "Workflow commands for GitHub Actions", and `toolkit/packages/core/src/command.ts`.
    """
    for item in findings:
        inner = item.path if item.path is None else relative_path(item.path, base) or item.path
        values = {"file": inner, "line": item.line, "col": item.column, "title": item.code}
        properties = ",".join(
            f"{key}={_escape_property(str(value))}" for key, value in values.items() if value is not None
        )
        yield f"::{_GITHUB_COMMANDS[item.severity]} {properties}::{_escape_data(message_with_hint(item))}"


def _escape_data(words: str) -> str:
    return neutral(words.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A"))


def _escape_property(words: str) -> str:
    return _escape_data(words).replace(":", "%3A").replace(",", "%2C")


_GITLAB_SEVERITIES = {Severity.ERROR: "major", Severity.WARNING: "minor", Severity.INFO: "info"}


def gitlab(findings: Iterable[ReportedFinding], base: str) -> list[dict[str, object]]:
    """Return the findings that are not accepted as a Code Quality report.

    Source: GitLab Docs, "Code Quality", "Code Quality report format". A path and a line are required: a finding without
    a file is one of the repository, and one without a line is at the first.
    """
    return [
        {
            "description": message_with_hint(item.finding),
            "check_name": item.finding.code,
            "fingerprint": item.fingerprint,
            "severity": _GITLAB_SEVERITIES[item.finding.severity],
            "location": {"path": _gitlab_path(item.finding.path, base), "lines": {"begin": item.finding.line or 1}},
        }
        for item in findings
        if item.kind is None
    ]


def _gitlab_path(path: str | None, base: str) -> str:
    if path is None:
        return "."
    return (relative_path(path, base) or path).replace(os.sep, "/")
