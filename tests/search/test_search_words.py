"""Splitting texts into terms."""

from __future__ import annotations

from collections import Counter

from hypothesis import given, strategies as st

from prowess.search._words import (
    STOP_WORDS,
    _find_ascii_words,
    _word_finder,
    _word_terms,
    count_terms,
    normalize,
    ordered_terms,
)

TEXTS = st.text(st.sampled_from("aB1-.'’_ \n\t\x1c\x85\xa0éİßﬁ¨\u0301中文かทไअी🙂") | st.characters(), max_size=60)


@given(TEXTS)
def test_terms_are_those_of_the_whole_text(text: str) -> None:
    """Although a text is split at blanks first."""
    words = _word_finder()(normalize(text))
    expected = Counter(term for word in words for term in _word_terms(word, whole=True, every_character=True))
    assert count_terms(text) == expected
    assert set(ordered_terms(text)) <= set(expected)


@given(st.text(st.characters(max_codepoint=127)))
def test_words_in_ascii_are_those_of_any_script(text: str) -> None:
    assert _find_ascii_words(text) == _word_finder()(text)


def test_stop_words_are_words_of_messages_only() -> None:
    """Those of the file without its headings, in any language; a text has all its words."""
    assert {"the", "und", "où", "için"} <= STOP_WORDS
    assert STOP_WORDS.isdisjoint({"#", "English", "_words.py"})
    assert ordered_terms("Wo ist the csv?") == ["csv"]
    assert count_terms("the csv") == {"the": 1, "csv": 1}
