"""Findings: codes with severities, and foreign text made harmless."""

from __future__ import annotations

import time
from difflib import get_close_matches

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prowess._internal.text import hidden_characters, nearest_names, neutral, quoted, without_hidden
from prowess.findings import CODES, Finding, Severity, apply_policy, finding


def test_every_code_has_a_row_under_its_own_name() -> None:
    """Lower case words with hyphens, and a title without a full stop."""
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


def test_a_finding_without_a_row_is_a_mistake() -> None:
    """A code is written down before it is used."""
    with pytest.raises(KeyError):
        finding("no-such-code", "m")


@pytest.mark.parametrize(
    ("code", "policy", "rejects", "severity"),
    [
        pytest.param("name-case", "guide", (), Severity.WARNING, id="guide"),
        pytest.param("name-case", "spec", (), Severity.ERROR, id="spec"),
        pytest.param("name-case", "infer", ("name-case",), Severity.ERROR, id="host-rejects"),
        pytest.param("name-case", "camel", (), Severity.WARNING, id="host-warns"),
        pytest.param("yaml-tag", "camel", (), Severity.WARNING, id="error-that-a-host-does-not-mind"),
        pytest.param("name-reserved", "camel", (), Severity.INFO, id="info-stays-info"),
    ],
)
def test_a_policy_decides_severities(code: str, policy: str, rejects: tuple[str, ...], severity: Severity) -> None:
    """Under a host an error is exactly what that host rejects."""
    (item,) = apply_policy([finding(code, "m")], policy, frozenset(rejects))
    assert item.severity is severity


def test_a_finding_whose_severity_stays_is_the_same_object() -> None:
    """Nothing is copied that does not change."""
    item: Finding = finding("name-case", "m")
    assert apply_policy([item], "guide")[0] is item


@pytest.mark.parametrize(
    ("text", "characters"),
    [
        pytest.param("plain\n\ttext é 漢 📦", [], id="shows"),
        pytest.param("👩\u200d👩 \u200c", [], id="joiners"),
        pytest.param("a\u202eb", ["\u202e"], id="bidi"),
        pytest.param("\U000e0041\u200b\x1b", ["\x1b", "\u200b", "\U000e0041"], id="tag-zero-width-escape"),
    ],
)
def test_hidden_names_what_does_not_show(text: str, characters: list[str]) -> None:
    """Controls, bidirectional marks, tags: not the joiners of emoji."""
    assert hidden_characters(text) == characters


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        pytest.param("a \n\t b", "a b", id="white-space"),
        pytest.param("a\u2028b\x85c", "a b c", id="line-ends"),
        pytest.param("a\u202e\u200bb", "ab", id="hidden"),
    ],
)
def test_without_hidden_leaves_one_line(text: str, clean: str) -> None:
    """White space is collapsed, hidden characters are gone."""
    assert without_hidden(text) == clean


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        pytest.param("a\x1b[2J", "`a\\x1b[2J`", id="escape"),
        pytest.param("a\nb", "`a\\x0ab`", id="newline"),
        pytest.param("\u202e\U000e0041", "`\\u202e\\U000e0041`", id="hidden"),
        pytest.param("\udcff", "`\\xff`", id="undecodable-byte"),
        pytest.param("x" * 61, f"`{'x' * 59}…`", id="long"),
        pytest.param("x" * 60, f"`{'x' * 60}`", id="as-long-as-allowed"),
    ],
)
def test_quoted_makes_foreign_text_harmless(text: str, shown: str) -> None:
    """On one line, nothing hidden, not too long."""
    assert quoted(text) == shown


@given(st.text())
def test_nothing_hidden_is_left(text: str) -> None:
    """Both ways of cleaning leave nothing that `hidden` would name."""
    assert hidden_characters(without_hidden(text)) == []
    assert hidden_characters(neutral(text)) == []
    assert len(neutral(text).splitlines()) <= 1


@given(st.text("abc", max_size=8), st.lists(st.text("abc", max_size=16)), st.sampled_from([0.5, 0.6]))
def test_near_names_are_those_of_difflib(name: str, names: list[str], cutoff: float) -> None:
    """What is left out for its length alone could not be near."""
    assert nearest_names(name, names, cutoff=cutoff) == get_close_matches(name, names, n=3, cutoff=cutoff)


def test_names_that_take_long_to_compare_are_few() -> None:
    """1,500 names of nearly the same letter took six seconds; the first still count."""
    names = [f"{'a' * 190}{number:04}" for number in range(1500)]
    began = time.process_time()
    assert names[7] in nearest_names(f"{'a' * 189}0007", names)
    assert nearest_names("a" * 1_000_000, names) == []
    assert time.process_time() - began < 3
