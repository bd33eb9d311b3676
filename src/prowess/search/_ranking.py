"""Rank skills by the words of a message: BM25F over name, description, headings and body.

A word's weight in a skill saturates and the length of its field counts, so that repetition wins nothing. It depends on
that skill alone, and not on the others, so the index of a skill stays right when others change.
"""

from __future__ import annotations

import re
from array import array
from math import log

from prowess.catalog import TermCounts

from ._words import count_terms, ordered_terms

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence, Set as AbstractSet
    from typing import Protocol
else:
    Protocol = object

# ── the parameters, chosen on the tuning part of benchmarks/search ───────────────────────────────────────────────────

_FIELDS = {  # weight, how much the length counts (0 to 1), usual length, least effect of it, most different terms
    "name": (5.0, 0.3, 3.5, 0.0, 16),
    "description": (3.0, 0.75, 40.0, 0.7, 90),
    "headings": (1.0, 0.7, 60.0, 0.3, 300),
    "body": (0.5, 0.95, 1000.0, 0.2, 800),
}
"""A field with more different terms than that is a list of words, and each of them counts less."""
_MOST_REPETITIONS = 8
"""How often a word counts in one field."""
_SATURATION = 2.0
"""The weight at which a word has half of its highest impact."""
_CONTRAST = 1.0
"""How much better one strong match is than several weak ones."""
_RARITY_POWER = 0.8
_MISSPELT = 0.8
"""The weight of a corrected word; that of any other word is 1."""
MAX_QUERY_WORDS = 24
"""Terms of a message that are searched: those that say most."""

# ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

_MAX_IMPACT = 0xFFFF
_MIN_CORRECTED_LENGTH, _MIN_PREFIX_LENGTH, _MAX_CORRECTED_LENGTH = 4, 2, 32
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_MARKS_OF_LINES = ("#", "`", "~")
_match_fence = re.compile(r"\s{0,3}(?:```|~~~)").match
_match_heading = re.compile(r" {0,3}#{1,6}[ \t]+(.*)").match


class Postings(TermCounts, Protocol):
    """The skills of an index, by the terms they contain."""

    def rows(self, term: str) -> tuple[array[int], array[int]]:
        """Return the numbers of the skills that have a term, and its impact in each, from 1 to 65,535."""

    def texts(self) -> list[bytes]:
        """Return the digest of the text of each skill, by which its vector is kept."""


class WordSet:
    """Find words among all of an index."""

    def words(self) -> frozenset[str]:
        """Return all terms that are words; some of them may be in no skill."""
        raise NotImplementedError

    def starting_with(self, prefix: str) -> Sequence[str]:
        """Return the words with a prefix."""
        return [word for word in self.words() if word.startswith(prefix)]

    def known_words(self, words: AbstractSet[str]) -> Iterable[str]:
        """Return those of some words that are known."""
        return words & self.words()


class PostingTable(WordSet):
    """The postings of skills, in memory."""

    def __init__(self) -> None:
        self.count = 0
        self.text_of: dict[int, bytes] = {}
        """The digest of the text of each skill."""
        self._terms: dict[str, tuple[array[int], array[int]]] = {}
        self._words: frozenset[str] | None = None

    def add(self, row: int, impacts: Mapping[str, int], text: bytes = b"") -> None:
        """Add the terms of a skill, and the digest of its text."""
        self.count += 1
        self.text_of[row] = text
        self._words = None
        terms = self._terms
        for term, impact in impacts.items():
            known = terms.get(term)
            if known is None:
                known = terms[term] = (array("I"), array("H"))
            known[0].append(row)
            known[1].append(impact)

    def frequency(self, term: str) -> int:
        """Return how many skills have a term."""
        return len(self.rows(term)[0])

    def rows(self, term: str) -> tuple[array[int], array[int]]:
        """Return the numbers of the skills that have a term, and its impact in each, from 1 to 65,535."""
        return self._terms.get(term) or NO_ROWS

    def words(self) -> frozenset[str]:
        """Return all terms that are words."""
        if self._words is None:
            self._words = frozenset(self._terms)
        return self._words

    def terms(self) -> Iterable[str]:
        """Return all terms."""
        return self._terms

    def texts(self) -> list[bytes]:
        """Return the digest of the text of each skill."""
        return [self.text_of[row] for row in range(self.count)]


NO_ROWS: tuple[array[int], array[int]] = (array("I"), array("H"))


