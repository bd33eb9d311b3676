"""Write and read the file of a snapshot: a database of SQLite with many skills, and an index of their words.

    skills    of each row the name, the folder, the tree digest and the flags
    texts     the description of each, apart from the others so that all names are read fast
    keys      `name NUL TEXT` and `path NUL TEXT`, and the row of a skill that is found by it
    terms     words, and pairs of neighbours; how many skills have each, in which rows, with which impact there

The rows (u32, sorted) and impacts (u16) of a term are packed, little-endian. Without impacts, all are the highest. A
term that many skills have has no rows, and an impact for each skill, 0 for those without it: these are added up as one
long integer, without a Python loop over all skills. The same skills give the same bytes, with the same SQLite.

The file comes from elsewhere. It is opened read-only, its schema must be exactly this one before anything is asked of
it, all queries are bounded, and every value is checked before it is used.
"""

from __future__ import annotations

import os
import sys
import unicodedata
from array import array
from bisect import bisect_left
from functools import lru_cache
from heapq import nlargest
from itertools import islice

from prowess._internal.frozen import Frozen
from prowess._internal.text import normalize_name
from prowess.errors import InstallError

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import Any

    Numbers = array[int] | memoryview[int]

MAX_SKILLS = 1_000_000
USER_ONLY = 1
"""The flag of a skill that its author hides from the model."""
_APPLICATION, _VERSION = 0x50525753, 3
_SCHEMA = (
    "CREATE TABLE skills (row INTEGER PRIMARY KEY, name TEXT, path TEXT, digest BLOB, flags INTEGER)",
    "CREATE TABLE texts (row INTEGER PRIMARY KEY, description TEXT)",
    "CREATE TABLE keys (key BLOB, row INTEGER, PRIMARY KEY (key, row)) WITHOUT ROWID",
    "CREATE TABLE terms (term BLOB PRIMARY KEY, skills INTEGER, rows BLOB, impacts BLOB) WITHOUT ROWID",
    "CREATE TABLE counts (skills INTEGER)",
)
_SELECT = {
    "name": "SELECT name FROM skills WHERE row = ?",
    "description": "SELECT description FROM texts WHERE row = ?",
    "path": "SELECT path FROM skills WHERE row = ?",
    "digest": "SELECT digest FROM skills WHERE row = ?",
    "flags": "SELECT flags FROM skills WHERE row = ?",
}
_PAGE = 4096
_LIBRARY_VERSION_AT = 96
"""Where SQLite writes its own version, which nothing reads."""
_MAX_NAME, _MAX_NAMES = 1024, 256
"""Characters of a name, and of names on average."""
_MAX_TEXT = 256 * 1024
"""Characters of one description or path."""
_MAX_VALUE = 8 << 20
"""Bytes of one value."""
_MAX_STEPS, _STEPS = 2_000, 100_000
"""How often so many steps of SQLite may be made for a query."""
_MAX_SAME = 1000
"""Skills with the same name that are found by it."""
_DIGEST_BYTES = 32
MAX_IMPACT = 0xFFFF
_DENSE_SHARE = 8
"""A word of at least one in so many skills has an impact for each skill."""
_MAX_KNOWN = 4096
"""Terms whose numbers of skills are remembered."""
_FEW = 20_000
"""Postings that are faster to add one by one."""
_MAX_COMPLETIONS = 64
_HALF = b"\xff\xff\0\0"


class SnapshotRow(Frozen):
    """One skill of a snapshot."""

    name: str
    description: str
    path: str
    """Its folder, relative to the folder of all skills, with `/`."""
    digest: str
    """Its tree digest."""
    flags: int = 0


def is_valid_name(name: str) -> bool:
    """Return whether a snapshot may have a skill of this name; one with a colon looks like that of a server."""
    if not 0 < len(name) <= _MAX_NAME or ":" in name or "/" in name:
        return False
    return name.isprintable() or not any(unicodedata.category(character) == "Cc" for character in name)


def _key(kind: str, text: str) -> bytes:
    return f"{kind}\0{text}".encode("utf-8", "replace")


