"""Read the file of a snapshot: the names, descriptions and digests of many skills, and an index of their words.

The file is mapped, and only the parts that are asked for are read. All numbers are little-endian.

    file      = magic size skills words pairs checksum (start size){SECTIONS} section*
    texts     = ends of each text (u32) and the texts one after the other, UTF-8
    keys      = the first 8 bytes of the BLAKE2b digest of each key, sorted, and the row of its skill (`key_of`)
    words     = the sorted terms of the search index; of each how many skills have it, and where its postings start
    postings  = rows (u32, sorted) and impacts (u16), or an impact for each row (u16, 0 without it) if many have it
    pairs     = terms of two words, as numbers of words (u64, sorted), and the rows that have each (u32)

The file comes from elsewhere: every number is checked before it is used.
"""

from __future__ import annotations

import os
import struct
import sys
import unicodedata
from bisect import bisect_left
from zlib import crc32

from prowess.errors import InstallError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal

__all__ = [
    "HEADER",
    "MAGIC",
    "MAX_FILE_BYTES",
    "MAX_SKILLS",
    "SECTIONS",
    "USER_ONLY",
    "SnapshotFile",
    "is_valid_name",
    "key_of",
    "open_mapped",
]

MAGIC = b"prowess-snapshot"
SECTIONS = (
    *("name_ends", "names", "description_ends", "descriptions", "path_ends", "paths", "digests", "flags"),
    *("keys", "key_rows", "word_ends", "words", "counts", "starts", "postings", "pair_keys", "pair_ends", "pair_rows"),
)
HEADER = struct.Struct("<16sIQIIII")
"""The magic, the version, the size of the file, three counts and the checksum of what follows in the header."""
VERSION = 1
PLACE = struct.Struct("<QQ")
USER_ONLY = 1
"""The flag of a skill that its author hides from the model."""
MAX_FILE_BYTES = 4 << 30
MAX_SKILLS = 1_000_000
_MAX_WORDS = 5_000_000
_MAX_NAME, _MAX_NAMES = 1024, 256
"""Characters of a name, and bytes of names on average."""
_MAX_TEXT = 256 * 1024
"""Bytes of one name, description, path or word."""
_DIGEST_BYTES = 32


def is_valid_name(name: str) -> bool:
    """Return whether a snapshot may have a skill of this name; one with a colon looks like that of a server."""
    if not 0 < len(name) <= _MAX_NAME or ":" in name or "/" in name:
        return False
    return name.isprintable() or not any(unicodedata.category(character) == "Cc" for character in name)


def key_of(kind: str, text: str) -> int:
    """Return the number by which skills with a name (kind `name`) or a path (kind `path`) are found."""
    from hashlib import blake2b

    return int.from_bytes(blake2b(f"{kind}\0{text}".encode("utf-8", "replace"), digest_size=8).digest(), "little")


