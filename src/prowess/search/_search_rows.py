"""Take what is searched of many skills from what discovery read, without asking each entry."""

from __future__ import annotations

from operator import attrgetter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from prowess.catalog import Entry

SearchedColumns = tuple["list[str]", "list[str]", "list[str | None]", "list[str]", "list[str]"]
"""The real paths, the names, the second names, the descriptions and the roots of skills."""

DIGEST_BYTES = 16
_TEXT_CHARS = 1000
"""Characters of a body that are searched by meaning."""
_ATTRIBUTES = ("real", "name", "alias", "description", "root")


def searched_columns(entries: Sequence[Entry]) -> SearchedColumns:
    """Return what is searched of each entry, the body excepted. Columns, since rows of many skills take longer."""
    return tuple([*map(attrgetter(name), entries)] for name in _ATTRIBUTES)  # type: ignore[return-value]


def known_fingerprints(entries: Sequence[Entry]) -> Mapping[str, bytes]:
    """Return the fingerprints of files as of the discovery of entries, by real path; not of all files."""
    known = getattr(_loader(entries), "known_fingerprints", None)
    return {} if known is None else known()


def meant_text(entry: Entry, body: str) -> str:
    """Return the text by whose meaning a skill is found."""
    return f"{entry.name}: {entry.description}\n{body[:_TEXT_CHARS]}"


def text_digest(text: str) -> bytes:
    """Return the digest of a text, by which its vector is kept."""
    from hashlib import blake2b

    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=DIGEST_BYTES).digest()


def _loader(entries: Sequence[Entry]) -> Any:
    """Return the loader of the first entry."""
    source = entries[0].source if entries else None
    return None if source is None else source[0]
