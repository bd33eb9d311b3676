"""Choose the skills that a message needs, for a catalog that does not fit its budget."""

from __future__ import annotations

from ._plan import MAX_RANKED, plan_levels
from ._search import Index
from ._search_semantic import installed_ranker

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ._catalog import Catalog
    from ._entry import Entry

__all__ = ["plan_prompt", "rank_for_message"]


def plan_prompt(
    entries: Sequence[Entry],
    ceilings: Sequence[int],
    pinned: Sequence[bool],
    write: Callable[[Sequence[Entry], Sequence[int]], str],
    budget: int,
    measure: Callable[[str], int],
    searched: tuple[str, Index | Catalog, bool] | None,
) -> tuple[list[int], list[int]]:
    """Return the order in which to write entries, and the level of each in that order.

    Args:
        entries: in the order of the catalog.
        ceilings: the most that may be shown of each.
        pinned: which of them are shown in any case.
        write: returns the text of some entries.
        budget: the most the text may take.
        measure: returns the size of a text.
        searched: the message of a user, where to search for it, and whether the order stays; `None` without message.

    Raises:
        ConfigError: the pinned skills alone exceed the budget.
    """
    plan = plan_levels(ceilings, pinned, lambda levels: write(entries, levels), budget, measure)
    if searched is None or plan == ceilings:
        return list(range(len(entries))), plan
    message, source, keep_order = searched
    order, ranked = rank_for_message(entries, pinned, message, source, keep_order=keep_order)
    written = [entries[row] for row in order]
    plan = plan_levels(
        [ceilings[row] for row in order],
        [pinned[row] for row in order],
        lambda levels: write(written, levels),
        budget,
        measure,
        ranked,
    )
    return order, plan


def rank_for_message(
    entries: Sequence[Entry], pinned: Sequence[bool], message: str, source: Index | Catalog, *, keep_order: bool
) -> tuple[list[int], list[int]]:
    """Return the order in which to write entries, and where in it those are that a message needs, best first.

    Args:
        entries: in the order of the catalog.
        pinned: which of them are shown in any case; they come first.
        message: of the user.
        source: the index of the catalog, or the catalog.
        keep_order: whether the order of the catalog stays, as in a text of a client.
    """
    index = source if isinstance(source, Index) else Index(entries, source.readers, ranker=installed_ranker())
    rows = {entry.path: row for row, entry in enumerate(entries)}
    best = [rows[entry.path] for entry in index.best(message, MAX_RANKED) if entry.path in rows]
    if keep_order:
        return list(range(len(entries))), best
    first = [row for row, pin in enumerate(pinned) if pin]
    order = list(dict.fromkeys((*first, *best, *range(len(entries)))))
    places = {row: place for place, row in enumerate(order)}
    return order, [places[row] for row in best]
