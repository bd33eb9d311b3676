"""A front matter as JSON has the types of the core schema of YAML 1.2."""

from __future__ import annotations

from typing import Any

import pytest

from prowess.skill import YamlSyntaxError, core_mapping


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1.10", 1.1),
        ("0x1F", 31),
        ("0o17", 15),
        ("017", 17),
        ("-3", -3),
        ("1e3", 1000),
        (".5", 0.5),
        ("1.", 1),
        ("yes", "yes"),
        ("on", "on"),
        ("2024-01-01", "2024-01-01"),
        ("12:30:00", "12:30:00"),
        ("1_000", "1_000"),
        ("True", True),
        ("false", False),
        ("~", None),
        ("", None),
        ("Null", None),
        (".inf", None),
        ("'1.10'", "1.10"),
        ('"true"', "true"),
        ("[1, a, {b: 2}]", [1, "a", {"b": 2}]),
        ("{1: a, true: b, 0x10: c}", {"1": "a", "true": "b", "16": "c"}),
    ],
)
def test_values_have_the_types_of_the_core_schema(text: str, value: Any) -> None:
    """As the examples of YAML 1.2.2, 10.3.2 have them; an infinity is null, as in JavaScript."""
    found = core_mapping(f"name: x\nvalue: {text}\n")["value"]
    assert (type(found), found) == (type(value), value)


@pytest.mark.parametrize("text", ["- a", "x", "", "a: [", "a: &b 1\nc: *b", "a: !!str 1", f"a: {'9' * 400}"])
def test_what_has_no_json_is_an_error(text: str) -> None:
    """It is left out by its caller, with the reason."""
    with pytest.raises((YamlSyntaxError, ValueError)):
        core_mapping(text)


@pytest.mark.parametrize("text", [".inf", "-.INF", "[.nan]", "{a: 1e999}"])
def test_a_number_that_is_not_finite_is_an_error_if_its_caller_asks(text: str) -> None:
    with pytest.raises(ValueError, match=r"is not a finite number$"):
        core_mapping(f"a: ~\nvalue: {text}", finite=True)
    assert core_mapping("a: ~\nb: '.inf'", finite=True) == {"a": None, "b": ".inf"}
