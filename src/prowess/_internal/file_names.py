"""Compare names of files as the most lenient file systems do, and recognise repositories by them."""

from __future__ import annotations

import unicodedata
from functools import lru_cache

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection

_IGNORED_CATEGORIES = ("Cc", "Cf", "Cs", "Me", "Mn")
"""Control and format characters, bytes that are not UTF-8, accents and variation selectors."""


@lru_cache(4096)  # a walk asks for each name several times
def plain_file_name(name: str) -> str:
    """Return a name so that all names are equal under which some file system, or git, finds the same file.

    Windows ignores dots and spaces at the end and what follows a colon, macOS ignores invisible characters, and both
    ignore case. Width and accents are ignored too.
    """
    if name.isascii() and name.isprintable():
        plain = name.lower()
    else:
        folded = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", name).casefold())
        plain = "".join(c for c in folded if unicodedata.category(c) not in _IGNORED_CATEGORIES)
    return plain.partition(":")[0].rstrip(" .") if ":" in plain or plain[-1:] in (".", " ") else plain


def windows_file_names(name: str) -> list[str]:
    """Return the names that Windows reads in a name, where a backslash separates folders."""
    return name.split("\\") if "\\" in name else [name]


def is_bare_repository(names: Collection[str]) -> bool:
    """Return whether git accepts a folder with these names as a repository, or as a part of one."""
    plain = {plain_file_name(name) for name in names if len(name) <= 32}
    return "head" in plain and ({"objects", "refs"} <= plain or "commondir" in plain)
