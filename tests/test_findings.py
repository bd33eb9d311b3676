"""Findings: codes, severities and policies."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from prowess.findings import CODES, DOCS_URL, GROUPS, Finding, Severity, apply_policy, explain, finding

TOP = Path(__file__).parent.parent


def test_every_code_is_listed_under_its_own_name() -> None:
    """In lower case with hyphens; a title has no full stop."""
    for name, code in CODES.items():
        assert name == code.code
        assert name.replace("-", "").isalnum()
        assert name == name.lower()
        assert not code.title.endswith(".")


def test_a_finding_has_the_severity_of_guide() -> None:
    """And the shape of every `--json`."""
    assert finding("name-case", "m", path="p", line=2, column=3, hint="h").as_dict() == {
        "code": "name-case",
        "severity": "warning",
        "path": "p",
        "line": 2,
        "column": 3,
        "message": "m",
        "hint": "h",
    }


def test_every_code_is_in_a_group() -> None:
    """Outside `loads`, a rule is a warning or information, unless a file cannot be read."""
    assert {code.group for code in CODES.values()} == set(GROUPS)
    not_errors = [code for code in CODES.values() if code.group not in ("loads", "evals")]
    assert not [code.code for code in not_errors if Severity.ERROR in (code.guide, code.spec)]


def test_an_unknown_code_is_an_error() -> None:
    with pytest.raises(KeyError):
        finding("no-such-code", "m")


@pytest.mark.parametrize(
    ("code", "policy", "rejects", "severity"),
    [
        pytest.param("name-case", "guide", (), Severity.WARNING, id="guide"),
        pytest.param("name-case", "spec", (), Severity.ERROR, id="spec"),
        pytest.param("name-case", "infer", ("name-case",), Severity.ERROR, id="host-rejects"),
        pytest.param("name-case", "camel", (), Severity.WARNING, id="host-warns"),
        pytest.param("yaml-tag", "camel", (), Severity.WARNING, id="error-that-a-host-accepts"),
        pytest.param("name-reserved", "camel", (), Severity.INFO, id="info-stays-info"),
    ],
)
def test_a_policy_changes_severities(code: str, policy: str, rejects: tuple[str, ...], severity: Severity) -> None:
    """Under the policy of a host, an error is what the host rejects."""
    (item,) = apply_policy([finding(code, "m")], policy, frozenset(rejects))
    assert item.severity is severity


def test_a_finding_with_the_same_severity_is_not_copied() -> None:
    item: Finding = finding("name-case", "m")
    assert apply_policy([item], "guide")[0] is item


def test_every_code_has_the_address_of_its_page() -> None:
    """`pyproject.toml` names the same documentation, and each address ends in a path of the repository."""
    project = tomllib.loads((TOP / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["urls"]["Documentation"] == DOCS_URL
    before = DOCS_URL.removesuffix("docs")
    for code in CODES.values():
        assert code.url.startswith(before)
        assert (TOP / code.url.removeprefix(before)).is_file()


# ── explanations ─────────────────────────────────────────────────────────────────────────────────────────────────────


def test_every_code_is_explained() -> None:
    """In sentences, from its page."""
    for code in CODES:
        explanation = explain(code)
        for text in (explanation.meaning, explanation.fix):
            assert text.endswith(".")
            assert "\n" not in text
        assert "\n## How to fix it\n" in explanation.page
    with pytest.raises(KeyError):
        explain("no-such-code")
