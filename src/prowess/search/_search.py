"""Find the skills that match a query best.

Names, descriptions, headings and bodies are searched for the words of a message that say most. A message is untrusted
text: only its words count, never their syntax.
"""

from __future__ import annotations

import os
import re
from _thread import allocate_lock  # all that `threading` would be loaded for

from prowess._internal.files import UnreadableError, read_file
from prowess._internal.frozen import EMPTY, Frozen
from prowess._internal.text import neutral, normalize_name
from prowess._internal.user_dirs import cache_folder
from prowess.catalog import REACHABLE
from prowess.errors import ProwessError
from prowess.skill import frontmatter_end

from ._ranking import PostingTable, best_rows, rank_rows, skill_impacts, weigh_query
from ._search_rows import meant_text, searched_columns, text_digest
from ._semantic import fuse_ranks
from ._words import MAX_QUERY_CHARS, is_unspaced, ordered_terms

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
    from typing import Any, Protocol

    from prowess.catalog import Entry, State, TermCounts
    from prowess.skill import Skill

    from ._many_search import ManySearch
    from ._ranking import Postings
    from ._semantic import Ranker
    from ._vectors import Meaning
else:
    Protocol = object

MAX_BODY_CHARS = 256 * 1024
"""Characters of a body that are searched."""
_MAX_NAME_CHARS = 1024
_MOST_OF_ONE_NAME = 20
"""Skills with the words of one name that are recognized, beyond those that are shown."""
_SAMPLED = 200
"""Descriptions by which their languages are found."""
_MIN_KEPT = 20
"""Skills from which on an index is kept; reading fewer takes less than finding the file."""
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
        entries: the skills.
        readers: the readers of skills that are not files of this machine, by path, as `Catalog.readers`.
        cache: whether to keep what was read in the user's cache, see `cache_folder`.
        ranker: ranks by meaning beside words, see `installed_ranker`; by default only words count. The skills of a
            `SkillTable` are ranked by words alone, since a ranker would have to read them all.
        states: skills in other states are left out; for a model, leave out `user-only` too.
    """

    def __init__(
        self,
        entries: Iterable[Entry],
        readers: Mapping[str, SkillReader] = EMPTY,
        *,
        cache: bool = True,
        ranker: Ranker | Meaning | None = None,
        states: Collection[State] = REACHABLE,
    ) -> None:
        self.entries: Sequence[Entry]
        self._many: ManySearch | None = None
        if hasattr(entries, "tables"):  # `ManySkills`, without loading it
            from ._many_search import ManySearch

            many: Any = entries
            self.entries = many
            self._many = ManySearch(many, Index(many.entries, readers, cache=cache), states)
        else:
            self.entries = tuple(entry for entry in entries if entry.state in states)
        self._readers = readers
        self._is_kept = cache and cache_folder(os.environ) is not None
        self._ranker = ranker if self._many is None else None
        self._texts: tuple[str, ...] = ()
        self._digests: list[bytes] = []
        self._postings: Postings | None = None
        self._normalized_names: list[list[str]] = []
        """The names of all entries, and their second names."""
        self._lock = allocate_lock()

    def search(self, query: str, limit: int = 10) -> tuple[Hit, ...]:
        """Return the skills that match a query, the best first; equal ones in the order of the entries.

        Args:
            query: a message in any form; its `MAX_QUERY_WORDS` words that say most count. Without words there are no
                hits.
            limit: hits at most.
        """
        found, weights = self._rank(query, limit)
        starts = word_starts([*weights])
        return tuple(
            Hit(entry=entry, score=round(score, 4), excerpt=self._excerpt(entry, starts)) for entry, score in found
        )

    def best(self, query: str, limit: int) -> tuple[Entry, ...]:
        """Return the entries of `search`, without excerpts."""
        return tuple(entry for entry, _ in self._rank(query, limit)[0])

    def count_known(self, query: str) -> tuple[int, int]:
        """Return how many words of a message are in some skill, and how many are in none; stop words do not count."""
        with self._lock:
            postings: TermCounts = self.postings() if self._many is None else self._many.joined()
        terms = {*ordered_terms(query[:MAX_QUERY_CHARS])}
        known = sum(postings.frequency(term) > 0 for term in terms)
        return known, len(terms) - known

    def languages(self) -> tuple[str, ...]:
        """Return the languages of the descriptions, the most frequent first; of many skills, a sample counts."""
        from ._languages import languages_of

        step = max(1, len(self.entries) // _SAMPLED)
        return languages_of(self.entries[row].description for row in range(0, len(self.entries), step))

    def _rank(self, query: str, limit: int) -> tuple[list[tuple[Entry, float]], Mapping[str, float]]:
        """Return the best entries with their scores, and the terms that were searched."""
        query, limit = query[:MAX_QUERY_CHARS].strip(), min(limit, len(self.entries))
        if limit < 1:
            return [], {}
        with self._lock:
            if self._many is None:
                weights, ranks = self._weigh_and_rank(query)
            else:
                weights, ranks = self._many.weigh_and_rank(query, limit + _MOST_OF_ONE_NAME)
            scores = self._scores(query) if ordered_terms(query) else None
            if scores is not None:
                ranks = fuse_ranks(ranks, scores)
        found = {row: min(3 * ranks[row], _BELOW_NAMES) for row in best_rows(ranks, limit + _MOST_OF_ONE_NAME)}
        if len(query) <= _MAX_NAME_CHARS:
            words = ordered_terms(query, whole=False)
            for row in found if words else ():
                if words in [ordered_terms(name, whole=False) for name in self._names(row)]:
                    found[row] = _WORDS_SCORE
            name = normalize_name(query)
            found.update((row, _NAME_SCORE) for row in (self._rows_named(name) if name else ()))
        return [(self.entries[row], found[row]) for row in best_rows(found, limit)], weights

    @property
    def note(self) -> str:
        """Why the last search was by words alone although `prowess[semantic]` is installed; empty if it was not."""
        note: str = getattr(self._ranker, "note", "")
        return (
            note if self._is_kept else "without the cache, words alone count" if hasattr(self._ranker, "note") else ""
        )

    def _scores(self, query: str) -> Sequence[float] | None:
        """Return the score of each entry by meaning; `None` if words alone count.

        Raises:
            ValueError: the ranker returned another number of scores.
        """
        ranker = self._ranker
        if ranker is None:
            return None
        if hasattr(ranker, "kept_scores"):  # a `Meaning`, without loading it
            if not self._is_kept:
                return None
            self._digests = self._digests or self.postings().texts()
            kept: Sequence[float] | None = ranker.kept_scores(query, self._digests, self._text)
            return kept
        self._texts = self._texts or tuple(f"{entry.name}: {entry.description}" for entry in self.entries)
        scores = ranker.scores(query, self._texts)
        if len(scores) != len(self._texts):
            raise ValueError(f"the ranker returned {len(scores)} scores for {len(self._texts)} texts")
        return scores

    def _text(self, row: int) -> str:
        """Return the text by whose meaning an entry is found."""
        return meant_text(self.entries[row], self._body(self.entries[row]))

    def _names(self, row: int) -> tuple[str, ...]:
        entry = self.entries[row]
        return tuple(name[:_MAX_NAME_CHARS] for name in (entry.name, entry.alias) if name)

    def _rows_named(self, name: str) -> Iterable[int]:
        if self._many is not None:
            return self._many.rows_named(name)
        columns = [names for names in self._normalized_names if name in names]
        return [row for names in columns for row, own in enumerate(names) if own == name]

    def _weigh_and_rank(self, query: str) -> tuple[dict[str, float], dict[int, float]]:
        postings = self.postings()
        weights = weigh_query(query, postings)
        return weights, rank_rows(weights, postings)

    def postings(self) -> Postings:
        """Return the postings of the skills, read from their files if they are not known."""
        self._postings = self._postings or self._build_postings()
        return self._postings

    def _build_postings(self) -> Postings:
        columns = searched_columns(self.entries)
        self._normalized_names = [[normalize_name(name or "") for name in names] for names in columns[1:3]]
        if self._is_kept and len(self.entries) >= _MIN_KEPT:
            from ._index import build_kept

            return build_kept(self.entries, columns, self._readers, self.read_terms)
        postings = PostingTable()
        for row, entry in enumerate(self.entries):
            postings.add(row, *self.read_terms(entry))
        return postings

    def read_terms(self, entry: Entry) -> tuple[dict[str, int], bytes]:
        """Return the terms of a skill, each with its impact, and the digest of the text that has its meaning."""
        names = f"{entry.name} {entry.alias}" if entry.alias else entry.name
        body = self._body(entry)
        return skill_impacts(names, entry.description, body), text_digest(meant_text(entry, body))

    def _body(self, entry: Entry) -> str:
        """Return the first `MAX_BODY_CHARS` of a body; empty if it cannot be read, or would be fetched."""
        reader = self._readers.get(entry.path)
        if hasattr(reader, "read_file"):  # a `FilesProvider`: nothing is fetched before it is used
            return ""
        try:
            return _body_text(read_file(entry.real)) if reader is None else reader.read(entry).body[:MAX_BODY_CHARS]
        except (UnreadableError, OSError, ProwessError):
            return ""

    def _excerpt(self, entry: Entry, starts: Mapping[str, bool]) -> str:
        most, position = best_window(entry.description, starts)
        if most < len(starts):
            body = self._body(entry)
            more, body_position = best_window(body, starts)
            if more > most:
                return neutral(excerpt_at(body, body_position))
        return neutral(excerpt_at(entry.description, position))


def searched_terms(entry: Entry) -> dict[str, int]:
    """Return the terms by which a skill of this machine is found, each with its impact, as an index has them."""
    return Index((entry,), cache=False, states=(entry.state,)).read_terms(entry)[0]


def _body_text(data: bytes) -> str:
    """Return the first `MAX_BODY_CHARS` after the front matter, without parsing its YAML."""
    start = max(frontmatter_end(data), 0) if data.startswith((b"---", b"\xef\xbb\xbf---")) else 0
    return data[start : start + 4 * MAX_BODY_CHARS].decode(errors="replace")[:MAX_BODY_CHARS]


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
