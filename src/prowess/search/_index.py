"""Keep the index of skills in a file, and bring it up to date a skill at a time.

A skill counts by its digest here: of its path, the fingerprint of its file, its names and its description. What has
changed is read again, and stays in a second file until that has grown; then both become one. Each part has a checksum,
and a part that is damaged is as if it were missing: the skills are read again.

    file     = magic checksum newline *(32-bit offset, 32-bit checksum) section*
    sections = digests words bucket*
    bucket   = JSON *[term, count] newline rows impacts
"""

from __future__ import annotations

import os
import stat
import sys
from array import array
from time import time_ns
from zlib import crc32

from prowess._internal.file_status import SETTLE_NS, is_own_file
from prowess.cache import code_fingerprint
from prowess.filesystem import fingerprint, newest_time

from ._ranking import NO_ROWS, PostingTable, WordSet
from ._search_rows import known_fingerprints

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from prowess.catalog import Entry

    from ._ranking import Postings
    from ._search_rows import SearchedColumns

DIGEST_BYTES = 16
MAX_FILE_BYTES = 256 * 1024 * 1024
_MAGIC = f"prowess-search 1 {sys.byteorder} ".encode()
_BUCKETS = 2048
_FIXED_SECTIONS = 2
_MAX_CHANGED = 256
"""Changed skills that are kept apart from the others."""
DAMAGED = (ValueError, TypeError, AttributeError, KeyError, IndexError, OverflowError, RecursionError)
"""What using a damaged file may raise, when it is loaded or later."""
_OPEN_FLAGS = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NONBLOCK", 0)


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
    """The postings of skills that did not change, from a file, and of the others, in memory."""

    def __init__(self, stored: _StoredIndex, rows: Mapping[bytes, int], changed: PostingTable) -> None:
        self._stored, self._changed = stored, changed
        numbers = array("i", (rows.get(digest, -1) for digest in stored.digests))
        self._numbers = numbers
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
            known = self._stored.rows(term)
            if known[0] and not self._is_same:
                numbers = self._numbers
                pairs = [(numbers[row], impact) for row, impact in zip(*known, strict=True) if numbers[row] >= 0]
                known = array("I", [row for row, _ in pairs]), array("H", [impact for _, impact in pairs])
            changed = self._changed.rows(term)
            if changed[0]:
                known = known[0] + changed[0], known[1] + changed[1]
            self._known[term] = known
        return known

    def words(self) -> frozenset[str]:
        """Return all terms that are words; some of them may be in no skill any more."""
        if self._words is None:
            self._words = self._stored.words() | self._changed.words()
        return self._words


class KeptIndex:
    """The files of the index of some skills.

    Args:
        folder: of the cache.
        key: what the index is for; changes with the code of Prowess.
    """

    def __init__(self, folder: str, key: str) -> None:
        data = key.encode("utf-8", "surrogatepass")
        self._folder = folder
        self._name = f"search-{crc32(data):08x}{crc32(data[::-1]):08x}"

    def load(self) -> tuple[_StoredIndex, dict[bytes, dict[str, int]]]:
        """Return the stored index, empty if it is missing or damaged, and the skills that changed since."""
        stored = _StoredIndex(self._read(self._name))
        return stored, _decode_changes(self._read(f"{self._name}-new"))

    def store(self, postings: PostingTable, digests: Sequence[bytes]) -> None:
        """Replace the stored index. Never raises."""
        if self._write(self._name, _encode_index(postings, digests)):
            self._write(f"{self._name}-new", _encode_changes({}))

    def store_changes(self, changes: Mapping[bytes, Mapping[str, int]]) -> bool:
        """Store the skills that changed; return whether they are few enough to be apart. Never raises."""
        return len(changes) <= _MAX_CHANGED and self._write(f"{self._name}-new", _encode_changes(changes))

    def _read(self, name: str) -> memoryview:
        """Return the content of a file after its checksum of the first section; empty if it is not the user's own."""
        try:
            if not is_own_file(os.lstat(self._folder), stat.S_ISDIR):
                return memoryview(b"")
            with open(os.path.join(self._folder, name), "rb", opener=_open, buffering=0) as file:
                status = os.fstat(file.fileno())
                if not is_own_file(status) or status.st_size > MAX_FILE_BYTES:
                    return memoryview(b"")
                data = file.readall()
        except (OSError, ValueError):
            return memoryview(b"")
        return memoryview(data)[len(_MAGIC) :] if data.startswith(_MAGIC) else memoryview(b"")

    def _write(self, name: str, data: bytes) -> bool:
        from prowess.cache import evict_files, write_file

        if len(data) > MAX_FILE_BYTES:
            return False
        try:
            os.makedirs(self._folder, mode=0o700, exist_ok=True)
            if not is_own_file(os.lstat(self._folder), stat.S_ISDIR):
                return False
            evict_files(self._folder, len(data))
            write_file(self._folder, name, [_MAGIC, data])
        except (OSError, ValueError, RecursionError):
            return False
        return True


