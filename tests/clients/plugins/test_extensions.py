"""Rules that say in which folders an extension counts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from prowess.clients.plugins._extensions import matches_rule, read_folder_rules
from prowess.filesystem import Filesystem

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("rule", "matches"),
    [
        ("/a/b/", True),
        ("/a/b", False),
        ("/a/b/*", True),
        ("/a/b*", True),
        ("/a*", True),
        ("/a/*", True),
        ("/*", True),
        ("*", True),
        ("/*/b/", True),
        ("/a/*/", True),
        ("/a/*/b/", True),
        ("/a/b/c/*", False),
        ("/a/b/*/", True),
        ("*/b/", True),
        ("a/b/*", False),
        ("/a/./*", False),
        ("/a/[b]/", False),
        ("", False),
    ],
)
def test_a_star_is_any_text_and_after_a_slash_any_text_below(rule: str, matches: bool) -> None:
    """Everything else is literal, and the folder ends in a slash."""
    assert matches_rule(rule, "/a/b/") is matches


def test_the_last_rule_that_matches_decides(tmp_path: Path) -> None:
    """A rule with `!` says no; names are exact unless the client folds them."""
    file = tmp_path / "rules.json"
    file.write_text('{"X": {"overrides": ["!/*", "/a/*", "!/a/b/"]}, "y": {"overrides": []}}')
    rules = read_folder_rules(Filesystem(), str(file), fold=False)
    assert [rules.answer("X", folder) for folder in ("/", "/a", "/a/b", "/a/b/c", "/z")] == [
        False, True, False, True, False,
    ]  # fmt: skip
    assert rules.answer("x", "/a") is None
    assert rules.answer("y", "/a") is None
    assert read_folder_rules(Filesystem(), str(file), fold=True).answer("x", "/a") is True


@pytest.mark.parametrize(
    "text", ["{", "[]", "null", '{"x": 1}', '{"x": {}}', '{"x": {"overrides": [1]}}', '{"x": NaN}', "[" * 100_000]
)
def test_a_file_of_another_form_has_no_rules_and_a_problem(text: str, tmp_path: Path) -> None:
    """One invalid list voids the whole file, as in the clients."""
    file = tmp_path / "rules.json"
    file.write_text(text)
    rules = read_folder_rules(Filesystem(), str(file), fold=False)
    assert (dict(rules.rules), bool(rules.problem)) == ({}, True)


def test_hostile_rules_match_in_bounded_time() -> None:
    """A regular expression would take years."""
    assert not matches_rule("/*" * 1000 + "x", "/" + "a/" * 1000)
    assert not matches_rule("*a" * 1000, "/" + "a" * 900 + "/")