def skill_impacts(name: str, description: str, body: str) -> dict[str, int]:
    """Return the terms of a skill, each with its impact from 1 to 65,535."""
    headings, text = _split_headings(body)
    weights: dict[str, float] = {}
    for field, (weight, share, usual, least, variety) in zip(
        (name, description, headings, text), _FIELDS.values(), strict=True
    ):
        counts = count_terms(field)
        length = max(least, 1 - share + share * sum(counts.values()) / usual)
        weight *= min(1.0, variety / max(1, len(counts))) ** 2 / length
        for term, count in counts.items():
            weights[term] = weights.get(term, 0.0) + weight * min(count, _MOST_REPETITIONS)
    # Most terms of a body have one of a few weights.
    levels = {
        weight: max(1, round(_MAX_IMPACT * (weight / (_SATURATION + weight)) ** _CONTRAST))
        for weight in set(weights.values())
    }
    return {term: levels[weight] for term, weight in weights.items()}


def weigh_query(text: str, postings: TermCounts) -> dict[str, float]:
    """Return the terms to search for a message, each with its weight; empty if no skill has any of them."""
    terms = ordered_terms(text) or list(count_terms(text))
    weights: dict[str, float] = {}
    for term in dict.fromkeys(terms):
        weight, found = 1.0, [term]
        if not postings.frequency(term):
            weight, found = _MISSPELT, _similar_terms(term, postings, is_last=term == terms[-1])
        for known in found:
            weights[known] = max(weights.get(known, 0.0), weight * _rarity(known, postings))
    return dict(sorted(weights.items(), key=lambda item: -item[1])[:MAX_QUERY_WORDS])


def rank_rows(weights: Mapping[str, float], postings: Postings) -> dict[int, float]:
    """Return the skills that have some of the terms, each with the share of the highest possible rank."""
    ranks: dict[int, float] = {}
    highest = _MAX_IMPACT * sum(weights.values())
    for term in sorted(weights):  # a sum of fractions depends on its order
        share = weights[term] / highest
        known = ranks.get
        for row, impact in zip(*postings.rows(term), strict=True):
            ranks[row] = known(row, 0.0) + share * impact
    return ranks


def best_rows(ranks: Mapping[int, float], limit: int) -> list[int]:
    """Return the skills with the highest ranks, the best first; equal ones in their order."""
    highest = sorted(ranks.values(), reverse=True)[:limit]
    lowest = highest[-1] if highest else 0.0
    rows = sorted((-rank, row) for row, rank in ranks.items() if rank >= lowest)
    return [row for _, row in rows[:limit]]


def _rarity(term: str, postings: TermCounts) -> float:
    frequency = postings.frequency(term)
    return log(1 + (postings.count - frequency + 0.5) / (frequency + 0.5)) ** _RARITY_POWER  # type: ignore[no-any-return]


def _split_headings(body: str) -> tuple[str, str]:
    """Return the headings of a body, and the rest of it."""
    headings: list[str] = []
    rest: list[str] = []
    fenced = False
    for line in body.splitlines():
        heading = None
        if line.lstrip()[:1] in _MARKS_OF_LINES:
            fenced ^= _match_fence(line) is not None
            heading = None if fenced else _match_heading(line)
        (headings if heading else rest).append(heading[1] if heading else line)
    return "\n".join(headings), "\n".join(rest)


def _similar_terms(word: str, postings: TermCounts, *, is_last: bool) -> list[str]:
    """Return the terms that are probably meant by an unknown word: one edit away, or one that is not yet complete."""
    if is_last and len(word) >= _MIN_PREFIX_LENGTH:
        complete = [term for term in postings.starting_with(word) if postings.frequency(term)]
        complete.sort(key=lambda term: (-postings.frequency(term), term))
        if complete:
            return complete[:4]
    if not _MIN_CORRECTED_LENGTH <= len(word) <= _MAX_CORRECTED_LENGTH or not (word.isascii() and word.isalpha()):
        return []
    known = filter(postings.frequency, postings.known_words(_edits(word)))
    found = sorted(known, key=lambda term: (-postings.frequency(term), term))
    return found[:1]


def _edits(word: str) -> set[str]:
    """Return the words that differ in one letter from the second on, or in the order of two neighbours."""
    edits: set[str] = set()
    for at in range(1, len(word) + 1):
        start, rest = word[:at], word[at:]
        edits.update(start + letter + rest for letter in _LETTERS)
        if rest:
            edits.add(start + rest[1:])
            edits.update(start + letter + rest[1:] for letter in _LETTERS)
            edits.add(start + rest[1:2] + rest[:1] + rest[2:])
    return edits - {word}
