"""Keep what reading each SKILL.md gave, in one file that all hosts share.

A row is the front matter of a file that the fast path could read, with the file's fingerprint. It counts while the
file has this fingerprint; so a changed file costs the reading of one file, for whatever host.

    sections = key paths fingerprints fronts sizes clean
    sizes    = *(32-bit size of a front matter)
    clean    = *("1" / "0") ; whether the whole file was read, and has no findings
"""

from __future__ import annotations

from array import array

from ._cache_sections import decode_texts, encode_texts, file_name, read_sections, write_sections
from ._fingerprints import FINGERPRINT_BYTES, newest_time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["KeptRows", "Row"]

_KIND = "rows"
"""The first word of the files' names."""
_SECTIONS = 6
_MAX_ROWS = 200_000
"""Rows of one file, those of removed skills among them."""

Row = tuple[bytes, bytes, bool]
"""A fingerprint, the front matter with both fences, and whether the whole file was read and has no findings."""


class KeptRows:
    """The rows of the files that some question is about.

    Args:
        folder: of the cache.
        query: what the rows are for; the host is no part of it.
    """

    def __init__(self, folder: str, query: Sequence[str]) -> None:
        self._folder, self._key = folder, encode_texts(query)
        self._rows: dict[str, Row] | None = None

    @property
    def rows(self) -> Mapping[str, Row]:
        """The rows by path, read when they are first needed."""
        if self._rows is None:
            self._rows = {} if self._key is None else _read_rows(self._folder, self._key)
        return self._rows

    def update(self, rows: Mapping[str, Row], settled_ns: int) -> None:
        """Keep new rows beside the known ones, unless there is nothing new. Never raises.

        Args:
            rows: by path.
            settled_ns: rows of files that changed later are left out, in nanoseconds of the system's clock.
        """
        known = self.rows
        new = {path: row for path, row in rows.items() if known.get(path) != row and row[0]}
        if newest_time(b"".join([row[0] for row in new.values()])) > settled_ns:
            new = {path: row for path, row in new.items() if newest_time(row[0]) <= settled_ns}
        if not new or self._key is None:
            return
        # Rows of removed files are dropped with all that this question did not ask for, once there are too many.
        base = known if len(known) + len(new) <= min(_MAX_ROWS, 2 * len(rows) + 1_000) else rows
        self._rows = merged = {**base, **new}
        paths = encode_texts([*merged])
        if paths is not None:
            fingerprints, fronts, clean = zip(*merged.values(), strict=True)
            sizes = array("I", map(len, fronts)).tobytes()
            flags = b"".join(b"1" if flag else b"0" for flag in clean)
            sections = [self._key, paths, b"".join(fingerprints), b"".join(fronts), sizes, flags]
            write_sections(self._folder, file_name(_KIND, self._key), sections)


def _read_rows(folder: str, key: bytes) -> dict[str, Row]:
    """Return the rows of a file; none if it is missing or invalid."""
    sections = read_sections(folder, file_name(_KIND, key))
    if len(sections) != _SECTIONS or bytes(sections[0]) != key:
        return {}
    sizes = array("I")
    try:
        paths = decode_texts(sections[1])
        sizes.frombytes(sections[4])
    except ValueError:
        return {}
    fingerprints, fronts, clean = bytes(sections[2]), bytes(sections[3]), bytes(sections[5])
    if not len(paths) == len(sizes) == len(clean) == len(fingerprints) / FINGERPRINT_BYTES or sum(sizes) != len(fronts):
        return {}
    rows, at = {}, 0
    for number, (path, size) in enumerate(zip(paths, sizes, strict=True)):
        first = number * FINGERPRINT_BYTES
        row = fingerprints[first : first + FINGERPRINT_BYTES], fronts[at : at + size], clean[number] == ord("1")
        rows[path] = row
        at += size
    return rows
