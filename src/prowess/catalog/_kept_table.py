"""Keep a table of bytes in one file of the user's cache, for packages that read more of skills than a catalog does.

    sections = key names *(values sizes)
    sizes    = *(32-bit size of a value)

What a value was made of is the caller's to compare: the disk wins over what is kept here.
"""

from __future__ import annotations

import os
from array import array
from itertools import accumulate

from prowess._internal.user_dirs import cache_folder

from ._cache_sections import decode_texts, encode_texts, file_name, read_sections, user_identity, write_sections
from ._code_fingerprint import code_fingerprint

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

__all__ = ["KeptTable"]

_KIND = "table"
"""The first word of the files' names."""
_LARGE_BYTES = 4 * 1024 * 1024


class KeptTable:
    """The rows of one table, each with a name and the same number of values.

    Args:
        query: what the table is for; code of Prowess, user and Python are compared too.
        columns: the number of values in a row.
        env: the environment, which says where the cache is, or that there shall be no cache; the process's by default.
    """

    def __init__(self, query: Sequence[str], columns: int, env: Mapping[str, str] | None = None) -> None:
        self._columns = columns
        self._folder = cache_folder(os.environ if env is None else env)
        code = code_fingerprint()
        self._key = encode_texts([code, user_identity(), *query]) if code else None

    def load(self, shared: Collection[int] = ()) -> dict[str, tuple[bytes | memoryview, ...]]:
        """Return the rows by name; none if the file is missing or invalid.

        Args:
            shared: the numbers of columns of which most values will be kept: none is copied.
        """
        if self._folder is None or self._key is None:
            return {}
        sections = read_sections(self._folder, file_name(_KIND, self._key))
        if len(sections) != 2 + 2 * self._columns or bytes(sections[0]) != self._key:
            return {}
        columns: list[list[bytes] | list[memoryview]] = []
        try:
            names = decode_texts(sections[1])
            for number in range(self._columns):
                values = _split(sections[2 + 2 * number], sections[3 + 2 * number], len(names))
                columns.append([*values] if number in shared else [*map(bytes, values)])
        except ValueError:
            return {}
        return dict(zip(names, zip(*columns, strict=True), strict=True))

    def store(self, rows: Mapping[str, tuple[bytes | memoryview, ...]]) -> bool:
        """Replace all rows, and return whether that was possible. Never raises."""
        names = encode_texts([*rows])
        if self._folder is None or self._key is None or names is None or not rows:
            return False
        sections: list[bytes | tuple[bytes | memoryview, ...]] = [self._key, names]
        for column in zip(*rows.values(), strict=True):
            # A large column is not joined: that would be a copy of it.
            is_large = sum(map(len, column)) > _LARGE_BYTES
            sections += [column if is_large else b"".join(column), array("I", map(len, column)).tobytes()]
        return write_sections(self._folder, file_name(_KIND, self._key), sections)


def _split(joined: memoryview, lengths: memoryview, count: int) -> Iterator[memoryview]:
    """Return the values of a column.

    Raises:
        ValueError: the lengths are not those of the values.
    """
    sizes = array("I")
    sizes.frombytes(lengths)
    if len(sizes) != count or sum(sizes) != len(joined):
        raise ValueError("wrong lengths")
    ends = accumulate(sizes)
    return (joined[end - size : end] for end, size in zip(ends, sizes, strict=True))