# ── writing ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def write_file(path: str, rows: Sequence[SnapshotRow], terms: Mapping[str, tuple[array[int], array[int]]]) -> None:
    """Write a snapshot.

    Args:
        path: of a new file.
        rows: the skills.
        terms: of each term the numbers of the skills that have it, in any order, and its impact in each.

    Raises:
        OSError: it cannot be written.
    """
    import sqlite3

    keys = set()
    for number, row in enumerate(rows):
        names = {normalize_name(row.name), normalize_name(row.path.rpartition("/")[2])}
        keys |= {(_key("name", name), number) for name in names} | {(_key("path", row.path), number)}
    database = sqlite3.connect(path, isolation_level=None)
    try:
        database.execute(f"PRAGMA page_size = {_PAGE}")
        for pragma in ("journal_mode = OFF", "synchronous = OFF", f"application_id = {_APPLICATION}"):
            database.execute(f"PRAGMA {pragma}")
        database.execute(f"PRAGMA user_version = {_VERSION}")
        database.execute("BEGIN")
        for statement in _SCHEMA:
            database.execute(statement)
        database.execute("INSERT INTO counts VALUES (?)", (len(rows),))
        columns = (
            (number, row.name, row.path, bytes.fromhex(row.digest.removeprefix("sha256:")), row.flags)
            for number, row in enumerate(rows)
        )
        database.executemany("INSERT INTO skills VALUES (?, ?, ?, ?, ?)", columns)
        database.executemany("INSERT INTO texts VALUES (?, ?)", ((at, row.description) for at, row in enumerate(rows)))
        database.executemany("INSERT INTO keys VALUES (?, ?)", sorted(keys))
        encoded = sorted((term.encode("utf-8", "surrogatepass"), *found) for term, found in terms.items())
        packed = ((term, len(known), *_pack(known, of_known, len(rows))) for term, known, of_known in encoded)
        database.executemany("INSERT INTO terms VALUES (?, ?, ?, ?)", packed)
        database.execute("COMMIT")
    except sqlite3.Error as error:
        raise OSError(str(error)) from None
    finally:
        database.close()
    with open(path, "r+b") as file:
        file.seek(_LIBRARY_VERSION_AT)
        file.write(bytes(4))


def _pack(rows: array[int], impacts: array[int], skills: int) -> tuple[bytes | None, bytes | None]:
    """Return the rows and impacts of a term as they are written."""
    if any(map(int.__gt__, rows, islice(rows, 1, None))):
        pairs = sorted(zip(rows, impacts, strict=True))
        rows, impacts = array("I", [row for row, _ in pairs]), array("H", [of for _, of in pairs])
    if _DENSE_SHARE * len(rows) >= skills:
        dense = array("H", bytes(2 * skills))
        for row, impact in zip(rows, impacts, strict=True):
            dense[row] = impact
        return None, _bytes_of(dense)
    return _bytes_of(rows), None if min(impacts) == MAX_IMPACT else _bytes_of(impacts)


def _bytes_of(numbers: array[int]) -> bytes:
    """Return numbers as little-endian bytes."""
    if sys.byteorder != "little":
        numbers = numbers[:]
        numbers.byteswap()
    return numbers.tobytes()


# ── reading ──────────────────────────────────────────────────────────────────────────────────────────────────────────


