"""Patterns of names in settings: which skills stay."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import pytest

from prowess.catalog import discover
from prowess.catalog._name_filter import pattern_problem
from prowess.hosts import host_from_table

if TYPE_CHECKING:
    from pathlib import Path

    from prowess.catalog import Catalog

SETTINGS = (
    {"key": "only", "form": "filter", "effects": {"rest": "gone"}},
    {"key": "not", "form": "filter", "effects": {"match": "gone"}},
)


def catalog(top: Path, settings: str, names: tuple[str, ...]) -> Catalog:
    table: dict[str, Any] = {
        "title": "X",
        "roots": [{"path": "~/skills", "scope": "user"}],
        "settings_files": {"user": {"path": "~/x.toml"}},
        "settings": SETTINGS,
    }
    for name in names:
        (top / "skills" / name).mkdir(parents=True, exist_ok=True)
        (top / "skills" / name / "SKILL.md").write_text(f"---\nname: {name}\ndescription: d\n---\n")
    (top / "x.toml").write_text(settings)
    return discover(top, host=host_from_table("x", table), home=top, env={})


@pytest.mark.parametrize(
    ("settings", "active"),
    [
        pytest.param("", ["keep-a", "keep-b", "other"], id="none"),
        pytest.param('not = ["OTHER"]', ["keep-a", "keep-b"], id="any-case"),
        pytest.param('not = [" keep-* "]', ["other"], id="glob"),
        pytest.param('not = ["re:keep-[ab]"]', ["other"], id="regex"),
        pytest.param('not = ["re:keep"]', ["keep-a", "keep-b", "other"], id="whole-name"),
        pytest.param('only = ["keep-a"]\nnot = ["keep-a"]', ["keep-a"], id="first-setting"),
        pytest.param('only = [""]', [], id="blank"),
        pytest.param("only = []", ["keep-a", "keep-b", "other"], id="empty"),
        pytest.param('only = "keep-a"', ["keep-a", "keep-b", "other"], id="text"),
    ],
)
def test_the_first_list_that_is_not_empty_says_which_skills_stay(
    settings: str, active: list[str], tmp_path: Path
) -> None:
    found = catalog(tmp_path, settings, ("keep-a", "keep-b", "other"))
    assert [entry.name for entry in found.skills if entry.state == "active"] == active


@pytest.mark.parametrize(
    "pattern",
    [
        "re:(",
        "re:(a+)+$",
        "re:(a|a)*b",
        "re:" + "a?" * 30,
        "re:" + "a*" * 9,
        "x" * 300,
        "re:" + "(a|a)" * 45,
        "re:" + "(?:a|)" * 40 + "b",
        "re:(?x)(a|a) #\\n *b",
        "re:(?:a|a)(?#)*b",
    ],
)
def test_a_pattern_that_could_take_long_matches_nothing(pattern: str, tmp_path: Path) -> None:
    """It is a finding; names of 64 letters are the worst that a skill can have."""
    assert pattern_problem(pattern) is not None
    start = time.process_time()
    found = catalog(tmp_path, f"not = ['{pattern}']", ("a" * 64,))
    assert time.process_time() - start < 1
    assert [str(entry.state) for entry in found.skills] == ["active"]
    assert [item.code for item in found.findings] == ["config-invalid"]


def test_only_a_thousand_patterns_count(tmp_path: Path) -> None:
    names = ", ".join(f'"n{number}"' for number in range(1001))
    found = catalog(tmp_path, f"not = [{names}]", ("n999", "n1000"))
    assert {entry.name: str(entry.state) for entry in found.skills} == {"n999": "rejected", "n1000": "active"}


def test_many_patterns_that_take_some_time_are_bounded_together(tmp_path: Path) -> None:
    patterns = ",\n".join(f"'re:.*.*.*{number}'" for number in range(1000))
    start = time.process_time()
    found = catalog(tmp_path, f"not = [{patterns}]", ("a" * 64,))
    assert time.process_time() - start < 1
    assert "is too complex together with those before it" in found.findings[-1].message
