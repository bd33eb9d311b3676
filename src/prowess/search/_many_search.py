"""Search skills of which most are in tables: rank each part by its own index, with weights that count all parts."""

from __future__ import annotations

from itertools import chain

from prowess._internal.text import normalize_name

from ._ranking import best_rows, rank_rows, weigh_query

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence, Set as AbstractSet
    from typing import Protocol

    from prowess.catalog import Entry, ManySkills, SkillTable, State, TermCounts

    from ._ranking import Postings

    class LocalIndex(Protocol):
        """The index of the skills without a table."""

        entries: Sequence[Entry]

        def postings(self) -> Postings:
            """Return the postings."""


class ManySearch:
    """The index of many skills.

    Args:
        skills: all of them.
        local: the index of those without a table.
        states: skills in other states are left out.
    """

    def __init__(self, skills: ManySkills, local: LocalIndex, states: Collection[State]) -> None:
        self._skills, self._local, self._states = skills, local, states
        rows = {id(entry): row for row, entry in enumerate(skills.entries)}
        self._local_rows = [rows[id(entry)] for entry in local.entries]

    def joined(self) -> JoinedPostings:
        """Return the postings of all parts, to weigh the words of a query."""
        return JoinedPostings(self._local.postings(), self._skills.tables)

    def weigh_and_rank(self, query: str, limit: int) -> tuple[dict[str, float], dict[int, float]]:
        """Return the terms of a query with their weights, and the best rows with their ranks.

        Raises:
            ProwessError: a table is damaged.
        """
        local = self._local.postings()
        weights = weigh_query(query, self.joined())
        own = {self._local_rows[row]: rank for row, rank in rank_rows(weights, local).items()}
        wanted = limit
        while True:
            ranks, complete = dict(own), True
            start = len(self._skills.entries)
            for table in self._skills.tables:
                best = table.postings.best(weights, wanted) if weights else {}
                complete = complete and len(best) < wanted
                ranks.update((start + row, best[row]) for row in best_rows(best, wanted))
                start += len(table)
            # Most are shown. The others are few: skills that the model does not see, or that another one shadows.
            rows = [row for row in best_rows(ranks, wanted) if self._is_shown(row)]
            if complete or len(rows) >= limit or wanted > len(self._skills):
                return weights, {row: ranks[row] for row in rows}
            wanted *= 4

    def _is_shown(self, row: int) -> bool:
        return self._skills[row].state in self._states

    def rows_named(self, name: str) -> Iterable[int]:
        """Return the rows of the skills that are called like this."""
        for row in self._skills.rows_named(name):
            entry = self._skills[row]
            if entry.state in self._states and name in (normalize_name(entry.name), normalize_name(entry.alias or "")):
                yield row


class JoinedPostings:
    """The postings of several parts, to weigh the words of a query."""

    def __init__(self, local: Postings, tables: Sequence[SkillTable]) -> None:
        self._parts: tuple[TermCounts, ...] = (local, *(table.postings for table in tables))
        self.count = sum(part.count for part in self._parts)

    def frequency(self, term: str) -> int:
        """Return how many skills have a term."""
        return sum(part.frequency(term) for part in self._parts)

    def starting_with(self, prefix: str) -> Sequence[str]:
        """Return the words with a prefix."""
        return [*dict.fromkeys(chain.from_iterable(part.starting_with(prefix) for part in self._parts))]

    def known_words(self, words: AbstractSet[str]) -> Iterable[str]:
        """Return those of some words that are known."""
        return set(chain.from_iterable(part.known_words(words) for part in self._parts))
