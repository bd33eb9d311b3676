"""lengths + a limit -> what each entry may keep

Pure arithmetic on what entries cost, for a client's own budget.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["fit_in_order", "cut_evenly"]


def fit_in_order(full: Sequence[int], least: Sequence[int], room: int, *, greedy: bool = False) -> list[bool]:
    """Say which entries may be shown in full when all are shown at least, going by their order.

    Args:
        full: the cost of each entry in full.
        least: the cost of each entry cut down to its name; no more than its `full`.
        room: the limit for all of them.
        greedy: whether an entry that does not fit leaves its room to later, shorter ones.

    Returns:
        For each entry whether it is shown in full. The first that does not fit ends the list of those that do, if not
        `greedy`.
    """
    left = room - sum(least)
    shown: list[bool] = []
    for whole, part in zip(full, least, strict=True):
        fits = whole - part <= left and (greedy or not shown or shown[-1])
        shown.append(fits)
        left -= whole - part if fits else 0
    return shown


def cut_evenly(lengths: Sequence[int], cost: Callable[[int, int], int], room: int) -> list[int] | None:
    """Cut texts evenly: round after round each gets one more character, as long as its cost fits.

    Args:
        lengths: what each text would take, in characters.
        cost: of an entry, by its number, with so many characters of its text.
        room: the limit for all of them.

    Returns:
        The characters each may keep, or None where they do not fit even without text.
    """
    kept = [0] * len(lengths)
    costs = [cost(index, 0) for index in range(len(lengths))]
    left = room - sum(costs)
    if left < 0:
        return None
    growing = [index for index, length in enumerate(lengths) if length]
    while growing:
        still = []
        for index in growing:
            more = cost(index, kept[index] + 1)
            if more - costs[index] <= left:
                left -= more - costs[index]
                costs[index] = more
                kept[index] += 1
                if kept[index] < lengths[index]:
                    still.append(index)
        # One that did not fit now will not fit later: what is left only shrinks.
        growing = still
    return kept
