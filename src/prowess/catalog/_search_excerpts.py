"""Cut the piece out of a text that has most words of a query."""

from __future__ import annotations

import re
from collections import Counter
from itertools import islice

from ._search_words import UNSPACED_CHAR

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["best_window", "excerpt_at", "word_pattern"]

_EXCERPT_LENGTH, _EXCERPT_LEAD = 160, 30
"""Characters of an excerpt, and how many of them come before the first word."""
_MAX_MATCHES = 1000
_MIN_STEM_LENGTH = 4


def word_pattern(words: Sequence[str]) -> re.Pattern[str] | None:
    """Return a pattern that finds the words in a text, whatever their endings; `None` without words."""
    if not words:
        return None
    stems = [
        re.escape(word)
        if UNSPACED_CHAR.match(word)
        else rf"(?<![^\W_]){re.escape(word[: max(_MIN_STEM_LENGTH, len(word) - 3)])}"
        for word in words
    ]
    return re.compile("|".join(f"({stem})" for stem in stems), re.IGNORECASE)


def best_window(text: str, pattern: re.Pattern[str]) -> tuple[int, int]:
    """Return how many different words the best excerpt of a text has, and the position of its first word."""
    matches = [(match.start(), match.lastindex) for match in islice(pattern.finditer(text), _MAX_MATCHES)]
    most, start, first = 0, 0, 0
    inside: Counter[int | None] = Counter()
    for at, word in matches:
        inside[word] += 1
        while at - matches[first][0] > _EXCERPT_LENGTH - 2 * _EXCERPT_LEAD:
            inside[matches[first][1]] -= 1
            first += 1
        different = sum(count > 0 for count in inside.values())
        if different > most:
            most, start = different, matches[first][0]
    return most, start


def excerpt_at(text: str, position: int) -> str:
    """Return the piece of a text around a position, on one line, cut between words if possible."""
    start = max(position - _EXCERPT_LEAD, 0)
    if start:
        start = max(text.find(" ", start, position), text.find("\n", start, position), start - 1) + 1
    piece = text[start : start + _EXCERPT_LENGTH + 1]
    if len(piece) > _EXCERPT_LENGTH:
        piece = re.sub(r"\s\S{0,30}\Z", "", piece[:-1]) + "…"
    return ("…" if start else "") + " ".join(piece.split())
