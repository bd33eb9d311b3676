"""Find the skills that match a query best.

Names, descriptions and bodies are in a full-text table of SQLite, in memory; a Python without it uses a plain list of
words, without stems. A query is untrusted text: only its words count, never their syntax.
"""

from __future__ import annotations

from itertools import islice
from threading import Lock

from prowess._internal.files import UnreadableError, read_file
from prowess._internal.frozen import EMPTY, Frozen
from prowess._internal.text import neutral, normalize_name
from prowess.errors import ProwessError
from prowess.skill import frontmatter_end

from ._entry import REACHABLE
from ._search_excerpts import best_window, excerpt_at, word_pattern
from ._search_tables import FullTextTable, NoFullTextError, WordTable
from ._search_words import MAX_QUERY_CHARS, MAX_QUERY_WORDS, STOP_WORDS, split_query

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from collections.abc import Iterable, Iterator, Mapping
    from typing import Protocol

    from prowess.skill import Skill

    from ._entry import Entry
    from ._search_tables import Row
else:
    Protocol = object

__all__ = ["MAX_BODY_CHARS", "MAX_QUERY_WORDS", "Hit", "Index", "SkillReader"]

MAX_BODY_CHARS = 256 * 1024
"""Characters of a body that are searched."""
_STAGES = ((2, True, False), (1, True, True), (0, False, True))
"""The lowest score of a hit, whether it has all words of the query, and whether the last word may be unfinished."""
_WORDS_SCORE, _NAME_SCORE = 3.0, 4.0


class SkillReader(Protocol):
    """A reader of skills that are not files of this machine."""

    def read(self, skill: Entry) -> Skill:
        """Return one of them with its body."""


class Hit(Frozen):
    """A skill that matches a query."""

    entry: Entry
    score: float
    """0 to 4, higher is better: 4 is the skill with that name, 3 and more has the words of the query as its name, 2 and
    more contains all of them, 1 and more contains all of them with the last one unfinished, less contains some. The
    fraction is the rank among the others by BM25."""
    excerpt: str
    """The piece of its description or body with most words of the query, on one line, without control characters."""

    def as_dict(self) -> dict[str, object]:
        """Return the hit in the shape of `search --json`."""
        return {
            "name": self.entry.name,
            "path": self.entry.path,
            "score": self.score,
            "state": str(self.entry.state),
            "description": self.entry.description,
            "excerpt": self.excerpt,
        }


class Index:
    """The searchable texts of some skills. They are read at the first search. Safe to use from several threads.

    Args:
        entries: the skills; those that are not `REACHABLE` are left out. For a model, leave out `user-only` ones too.
        readers: the readers of skills that are not files of this machine, by path, as `Catalog.readers`.
    """

    def __init__(self, entries: Iterable[Entry], readers: Mapping[str, SkillReader] = EMPTY) -> None:
        self.entries = tuple(entry for entry in entries if entry.state in REACHABLE)
        self._readers = readers
        self._table: FullTextTable | WordTable | None = None
        self._rows_by_name: dict[str, list[int]] = {}
        self._rows_by_words: dict[tuple[str, ...], list[int]] = {}
        self._lock = Lock()

    def search(self, query: str, limit: int = 10) -> tuple[Hit, ...]:
        """Return the skills that match a query, the best first; equal ones in the order of the entries.

        Args:
            query: words in any order, the first `MAX_QUERY_WORDS` of which count. Without words there are no hits.
            limit: hits at most.
        """
        query, limit = query[:MAX_QUERY_CHARS].strip(), min(limit, len(self.entries))
        if limit < 1:
            return ()
        words = split_query(query)
        with self._lock:
            table = self._table = self._table or self._build_table()
            found = dict.fromkeys(self._rows_by_name.get(normalize_name(query), ()), _NAME_SCORE)
            for row in self._rows_by_words.get(words, ()):
                found.setdefault(row, _WORDS_SCORE)
            words = tuple(word for word in words if word not in STOP_WORDS) or words
            for base, match_all, last_is_prefix in _STAGES:
                if len(found) >= limit or not words:
                    break
                for row, rank in table.find_rows(
                    words, match_all=match_all, last_is_prefix=last_is_prefix, limit=limit + len(found)
                ):
                    found.setdefault(row, base + rank / (1 + rank))
        pattern = word_pattern(words)
        return tuple(
            Hit(entry=entry, score=round(score, 4), excerpt=self._excerpt(entry, pattern))
            for entry, score in ((self.entries[row], score) for row, score in islice(found.items(), limit))
        )

    def _build_table(self) -> FullTextTable | WordTable:
        for row, entry in enumerate(self.entries):
            for name in dict.fromkeys((entry.name, entry.alias or entry.name)):
                self._rows_by_name.setdefault(normalize_name(name), []).append(row)
                words = split_query(name)
                if words:
                    self._rows_by_words.setdefault(words, []).append(row)
        try:
            table: FullTextTable | WordTable = FullTextTable()
        except NoFullTextError:
            table = WordTable()
        table.fill(self._rows())
        return table

    def _rows(self) -> Iterator[Row]:
        """Yield the texts of each skill, so that only one body is in memory."""
        for row, entry in enumerate(self.entries):
            names = f"{entry.name} {entry.alias}" if entry.alias else entry.name
            yield row, names, entry.description, self._body(entry)

    def _body(self, entry: Entry) -> str:
        """Return the first `MAX_BODY_CHARS` of a body; empty if it cannot be read."""
        reader = self._readers.get(entry.path)
        try:
            return _body_text(read_file(entry.real)) if reader is None else reader.read(entry).body[:MAX_BODY_CHARS]
        except (UnreadableError, OSError, ProwessError):
            return ""

    def _excerpt(self, entry: Entry, pattern: re.Pattern[str] | None) -> str:
        if pattern is None:
            return neutral(excerpt_at(entry.description, 0))
        most, start = best_window(entry.description, pattern)
        if most < pattern.groups:
            body = self._body(entry)
            more, body_start = best_window(body, pattern)
            if more > most:
                return neutral(excerpt_at(body, body_start))
        return neutral(excerpt_at(entry.description, start))


def _body_text(data: bytes) -> str:
    """Return the first `MAX_BODY_CHARS` after the front matter, without parsing its YAML."""
    start = max(frontmatter_end(data), 0) if data.startswith((b"---", b"\xef\xbb\xbf---")) else 0
    return data[start : start + 4 * MAX_BODY_CHARS].decode(errors="replace")[:MAX_BODY_CHARS]
