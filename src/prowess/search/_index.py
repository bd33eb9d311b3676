"""Keep the index of skills in the cache, and bring it up to date a skill at a time.

A skill counts by its digest here: of its path, the fingerprint of its file, its names and its description. What has
changed is read again, and stays in a second table until that has grown; then both become one. The rows of terms are in
buckets, of which a search loads those of its words: all of them take thirty times longer with 10,000 skills.
"""

from __future__ import annotations

import marshal
import os
from array import array
from time import time_ns
from zlib import crc32

from prowess._internal.file_status import SETTLE_NS
from prowess.cache import KeptTable
from prowess.filesystem import fingerprint, newest_time

from ._ranking import NO_ROWS, PostingTable, WordSet
from ._search_rows import DIGEST_BYTES, known_fingerprints

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from prowess.catalog import Entry

    from ._ranking import Postings
    from ._search_rows import SearchedColumns

    Stored = Mapping[str, tuple[bytes, ...]]
    """The digests of the skills and of their texts, the words, and each bucket by its number: term to rows and impacts.
    """

_BUCKETS = 2048
_MAX_CHANGED = 256
"""Changed skills that are kept apart from the others."""


def _file_digests(entries: Sequence[Entry], columns: SearchedColumns, readers: Mapping[str, object]) -> list[bytes]:
    """Return the digest of what is searched of each skill.

    It is empty if the skill is in no file, or if its file is missing or changed a moment ago.
    """
    from hashlib import blake2b

    known = known_fingerprints(entries)
    elsewhere = {entry.real for entry in entries if entry.path in readers} if readers else ()
    reals, names, aliases, descriptions, _ = columns
    states = [b"" if real in elsewhere else known.get(real) or _file_state(real) for real in reals]
    settled = time_ns() - SETTLE_NS
    if newest_time(b"".join(states)) > settled:
        states = [state if state and newest_time(state) <= settled else b"" for state in states]
    digests = []
    for state, real, name, alias, description in zip(states, reals, names, aliases, descriptions, strict=True):
        texts = f"{real}\0{name}\0{alias or ''}\0{description}".encode("utf-8", "surrogatepass")
        digests.append(blake2b(state + texts, digest_size=DIGEST_BYTES).digest() if state else b"")
    return digests


def _file_state(path: str) -> bytes:
    """Return the fingerprint of a file; empty if it is missing."""
    try:
        return fingerprint(os.stat(path, follow_symlinks=False))
    except (OSError, ValueError):
        return b""


class KeptPostings(WordSet):
    """The postings of skills that did not change, from the cache, and of the others, in memory."""

    def __init__(self, stored: Stored, numbers: array[int], changed: PostingTable) -> None:
        """Take what was stored, the number that each stored skill has now (-1 for none), and what has changed."""
        self._stored, self._numbers, self._changed = stored, numbers, changed
        self._is_same = list(numbers) == list(range(len(numbers)))
        self.count = changed.count + sum(number >= 0 for number in numbers)
        self._known: dict[str, tuple[array[int], array[int]]] = {}
        self._words: frozenset[str] | None = None

    def frequency(self, term: str) -> int:
        """Return how many skills have a term."""
        return len(self.rows(term)[0])

    def rows(self, term: str) -> tuple[array[int], array[int]]:
        """Return the numbers of the skills that have a term, and its impact in each."""
        known = self._known.get(term)
        if known is None:
            known = self._stored_rows(term)
            if known[0] and not self._is_same:
                numbers = self._numbers
                pairs = [(numbers[row], impact) for row, impact in zip(*known, strict=True) if numbers[row] >= 0]
                known = array("I", [row for row, _ in pairs]), array("H", [impact for _, impact in pairs])
            changed = self._changed.rows(term)
            if changed[0]:
                known = known[0] + changed[0], known[1] + changed[1]
            self._known[term] = known
        return known

    def _stored_rows(self, term: str) -> tuple[array[int], array[int]]:
        rows, impacts = marshal.loads(self._stored[_bucket(term)][0]).get(term, NO_ROWS)  # noqa: S302 - as its file
        return array("I", rows), array("H", impacts)

    def texts(self) -> list[bytes]:
        """Return the digest of the text of each skill."""
        (packed,) = self._stored["texts"]
        found = dict(self._changed.text_of)
        for at, number in enumerate(self._numbers):
            if number >= 0:
                found[number] = packed[at * DIGEST_BYTES : (at + 1) * DIGEST_BYTES]
        return [found[row] for row in range(self.count)]

    def words(self) -> frozenset[str]:
        """Return all terms that are words; some of them may be in no skill any more."""
        if self._words is None:
            self._words = frozenset(marshal.loads(self._stored["words"][0])) | self._changed.words()  # noqa: S302
        return self._words


