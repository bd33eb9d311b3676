"""Reduce English words to their stems, after M. F. Porter's algorithm of 1980 with his later changes."""

from __future__ import annotations

import re
from functools import lru_cache

_ENDINGS_TEXT_2 = """
    ational>ate tional>tion enci>ence anci>ance izer>ize isation>ize ization>ize bli>ble alli>al entli>ent eli>e
    ousli>ous ation>ate ator>ate alism>al iveness>ive fulness>ful ousness>ous aliti>al iviti>ive biliti>ble logi>log
"""
_ENDINGS_TEXT_3 = "icate>ic ative> alize>al iciti>ic ical>ic ful> ness>"
_ENDINGS_2, _ENDINGS_3 = (
    tuple(pair.split(">") for pair in text.split()) for text in (_ENDINGS_TEXT_2, _ENDINGS_TEXT_3)
)
_ENDINGS_4 = (
    *("ement", "ance", "ence", "able", "ible", "ment", "ant", "ent", "ism", "ate", "iti", "ous", "ive", "ize", "ion"),
    *("al", "er", "ic", "ou"),
)
_count_sequences = re.compile("v+c+").findall
_MIN_LENGTH = 3


@lru_cache(maxsize=1 << 16)
def stem(word: str) -> str:
    """Return the stem of a word in lower case; a word that is not in the letters a to z is returned as it is."""
    if len(word) < _MIN_LENGTH or not word.isascii() or not word.isalpha():
        return word
    word = _without_participle(_without_plural(word))
    if word.endswith("y") and "v" in _letters(word[:-1]):
        word = word[:-1] + "i"
    word = _replace_ending(_replace_ending(word, _ENDINGS_2), _ENDINGS_3)
    for ending in _ENDINGS_4:
        if word.endswith(ending):
            rest = word[: -len(ending)]
            if _measure(rest) > 1 and (ending != "ion" or rest.endswith(("s", "t"))):
                word = rest
            break
    if word.endswith("e"):
        rest = word[:-1]
        if _measure(rest) > 1 or (_measure(rest) == 1 and not _ends_short(rest)):
            word = rest
    return word[:-1] if word.endswith("ll") and _measure(word) > 1 else word


def _letters(word: str) -> str:
    """Return a `v` for each vowel and a `c` for each consonant; `y` after a consonant is a vowel."""
    kinds = ""
    for letter in word:
        kinds += "v" if letter in "aeiou" or (letter == "y" and kinds.endswith("c")) else "c"
    return kinds


def _measure(word: str) -> int:
    return len(_count_sequences(_letters(word)))


def _ends_short(word: str) -> bool:
    return _letters(word)[-3:] == "cvc" and word[-1] not in "wxy"


def _without_plural(word: str) -> str:
    if word.endswith(("sses", "ies")):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith("ss") else word


def _without_participle(word: str) -> str:
    if word.endswith("eed"):
        return word[:-1] if _measure(word[:-3]) else word
    for ending in ("ed", "ing"):
        rest = word.removesuffix(ending)
        if rest != word and "v" in _letters(rest):
            if rest.endswith(("at", "bl", "iz")) or (_measure(rest) == 1 and _ends_short(rest)):
                return rest + "e"
            doubled = len(rest) > 1 and rest[-1] == rest[-2] and rest[-1] not in "aeioulsz"
            return rest[:-1] if doubled else rest
    return word


def _replace_ending(word: str, endings: tuple[list[str], ...]) -> str:
    for ending, replacement in endings:
        if word.endswith(ending):
            rest = word[: -len(ending)]
            return rest + replacement if _measure(rest) else word
    return word
