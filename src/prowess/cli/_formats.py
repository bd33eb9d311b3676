"""Write findings as text, SARIF or GitHub workflow commands.

Findings contain untrusted text: nothing in it may end a line, colour a terminal, or look like a command.
"""

from __future__ import annotations

import os
from itertools import groupby

from prowess import __version__
from prowess._internal.text import display_width, neutral
from prowess.findings import CODES, Finding, Severity

from ._output import format_finding

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["github", "sarif", "text"]

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
            head, *hint = format_finding(item, base=base)
            # At the beginning of a line, a CI system takes these for a command.
            yield f"./{head}" if head.startswith(("::", "##[")) else head
            yield from lines.excerpt(item)
            yield from hint


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
        start = max(column - _CONTEXT_CHARS, 0)
        before, after = line[start:column].replace("\t", " "), line[column : column + _CONTEXT_CHARS].replace("\t", " ")
        before = ("…" if start else "") + neutral(before)
        after = neutral(after) + ("…" if column + _CONTEXT_CHARS < len(line) else "")
        number = str(item.line)
        yield f"  {number} | {before}{after}"
        yield f"  {' ' * len(number)} | {' ' * display_width(before)}^"


_SARIF_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}


def sarif(findings: Iterable[Finding], base: str) -> dict[str, object]:
    """Return findings as SARIF 2.1.0: one run, with paths relative to `base`."""
    rule_numbers = {code: number for number, code in enumerate(CODES)}
    rules = [
        {
            "id": code.code,
            "shortDescription": {"text": code.title},
            "defaultConfiguration": {"level": _SARIF_LEVELS[code.guide]},
        }
        for code in CODES.values()
    ]
    driver = {"name": "prowess", "version": __version__, "rules": rules}
    run: dict[str, object] = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": {"SRCROOT": {"uri": f"file://{_uri(base).rstrip('/')}/"}},
        "results": [_result(item, rule_numbers[item.code], base) for item in findings],
    }
    return {"$schema": "https://json.schemastore.org/sarif-2.1.0.json", "version": "2.1.0", "runs": [run]}


def _result(item: Finding, rule_number: int, base: str) -> dict[str, object]:
    result: dict[str, object] = {
        "ruleId": item.code,
        "ruleIndex": rule_number,
        "level": _SARIF_LEVELS[item.severity],
        "message": {"text": _message(item)},
    }
    if item.path is not None:
        location: dict[str, object] = {"artifactLocation": _artifact(item.path, base)}
        if item.line is not None:
            location["region"] = {"startLine": item.line, **({"startColumn": item.column} if item.column else {})}
        result["locations"] = [{"physicalLocation": location}]
    return result


def _artifact(path: str, base: str) -> dict[str, str]:
    inner = _relative_path(path, base)
    if inner is None:
        return {"uri": f"file://{_uri(path)}"}
    # A first segment with a colon would look like a scheme; `quote` escapes it.
    return {"uri": _uri(inner), "uriBaseId": "SRCROOT"}


def _uri(path: str) -> str:
    path = path.replace(os.sep, "/")
    from urllib.parse import quote

    return quote(os.fsencode(path if path.startswith("/") or ":" not in path[:2] else f"/{path}"), safe="/")


def _relative_path(path: str, base: str) -> str | None:
    """Return a path relative to `base`, or `None` if it is not below it."""
    return path[len(base) + 1 :] if path.startswith(base.rstrip(os.sep) + os.sep) else None


def _message(item: Finding) -> str:
    agents = f"; invisible to {', '.join(item.agents)}" if item.agents else ""
    return neutral(f"{item.message}{agents}{f'; {item.hint}' if item.hint else ''}")


_GITHUB_COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}


def github(findings: Iterable[Finding], base: str) -> Iterator[str]:
    """Yield findings as workflow commands, which GitHub shows next to the lines they are about.

    Source: GitHub Docs, "Workflow commands for GitHub Actions", and `toolkit/packages/core/src/command.ts`.
    """
    for item in findings:
        inner = item.path if item.path is None else _relative_path(item.path, base) or item.path
        values = {"file": inner, "line": item.line, "col": item.column, "title": item.code}
        properties = ",".join(
            f"{key}={_escape_property(str(value))}" for key, value in values.items() if value is not None
        )
        yield f"::{_GITHUB_COMMANDS[item.severity]} {properties}::{_escape_data(_message(item))}"


def _escape_data(words: str) -> str:
    return neutral(words.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A"))


def _escape_property(words: str) -> str:
    return _escape_data(words).replace(":", "%3A").replace(",", "%2C")
