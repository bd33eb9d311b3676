"""Write findings as SARIF 2.1.0, the format of code scanning.

Findings contain untrusted text: a path must stay one URI, and a message must not contain a link. See the standard,
sections 3.4 (locations of files), 3.11 (messages) and 3.27 (results), and GitHub's "SARIF support for code scanning".
"""

from __future__ import annotations

import os
import re

from prowess import __version__
from prowess._internal.text import neutral
from prowess.findings import CODES, DOCS_URL, Finding, Severity, explain, relative_path

from ._formats import message_with_hint

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from prowess.checks import ReportedFinding
    from prowess.findings import Code

_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}
_PROBLEM_SEVERITIES = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "recommendation"}
_FINGERPRINT = "prowessFinding/v1"
_MAX_DESCRIPTION_CHARS = 1_000
"""GitHub rejects a file with a longer description of a rule (1,024)."""


def sarif(findings: Iterable[ReportedFinding], base: str) -> dict[str, object]:
    """Return findings as SARIF 2.1.0: one run. Accepted ones are suppressed.

    A finding without a file, such as a switched-off host, is a notification: GitHub rejects a file with a result that
    has no location.

    Args:
        findings: all findings of a check, in their order.
        base: the folder that paths are relative to, without links.
    """
    findings = tuple(findings)
    without_file = [item.finding for item in findings if item.finding.path is None and item.kind is None]
    invocation: dict[str, object] = {
        "executionSuccessful": True,
        "toolConfigurationNotifications": [_notification(item) for item in without_file],
    }
    driver = {
        "name": "prowess",
        "version": __version__,
        "semanticVersion": __version__,
        "informationUri": f"{DOCS_URL}/commands/check.md",
        "rules": [_rule(code) for code in CODES.values()],
    }
    run: dict[str, object] = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": {"SRCROOT": {"uri": _absolute_uri(base.rstrip(os.sep) + os.sep)}},
        "invocations": [invocation],
        "results": [_result(item, base) for item in findings if item.finding.path is not None],
    }
    return {"$schema": "https://json.schemastore.org/sarif-2.1.0.json", "version": "2.1.0", "runs": [run]}


def _rule(code: Code) -> dict[str, object]:
    explanation = explain(code.code)
    help_text = f"{explanation.meaning}\n\nHow to fix it: {explanation.fix}\n\n"
    return {
        "id": code.code,
        "name": "".join(word.capitalize() for word in code.code.split("-")),
        "shortDescription": {"text": code.title},
        "fullDescription": {"text": _shorten(_plain(explanation.meaning))},
        "help": {
            "text": f"{_plain(help_text)}{code.url}",
            "markdown": f"{help_text}[The page of `{code.code}`]({code.url})",
        },
        "helpUri": code.url,
        "defaultConfiguration": {"level": _LEVELS[code.guide]},
        "properties": {"tags": ["agent-skills"], "problem.severity": _PROBLEM_SEVERITIES[code.guide]},
    }


def _plain(markdown: str) -> str:
    """Return Markdown without its links, as plain text of SARIF."""
    return _escape(re.sub(r"\[([^][]+)\]\([^()]*\)", r"\1", markdown))


def _shorten(text: str) -> str:
    if len(text) <= _MAX_DESCRIPTION_CHARS:
        return text
    return text[:_MAX_DESCRIPTION_CHARS].rpartition(". ")[0] + "."


def _escape(text: str) -> str:
    """Escape brackets, so that a viewer shows no link that a skill has written."""
    return re.sub(r"[][]", r"\\\g<0>", text)


def _result(reported: ReportedFinding, base: str) -> dict[str, object]:
    item = reported.finding
    result: dict[str, object] = {
        "ruleId": item.code,
        "ruleIndex": list(CODES).index(item.code),
        "level": _LEVELS[item.severity],
        "message": {"text": _escape(message_with_hint(item))},
        "locations": [_location(item, base)],
        "partialFingerprints": {_FINGERPRINT: reported.fingerprint},
    }
    if reported.also:
        result["relatedLocations"] = [_location(other.finding, base) for other in reported.also]
    if reported.kind is not None:
        kind = "inSource" if reported.kind == "comment" else "external"
        result["suppressions"] = [{"kind": kind, "status": "accepted", "justification": neutral(reported.reason)}]
    return result


def _location(item: Finding, base: str) -> dict[str, object]:
    location: dict[str, object] = {"artifactLocation": _artifact(item.path or "", base)}
    if item.line is not None:
        location["region"] = {"startLine": item.line, **({"startColumn": item.column} if item.column else {})}
    return {"physicalLocation": location}


def _notification(item: Finding) -> dict[str, object]:
    return {
        "descriptor": {"id": item.code},
        "associatedRule": {"id": item.code, "index": list(CODES).index(item.code)},
        "level": _LEVELS[item.severity],
        "message": {"text": _escape(message_with_hint(item))},
    }


def _artifact(path: str, base: str) -> dict[str, str]:
    inside = relative_path(path, base)
    if inside is None:
        return {"uri": _absolute_uri(path)}
    return {"uri": _quote(inside), "uriBaseId": "SRCROOT"}


def _absolute_uri(path: str) -> str:
    quoted = _quote(path)
    return f"file://{quoted}" if quoted.startswith("/") else f"file:///{quoted}"


def _quote(path: str) -> str:
    """Return a path as a part of a URI. Without a colon, no first segment looks like a scheme."""
    from urllib.parse import quote

    return quote(os.fsencode(path.replace(os.sep, "/")), safe="/")
