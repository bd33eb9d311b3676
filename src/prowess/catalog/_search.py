"""entries + a query -> the skills that fit it best

Names, descriptions and bodies are kept in a full-text table of SQLite, in memory; where Python came without it, a plain
list of words does, without stems. A query is foreign text and never syntax: what counts of it is its words.

Chinese, Japanese, Korean, Thai and their like are written without blanks, or with few: their characters are words of
their own there, and a run of them is looked for by its pairs.
"""

from __future__ import annotations

import re
from collections import Counter
from itertools import islice, pairwise
from math import log
from threading import Lock

from prowess._internal.files import UnreadableError, read_file
from prowess._internal.frozen import EMPTY, Frozen
from prowess._internal.text import neutral, normalize_name
from prowess.errors import ProwessError
from prowess.skill import frontmatter_end

from ._entry import REACHABLE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import Protocol

    from prowess.skill import Skill

    from ._entry import Entry

    Row = tuple[int, str, str, str]
else:
    Protocol = object

__all__ = ["Reader", "MAX_BODY_CHARS", "MAX_QUERY_CHARS", "MAX_QUERY_WORDS", "Hit", "Index"]


class Reader(Protocol):
    """Who reads skills that are no files here."""

    def read(self, skill: Entry) -> Skill:
        """Return one of them with its body."""


MAX_BODY_CHARS = 256 * 1024
"""Characters of a body that are searched."""
MAX_QUERY_CHARS = 4096
"""Characters of a query that are looked at."""
MAX_QUERY_WORDS = 32
"""Words of a query that are looked for."""

_WEIGHTS = (10.0, 4.0, 1.0)
"""What a word counts in a name, a description and a body."""
_STAGES = ((2, True, False), (1, True, True), (0, False, True))
"""What a hit scores at least, whether it has all words of the query, and whether its word may only begin with the
last."""
_WORDS_SCORE, _NAME_SCORE = 3.0, 4.0
_STOP_WORD_LIST = (
    "a about an and are as at be by can do does for from have how i in into is it me my of on or should that the this"
    " to using want was we what when where which with you your"
)
_STOP_WORDS = frozenset(_STOP_WORD_LIST.split())
"""Words that are not looked for beside others: nearly every text has them, and one that does not is no worse."""
_MIN_PREFIX_LENGTH = 2
_EXCERPT_LENGTH, _EXCERPT_LEAD = 160, 30
"""Characters of an excerpt, and of those how many stand before the first word."""
_MAX_MATCHES = 1000
_MIN_STEM_LENGTH = 4

_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u2e80-\u2fdf\u3005-\u3007\u3041-\u309f\u30a1-\u30fa\u30fc-\u30ff\u3100-\u318f"
    "\u31a0-\u31bf\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff"
    "\U0001b000-\U0001b16f\U00020000-\U0003ffff"
)
_ACCENTS = "\u0300-\u036f"
_UNSPACED_CHAR, _UNSPACED_RUN = re.compile(f"[{_UNSPACED}]"), re.compile(f"[{_UNSPACED}]+")
_WORD = re.compile(f"[{_UNSPACED}]+|[^\\W_{_UNSPACED}](?:[^\\W_{_UNSPACED}]|[{_ACCENTS}])*")


