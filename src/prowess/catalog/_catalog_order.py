"""Sort the skills of some folders by the names that the client gives them."""

from __future__ import annotations

from itertools import groupby

from prowess.hosts import collation_key

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection

    from ._entry import Entry

__all__ = ["sort_files", "sort_roots"]


def sort_roots(entries: list[Entry], roots: Collection[str]) -> list[Entry]:
    """Return the skills, those of some skills folders sorted by name within each.

    Args:
        entries: highest precedence first.
        roots: the paths of these skills folders.
    """
    result: list[Entry] = []
    for root, run in groupby(entries, key=lambda entry: entry.root) if roots else ():
        result += sorted(run, key=lambda entry: collation_key(entry.name)) if root in roots else run
    return result if roots else entries


def sort_files(entries: list[Entry], roots: Collection[str], moved: Collection[str]) -> list[Entry]:
    """Return the skills, those of some folders sorted by name among themselves; all others keep their places.

    Args:
        entries: in order.
        roots: the paths of these folders.
        moved: the paths of skills that have other names than their own, and keep their places too.
    """
    if not roots:
        return entries
    places = [index for index, entry in enumerate(entries) if entry.root in roots and entry.path not in moved]
    ordered = sorted((entries[index] for index in places), key=lambda entry: collation_key(entry.name))
    result = list(entries)
    for index, entry in zip(places, ordered, strict=True):
        result[index] = entry
    return result
