"""Rank texts by the words of a query, in SQLite or in memory."""

from __future__ import annotations

import re
from collections import Counter
from math import log

from ._search_words import ACCENTS, UNSPACED_CHAR, iter_words, normalize, separate_words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    Row = tuple[int, str, str, str]
    """Number, name, description and body of a skill."""

__all__ = ["FullTextTable", "NoFullTextError", "WordTable"]

_WEIGHTS = (10.0, 4.0, 1.0)
"""The weight of a word in a name, a description and a body."""
_MIN_PREFIX_LENGTH = 2


class NoFullTextError(Exception):
    """This Python has no SQLite, or an SQLite without full-text tables."""


class FullTextTable:
    """Words by their stems, in SQLite. It stores the positions of words, not the texts."""

    def __init__(self) -> None:
        try:
            import sqlite3
        except ImportError:
            raise NoFullTextError from None
        database = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        try:
            database.execute(
                "CREATE VIRTUAL TABLE skills USING fts5(name, description, body, content='',"
                " tokenize='porter unicode61 remove_diacritics 2')"
            )
        except sqlite3.OperationalError:
            database.close()
            raise NoFullTextError from None
        self._database = database

    def __del__(self) -> None:
        if hasattr(self, "_database"):
            self._database.close()

    def fill(self, rows: Iterable[Row]) -> None:
        """Add the texts of skills."""
        self._database.execute("BEGIN")
        self._database.executemany(
            "INSERT INTO skills (rowid, name, description, body) VALUES (?, ?, ?, ?)", map(_separate_row, rows)
        )
        self._database.execute("COMMIT")

    def find_rows(
        self, words: Sequence[str], *, match_all: bool, last_is_prefix: bool, limit: int
    ) -> list[tuple[int, float]]:
        """Return the numbers of the best rows, each with a rank above 0.

        Args:
            words: the words to search.
            match_all: whether a row must have all of them.
            last_is_prefix: whether the last one may be the start of a word.
            limit: rows at most.
        """
        # Words contain only letters and digits, so nothing can close the quotes.
        terms = [f'"{separate_words(word)}"' for word in words]
        if last_is_prefix and len(words[-1]) >= _MIN_PREFIX_LENGTH:
            terms[-1] += "*"
        rows = self._database.execute(
            "SELECT rowid, -bm25(skills, ?, ?, ?) FROM skills WHERE skills MATCH ? ORDER BY 2 DESC, 1 LIMIT ?",
            (*_WEIGHTS, (" AND " if match_all else " OR ").join(terms), limit),
        )
        return rows.fetchall()


def _separate_row(row: Row) -> Row:
    number, name, description, body = row
    return number, separate_words(name), separate_words(description), separate_words(body)


class WordTable:
    """Words without stems, in memory."""

    def __init__(self) -> None:
        self._count = 0
        self._words: dict[str, dict[int, float]] = {}

    def fill(self, rows: Iterable[Row]) -> None:
        """Add the texts of skills."""
        for number, *texts in rows:
            self._count += 1
            for text, weight in zip(texts, _WEIGHTS, strict=True):
                text = _without_accents(normalize(text).lower())
                for word, count in Counter((*iter_words(text), *UNSPACED_CHAR.findall(text))).items():
                    counts = self._words.setdefault(word, {})
                    counts[number] = counts.get(number, 0.0) + weight * count

    def find_rows(
        self, words: Sequence[str], *, match_all: bool, last_is_prefix: bool, limit: int
    ) -> list[tuple[int, float]]:
        """Do the same as `FullTextTable.find_rows`."""
        ranks: dict[int, float] = {}
        matched: Counter[int] = Counter()
        for index, word in enumerate(map(_without_accents, words)):
            is_prefix = last_is_prefix and index == len(words) - 1 and len(word) >= _MIN_PREFIX_LENGTH
            counts = self._counts(word, is_prefix=is_prefix)
            rarity = log(1 + self._count / (1 + len(counts)))
            for row, count in counts.items():
                ranks[row] = ranks.get(row, 0.0) + rarity * count / (1 + count)
                matched[row] += 1
        found = [item for item in ranks.items() if not match_all or matched[item[0]] == len(words)]
        return sorted(found, key=lambda item: (-item[1], item[0]))[:limit]

    def _counts(self, word: str, *, is_prefix: bool) -> dict[int, float]:
        if not is_prefix:
            return self._words.get(word, {})
        counts: dict[int, float] = {}
        for known, rows in self._words.items():
            if known.startswith(word):
                for row, count in rows.items():
                    counts[row] = counts.get(row, 0.0) + count
        return counts


def _without_accents(text: str) -> str:
    """Return the text without accents on its letters."""
    if text.isascii():
        return text
    import unicodedata

    return unicodedata.normalize("NFC", re.sub(f"[{ACCENTS}]", "", unicodedata.normalize("NFD", text)))
