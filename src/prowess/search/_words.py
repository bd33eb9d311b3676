"""Split texts and messages into the terms that are searched.

A word is split at hyphens, digits and capitals (`p5.js` has `p`, `5` and `js`), and counts in one piece too. Chinese,
Japanese, Korean, Thai and similar scripts are written with few blanks: there each pair of characters is a term.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from functools import lru_cache
from itertools import pairwise

from ._stems import stem

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


@lru_cache(maxsize=1)
def stop_words_by_language() -> dict[str, frozenset[str]]:
    """Return the words of `stop_words.txt` by the English name of their language; the package may be in an archive."""
    loader: Any = __spec__.loader
    text = loader.get_data(os.path.join(os.path.dirname(__file__), "stop_words.txt")).decode()
    sections = (section.partition("\n") for section in text.split("\n# ")[1:])
    return {name: frozenset(words.split()) for name, _, words in sections}


STOP_WORDS = frozenset().union(*stop_words_by_language().values())
"""Words that are not searched beside others, in eleven languages."""
MAX_QUERY_CHARS = 8192
"""Characters of a message that count."""
_MAX_WORD_CHARS = 64
_MAX_JOINED_PARTS = 4

_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u2e80-\u2fdf\u3005-\u3007\u3041-\u309f\u30a1-\u30fa\u30fc-\u30ff\u3100-\u318f"
    "\u31a0-\u31bf\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff"
    "\U0001b000-\U0001b16f\U00020000-\U0003ffff"
)
_ACCENTS = "\u0300-\u036f"
_MARKS = _ACCENTS + "\u064b-\u0652\u0900-\u0963\u0966-\u0dff"
"""Accents, and the vowel signs of scripts that write them beside a letter."""
_LETTER = f"[^\\W_{_UNSPACED}]"
_WORD_PATTERN = f"{_LETTER}(?:{_LETTER}|[{_MARKS}])*"
_find_ascii_words = re.compile(r"[A-Za-z0-9]+(?:[-.'][A-Za-z0-9]+)*").findall
_find_parts = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+").findall
_split_compound = re.compile("[-.'’]").split


@lru_cache(maxsize=1)
def _word_finder() -> Callable[[str], list[str]]:
    """Return a function that finds the words of any script; most texts do without it, and compiling it takes long."""
    return re.compile(f"[{_UNSPACED}]+|{_WORD_PATTERN}(?:[-.'’]{_WORD_PATTERN})*").findall


@lru_cache(maxsize=1)
def _unspaced_matcher() -> Callable[[str], object]:
    return re.compile(f"[{_UNSPACED}]").match


def is_unspaced(word: str) -> bool:
    """Return whether a word is in a script that is written with few blanks."""
    return not word.isascii() and _unspaced_matcher()(word) is not None


def count_terms(text: str) -> dict[str, int]:
    """Return how often each term is in a text."""
    counts: dict[str, int] = {}
    known = counts.get
    # No word contains a blank, and most pieces between blanks occur several times.
    for piece, count in Counter(text.split()).items():
        for term in _terms(piece) if len(piece) <= _MAX_WORD_CHARS else _terms.__wrapped__(piece):
            counts[term] = known(term, 0) + count
    return counts


def ordered_terms(text: str, *, whole: bool = True) -> list[str]:
    """Return the terms of a message in their order, without stop words.

    Args:
        text: the message.
        whole: whether a word of several parts also counts in one piece.
    """
    terms: list[str] = []
    for piece in text.split():
        kept = _terms_without_stop_words
        terms += (kept if len(piece) <= _MAX_WORD_CHARS else kept.__wrapped__)(piece, whole)
    return terms


def normalize(text: str) -> str:
    """Return the text with one form for characters that look alike, such as full-width letters."""
    if text.isascii():
        return text
    import unicodedata

    return unicodedata.normalize("NFKC", text)


def _find_words(text: str) -> list[str]:
    return _find_ascii_words(text) if text.isascii() else _word_finder()(normalize(text))


@lru_cache(maxsize=1 << 15)
def _terms(text: str) -> tuple[str, ...]:
    return tuple(term for word in _find_words(text) for term in _word_terms(word, whole=True, every_character=True))


@lru_cache(maxsize=1 << 12)
def _terms_without_stop_words(text: str, whole: bool) -> tuple[str, ...]:
    terms: list[str] = []
    for word in _find_words(text):
        folded = _fold(word[:_MAX_WORD_CHARS]).replace("’", "'")
        if folded not in STOP_WORDS and folded.replace("'", "") not in STOP_WORDS:
            terms += _word_terms(word, whole=whole, every_character=False)
    return tuple(term for term in terms if term not in STOP_WORDS)


def _word_terms(word: str, *, whole: bool, every_character: bool) -> list[str]:
    if is_unspaced(word):
        characters = [character for character in word if character.isalnum()]
        pairs = [first + second for first, second in pairwise(characters)]
        return characters + pairs if every_character else pairs or characters
    parts: list[str] = []
    for piece in _split_compound(word):
        parts += _find_parts(piece) if piece.isascii() else [piece]
    parts = [_fold(part[:_MAX_WORD_CHARS]) for part in parts]
    if whole and 1 < len(parts) <= _MAX_JOINED_PARTS and "'" not in word and "’" not in word:
        joined = "".join(parts)[:_MAX_WORD_CHARS]
        # The `4` of `mp4` has no meaning in a message.
        parts = [*(part for part in parts if every_character or len(part) > 1), joined]
    return [stem(part) for part in parts]


def _fold(word: str) -> str:
    """Return the word in lower case and without accents."""
    if word.isascii():
        return word.lower()
    import unicodedata

    letters = unicodedata.normalize("NFD", word.casefold())
    letters = re.sub(f"[{_ACCENTS}]", "", letters)
    return unicodedata.normalize("NFC", letters).encode("utf-8", "replace").decode()
