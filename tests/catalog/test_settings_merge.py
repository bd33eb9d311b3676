"""Lists of one key in several settings files, as clients that merge them key by key see them."""

from __future__ import annotations

from typing import Any

import pytest

from prowess.catalog._settings_merge import merge_union


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
