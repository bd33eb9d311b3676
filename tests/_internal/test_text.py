"""Make untrusted text safe to show, measure text, and compare names."""

from __future__ import annotations

from difflib import get_close_matches

import pytest
from hypothesis import given, strategies as st

from prowess._internal.text import (
    did_you_mean,
    display_width,
    hidden_characters,
    nearest_names,
    neutral,
    normalize_name,
    quoted,
    without_hidden,
)
from support.growth import calls_at_most


@pytest.mark.parametrize(
    ("text", "characters"),
    [
        pytest.param("plain\n\ttext é 漢 📦", [], id="shows"),
        pytest.param("👩\u200d👩 \u200c", [], id="joiners"),
        pytest.param("a\u202eb", ["\u202e"], id="bidi"),
        pytest.param("\U000e0041\u200b\x1b", ["\x1b", "\u200b", "\U000e0041"], id="tag-zero-width-escape"),
    ],
)
def test_hidden_characters_are_found(text: str, characters: list[str]) -> None:
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
def test_quoted_text_is_safe_to_show(text: str, shown: str) -> None:
    """On one line, nothing hidden, not too long."""
    assert quoted(text) == shown


@given(st.text())
def test_no_hidden_character_is_left(text: str) -> None:
    """Neither by `without_hidden` nor by `neutral`."""
    assert hidden_characters(without_hidden(text)) == []
    assert hidden_characters(neutral(text)) == []
    assert len(neutral(text).splitlines()) <= 1


@given(st.text("abc", max_size=8), st.lists(st.text("abc", max_size=16), unique=True), st.sampled_from([0.5, 0.6]))
def test_nearest_names_are_those_of_difflib(name: str, names: list[str], cutoff: float) -> None:
    """What is left out for its length alone could not be near. A name is returned once."""
    assert nearest_names(name, names, cutoff=cutoff) == get_close_matches(name, names, n=3, cutoff=cutoff)


@pytest.mark.slow
def test_comparing_very_many_long_names_takes_bounded_time() -> None:
    """1,500 names of nearly the same letter took six seconds; the first still count."""
    names = [f"{'a' * 190}{number:04}" for number in range(1500)]
    with calls_at_most(30_000_000):
        assert names[7] in nearest_names(f"{'a' * 189}0007", names)
        assert nearest_names("a" * 1_000_000, names) == []


def test_a_hint_names_the_most_similar_name() -> None:
    assert did_you_mean("pfd", ["docx", "pdf"], "choose one of them") == "did you mean `pdf`?"
    assert did_you_mean("zzz", ["docx", "pdf"], "choose one of them") == "choose one of them"
    assert did_you_mean("pdf", ["pdf", "pdfs"], "choose one of them") == "did you mean `pdfs`?"
    assert did_you_mean("pdf", ["pdf"], "choose one of them") == "choose one of them"


@pytest.mark.parametrize(
    ("text", "cells"),
    [
        pytest.param("plain", 5, id="ascii"),
        pytest.param("\u6f22\u5b57", 4, id="wide"),
        pytest.param("\uff21", 2, id="full-width"),
        pytest.param("e\u0301", 1, id="combining"),
        pytest.param("\u0e01\u0e31", 1, id="mark-without-combining-class"),
        pytest.param("a\u200db", 2, id="joiner"),
    ],
)
def test_display_width_is_counted_in_terminal_cells(text: str, cells: int) -> None:
    assert display_width(text) == cells


@pytest.mark.parametrize(
    ("first", "second", "same"),
    [
        pytest.param("pdf", "PDF", True, id="case"),
        pytest.param("ｐｄｆ", "pdf", True, id="nfkc"),
        pytest.param("straße", "STRASSE", True, id="case-folding"),
        pytest.param("cafe\u0301", "café", True, id="composition"),
        pytest.param("pdf", "pdf2", False, id="another"),
    ],
)
def test_names_compare_after_nfkc_and_case_folding(first: str, second: str, same: bool) -> None:
    assert (normalize_name(first) == normalize_name(second)) is same