def _open(path: str, _: int) -> int:
    return os.open(path, _OPEN_FLAGS)


class _StoredIndex:
    """An index as it is in its file. A damaged part raises `ValueError` when it is used."""

    def __init__(self, data: memoryview) -> None:
        self.digests: tuple[bytes, ...] = ()
        self._sections: list[tuple[memoryview, int]] = []
        self._tables: dict[int, dict[str, tuple[int, int]]] = {}
        table_bytes = 8 * (_FIXED_SECTIONS + _BUCKETS)
        table, body = data[4 : 4 + table_bytes], data[4 + table_bytes :]
        if len(table) < table_bytes or crc32(table) != int.from_bytes(data[:4], sys.byteorder):
            return
        numbers = array("I", table.tobytes())
        ends = numbers[::2]
        starts = array("I", [0]) + ends[:-1]
        if any(start > end for start, end in zip(starts, ends, strict=True)) or ends[-1] != len(body):
            return
        self._sections = [
            (body[start:end], checksum) for start, end, checksum in zip(starts, ends, numbers[1::2], strict=True)
        ]
        try:
            packed = self._section(0).tobytes()
        except ValueError:
            self._sections = []
            return
        self.digests = tuple(packed[at : at + DIGEST_BYTES] for at in range(0, len(packed), DIGEST_BYTES))

    def _section(self, number: int) -> memoryview:
        section, checksum = self._sections[number]
        if crc32(section) != checksum:
            raise ValueError("damaged")
        return section

    def words(self) -> frozenset[str]:
        """Return all terms that are words."""
        return frozenset(str(self._section(1), "utf-8", "surrogatepass").split("\n")) if self._sections else frozenset()

    def rows(self, term: str) -> tuple[array[int], array[int]]:
        """Return the numbers of the skills that have a term, and its impact in each."""
        if not self._sections:
            return NO_ROWS
        number = _bucket(term)
        bucket = self._section(_FIXED_SECTIONS + number) if number not in self._tables else None
        if bucket is not None:
            self._tables[number] = _decode_bucket(bucket)
        place = self._tables[number].get(term)
        if place is None:
            return NO_ROWS
        start, count = place
        section = self._sections[_FIXED_SECTIONS + number][0]
        rows, impacts = array("I"), array("H")
        rows.frombytes(section[start : start + 4 * count])
        impacts.frombytes(section[start + 4 * count : start + 6 * count])
        return rows, impacts


def _bucket(term: str) -> int:
    return crc32(term.encode("utf-8", "surrogatepass")) % _BUCKETS


def _decode_bucket(section: memoryview) -> dict[str, tuple[int, int]]:
    """Return for each term where its rows are, and how many there are."""
    import json

    size = int.from_bytes(section[:4], sys.byteorder)
    at = 4 + size
    places = {}
    for term, count in json.loads(section[4:at].tobytes() or b"[]"):
        places[term] = (at, count)
        at += 6 * count
    return places


