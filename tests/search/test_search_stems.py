"""Stems of English words."""

from __future__ import annotations

import pytest

from prowess.search._stems import stem


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("connect connected connecting connection connections", "connect"),
        ("caresses caress", "caress"),
        ("ponies poni", "poni"),
        ("agreed agree agrees", "agre"),
        ("plastered plaster", "plaster"),
        ("hopping hop", "hop"),
        ("filing file files", "file"),
        ("relational relate", "relat"),
        ("happiness happy", "happi"),
        ("controlling control controlled", "control"),
        ("formalize formal", "formal"),
        ("sky", "sky"),
    ],
)
def test_forms_of_a_word_have_one_stem(words: str, expected: str) -> None:
    """The examples of Porter's paper."""
    assert {stem(word) for word in words.split()} == {expected}


@pytest.mark.parametrize("word", ["", "a", "is", "größe", "2024", "ml2", "日本"])
def test_other_words_stay(word: str) -> None:
    """Short words, and those with other characters than letters of English."""
    assert stem(word) == word
