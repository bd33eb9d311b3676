"""`stdout-json`: objects as subsets, arrays by length and order, scalars by their JSON type."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, strategies as st

from prowess.testing._cases import exact_number
from prowess.testing._expect import differences, parse_single_value
from support import strategies  # noqa: F401 - loads the profile
from support.growth import calls_at_most, ends
from support.rows import rows


def differences_of(expected: Any, output: str) -> list[str]:
    return list(differences(expected, parse_single_value(output)))


# ── one value ────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("output", "words"),
    [
        *rows(__file__, "an_output_that_is_not_one_value_is_an_error"),
        ("[" * 100_000, "it has too many levels"),
        ('{"a":' * 100_000, "it has too many levels"),
    ],
    ids=lambda value: repr(value)[:30],
)
def test_an_output_that_is_not_one_value_is_an_error(output: str, words: str | None) -> None:
    """With its place. Parsers differ in what a duplicate key means."""
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - the message is compared
        parse_single_value(output)
    assert words is None or str(caught.value) == words


def test_an_output_that_is_not_utf_8_is_not_json() -> None:
    """RFC 8259: it must be. A replacement character could be any byte."""
    with pytest.raises(ValueError, match="byte 0xff at offset 2 is not UTF-8"):
        parse_single_value(b'["\xff"]')


@pytest.mark.parametrize("output", ["{}", " {}\n", "\r\n{\r\n}\r\n", "{}\n\n"])
def test_white_space_around_the_value_is_ignored(output: str) -> None:
    """Whatever ends the lines."""
    assert parse_single_value(output) == {}
    assert parse_single_value(output.encode()) == {}


# ── one value and another ────────────────────────────────────────────────────────────────────────────────────────────
# What cases can expect is in `stdout_json.md`, which `test_cases.py` reads.


@pytest.mark.parametrize(
    ("expected", "output", "is_same"),
    [
        (1.0, "1", True),
        (0.1, "0.1000", True),
        (0.1, "0.10000000000000001", False),
        (Decimal("1e5000"), "1" + "0" * 5000, True),
        (Decimal("1e999"), "1e1000", False),
    ],
    ids=lambda value: repr(value)[:25],
)
def test_numbers_that_a_program_expects_are_compared_as_they_are_written(
    expected: Any, output: str, is_same: bool
) -> None:
    assert (differences_of(expected, output) == []) is is_same


# ── words ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_long_values_are_cut_short() -> None:
    """However long they are, and however deep they nest."""
    with calls_at_most(900_000):
        assert differences_of(1, json.dumps("x" * 1_000_000)) == [f'$ is "{"x" * 78}…, not 1']
        assert differences_of(1, json.dumps(list(range(200_000)))) == [
            f"$ is {json.dumps(list(range(100)))[:79]}…, not 1"
        ]
        assert differences_of(1, "[" * 300 + "]" * 300) == [f"$ is {'[' * 79}…, not 1"]
        assert differences_of("x", "9" * 100_000) == [f'$ is {"9" * 79}…, not "x"']
        assert differences_of({"k" * 500: 1}, "{}") == [f"$.{'k' * 500} is missing"]


def test_messages_are_safe_to_show() -> None:
    """Outputs and keys are escaped."""
    (words,) = differences_of("a", '"\u202e\\u001b[31m\x7f"')
    assert words == '$ is "\\u202e\\u001b[31m\\x7f", not "a"'
    (words,) = differences_of({"\u202e\x1b": 1}, "{}")
    assert words == '$["\\u202e\\u001b"] is missing'
    with pytest.raises(ValueError, match=r"^duplicate key `\\u202e` in an object$"):
        parse_single_value('{"\u202e": 1, "\u202e": 2}')


def test_numbers_with_vast_exponents_are_compared_in_a_moment() -> None:
    """None is ever written out."""
    with ends():
        assert len(differences_of(exact_number("1e999999999999999999"), "1")) == 1
        assert differences_of(exact_number("10e999999999999"), "1e1000000000000") == []
        assert len(differences_of(1, "1e-999999999999999999")) == 1


# ── laws ─────────────────────────────────────────────────────────────────────────────────────────────────────────────

_SCALAR = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
)
_KEY = st.text(st.characters(exclude_categories=["Cs"]), max_size=4)
_VALUE: st.SearchStrategy[Any] = st.recursive(
    _SCALAR, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_KEY, inner, max_size=4), max_leaves=12
)


@given(_VALUE)
def test_a_value_matches_itself(value: Any) -> None:
    """As it is, and written out and read again."""
    assert list(differences(value, value)) == []
    assert differences_of(value, json.dumps(value)) == []
    assert differences_of(value, json.dumps(value, ensure_ascii=False, indent=1)) == []


@given(_VALUE, _KEY, _VALUE)
def test_additional_keys_are_allowed(value: Any, key: str, more: Any) -> None:
    """In an object, also inside an array."""
    wider = {"a": value, **({} if key == "a" else {key: more})}
    assert differences_of({"a": value}, json.dumps(wider)) == []
    assert differences_of([{"a": value}], json.dumps([wider])) == []
    assert differences_of([value], json.dumps([value, more])) != []


@given(_SCALAR, _SCALAR)
def test_scalars_match_both_ways_or_neither(one: Any, other: Any) -> None:
    """And only if JSON compares them as equal."""
    ways = {not list(differences(one, other)), not list(differences(other, one))}
    assert len(ways) == 1
    if ways == {True}:
        assert one == other
        assert isinstance(one, bool) is isinstance(other, bool)
