"""Find the skills that match a query best.

Names, descriptions, headings and bodies are searched for the words of a message that say most. A message is untrusted
text: only its words count, never their syntax.
"""

from __future__ import annotations

from threading import Lock

from prowess._internal.files import UnreadableError, read_file
from prowess._internal.frozen import EMPTY, Frozen
from prowess._internal.text import neutral, normalize_name
from prowess.errors import ProwessError
from prowess.skill import frontmatter_end

from ._entry import REACHABLE
from ._search_excerpts import best_window, excerpt_at, word_pattern
from ._search_ranking import MAX_QUERY_WORDS, PostingTable, rank_rows, skill_impacts, weigh_query
from ._search_words import MAX_QUERY_CHARS, ordered_terms

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from collections.abc import Iterable, Mapping
    from typing import Protocol

    from prowess.skill import Skill

    from ._entry import Entry
else:
    Protocol = object

__all__ = ["MAX_BODY_CHARS", "MAX_QUERY_WORDS", "Hit", "Index", "SkillReader"]

MAX_BODY_CHARS = 256 * 1024
"""Characters of a body that are searched."""
_MAX_NAME_CHARS = 1024
_BELOW_NAMES, _WORDS_SCORE, _NAME_SCORE = 2.9999, 3.0, 4.0


class SkillReader(Protocol):
    """A reader of skills that are not files of this machine."""

    def read(self, skill: Entry) -> Skill:
        """Return one of them with its body."""


class Hit(Frozen):
    """A skill that matches a query."""

    entry: Entry
    score: float
    """0 to 4, higher is better: 4 is the skill with that name, 3 has the words of the query as its name, and less is
    three times the share of the highest possible rank. Compare scores of one query only."""
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
        self._postings: PostingTable | None = None
        self._rows_by_name: dict[str, list[int]] = {}
        self._lock = Lock()

    def search(self, query: str, limit: int = 10) -> tuple[Hit, ...]:
        """Return the skills that match a query, the best first; equal ones in the order of the entries.

        Args:
            query: a message in any form; its `MAX_QUERY_WORDS` words that say most count. Without words there are no
                hits.
            limit: hits at most.
        """
        found, weights = self._rank(query, limit)
        pattern = word_pattern([term for term in weights if " " not in term])
        return tuple(
            Hit(entry=entry, score=round(score, 4), excerpt=self._excerpt(entry, pattern)) for entry, score in found
        )

    def best(self, query: str, limit: int) -> tuple[Entry, ...]:
        """Return the entries of `search`, without excerpts."""
        return tuple(entry for entry, _ in self._rank(query, limit)[0])

    def _rank(self, query: str, limit: int) -> tuple[list[tuple[Entry, float]], Mapping[str, float]]:
        """Return the best entries with their scores, and the terms that were searched."""
        query, limit = query[:MAX_QUERY_CHARS].strip(), min(limit, len(self.entries))
        if limit < 1:
            return [], {}
        with self._lock:
            postings = self._postings = self._postings or self._build_postings()
            weights = weigh_query(query, postings)
            ranks = rank_rows(weights, postings)
        scores = {row: min(3 * rank, _BELOW_NAMES) for row, rank in ranks.items()}
        if len(query) <= _MAX_NAME_CHARS:
            scores.update(dict.fromkeys(self._rows_by_name.get(_words_of(query), ()), _WORDS_SCORE))
            scores.update(dict.fromkeys(self._rows_by_name.get(normalize_name(query), ()), _NAME_SCORE))
        best = sorted(scores.items(), key=lambda item: (-item[1], item[0]))[:limit]
        return [(self.entries[row], score) for row, score in best], weights

    def _build_postings(self) -> PostingTable:
        postings = PostingTable()
        for row, entry in enumerate(self.entries):
            names = (entry.name, entry.alias) if entry.alias else (entry.name,)
            for name in names:
                for key in filter(None, (normalize_name(name), _words_of(name))):
                    rows = self._rows_by_name.setdefault(key, [])
                    if rows[-1:] != [row]:
                        rows.append(row)
            postings.add(row, skill_impacts(" ".join(names), entry.description, self._body(entry)))
        return postings

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


def _words_of(name: str) -> str:
    """Return the words of a name in a form that no name has."""
    words = ordered_terms(name[:_MAX_NAME_CHARS], whole=False)
    return "\0".join(["", *words]) if words else ""


def _body_text(data: bytes) -> str:
    """Return the first `MAX_BODY_CHARS` after the front matter, without parsing its YAML."""
    start = max(frontmatter_end(data), 0) if data.startswith((b"---", b"\xef\xbb\xbf---")) else 0
    return data[start : start + 4 * MAX_BODY_CHARS].decode(errors="replace")[:MAX_BODY_CHARS]
