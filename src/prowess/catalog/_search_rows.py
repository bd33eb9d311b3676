"""Take what is searched of many skills from what discovery read, without asking each entry."""

from __future__ import annotations

from operator import attrgetter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from ._entry import Entry

__all__ = ["SearchedRow", "known_fingerprints", "searched_rows"]

SearchedRow = tuple[str, str, "str | None", str, str]
"""The real path, the name, the second name, the description and the root of a skill."""

_sources = attrgetter("_source")
_attributes = attrgetter("real", "name", "alias", "description", "root")


def searched_rows(entries: Sequence[Entry]) -> list[SearchedRow]:
    """Return what is searched of each entry, the body excepted."""
    table = getattr(_loader(entries), "searched_rows", None)
    if table is not None:
        try:
            sources = [*map(_sources, entries)]
        except AttributeError:  # an entry that was made in full
            sources = []
        if {loader for loader, _ in sources} == {_loader(entries)}:
            rows = table()
            return [rows[number] for _, number in sources]
    return [*map(_attributes, entries)]


def known_fingerprints(entries: Sequence[Entry]) -> Mapping[str, bytes]:
    """Return the fingerprints of files as of the discovery of entries, by real path; not of all files."""
    known = getattr(_loader(entries), "known_fingerprints", None)
    return {} if known is None else known()


def _loader(entries: Sequence[Entry]) -> Any:
    """Return the loader of the first entry."""
    source = entries[0].source if entries else None
    return None if source is None else source[0]
