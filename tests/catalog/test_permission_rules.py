"""Ordered permissions: the last rule that matches counts."""

from __future__ import annotations

import time

import pytest

from prowess.catalog._permission_rules import name_matcher, permission_rules, rules_table

WORDS = {"allow": "on", "ask": "on", "deny": "user-only", "true": "on", "false": "user-only"}


def effect(value: object, name: str) -> str:
    rules = permission_rules(rules_table(value), "skill", WORDS)
    return next((word for pattern, word in reversed(rules) if name_matcher(pattern)(name)), "on")


@pytest.mark.parametrize(
    ("value", "hidden", "shown"),
    [
        pytest.param({"skill": {"*": "deny", "a*": "allow"}}, "b", "ab", id="the-last-match-counts"),
        pytest.param({"*": "deny", "skill": {"a": "allow"}}, "b", "a", id="all-tools-first"),
        pytest.param({"sk*": {"a": "deny"}}, "a", "b", id="a-pattern-of-tools"),
        pytest.param({"edit": "deny", "skill": {"a": "deny"}}, "a", "b", id="another-tool"),
        pytest.param({"skill": {"?": "deny"}}, "a", "ab", id="one-character"),
        pytest.param({"skill": {"a *": "deny"}}, "a", "ab", id="a-blank-and-a-star-are-optional"),
        pytest.param({"skill": {"[ab]": "deny"}}, "[ab]", "a", id="brackets-are-literal"),
        pytest.param({"skill": {"A": "deny"}}, "A", "a", id="case-counts"),
        pytest.param({"skill": {"*": "deny", "b": "allow", "1": "allow"}}, "1", "b", id="whole-numbers-come-first"),
        pytest.param({"skill": {"a": "deny", "b": "never"}}, "a", "b", id="an-unknown-word"),
    ],
)
def test_rules_hide_one_skill_and_show_another(value: object, hidden: str, shown: str) -> None:
    assert effect(value, hidden) == "user-only"
    assert effect(value, shown) == "on"


@pytest.mark.parametrize("value", ["deny", {"skill": "deny"}, {"skill": False}, {"skill": {"a": "allow"}, "*": "deny"}])
def test_one_word_is_for_all_skills(value: object) -> None:
    assert effect(value, "a") == "user-only"


@pytest.mark.parametrize("value", [None, 3, [], {"skill": []}, {"skill": None}, "never", {}])
def test_other_values_hide_nothing(value: object) -> None:
    assert effect(value, "a") == "on"


def test_a_long_pattern_takes_no_long_time() -> None:
    start = time.process_time()
    assert not name_matcher("*a" * 100 + "b")("a" * 5000)
    assert time.process_time() - start < 1