def _encode_index(postings: PostingTable, digests: Sequence[bytes]) -> bytes:
    import json

    buckets: list[list[str]] = [[] for _ in range(_BUCKETS)]
    for term in postings.terms():
        buckets[_bucket(term)].append(term)
    words = "\n".join(sorted(postings.words())).encode("utf-8", "surrogatepass")
    sections = [b"".join(digests), words]
    for terms in buckets:
        found = [postings.rows(term) for term in terms]
        head = json.dumps([[term, len(rows)] for term, (rows, _) in zip(terms, found, strict=True)]).encode()
        parts = [rows.tobytes() + impacts.tobytes() for rows, impacts in found]
        sections.append(b"".join((len(head).to_bytes(4, sys.byteorder), head, *parts)))
    numbers, end = array("I"), 0
    for section in sections:
        end += len(section)
        numbers.extend((end, crc32(section)))
    table = numbers.tobytes()
    return b"".join((crc32(table).to_bytes(4, sys.byteorder), table, *sections))


def _encode_changes(changes: Mapping[bytes, Mapping[str, int]]) -> bytes:
    import json

    data = json.dumps({digest.hex(): impacts for digest, impacts in changes.items()}).encode()
    return crc32(data).to_bytes(4, sys.byteorder) + data


def _decode_changes(data: memoryview) -> dict[bytes, dict[str, int]]:
    import json

    if len(data) <= 4 or crc32(data[4:]) != int.from_bytes(data[:4], sys.byteorder):
        return {}
    return {bytes.fromhex(digest): impacts for digest, impacts in json.loads(data[4:].tobytes()).items()}


def build_kept(
    folder: str,
    entries: Sequence[Entry],
    columns: SearchedColumns,
    readers: Mapping[str, object],
    read: Callable[[Entry], dict[str, int]],
) -> Postings:
    """Return the postings of some skills, from their files in the cache as far as those are up to date.

    Args:
        folder: of the cache.
        entries: the skills.
        columns: what is searched of each, as `searched_columns`.
        readers: the skills that are not files of this machine, by path; they are read each time.
        read: returns the terms of a skill, each with its impact.
    """
    kept = KeptIndex(folder, "\n".join((code_fingerprint(), *sorted({*columns[-1]}))))
    digests = _file_digests(entries, columns, readers)
    try:
        return _bring_up_to_date(kept, entries, digests, read)
    except DAMAGED:
        return _build(kept, entries, digests, read)


def _bring_up_to_date(
    kept: KeptIndex, entries: Sequence[Entry], digests: Sequence[bytes], read: Callable[[Entry], dict[str, int]]
) -> Postings:
    stored, changes = kept.load()
    if not stored.digests:
        return _build(kept, entries, digests, read)
    rows = {digest: row for row, digest in enumerate(digests) if digest}
    known = set(stored.digests)
    changed, now = PostingTable(), {}
    is_new = False
    for row, (entry, digest) in enumerate(zip(entries, digests, strict=True)):
        if digest in known and rows[digest] == row:
            continue
        impacts = changes.get(digest) if digest else None
        if impacts is None:
            impacts = read(entry)
            is_new = is_new or bool(digest)
        changed.add(row, impacts)
        if digest:
            now[digest] = impacts
    postings = KeptPostings(stored, rows, changed)
    if is_new and not kept.store_changes(now):
        return _build(kept, entries, digests, read)
    return postings


def _build(
    kept: KeptIndex, entries: Sequence[Entry], digests: Sequence[bytes], read: Callable[[Entry], dict[str, int]]
) -> PostingTable:
    """Read all skills, and store those that did not change a moment ago."""
    postings = PostingTable()
    for row, entry in enumerate(entries):
        postings.add(row, read(entry))
    first = {digest: row for row, digest in reversed([*enumerate(digests)]) if digest}
    if 2 * len(first) > len(entries):
        nothing = bytes(DIGEST_BYTES)
        kept.store(postings, [digest if first.get(digest) == row else nothing for row, digest in enumerate(digests)])
    return postings