class SnapshotFile:
    """The skills of a snapshot. All methods raise `InstallError` if it is damaged.

    Args:
        path: of a file that no process changes.
        origin: the snapshot, in messages.

    Raises:
        InstallError: it is not a snapshot, or is damaged.
        OSError: it cannot be read.
    """

    def __init__(self, path: str, origin: str) -> None:
        import threading

        self.origin = origin
        self._steps = 0
        self._lock = threading.RLock()
        size = os.stat(path).st_size
        self._database = self._open(path)
        try:
            self.skills = self._check(size)
        except BaseException:
            self._database.close()
            raise
        self.postings = SnapshotPostings(self)

    def _open(self, path: str) -> sqlite3.Connection:
        import sqlite3
        from pathlib import Path

        if sys.byteorder != "little":
            raise InstallError("snapshots cannot be read on this processor", hint="use a little-endian one")
        uri = f"{Path(path).absolute().as_uri()}?mode=ro&immutable=1"
        try:
            database = sqlite3.connect(uri, uri=True, isolation_level=None, check_same_thread=False)
        except sqlite3.Error as error:
            raise OSError(str(error)) from None
        for limit, most in ((sqlite3.SQLITE_LIMIT_LENGTH, _MAX_VALUE), (sqlite3.SQLITE_LIMIT_ATTACHED, 0)):
            database.setlimit(limit, most)
        database.set_progress_handler(self._count_steps, _STEPS)
        return database

    def _count_steps(self) -> bool:
        """Return whether a query must end."""
        self._steps += 1
        return self._steps > _MAX_STEPS

    def _check(self, size: int) -> int:
        """Check that the file is a snapshot, and return how many skills it has."""
        import sqlite3

        try:
            for pragma in ("trusted_schema = OFF", "cell_size_check = ON", "query_only = ON"):
                self._database.execute(f"PRAGMA {pragma}")
            pragmas = ("application_id", "user_version", "page_count", "page_size")
            application, version, pages, page = (
                self._database.execute(f"PRAGMA {name}").fetchone()[0] for name in pragmas
            )
            statements = self._database.execute("SELECT sql FROM sqlite_master ORDER BY rowid LIMIT 10").fetchall()
        except (sqlite3.Error, UnicodeDecodeError):
            application = version = pages = page = 0
            statements = []
        if application != _APPLICATION:
            hint = "make one with `prowess index DIR --snapshot OUT`"
            raise InstallError(f"{self.origin} is not a snapshot", hint=hint)
        if version != _VERSION:
            raise InstallError(
                f"{self.origin} has version {version}, and this Prowess reads version {_VERSION}",
                hint="install the version of Prowess that made it, or make it again",
            )
        if [statement for (statement,) in statements] != [*_SCHEMA] or page != _PAGE or pages * page != size:
            raise self.damaged("its header is invalid")
        skills = next((count for (count,) in self.query("SELECT skills FROM counts LIMIT 1")), None)
        if type(skills) is not int or not 0 <= skills <= MAX_SKILLS:
            raise self.damaged("its header is invalid")
        return skills

    def damaged(self, problem: str) -> InstallError:
        """Return the error for a snapshot that cannot be right."""
        return InstallError(f"{self.origin} is damaged: {problem}", hint="ask who makes it to make it again")

    def query(self, statement: str, values: Sequence[object] = ()) -> list[Any]:
        """Return the rows of a query.

        Raises:
            InstallError: the snapshot is damaged.
        """
        return [*self.each(statement, values)]

    def each(self, statement: str, values: Sequence[object] = ()) -> Iterator[Any]:
        """Yield the rows of a query; until all are read, other threads wait.

        Raises:
            InstallError: the snapshot is damaged.
        """
        import sqlite3

        with self._lock:
            self._steps = 0
            try:
                yield from self._database.execute(statement, values)
            except (sqlite3.Error, OverflowError, UnicodeDecodeError):
                raise self.damaged("its pages are invalid") from None

    def _value(self, column: str, row: int) -> Any:
        found = self.query(_SELECT[column], (row,))
        if len(found) != 1:
            raise self.damaged("it lacks a skill")
        return found[0][0]

    def text(self, column: str, row: int) -> str:
        """Return a text of a skill: its `name`, `description` or `path`."""
        text = self._value(column, row)
        if not isinstance(text, str) or len(text) > _MAX_TEXT:
            raise self.damaged(f"the {column} of a skill is too long or no text")
        return text

    def digest(self, row: int) -> str:
        """Return the tree digest of a skill."""
        digest = self._value("digest", row)
        if not isinstance(digest, bytes) or len(digest) != _DIGEST_BYTES:
            raise self.damaged("the digest of a skill is invalid")
        return f"sha256:{digest.hex()}"

    def flags(self, row: int) -> int:
        """Return the flags of a skill."""
        flags = self._value("flags", row)
        if type(flags) is not int:
            raise self.damaged("the flags of a skill are invalid")
        return flags

    def rows_with(self, kind: str, text: str) -> list[int]:
        """Return the rows that may have a name (kind `name`) or a path; what they contain must still be compared."""
        found = self.query("SELECT row FROM keys WHERE key = ? LIMIT ?", (_key(kind, text), _MAX_SAME))
        rows = [row for (row,) in found]
        if not all(type(row) is int and 0 <= row < self.skills for row in rows):
            raise self.damaged("a name leads to a skill that it does not have")
        return rows

    def names_and_flags(self) -> list[tuple[str, int]]:
        """Return the name and the flags of each skill."""
        found, left = [], _MAX_NAMES * self.skills
        for name, flags in self.each("SELECT name, flags FROM skills ORDER BY row LIMIT ?", (self.skills,)):
            if not isinstance(name, str) or type(flags) is not int or (left := left - len(name)) < 0:
                raise self.damaged("its names are too long or no texts")
            found.append((name, flags))
        if len(found) != self.skills:
            raise self.damaged("it lacks a skill")
        return found


