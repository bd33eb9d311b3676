"""Splitting texts into terms, and the words of which the weight in a message is known."""

from __future__ import annotations

from collections import Counter

from hypothesis import given, strategies as st

from prowess.search._ranking import _usage
from prowess.search._stems import stem
from prowess.search._vocabulary import COMMON_WORDS, EVERYDAY_WORDS, RELATED_WORDS
from prowess.search._words import _find_ascii_words, _word_finder, _word_terms, count_terms, normalize, ordered_terms

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


def test_stems_have_the_weight_and_the_relations_of_their_words() -> None:
    """Each word that has one of the stems of the vocabulary is found by it."""
    everyday, common = {stem(word) for word in EVERYDAY_WORDS}, {stem(word) for word in COMMON_WORDS}
    related: dict[str, set[str]] = {}
    for group in RELATED_WORDS:
        for word in group:
            related.setdefault(stem(word), set()).update(stem(other) for other in group)
    for term in everyday | common | related.keys():
        weight, others = _usage(term)
        # An everyday word counts less than a common one, which counts less than any other.
        assert (weight < _usage("zebra")[0]) == (term in everyday | common)
        assert (weight == _usage(stem("yesterday"))[0]) == (term in everyday)
        assert others == related.get(term, set()) - {term}
