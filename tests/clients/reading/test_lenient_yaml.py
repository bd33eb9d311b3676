"""YAML that clients accept, and the parser of Prowess refuses."""

from __future__ import annotations

import pytest

from prowess.clients.reading import has_unquoted_controls, replace_half_pairs


@pytest.mark.parametrize(
    ("text", "action", "expected"),
    [
        (r'a: "\ud800x"', "replace", r'a: "\ufffdx"'),
        (r'a: "\ud800x"', "remove", 'a: "x"'),
        (r'a: "\udc00\ud800"', "remove", 'a: ""'),
        (r'a: "\ud83d\ude00"', "replace", r'a: "\U0001f600"'),
        (r'a: "\\ud800 \n \u00e9"', "replace", r'a: "\\ud800 \n \u00e9"'),
    ],
)
def test_half_of_a_pair_is_replaced_or_removed(text: str, action: str, expected: str) -> None:
    """JavaScript has texts with half a surrogate pair; two halves are one character."""
    assert replace_half_pairs(text, action) == expected


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('a: "\x7f\x9b"', False),
        ("a: '\x9b'", False),
        ("a: b # \x07", False),
        ('a: "\x07"', True),
        ("a: \x9b", True),
        ('a: b "\x9b"', True),
        ("a: b # \0", True),
    ],
)
def test_control_characters_may_be_in_quotes_and_comments(text: str, found: bool) -> None:
    assert has_unquoted_controls(text) is found


def test_a_long_text_is_searched_in_linear_time() -> None:
    """Quotes that do not close are no trap."""
    assert has_unquoted_controls('a: "' * 50_000 + "\x9b")
    assert replace_half_pairs("\\" * 100_000, "remove") == "\\" * 100_000
