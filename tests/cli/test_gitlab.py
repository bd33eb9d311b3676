"""`--format gitlab` of `prowess check`: a Code Quality report of GitLab."""

from __future__ import annotations

import json
import os
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from prowess.checks import accept_findings, option_rules
from prowess.cli.skills._formats import gitlab
from prowess.findings import Severity, finding

TEXT = {"type": "string", "minLength": 1}
REPORT = {
    "type": "array",
    "items": {
        "type": "object",
        "required": ["description", "check_name", "fingerprint", "severity", "location"],
        "additionalProperties": False,
        "properties": {
            "description": TEXT,
            "check_name": TEXT,
            "fingerprint": {"type": "string", "pattern": "^[0-9a-f]{32}$"},
            "severity": {"enum": ["info", "minor", "major", "critical", "blocker"]},
            "location": {
                "type": "object",
                "required": ["path", "lines"],
                "additionalProperties": False,
                "properties": {
                    "path": {"type": "string", "pattern": r"^(?!\./)"},
                    "lines": {
                        "type": "object",
                        "required": ["begin"],
                        "additionalProperties": False,
                        "properties": {"begin": {"type": "integer", "minimum": 1}},
                    },
                },
            },
        },
    },
}
"""GitLab Docs, "Code Quality", "Code Quality report format"."""


def report(*findings: Any, ignored: tuple[str, ...] = ()) -> Any:
    """Return the report of findings, after a round trip through JSON."""
    accepted = accept_findings(findings, base="/r", home="/h", rules=option_rules(ignored))
    result = json.loads(json.dumps(gitlab(accepted.findings, "/r")))
    Draft202012Validator(REPORT).validate(result)
    return result


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        ("/r/a/SKILL.md", "a/SKILL.md"),
        ("/r/a b%#?:/\n/SKILL.md", "a b%#?:/\n/SKILL.md"),
        ("/elsewhere/SKILL.md", "/elsewhere/SKILL.md"),
        ("/r", "."),
        (None, "."),
        (os.fsdecode(b"/r/\xff"), "\udcff"),
    ],
)
def test_a_finding_has_all_that_gitlab_requires(path: str | None, shown: str) -> None:
    """A path relative to the repository, and a line."""
    (item,) = report(finding("name-case", "m", path=path, hint="h"))
    assert item["location"] == {"path": shown, "lines": {"begin": 1}}
    assert (item["description"], item["check_name"], item["severity"]) == ("m; h", "name-case", "minor")


def test_severities_and_lines() -> None:
    items = [
        finding("name-case", "m", path="/r/a", line=7).with_changes(severity=severity)
        for severity in (Severity.ERROR, Severity.WARNING, Severity.INFO)
    ]
    result = report(*items)
    assert [item["severity"] for item in result] == ["major", "minor", "info"]
    assert {item["location"]["lines"]["begin"] for item in result} == {7}
    assert len({item["fingerprint"] for item in result}) == 3


def test_what_is_ignored_is_left_out() -> None:
    """GitLab knows no suppressed findings."""
    assert report(finding("name-case", "m", path="/r/a"), ignored=("name-case",)) == []