class _Posting(Frozen):
    """The skills that have a term."""

    count: int
    rows: memoryview[int] | None = None
    """`None` if `impacts` has a number for each skill."""
    impacts: memoryview[int] | None = None
    """`None` if all are the highest."""


class SnapshotPostings:
    """Rank the skills of a snapshot by the words of a message, as a search among skills of this machine does.

    A word that many skills have would take a Python loop over all of them. Its impacts are one long integer instead,
    with 32 bits for each skill: multiplying it by the weight of the word weighs all skills at once. The sums are
    rounded, so the best skills and all that are near to them are then ranked exactly.

    All methods raise `InstallError` if the snapshot is damaged.
    """

    def __init__(self, file: SnapshotFile) -> None:
        self._file = file
        self.count = file.skills
        self._counts: dict[str, int] = {}

    def frequency(self, term: str) -> int:
        """Return how many skills have a term."""
        count = self._counts.get(term)
        if count is None:
            if len(self._counts) >= _MAX_KNOWN:
                self._counts.clear()
            found = self._file.query("SELECT skills FROM terms WHERE term = ?", (_encoded(term),))
            count = self._counts[term] = found[0][0] if found else 0
            if type(count) is not int:
                raise self._file.damaged("the postings of a word have an invalid size")
        return count

    def starting_with(self, prefix: str) -> list[str]:
        """Return words with a prefix; of many only the most frequent."""
        start = prefix.encode("utf-8", "surrogatepass")
        statement = "SELECT term FROM terms WHERE term >= ? AND term < ? ORDER BY skills DESC, term LIMIT ?"
        found = self._file.query(statement, (start, start + b"\xff", _MAX_COMPLETIONS))
        return [self._text(term) for (term,) in found]

    def known_words(self, words: Iterable[str]) -> list[str]:
        """Return those of some words that a skill has."""
        return [word for word in words if self._file.query("SELECT 1 FROM terms WHERE term = ?", (_encoded(word),))]

    def best(self, weights: Mapping[str, float], limit: int) -> dict[int, float]:
        """Return the skills with the highest ranks, each with the share of the highest possible rank.

        Args:
            weights: of all terms that are searched.
            limit: skills at most; those with the same rank as the last one may be more.
        """
        highest = MAX_IMPACT * sum(weights.values())
        shares = {term: weights[term] / highest for term in sorted(weights)}  # a sum of fractions depends on its order
        found = {term: self._find(term) for term in shares if self.frequency(term)}
        if sum(posting.count for posting in found.values()) <= _FEW:
            ranks: dict[int, float] = {}
            known = ranks.get
            for term, posting in found.items():
                share = shares[term]
                for row, impact in zip(*self._pairs(posting), strict=True):
                    ranks[row] = known(row, 0.0) + share * impact
            return ranks
        try:
            rows = self._candidates(shares, found, limit)
        except OverflowError:
            raise self._file.damaged("a word has a skill several times") from None
        ranks = dict.fromkeys(rows, 0.0)
        for term, posting in found.items():
            share = shares[term]
            for row, impact in zip(rows, self._impacts(posting, rows), strict=True):
                if impact:
                    ranks[row] += share * impact
        return ranks

    def all_terms(self) -> Iterator[tuple[str, Numbers, Numbers]]:
        """Yield each term with the rows of its skills and its impact in each."""
        for term, *values in self._file.each("SELECT term, skills, rows, impacts FROM terms ORDER BY term"):
            yield (self._text(term), *self._pairs(self._posting(values)))

    def _text(self, term: object) -> str:
        try:
            return term.decode("utf-8", "surrogatepass")  # type: ignore[attr-defined, no-any-return]
        except (UnicodeDecodeError, AttributeError):
            raise self._file.damaged("a word is not UTF-8") from None

    def _find(self, term: str) -> _Posting:
        [values] = self._file.query("SELECT skills, rows, impacts FROM terms WHERE term = ?", (_encoded(term),))
        return self._posting(values)

    def _posting(self, values: Sequence[object]) -> _Posting:
        """Return the postings of a term, if they can be right."""
        count, rows, impacts = values
        length = self.count if rows is None else count
        fits = all(
            part is None or (isinstance(part, bytes) and isinstance(length, int) and len(part) == size * length)
            for part, size in ((rows, 4), (impacts, 2))
        )
        if not fits or rows is impacts or type(count) is not int or not 0 <= count <= self.count:
            raise self._file.damaged("the postings of a word have an invalid size")
        known = None if rows is None else memoryview(rows).cast("I")  # type: ignore[arg-type]
        if known is not None and max(known, default=0) >= self.count:
            raise self._file.damaged("a word leads to a skill that it does not have")
        of_known = None if impacts is None else memoryview(impacts).cast("H")  # type: ignore[arg-type]
        return _Posting(count=count, rows=known, impacts=of_known)

    def _pairs(self, posting: _Posting) -> tuple[Numbers, Numbers]:
        """Return the skills of a term and its impact in each."""
        rows, impacts = posting.rows, posting.impacts
        if rows is not None:
            return rows, array("H", [MAX_IMPACT]) * posting.count if impacts is None else impacts
        assert impacts is not None  # noqa: S101 - one of the two is there
        found = array("I", [row for row, impact in enumerate(impacts) if impact])
        return found, array("H", [impacts[row] for row in found])

    def _candidates(self, shares: Mapping[str, float], found: Mapping[str, _Posting], limit: int) -> list[int]:
        """Return the rows that may be among the best, in their order."""
        # All sums are below 2**32: shares add up to 1 / MAX_IMPACT, and rounding adds half of an impact for each term.
        scale = (MAX_IMPACT - len(found)) * MAX_IMPACT
        whole = {term: round(shares[term] * scale) for term in found}
        sums = self._dense_sums(found, whole)
        for term, posting in found.items():
            if posting.rows is not None:
                factor = whole[term]
                for row, impact in zip(*self._pairs(posting), strict=True):
                    sums[row] += factor * impact
        lowest = nlargest(limit, sums)[-1:] or [0]
        least = max(1, lowest[0] - MAX_IMPACT * len(found))
        return [row for row, total in enumerate(sums) if total >= least]

    def _dense_sums(self, found: Mapping[str, _Posting], whole: Mapping[str, int]) -> array[int]:
        """Return for each skill the sum of its weighed impacts of words that many skills have."""
        half = (self.count + 1) // 2
        mask = _half_mask(half)
        even = odd = 0
        for term, posting in found.items():
            if posting.rows is None and posting.impacts is not None:
                impacts = int.from_bytes(posting.impacts.cast("B"), "little")
                even += (impacts & mask) * whole[term]
                odd += (impacts >> 16 & mask) * whole[term]
        sums = array("I", bytes(8 * half))
        sums[::2], sums[1::2] = (array("I", lanes.to_bytes(4 * half, "little")) for lanes in (even, odd))
        del sums[self.count :]
        return sums

    def _impacts(self, posting: _Posting, rows: list[int]) -> list[int]:
        """Return the impact of a term in each of some skills."""
        if posting.rows is None and posting.impacts is not None:
            return [posting.impacts[row] for row in rows]
        known, of_known = self._pairs(posting)
        result = []
        for row in rows:
            at = bisect_left(known, row)
            result.append(of_known[at] if at < len(known) and known[at] == row else 0)
        return result


def _encoded(term: str) -> bytes:
    return term.encode("utf-8", "surrogatepass")


@lru_cache(maxsize=4)
def _half_mask(half: int) -> int:
    return int.from_bytes(_HALF * half, "little")
