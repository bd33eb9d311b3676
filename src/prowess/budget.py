"""lengths + a limit -> what each entry may keep

Pure arithmetic, used for a client's own budget (`catalog`) and for a user's (`prompt`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["fit_in_order", "level"]


def fit_in_order(full: Sequence[int], least: Sequence[int], room: int) -> list[bool]:
    """Say which entries may be shown in full when all are shown at least, going by their order.

    Args:
        full: the cost of each entry in full.
        least: the cost of each entry cut down to its name; no more than its `full`.
        room: the limit for all of them.

    Returns:
        For each entry whether it is shown in full. The first that does not fit ends the list of those that do, so that
        more room never shows less.
    """
    left = room - sum(least)
    shown: list[bool] = []
    for whole, part in zip(full, least, strict=True):
        left -= whole - part
        shown.append(left >= 0 and (not shown or shown[-1]))
    return shown


def level(lengths: Sequence[int], room: int) -> list[int]:
    """Cut lengths evenly, one unit at a time in rounds, until they fit: the short keep all, the long share the rest.

    Args:
        lengths: what each would take.
        room: what all may take together.

    Returns:
        What each may take; together at most `room`.
    """
    kept = [0] * len(lengths)
    open_ = [index for index, length in enumerate(lengths) if length]
    while open_ and room >= len(open_):
        step = min(room // len(open_), *(lengths[index] - kept[index] for index in open_))
        for index in open_:
            kept[index] += step
        room -= step * len(open_)
        open_ = [index for index in open_ if kept[index] < lengths[index]]
    for index in open_[: max(room, 0)]:
        kept[index] += 1
    return kept