class SnapshotFile:
    """The parts of a snapshot.

    Args:
        data: the bytes of the file.
        origin: the snapshot, in messages.

    Raises:
        InstallError: it is not a snapshot, or is damaged.
    """

    def __init__(self, data: memoryview, origin: str) -> None:
        if sys.byteorder != "little":
            raise InstallError("snapshots cannot be read on this processor", hint="use a little-endian one")
        self.origin = origin
        size_of_header = HEADER.size + PLACE.size * len(SECTIONS)
        if len(data) < size_of_header or bytes(data[: len(MAGIC)]) != MAGIC:
            raise InstallError(f"{origin} is not a snapshot", hint="make one with `prowess index DIR --snapshot OUT`")
        _, version, size, self.skills, self.words, self.pairs, checksum = HEADER.unpack(data[: HEADER.size])
        if version != VERSION:
            raise InstallError(
                f"{origin} has version {version}, and this Prowess reads version {VERSION}",
                hint="install the version of Prowess that made it, or make it again",
            )
        places = data[HEADER.size : size_of_header]
        if crc32(places) != checksum or size != len(data) or self.skills > MAX_SKILLS or self.words > _MAX_WORDS:
            raise self.damaged("its header is invalid")
        self._parts: dict[str, memoryview] = {}
        for at, name in enumerate(SECTIONS):
            start, length = PLACE.unpack_from(places, at * PLACE.size)
            if start % 8 or start < size_of_header or start + length > size:
                raise self.damaged(f"its part {name} is outside of the file")
            self._parts[name] = data[start : start + length]
        if len(self._parts["names"]) > _MAX_NAMES * self.skills:
            raise self.damaged("its names are too long")
        self.digests, self.flags = (
            self._bytes("digests", _DIGEST_BYTES * self.skills),
            self._bytes("flags", self.skills),
        )
        self.ends = {
            name: self._numbers(f"{part}_ends", "I", count)
            for name, part, count in (
                ("names", "name", self.skills),
                ("descriptions", "description", self.skills),
                ("paths", "path", self.skills),
                ("words", "word", self.words),
            )
        }
        self.counts, self.starts = self._numbers("counts", "I", self.words), self._numbers("starts", "Q", self.words)
        self.pair_keys, self.pair_ends = (
            self._numbers("pair_keys", "Q", self.pairs),
            self._numbers("pair_ends", "I", self.pairs),
        )
        self.keys = self._numbers("keys", "Q", len(self._parts["keys"]) // 8)
        self.key_rows = self._numbers("key_rows", "I", len(self.keys))
        self.postings = self._parts["postings"]
        self.pair_rows = self._numbers("pair_rows", "I", len(self._parts["pair_rows"]) // 4)

    def damaged(self, problem: str) -> InstallError:
        """Return the error for a snapshot that cannot be right."""
        return InstallError(f"{self.origin} is damaged: {problem}", hint="ask who makes it to make it again")

    def _bytes(self, name: str, size: int) -> memoryview:
        if len(self._parts[name]) != size:
            raise self.damaged(f"its part {name} has a wrong size")
        return self._parts[name]

    def _numbers(self, name: str, code: Literal["I", "Q"], count: int) -> memoryview[int]:
        return self._bytes(name, count * struct.calcsize(code)).cast(code)

    def text(self, column: str, row: int) -> str:
        """Return a text of a column: `names`, `descriptions`, `paths` or `words`.

        Raises:
            InstallError: the snapshot is damaged.
        """
        try:
            return str(self.raw_text(column, row), "utf-8")
        except UnicodeDecodeError:
            raise self.damaged(f"a text of its {column} is not UTF-8") from None

    def raw_text(self, column: str, row: int) -> memoryview:
        """Return a text as bytes.

        Raises:
            InstallError: the snapshot is damaged.
        """
        ends, part = self.ends[column], self._parts[column]
        start, end = ends[row - 1] if row else 0, ends[row]
        if not start <= end <= len(part) or end - start > _MAX_TEXT:
            raise self.damaged(f"a text of its {column} has an invalid place")
        return part[start:end]

    def digest(self, row: int) -> str:
        """Return the tree digest of a skill."""
        return f"sha256:{self.digests[_DIGEST_BYTES * row : _DIGEST_BYTES * (row + 1)].hex()}"

    def find_word(self, word: str) -> int | None:
        """Return the number of a word.

        Raises:
            InstallError: the snapshot is damaged.
        """
        number = self.first_word_from(word.encode("utf-8", "surrogatepass"))
        found = number < self.words and self.raw_text("words", number) == word.encode("utf-8", "surrogatepass")
        return number if found else None

    def first_word_from(self, prefix: bytes) -> int:
        """Return the number of the first word that is not before some bytes.

        Raises:
            InstallError: the snapshot is damaged.
        """
        low, high = 0, self.words
        while low < high:
            middle = (low + high) // 2
            if bytes(self.raw_text("words", middle)) < prefix:
                low = middle + 1
            else:
                high = middle
        return low

    def rows_with_key(self, key: int) -> list[int]:
        """Return the rows that may have a key; what they contain must still be compared.

        Raises:
            InstallError: the snapshot is damaged.
        """
        rows = []
        for at in range(bisect_left(self.keys, key), min(len(self.keys), bisect_left(self.keys, key) + _MAX_SAME)):
            if self.keys[at] != key:
                break
            rows.append(self.key_rows[at])
        if rows and max(rows) >= self.skills:
            raise self.damaged("a name leads to a skill that it does not have")
        return rows

    def all_texts(self, column: str) -> list[str]:
        """Return all texts of a column.

        Raises:
            InstallError: the snapshot is damaged.
        """
        ends, part = self.ends[column], bytes(self._parts[column])
        starts = [0, *ends[:-1]] if len(ends) else []
        sizes = [*map(int.__sub__, ends, starts)]
        if sizes and (min(sizes) < 0 or max(sizes) > _MAX_TEXT or ends[-1] > len(part)):
            raise self.damaged(f"a text of its {column} has an invalid place")
        try:
            whole = part.decode()
            if whole.isascii():
                return [*map(whole.__getitem__, map(slice, starts, ends))]
            return [part[start:end].decode() for start, end in zip(starts, ends, strict=True)]
        except UnicodeDecodeError:
            raise self.damaged(f"a text of its {column} is not UTF-8") from None


_MAX_SAME = 1000
"""Skills with the same name that are found by it."""


def open_mapped(fd: int, origin: str) -> SnapshotFile:
    """Map a file that no process changes, and return its parts.

    Raises:
        InstallError: it is not a snapshot, or is damaged.
        OSError: it cannot be mapped.
    """
    import mmap

    size = os.fstat(fd).st_size
    if not 0 < size <= MAX_FILE_BYTES:
        raise InstallError(f"{origin} is not a snapshot: it has {size:,} bytes", hint="make it again")
    return SnapshotFile(memoryview(mmap.mmap(fd, size, access=mmap.ACCESS_READ)), origin)
