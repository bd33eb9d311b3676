"""Cut the piece out of a text that has most words of a query."""

from __future__ import annotations

import re

from ._search_words import is_unspaced

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

__all__ = ["best_window", "excerpt_at", "word_starts"]

_EXCERPT_LENGTH, _EXCERPT_LEAD = 160, 30
"""Characters of an excerpt, and how many of them come before the first word."""
_MAX_MATCHES = 1000
_MIN_STEM_LENGTH = 4


def word_starts(words: Sequence[str]) -> dict[str, bool]:
    """Return the start of each word, without its ending, and whether it may be found inside a word."""
    return {
        word if (inside := is_unspaced(word)) else word[: max(_MIN_STEM_LENGTH, len(word) - 3)]: inside
        for word in words
    }


def best_window(text: str, starts: Mapping[str, bool]) -> tuple[int, int]:
    """Return how many different words the best excerpt of a text has, and the position of its first word."""
    matches = sorted(_find_starts(text, starts))[:_MAX_MATCHES]
    most, start, first, different = 0, 0, 0, 0
    inside = dict.fromkeys(starts, 0)
    for at, word in matches:
        different += not inside[word]
        inside[word] += 1
        while at - matches[first][0] > _EXCERPT_LENGTH - 2 * _EXCERPT_LEAD:
            inside[matches[first][1]] -= 1
            different -= not inside[matches[first][1]]
            first += 1
        if different > most:
            most, start = different, matches[first][0]
    return most, start


def _find_starts(text: str, starts: Mapping[str, bool]) -> Iterator[tuple[int, str]]:
    """Yield where each of the words is; of a word that is in too many places, only the first ones."""
    # The only character whose small form has another length.
    text = text.replace("İ", "I").lower()
    for word, inside in starts.items():
        at = -1
        for _ in range(_MAX_MATCHES):
            at = text.find(word, at + 1)
            if at < 0:
                break
            if inside or not text[at - 1 : at].isalnum():
                yield at, word


def excerpt_at(text: str, position: int) -> str:
    """Return the piece of a text around a position, on one line, cut between words if possible."""
    start = max(position - _EXCERPT_LEAD, 0)
    if start:
        start = max(text.find(" ", start, position), text.find("\n", start, position), start - 1) + 1
    piece = text[start : start + _EXCERPT_LENGTH + 1]
    if len(piece) > _EXCERPT_LENGTH:
        piece = re.sub(r"\s\S{0,30}\Z", "", piece[:-1]) + "…"
    return ("…" if start else "") + " ".join(piece.split())