class Hit(Frozen):
    """A skill that fits a query."""

    entry: Entry
    score: float
    """0 to 4, higher is better: 4 is the skill of that very name, 3 and more has the words of the query for its name, 2
    and more holds all of them, 1 and more all with the last one unfinished, less some. The rest is how well it fits
    compared with others, by BM25, brought below 1."""
    excerpt: str
    """The piece of its description or body where most words of the query stand, on one line, harmless."""

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
    """What can be searched of some skills. Made at the first search, from the files as they are then; any thread may.

    Args:
        entries: the skills; those that are not `REACHABLE` are left out. For a model, leave out `user-only` ones too.
        readers: by path, who reads the skills that are no files here, as `Catalog.readers`.
    """

    def __init__(self, entries: Iterable[Entry], readers: Mapping[str, Reader] = EMPTY) -> None:
        self.entries = tuple(entry for entry in entries if entry.state in REACHABLE)
        self._readers = readers
        self._table: _FullTextTable | _WordTable | None = None
        self._rows_by_name: dict[str, list[int]] = {}
        self._rows_by_words: dict[tuple[str, ...], list[int]] = {}
        self._lock = Lock()

    def search(self, query: str, limit: int = 10) -> tuple[Hit, ...]:
        """Return the skills that fit a query, best first; of two that fit alike the one that comes first among all.

        Args:
            query: words, in any order; of a very long text the first `MAX_WORDS`. Without any there are no hits.
            limit: hits at most.
        """
        query, limit = query[:MAX_QUERY_CHARS].strip(), min(limit, len(self.entries))
        if limit < 1:
            return ()
        words = _words(query)
        with self._lock:
            table = self._table = self._table or self._build_table()
            found = dict.fromkeys(self._rows_by_name.get(normalize_name(query), ()), _NAME_SCORE)
            for row in self._rows_by_words.get(words, ()):
                found.setdefault(row, _WORDS_SCORE)
            words = tuple(word for word in words if word not in _STOP_WORDS) or words
            for base, match_all, last_is_prefix in _STAGES:
                if len(found) >= limit or not words:
                    break
                for row, rank in table.find_rows(
                    words, match_all=match_all, last_is_prefix=last_is_prefix, limit=limit + len(found)
                ):
                    found.setdefault(row, base + rank / (1 + rank))
        word_pattern = _word_pattern(words)
        return tuple(
            Hit(entry=entry, score=round(score, 4), excerpt=self._excerpt(entry, word_pattern))
            for entry, score in ((self.entries[row], score) for row, score in islice(found.items(), limit))
        )

    def _build_table(self) -> _FullTextTable | _WordTable:
        for row, entry in enumerate(self.entries):
            for name in dict.fromkeys((entry.name, entry.alias or entry.name)):
                self._rows_by_name.setdefault(normalize_name(name), []).append(row)
                words = _words(name)
                if words:
                    self._rows_by_words.setdefault(words, []).append(row)
        try:
            table: _FullTextTable | _WordTable = _FullTextTable()
        except _NoFullTextError:
            table = _WordTable()
        table.fill(self._rows())
        return table

    def _rows(self) -> Iterator[Row]:
        """Yield the texts of each skill, one after the other, so that no two bodies are in memory."""
        for row, entry in enumerate(self.entries):
            names = f"{entry.name} {entry.alias}" if entry.alias else entry.name
            yield row, names, entry.description, self._body(entry)

    def _body(self, entry: Entry) -> str:
        """Return a body, up to `MAX_BODY` characters; nothing where it cannot be read."""
        reader = self._readers.get(entry.path)
        try:
            return _body_text(read_file(entry.real)) if reader is None else reader.read(entry).body[:MAX_BODY_CHARS]
        except (UnreadableError, OSError, ProwessError):
            return ""

    def _excerpt(self, entry: Entry, word_pattern: re.Pattern[str] | None) -> str:
        if word_pattern is None:
            return neutral(_excerpt_at(entry.description, 0))
        most, start = _best_window(entry.description, word_pattern)
        if most < word_pattern.groups:
            body = self._body(entry)
            more, there = _best_window(body, word_pattern)
            if more > most:
                return neutral(_excerpt_at(body, there))
        return neutral(_excerpt_at(entry.description, start))


# ── words ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _normalize(text: str) -> str:
    """Return the text with one form for what looks alike: full-width letters, parts of letters."""
    if text.isascii():
        return text
    import unicodedata

    return unicodedata.normalize("NFKC", text)


def _separate_words(text: str) -> str:
    """Return the text with blanks around what is a word of its own, and nothing SQLite could not take."""
    if text.isascii():
        return text
    return _UNSPACED_RUN.sub(lambda run: f" {' '.join(run[0])} ", _normalize(text)).encode("utf-8", "replace").decode()


def _separate_row(row: Row) -> Row:
    number, name, description, body = row
    return number, _separate_words(name), _separate_words(description), _separate_words(body)


def _words(text: str) -> tuple[str, ...]:
    """Return the different words of a text, in order; pairs of what is written without blanks."""
    return tuple(islice(dict.fromkeys(_iter_words(_normalize(text[:MAX_QUERY_CHARS]).lower())), MAX_QUERY_WORDS))


def _iter_words(text: str) -> Iterator[str]:
    for match in _WORD.finditer(text):
        word = match[0]
        if not _UNSPACED_CHAR.match(word):
            yield word
            continue
        letters = [letter for letter in word if letter.isalnum()]
        if len(letters) == 1:
            yield letters[0]
        for one, other in pairwise(letters):
            yield one + other


def _body_text(data: bytes) -> str:
    """Return what follows the front matter, up to `MAX_BODY` characters, without a look at its YAML."""
    start = max(frontmatter_end(data), 0) if data.startswith((b"---", b"\xef\xbb\xbf---")) else 0
    return data[start : start + 4 * MAX_BODY_CHARS].decode(errors="replace")[:MAX_BODY_CHARS]


# ── tables ───────────────────────────────────────────────────────────────────────────────────────────────────────────


class _NoFullTextError(Exception):
    """This Python has no SQLite, or one without full-text tables."""


