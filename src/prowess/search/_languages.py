"""Say in which languages descriptions are written, by the stop words of a language or by its script."""

from __future__ import annotations

from collections import Counter

from ._words import stop_words_by_language

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

_SCRIPTS = {
    "HIRAGANA": "Japanese",
    "KATAKANA": "Japanese",
    "HANGUL": "Korean",
    "CJK": "Chinese",
    "THAI": "Thai",
    "ARABIC": "Arabic",
    "HEBREW": "Hebrew",
    "GREEK": "Greek",
    "DEVANAGARI": "Hindi",
}
"""The first word of the name of a character, and a language that is written with it; the first of these counts."""
_MAX_CHARS = 400
"""Characters of a description that are looked at."""
_LEAST_WORDS = 2
_LEAST_SHARE = 0.1
"""The share of the descriptions with a language from which on it is named."""


def languages_of(descriptions: Iterable[str]) -> tuple[str, ...]:
    """Return the languages of some descriptions by their English names, the most frequent first."""
    counts = Counter(filter(None, (_language_of(text[:_MAX_CHARS]) for text in descriptions)))
    return tuple(name for name, count in counts.most_common() if count >= _LEAST_SHARE * counts.total())


def _language_of(text: str) -> str | None:
    """Return the language of a text; `None` if it has too few words that tell."""
    if not text.isascii():
        import unicodedata

        letters = [unicodedata.name(letter, "").partition(" ")[0] for letter in text if letter.isalpha()]
        found = [script for script in _SCRIPTS if letters.count(script) * 10 > len(letters)]
        if found:
            return _SCRIPTS[found[0]]
    words = {word.strip(".,;:!?()\"'") for word in text.casefold().split()}
    (first, most), (_, next_most) = Counter(
        {name: len(words & stop_words) for name, stop_words in stop_words_by_language().items()}
    ).most_common(2)
    return first if most >= _LEAST_WORDS and most > next_most else None
