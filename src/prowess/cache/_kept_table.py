"""Keep a table of bytes in one file of the user's cache, for packages that read more of skills than a catalog does.

What a value was made of is the caller's to compare: the disk wins over what is kept here.
"""

from __future__ import annotations

import os

from prowess._internal.user_dirs import cache_folder

from ._code_fingerprint import code_fingerprint
from ._files import read_value, user_identity

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_KIND = "table"
"""The first word of the files' names."""


class KeptTable:
    """The rows of one table, each with a name and some values.

    Args:
        query: what the table is for; code of Prowess, user and Python are compared too.
        env: the environment, which says where the cache is, or that there shall be no cache; the process's by default.
    """

    def __init__(self, query: Sequence[str], env: Mapping[str, str] | None = None) -> None:
        code = code_fingerprint()
        self._folder = cache_folder(os.environ if env is None else env) if code else None
        self._key = (code, user_identity(), *query)

    def load(self) -> dict[str, tuple[bytes, ...]]:
        """Return the rows by name; none if the file is missing or invalid."""
        return {} if self._folder is None else read_value(self._folder, _KIND, self._key) or {}

    def store(self, rows: Mapping[str, tuple[bytes | memoryview, ...]]) -> bool:
        """Replace all rows, and return whether that was possible. Never raises."""
        from ._writing import write_value

        return self._folder is not None and bool(rows) and write_value(self._folder, _KIND, self._key, dict(rows))