def _bucket(term: str) -> str:
    return str(crc32(term.encode("utf-8", "surrogatepass")) % _BUCKETS)


def build_kept(
    entries: Sequence[Entry],
    columns: SearchedColumns,
    readers: Mapping[str, object],
    read: Callable[[Entry], tuple[dict[str, int], bytes]],
) -> Postings:
    """Return the postings of some skills, from the cache as far as they are up to date there.

    Args:
        entries: the skills.
        columns: what is searched of each, as `searched_columns`.
        readers: the skills that are not files of this machine, by path; they are read each time.
        read: returns the terms of a skill, each with its impact, and the digest of its text.
    """
    roots = sorted({*columns[-1]})
    table, more = KeptTable(("search", *roots)), KeptTable(("search-new", *roots))
    digests = _file_digests(entries, columns, readers)
    if not (stored := table.load()):
        return _build(table, entries, digests, read)
    changes, (packed,) = more.load(), stored["digests"]
    known = [packed[at : at + DIGEST_BYTES] for at in range(0, len(packed), DIGEST_BYTES)]
    rows = {digest: row for row, digest in enumerate(digests) if digest}
    unchanged = rows.keys() & known
    changed, is_new = PostingTable(), False
    now: dict[str, tuple[bytes, ...]] = {}
    for row, (entry, digest) in enumerate(zip(entries, digests, strict=True)):
        if digest in unchanged and rows[digest] == row:
            continue
        kept = changes.get(digest.hex())
        impacts, text = read(entry) if kept is None else (marshal.loads(kept[0]), kept[1])  # noqa: S302
        changed.add(row, impacts, text)
        if digest:
            is_new = is_new or kept is None
            now[digest.hex()] = kept or (marshal.dumps(impacts), text)
    if is_new and not (len(now) <= _MAX_CHANGED and more.store(now)):
        return _build(table, entries, digests, read)
    return KeptPostings(stored, array("i", (rows.get(digest, -1) for digest in known)), changed)


def _build(
    table: KeptTable,
    entries: Sequence[Entry],
    digests: Sequence[bytes],
    read: Callable[[Entry], tuple[dict[str, int], bytes]],
) -> PostingTable:
    """Read all skills, and store those that did not change a moment ago."""
    postings = PostingTable()
    for row, entry in enumerate(entries):
        postings.add(row, *read(entry))
    first = {digest: row for row, digest in reversed([*enumerate(digests)]) if digest}
    if 2 * len(first) > len(entries):
        nothing = bytes(DIGEST_BYTES)
        packed = [digest if first.get(digest) == row else nothing for row, digest in enumerate(digests)]
        buckets: dict[str, dict[str, tuple[bytes, bytes]]] = {str(number): {} for number in range(_BUCKETS)}
        for term in postings.terms():
            rows, impacts = postings.rows(term)
            buckets[_bucket(term)][term] = rows.tobytes(), impacts.tobytes()
        stored = {number: (marshal.dumps(terms),) for number, terms in buckets.items()}
        stored["digests"], stored["texts"] = (b"".join(packed),), (b"".join(postings.texts()),)
        table.store({"words": (marshal.dumps([*postings.words()]),), **stored})
    return postings
