"""The rules of a host in words, as `prowess hosts NAME`, the docs and reports show them."""

from __future__ import annotations

import dataclasses
import re
from typing import Any

import pytest

import prowess.hosts
from prowess.hosts import FOLDERS_TITLE, KEY_DOCS, describe_rules, host_names, load_host
from support.hosts import host_from_table


def sections(**table: Any) -> dict[str, list[str]]:
    """Return the sections of a small host file."""
    return dict(describe_rules(host_from_table("x", {"title": "X", "documented": "docs", **table})))


@pytest.mark.parametrize("name", host_names())
def test_every_host_has_folders_and_a_line_for_everything_unknown(name: str) -> None:
    host = load_host(name)
    rules = dict(describe_rules(host))
    assert len(rules[FOLDERS_TITLE]) - 1 <= max(len(host.roots), 1) <= len(rules[FOLDERS_TITLE])
    assert rules.get("not known", []) == list(host.unknown)


def test_sections_without_a_rule_are_left_out() -> None:
    rules = sections(roots=[{"path": ".x/skills", "scope": "project"}])
    assert rules[FOLDERS_TITLE] == ["`.x/skills`: project, in the working directory, 1 level deep"]
    assert "catalog budget" not in rules
    assert all(rules.values())


def test_a_host_without_folders_says_so() -> None:
    assert sections()[FOLDERS_TITLE] == ["none: skills are mounted, never searched for"]


def test_hidden_characters_of_a_rule_are_escaped() -> None:
    """An author of a host file may need one, a reader must see it."""
    assert "at most 5 in total" in sections(budget={"limit": 5, "note": "a\u202eb"})["catalog budget"]
    assert "a\\u202eb" in sections(budget={"limit": 5, "note": "a\u202eb"})["catalog budget"]


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("true", "`kind: true` makes it user-only"),
        ("is:flow", "`kind` that is `flow` makes it user-only"),
        ("other:a b", "`kind` other than `a` or `b` makes it user-only"),
        ("not:bool null", "`kind` that is not true or false or null makes it user-only"),
        ("not:bool null text", "`kind` that is not true or false, null or text makes it user-only"),
        ("lacks:a b", "a list `kind` without `a` or `b` makes it user-only"),
        ("found:^/", "a match of `^/` in `kind` makes it user-only"),
        ("keys:a b", "keys of `kind` other than `a` or `b` makes it user-only"),
        ("absent", "no `kind` makes it user-only"),
    ],
)
def test_a_condition_of_a_flag_is_in_words(value: str, words: str) -> None:
    flags = [{"when": {"kind": value}, "state": "user-only", "reason": "r"}]
    assert sections(flags=flags)["what an author can set"] == [words]


@pytest.mark.parametrize("name", host_names())
def test_no_rule_shows_the_notation_of_a_host_file(name: str) -> None:
    """Conditions such as `not:bool` are for the file."""
    lines = dict(describe_rules(load_host(name))).get("what an author can set", [])
    assert [line for line in lines if re.search(r": (is|other|not|keys|lacks|found):|: (lax|not)-", line)] == []


@pytest.mark.parametrize("table", KEY_DOCS)
def test_every_key_has_its_documentation(table: str) -> None:
    """The text below its field, from which docs and `prowess hosts NAME` are made; none is for a key that is gone."""
    assert list(KEY_DOCS[table]) == [field.name for field in dataclasses.fields(getattr(prowess.hosts, table))]
    assert [key for key, (text, *_) in KEY_DOCS[table].items() if not re.fullmatch(r"[A-Z`{].+\.", text)] == []


def test_types_of_values_are_in_words() -> None:
    types = {"name": "text!", "id": "!", "tags": "texts|null", "kind": "=a|re:b"}
    words = (
        "`name` (needed, text); `id` (needed); `tags` (a list of texts or null); `kind` (`a` or text that matches `b`)"
    )
    lines = sections(plugins={"own": {"manifests": ["x.json"], "manifest_types": types}})["plugins"]
    assert f"values that make a manifest valid: {words}" in lines


def test_each_kind_of_plugins_has_lines_of_its_own() -> None:
    """They begin with its name if there are several, and no value is shown as a host file or Python writes it."""
    plugins = {
        "own": {
            "folders": ["$X_HOME/plugins/*|~/.x/plugins/*"],
            "id": "{manifest}@own",
            "manifests": ["x.json"],
            "first_of_name": True,
            "facts": {"folders": ["only the newest counts"]},
        },
        "copies": {"facts": {"": ["installed copies are listed in a file"]}},
    }
    assert sections(plugins=plugins)["plugins"] == [
        "own: its skills are called `PLUGIN:SKILL`",
        "own: installed in `~/.x/plugins/*`, or `$X_HOME/plugins/*` if X_HOME is set",
        "own: only the newest counts",
        "own: settings call it `PLUGIN@own`",
        "own: its manifest is `x.json`",
        "own: of several with one name, only the first counts",
        "own: its folder of skills is `skills`, unless another line here says more",
        "copies: installed copies are listed in a file",
    ]