class _FullTextTable:
    """Words by their stems, in SQLite. It keeps no text, only where words stand."""

    def __init__(self) -> None:
        try:
            import sqlite3
        except ImportError:
            raise _NoFullTextError from None
        database = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        try:
            database.execute(
                "CREATE VIRTUAL TABLE skills USING fts5(name, description, body, content='',"
                " tokenize='porter unicode61 remove_diacritics 2')"
            )
        except sqlite3.OperationalError:
            database.close()
            raise _NoFullTextError from None
        self._db = database

    def __del__(self) -> None:
        if hasattr(self, "_db"):
            self._db.close()

    def fill(self, rows: Iterable[Row]) -> None:
        """Take in the texts of skills."""
        self._db.execute("BEGIN")
        self._db.executemany(
            "INSERT INTO skills (rowid, name, description, body) VALUES (?, ?, ?, ?)", map(_separate_row, rows)
        )
        self._db.execute("COMMIT")

    def find_rows(
        self, words: Sequence[str], *, match_all: bool, last_is_prefix: bool, limit: int
    ) -> list[tuple[int, float]]:
        """Return the best rows with a measure above 0, for all or any of the words; the last may be a beginning."""
        # Words hold letters and digits alone, so that nothing in the quotes can end them.
        terms = [f'"{_separate_words(word)}"' for word in words]
        if last_is_prefix and len(words[-1]) >= _MIN_PREFIX_LENGTH:
            terms[-1] += "*"
        rows = self._db.execute(
            "SELECT rowid, -bm25(skills, ?, ?, ?) FROM skills WHERE skills MATCH ? ORDER BY 2 DESC, 1 LIMIT ?",
            (*_WEIGHTS, (" AND " if match_all else " OR ").join(terms), limit),
        )
        return rows.fetchall()


class _WordTable:
    """Words as they stand, in memory."""

    def __init__(self) -> None:
        self._count = 0
        self._words: dict[str, dict[int, float]] = {}

    def fill(self, rows: Iterable[Row]) -> None:
        """Take in the texts of skills."""
        for row, *texts in rows:
            self._count += 1
            for text, weight in zip(texts, _WEIGHTS, strict=True):
                text = _without_accents(_normalize(text).lower())
                for word, count in Counter((*_iter_words(text), *_UNSPACED_CHAR.findall(text))).items():
                    counts = self._words.setdefault(word, {})
                    counts[row] = counts.get(row, 0.0) + weight * count

    def find_rows(
        self, words: Sequence[str], *, match_all: bool, last_is_prefix: bool, limit: int
    ) -> list[tuple[int, float]]:
        """Return what `_Table.ask` does."""
        ranks: dict[int, float] = {}
        seen: Counter[int] = Counter()
        for index, word in enumerate(map(_without_accents, words)):
            is_prefix = last_is_prefix and index == len(words) - 1 and len(word) >= _MIN_PREFIX_LENGTH
            counts = self._counts(word, is_prefix=is_prefix)
            rarity = log(1 + self._count / (1 + len(counts)))
            for row, count in counts.items():
                ranks[row] = ranks.get(row, 0.0) + rarity * count / (1 + count)
                seen[row] += 1
        found = [item for item in ranks.items() if not match_all or seen[item[0]] == len(words)]
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
    """Return the text without marks on its letters."""
    if text.isascii():
        return text
    import unicodedata

    return unicodedata.normalize("NFC", re.sub(f"[{_ACCENTS}]", "", unicodedata.normalize("NFD", text)))


# ── excerpts ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def _word_pattern(words: Sequence[str]) -> re.Pattern[str] | None:
    """Return the pattern of what the words may look like in a text, their ends aside."""
    if not words:
        return None
    stems = [
        re.escape(word)
        if _UNSPACED_CHAR.match(word)
        else rf"(?<![^\W_]){re.escape(word[: max(_MIN_STEM_LENGTH, len(word) - 3)])}"
        for word in words
    ]
    return re.compile("|".join(f"({stem})" for stem in stems), re.IGNORECASE)


def _best_window(text: str, word_pattern: re.Pattern[str]) -> tuple[int, int]:
    """Return how many different words stand close together at most, and where the first of them does."""
    found = [(match.start(), match.lastindex) for match in islice(word_pattern.finditer(text), _MAX_MATCHES)]
    most, start, first = 0, 0, 0
    inside: Counter[int | None] = Counter()
    for at, word in found:
        inside[word] += 1
        while at - found[first][0] > _EXCERPT_LENGTH - 2 * _EXCERPT_LEAD:
            inside[found[first][1]] -= 1
            first += 1
        here = sum(count > 0 for count in inside.values())
        if here > most:
            most, start = here, found[first][0]
    return most, start


def _excerpt_at(text: str, at: int) -> str:
    """Return a piece of a text around a place, on one line, in whole words where there are any."""
    start = max(at - _EXCERPT_LEAD, 0)
    if start:
        start = max(text.find(" ", start, at), text.find("\n", start, at), start - 1) + 1
    piece = text[start : start + _EXCERPT_LENGTH + 1]
    if len(piece) > _EXCERPT_LENGTH:
        piece = re.sub(r"\s\S{0,30}\Z", "", piece[:-1]) + "…"
    return ("…" if start else "") + " ".join(piece.split())
