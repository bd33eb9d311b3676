"""Values of settings: their types, lists of several files, switches, and variables in texts."""

from __future__ import annotations

from typing import Any

import pytest

from prowess.clients.settings import (
    fill_braces,
    find_wrong_type,
    is_switched_on,
    merge_union,
    plugin_variables,
    replace_variables,
)
from support.growth import assert_linear

TYPES = {"a": "bool", "b.c": "texts|null", "d.*": "map", "d.*.on": "bool|=auto", "e": "text|number", "f": "list"}


@pytest.mark.parametrize(
    ("table", "wrong"),
    [
        ({}, None),
        ({"a": True, "b": {"c": ["x"]}, "d": {"x.y": {"on": "auto"}}, "e": 1.5, "f": [1, "x"], "other": 5}, None),
        ({"a": "true"}, "a"),
        ({"a": None}, "a"),
        ({"b": {"c": ["x", 1]}}, "b.c"),
        ({"b": {"c": None}}, None),
        ({"b": 5}, None),
        ({"d": {"x": 1}}, "d.*"),
        ({"d": {"x": {"on": "never"}}}, "d.*.on"),
        ({"d": [{"on": 1}]}, "d.*.on"),
        ({"e": True}, "e"),
        ({"f": "x"}, "f"),
    ],
)
def test_the_first_wrong_key_is_named(table: dict[str, Any], wrong: str | None) -> None:
    """`*` is any key or item; keys that are missing are right."""
    assert find_wrong_type(table, TYPES) == wrong


@pytest.mark.parametrize(
    ("table", "wrong"),
    [
        ({}, "name"),
        ({"name": "x"}, None),
        ({"name": 5}, "name"),
        ({"name": "x", "items": {"a": {"source": 1}, "b": {}}}, "items.*.source"),
        ({"name": "x", "items": {"a": {"source": 1}}}, None),
        ({"name": "x", "items": "other"}, None),
    ],
)
def test_a_key_that_must_be_there_is_missed_in_each_table(table: dict[str, Any], wrong: str | None) -> None:
    """It is missed where the table above it is there."""
    assert find_wrong_type(table, {"name": "text!", "items.*.source": "number!"}) == wrong


def merged(*values: Any, single: bool = False) -> list[Any]:
    """Return all items of `a.b`, the first file being the lowest."""
    tables = [(str(number), value) for number, value in enumerate(values)]
    return [item for _, items in merge_union(tables, "a.b", single=single) for item in items]


@pytest.mark.parametrize(
    ("values", "items"),
    [
        ([{"a": {"b": [1]}}, {"a": {"b": [2]}}], [1, 2]),
        ([{"a": {"b": [1]}}, {}, {"a": {}}, {"a": {"c": 5}}], [1]),
        ([{"a": {"b": [1]}}, {"a": {"b": "x"}}], [1, "x"]),
        ([{"a": {"b": [1]}}, {"a": {"b": None}}], [1, None]),
        ([{"a": {"b": "x"}}, {"a": {"b": [1]}}], [1]),
        ([{"a": {"b": "x"}}], []),
        ([{"a": {"b": [1]}}, {"a": "x"}], []),
        ([{"a": {"b": [1]}}, {"a": ["x"]}], []),
        ([{"a": ["x"]}], []),
        ([{"a": {"b": [1]}}, {"a": None}, {"a": {"b": [2]}}], [2]),
        ([{"a": {"b": [1]}}, {"a": {"b": {}}}, {"a": {"b": [2]}}], [2]),
        ([], []),
    ],
)
def test_lists_are_joined_and_other_values_replace(values: list[Any], items: list[Any]) -> None:
    """A value that is no list is one more item of a list."""
    assert merged(*values) == items


def test_a_text_is_a_list_of_one_if_there_is_a_list_by_default() -> None:
    """Until something replaces that list."""
    assert merged({"a": {"b": "x"}}, {"a": {"b": "y"}}, single=True) == ["x", "y"]
    assert merged({"a": 5}, {"a": {"b": "y"}}, single=True) == []


@pytest.mark.parametrize(
    ("variable", "value", "on"),
    [
        ("A", "yes", True),
        ("A", "1", True),
        ("A", "off", False),
        ("A", "", False),
        ("A=1|true", "TRUE", True),
        ("A=1|true", "1", True),
        ("A=1|true", "yes", False),
        ("A=1|true", "", False),
        ("B", "1", False),
    ],
)
def test_a_variable_is_switched_on_by_its_words(variable: str, value: str, *, on: bool) -> None:
    """Opencode takes `yes` for some variables only."""
    assert is_switched_on(variable, {"A": value}) is on


ENV = {"A": "one", "B_2": "two", "EMPTY": ""}


def test_variables_in_texts_are_replaced() -> None:
    """In lists and tables too, but not in keys; one that is missing is its default, or stays."""
    value = {"$A": ["$A-${B_2}", "${X:-other}", "${A:-other}", "${X}", "$X", "${EMPTY:-x}", "$", "${}", 5, None]}
    assert replace_variables(value, ENV) == {"$A": ["one-two", "other", "one", "${X}", "$X", "", "$", "${}", 5, None]}


def test_a_default_may_count_or_not() -> None:
    text = "${A:-x} ${B:-y}"
    assert replace_variables(text, {"A": "a"}) == "a y"
    assert replace_variables(text, {"A": "a"}, defaults=False) == text


def test_variables_in_braces_are_filled() -> None:
    """An unknown name stays, and so does a text that would get too long."""
    values = plugin_variables("/e", "/w")
    assert (
        fill_braces("${extensionPath}${/}a ${HOME} ${} ${workspacePath", values) == "/e/a ${HOME} ${} ${workspacePath"
    )
    long = "${extensionPath}" * 4000
    assert fill_braces(long, plugin_variables("/" + "e" * 4000, "/w")) == long


def test_hostile_texts_take_linear_time_and_no_room() -> None:
    """A text that would become too long stays as it is."""
    assert replace_variables("$A" * 100_000, {"A": "x" * 100_000}) == "$A" * 100_000
    for text in ("$A" * 100_000, "${" * 100_000):
        assert_linear(lambda part: replace_variables(part, ENV), text)
    assert fill_braces("${" * 30_000, ENV) == "${" * 30_000
    assert_linear(lambda part: fill_braces(part, ENV), "${" * 30_000)
