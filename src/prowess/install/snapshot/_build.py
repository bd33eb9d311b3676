"""Build the file of a snapshot, see `_snapshot_file`."""

from __future__ import annotations

from array import array
from itertools import islice
from zlib import crc32

from prowess._internal.frozen import Frozen
from prowess._internal.text import normalize_name

from ._file import HEADER, MAGIC, PLACE, SECTIONS, VERSION, key_of
from ._postings import is_dense, pair_key

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence


__all__ = ["SnapshotBuilder", "SnapshotRow"]


class SnapshotRow(Frozen):
    """One skill of a snapshot."""

    name: str
    description: str
    path: str
    """Its folder, relative to the folder of all skills, with `/`."""
    digest: str
    """Its tree digest."""
    flags: int = 0


class SnapshotBuilder:
    """The skills of a snapshot and the index of their words.

    Args:
        rows: the skills.
    """

    def __init__(self, rows: Sequence[SnapshotRow]) -> None:
        self._rows = rows
        self._terms: dict[str, tuple[array[int], array[int]]] = {}

    def add(self, row: int, impacts: Mapping[str, int]) -> None:
        """Add the terms of a skill."""
        terms = self._terms
        for term, impact in impacts.items():
            known = terms.get(term)
            if known is None:
                known = terms[term] = (array("I"), array("H"))
            known[0].append(row)
            known[1].append(impact)

    def add_rows(self, term: str, rows: Iterable[tuple[int, int]]) -> None:
        """Add the rows and impacts of a term."""
        known = self._terms.setdefault(term, (array("I"), array("H")))
        for row, impact in rows:
            known[0].append(row)
            known[1].append(impact)

    def _sort(self) -> None:
        """Sort the rows of each term; they are sorted already, unless some were added together."""
        for term, (rows, impacts) in self._terms.items():
            if any(map(int.__gt__, rows, islice(rows, 1, None))):
                pairs = sorted(zip(rows, impacts, strict=True))
                self._terms[term] = array("I", [row for row, _ in pairs]), array("H", [of for _, of in pairs])

    def encode(self) -> Iterator[bytes]:
        """Yield the file in pieces."""
        self._sort()
        parts = {**self._columns(), **self._keys(), **self._index()}
        places, end = [], HEADER.size + PLACE.size * len(SECTIONS)
        pieces: list[bytes] = []
        for name in SECTIONS:
            filler = bytes(-end % 8)
            end += len(filler)
            size = sum(map(len, parts[name]))
            places.append(PLACE.pack(end, size))
            end += size
            pieces += [filler, *parts[name]]
        packed = b"".join(places)
        words, pairs = (sum(map(len, parts[name])) // size for name, size in (("counts", 4), ("pair_keys", 8)))
        yield HEADER.pack(MAGIC, VERSION, end, len(self._rows), words, pairs, crc32(packed)) + packed
        yield from pieces

    def _columns(self) -> dict[str, list[bytes]]:
        rows = self._rows
        parts: dict[str, list[bytes]] = {}
        for name, texts in (
            ("name", [row.name for row in rows]),
            ("description", [row.description for row in rows]),
            ("path", [row.path for row in rows]),
        ):
            parts[f"{name}_ends"], parts[f"{name}s"] = _encode_texts(texts)
        parts["digests"] = [bytes.fromhex(row.digest.removeprefix("sha256:")) for row in rows]
        parts["flags"] = [bytes(row.flags for row in rows)]
        return parts

    def _keys(self) -> dict[str, list[bytes]]:
        keys: set[tuple[int, int]] = set()
        for number, row in enumerate(self._rows):
            names = {normalize_name(row.name), normalize_name(row.path.rpartition("/")[2])}
            keys.update((key_of("name", name), number) for name in names)
            keys.add((key_of("path", row.path), number))
        ordered = sorted(keys)
        return {
            "keys": [_packed("Q", (key for key, _ in ordered))],
            "key_rows": [_packed("I", (number for _, number in ordered))],
        }

    def _index(self) -> dict[str, list[bytes]]:
        words = {term for term in self._terms if " " not in term}
        pairs = [term for term in self._terms if " " in term]
        words.update(word for pair in pairs for word in pair.split(" "))
        ordered = sorted(word.encode("utf-8", "surrogatepass") for word in words)
        numbers = {word.decode("utf-8", "surrogatepass"): number for number, word in enumerate(ordered)}
        ends, texts = _encode_texts(ordered)
        counts, starts, postings = self._postings(numbers)
        keyed = sorted((pair_key(*(numbers[word] for word in pair.split(" "))), pair) for pair in pairs)
        pair_rows = [self._terms[pair][0] for _, pair in keyed]
        return {
            "word_ends": ends,
            "words": texts,
            "counts": [counts],
            "starts": [starts],
            "postings": postings,
            "pair_keys": [_packed("Q", (key for key, _ in keyed))],
            "pair_ends": [_packed("I", _ends(map(len, pair_rows)))],
            "pair_rows": [_bytes_of(rows) for rows in pair_rows],
        }

    def _postings(self, words: Iterable[str]) -> tuple[bytes, bytes, list[bytes]]:
        counts, starts, pieces, end = array("I"), array("Q"), list[bytes](), 0
        skills = len(self._rows)
        for word in words:
            rows, impacts = self._terms.get(word) or (array("I"), array("H"))
            counts.append(len(rows))
            starts.append(end)
            if is_dense(len(rows), skills):
                dense = array("H", bytes(2 * skills))
                for row, impact in zip(rows, impacts, strict=True):
                    dense[row] = impact
                piece = _bytes_of(dense)
            else:
                piece = _bytes_of(rows) + _bytes_of(impacts)
            piece += bytes(-len(piece) % 4)
            pieces.append(piece)
            end += len(piece)
        return _bytes_of(counts), _bytes_of(starts), pieces


def _encode_texts(texts: Sequence[str] | Sequence[bytes]) -> tuple[list[bytes], list[bytes]]:
    data = [text if isinstance(text, bytes) else text.encode() for text in texts]
    return [_packed("I", _ends(map(len, data)))], data


def _ends(sizes: Iterable[int]) -> Iterator[int]:
    end = 0
    for size in sizes:
        end += size
        yield end


def _packed(code: str, numbers: Iterable[int]) -> bytes:
    return _bytes_of(array(code, numbers))


def _bytes_of(numbers: array[int]) -> bytes:
    """Return numbers as little-endian bytes."""
    import sys

    if sys.byteorder != "little":
        numbers = numbers[:]
        numbers.byteswap()
    return numbers.tobytes()
