"""Take what is searched of many skills from what discovery read, without asking each entry."""

from __future__ import annotations

from operator import attrgetter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from ._entry import Entry

__all__ = ["SearchedColumns", "known_fingerprints", "searched_columns"]

SearchedColumns = tuple["list[str]", "list[str]", "list[str | None]", "list[str]", "list[str]"]
"""The real paths, the names, the second names, the descriptions and the roots of skills."""

_sources = attrgetter("_source")
_ATTRIBUTES = ("real", "name", "alias", "description", "root")


def searched_columns(entries: Sequence[Entry]) -> SearchedColumns:
    """Return what is searched of each entry, the body excepted. Columns, since rows of many skills take longer."""
    stored = getattr(_loader(entries), "searched_columns", None)
    if stored is not None:
        try:
            sources = [*map(_sources, entries)]
        except AttributeError:  # an entry that was made in full
            sources = []
        if {loader for loader, _ in sources} == {_loader(entries)}:
            columns = stored()
            numbers = [number for _, number in sources]
            if numbers == [*range(len(columns[0]))]:
                return columns  # type: ignore[no-any-return]
            return tuple([column[number] for number in numbers] for column in columns)  # type: ignore[return-value]
    return tuple([*map(attrgetter(name), entries)] for name in _ATTRIBUTES)  # type: ignore[return-value]


def known_fingerprints(entries: Sequence[Entry]) -> Mapping[str, bytes]:
    """Return the fingerprints of files as of the discovery of entries, by real path; not of all files."""
    known = getattr(_loader(entries), "known_fingerprints", None)
    return {} if known is None else known()


def _loader(entries: Sequence[Entry]) -> Any:
    """Return the loader of the first entry."""
    source = entries[0].source if entries else None
    return None if source is None else source[0]
