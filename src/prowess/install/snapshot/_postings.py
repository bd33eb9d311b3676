"""Rank the skills of a snapshot by the words of a message, as a search among skills of this machine does.

A word that many skills have would take a Python loop over all of them. Its impacts are one long integer instead, with
32 bits for each skill: multiplying it by the weight of the word weighs all skills at once. The sums are rounded, so the
best skills and all that are near to them are then ranked exactly.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from functools import lru_cache
from heapq import nlargest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from ._file import SnapshotFile

    Rows = array[int] | memoryview

__all__ = ["MAX_IMPACT", "SnapshotPostings", "is_dense", "pair_key"]

MAX_IMPACT = 0xFFFF
_DENSE_SHARE = 8
"""A word of at least one in so many skills has an impact for each skill."""
_MAX_KNOWN = 4096
"""Terms whose places are remembered."""
_FEW = 20_000
"""Postings that are faster to add one by one."""
_MAX_COMPLETIONS = 64
_HALF = b"\xff\xff\0\0"


def is_dense(count: int, skills: int) -> bool:
    """Return whether a word of so many skills has an impact for each skill."""
    return _DENSE_SHARE * count >= skills


def pair_key(first: int, second: int) -> int:
    """Return the key of a term of two words, by the numbers of the words."""
    return first << 32 | second


class SnapshotPostings:
    """The postings of a snapshot. All methods raise `InstallError` if it is damaged."""

    def __init__(self, file: SnapshotFile) -> None:
        self._file = file
        self.count = file.skills
        self._known: dict[str, tuple[str, int, int]] = {}

    def frequency(self, term: str) -> int:
        """Return how many skills have a term."""
        return self._find(term)[2]

    def starting_with(self, prefix: str) -> list[str]:
        """Return words with a prefix; of many only the most frequent."""
        file, start = self._file, prefix.encode("utf-8", "surrogatepass")
        first, last = file.first_word_from(start), file.first_word_from(start + b"\xff")
        numbers = nlargest(_MAX_COMPLETIONS, range(first, last), key=lambda number: (file.counts[number], -number))
        return [file.text("words", number) for number in numbers if file.counts[number]]

    def known_words(self, words: Iterable[str]) -> list[str]:
        """Return those of some words that a skill has."""
        return [word for word in words if self._file.find_word(word) is not None]

    def best(self, weights: Mapping[str, float], limit: int) -> dict[int, float]:
        """Return the skills with the highest ranks, each with the share of the highest possible rank.

        Args:
            weights: of all terms that are searched.
            limit: skills at most; those with the same rank as the last one may be more.
        """
        highest = MAX_IMPACT * sum(weights.values())
        shares = {term: weights[term] / highest for term in sorted(weights)}  # a sum of fractions depends on its order
        found = {term: self._find(term) for term in shares}
        found = {term: place for term, place in found.items() if place[2]}
        if sum(count for _, _, count in found.values()) <= _FEW:
            return self._add_up(shares, found)
        try:
            rows = self._candidates(shares, found, limit)
        except OverflowError:
            raise self._file.damaged("a word has a skill several times") from None
        ranks = dict.fromkeys(rows, 0.0)
        for term, place in found.items():
            share = shares[term]
            for row, impact in zip(rows, self._impacts(place, rows), strict=True):
                if impact:
                    ranks[row] += share * impact
        return ranks

    def all_terms(self) -> Iterator[tuple[str, Rows, Rows]]:
        """Yield each term with the rows of its skills and its impact in each."""
        file = self._file
        words = file.all_texts("words")
        for word in words:
            place = self._find_word(word)
            if place[2]:
                yield (word, *self._rows(place))
        start = 0
        for key, end in zip(file.pair_keys, file.pair_ends, strict=True):
            first, second = key >> 32, key & 0xFFFFFFFF
            if not (max(first, second) < len(words) and start <= end <= len(file.pair_rows)):
                raise file.damaged("the postings of two words have an invalid place")
            yield (f"{words[first]} {words[second]}", *self._rows(("pair", start, end - start)))
            start = end

    def _add_up(self, shares: Mapping[str, float], found: Mapping[str, tuple[str, int, int]]) -> dict[int, float]:
        ranks: dict[int, float] = {}
        known = ranks.get
        for term, place in found.items():
            share = shares[term]
            for row, impact in zip(*self._rows(place), strict=True):
                ranks[row] = known(row, 0.0) + share * impact
        return ranks

    def _candidates(
        self, shares: Mapping[str, float], found: Mapping[str, tuple[str, int, int]], limit: int
    ) -> list[int]:
        """Return the rows that may be among the best, in their order."""
        # All sums are below 2**32: shares add up to 1 / MAX_IMPACT, and rounding adds half of an impact for each term.
        scale = (MAX_IMPACT - len(found)) * MAX_IMPACT
        whole = {term: round(shares[term] * scale) for term in found}
        sums = self._dense_sums({term: place for term, place in found.items() if place[0] == "dense"}, whole)
        for term, place in found.items():
            if place[0] != "dense":
                factor = whole[term]
                for row, impact in zip(*self._rows(place), strict=True):
                    sums[row] += factor * impact
        lowest = nlargest(limit, sums)[-1:] or [0]
        margin = MAX_IMPACT * len(found)
        least = max(1, lowest[0] - margin)
        return [row for row, total in enumerate(sums) if total >= least]

    def _dense_sums(self, found: Mapping[str, tuple[str, int, int]], whole: Mapping[str, int]) -> array[int]:
        """Return for each skill the sum of its weighed impacts of words that many skills have."""
        if not found:
            return array("I", bytes(4 * self.count))
        mask = _half_mask(self.count)
        even = odd = 0
        for term, (_, start, _) in found.items():
            impacts = int.from_bytes(self._file.postings[start : start + 2 * self.count], "little")
            even += (impacts & mask) * whole[term]
            odd += (impacts >> 16 & mask) * whole[term]
        half = (self.count + 1) // 2
        sums = array("I", bytes(8 * half))
        sums[::2], sums[1::2] = (array("I", lanes.to_bytes(4 * half, "little")) for lanes in (even, odd))
        del sums[self.count :]
        return sums

    def _impacts(self, place: tuple[str, int, int], rows: list[int]) -> list[int]:
        """Return the impact of a term in each of some skills."""
        kind, start, _ = place
        if kind == "dense":
            impacts = self._file.postings[start : start + 2 * self.count].cast("H")
            return [impacts[row] for row in rows]
        known, of_known = self._rows(place)
        result = []
        for row in rows:
            at = bisect_left(known, row)
            result.append(of_known[at] if at < len(known) and known[at] == row else 0)
        return result

    def _rows(self, place: tuple[str, int, int]) -> tuple[Rows, Rows]:
        """Return the skills of a term and its impact in each."""
        kind, start, count = place
        if kind == "dense":
            impacts = self._file.postings[start : start + 2 * self.count].cast("H")
            rows: Rows = array("I", [row for row, impact in enumerate(impacts) if impact])
            return rows, array("H", [impacts[row] for row in rows])
        if kind == "pair":
            rows, impacts = self._file.pair_rows[start : start + count], memoryview(_full_impacts(count))
        else:
            section = self._file.postings[start : start + 6 * count]
            rows, impacts = section[: 4 * count].cast("I"), section[4 * count :].cast("H")
        if max(rows, default=0) >= self.count:
            raise self._file.damaged("a word leads to a skill that it does not have")
        return rows, impacts

    def _find(self, term: str) -> tuple[str, int, int]:
        """Return the kind of a term's postings, where they start, and how many skills have the term."""
        known = self._known.get(term)
        if known is None:
            if len(self._known) >= _MAX_KNOWN:
                self._known.clear()
            first, blank, second = term.partition(" ")
            known = self._known[term] = self._find_pair(first, second) if blank else self._find_word(term)
        return known

    def _find_word(self, word: str) -> tuple[str, int, int]:
        file = self._file
        number = file.find_word(word)
        if number is None:
            return "word", 0, 0
        count, start = file.counts[number], file.starts[number]
        kind = "dense" if is_dense(count, self.count) else "word"
        size = 2 * self.count if kind == "dense" else 6 * count
        if count > self.count or start % 4 or start + size > len(file.postings):
            raise file.damaged("the postings of a word have an invalid place")
        return kind, start, count

    def _find_pair(self, first: str, second: str) -> tuple[str, int, int]:
        file = self._file
        numbers = file.find_word(first), file.find_word(second)
        if numbers[0] is None or numbers[1] is None:
            return "pair", 0, 0
        key = pair_key(numbers[0], numbers[1])
        at = bisect_left(file.pair_keys, key)
        if at == file.pairs or file.pair_keys[at] != key:
            return "pair", 0, 0
        start, end = file.pair_ends[at - 1] if at else 0, file.pair_ends[at]
        if not start <= end <= len(file.pair_rows) or end - start > self.count:
            raise file.damaged("the postings of two words have an invalid place")
        return "pair", start, end - start


@lru_cache(maxsize=4)
def _half_mask(count: int) -> int:
    return int.from_bytes(_HALF * ((count + 1) // 2), "little")


def _full_impacts(count: int) -> array[int]:
    return array("H", [MAX_IMPACT]) * count
