"""Plan what a catalog shows of each skill, so that the text fits a budget."""

from __future__ import annotations

from itertools import chain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

__all__ = ["MAX_RANKED", "plan_levels", "ranked_steps"]

MAX_RANKED = 32
"""Skills that a message needs, at most; the others are shown as without a message."""
_NEAREST = 4
"""Skills that are described before others are named."""
_NAME, _SHORT, _FULL = 1, 2, 3

_NOTE_SIZE = 200
"""More than the size of the last line, which counts what is not shown, in any unit."""


def plan_levels(
    ceilings: Sequence[int],
    pinned: Sequence[bool],
    write: Callable[[Sequence[int]], str],
    budget: int,
    measure: Callable[[str], int],
    ranked: Sequence[int] = (),
) -> list[int]:
    """Choose a level of detail for every skill; level 0 shows nothing.

    Levels are raised in one fixed order of steps: pinned skills in full; then those that a message needs
    (`ranked_steps`); then every skill by name, in the catalog's order; then every skill in short; then in full. The
    plan is the longest run of steps that fits, so a larger budget never shows less. No step makes the text shorter, so
    a search finds that run: a short text takes less than the full one in any unit, and in the last line only the digits
    of its counts change, which is less than the step adds.
    Without that line the text is the whole text, which may fit although the run before it does not.

    Args:
        ceilings: the most that may be shown of each skill.
        pinned: the skills that are shown up to their ceiling, whatever the budget.
        write: returns the text of a plan.
        budget: the most the text may take.
        measure: returns the size of a text.
        ranked: the numbers of the skills that a message needs, best first.

    Raises:
        ConfigError: the pinned skills alone exceed the budget.
    """
    floor = [ceiling if pin else 0 for ceiling, pin in zip(ceilings, pinned, strict=True)]
    by_level = ((index, level) for level in range(1, max(ceilings, default=0) + 1) for index in range(len(ceilings)))
    steps = [
        (index, level)
        for index, level in dict.fromkeys(chain(ranked_steps(ranked), by_level))
        if level <= ceilings[index] and not pinned[index]
    ]

    def plan(count: int) -> list[int]:
        levels = list(floor)
        for index, level in steps[:count]:
            levels[index] = max(level, levels[index])
        return levels

    def size(count: int) -> int:
        return measure(write(plan(count)))

    # Runs of 1, 2, 4 ... steps: the time depends on what fits, not on how many skills there are.
    low, high = 0, min(1, len(steps))
    while high < len(steps) and (needed := size(high)) <= budget:
        low, high = high, min(2 * high, len(steps))
    if (high == len(steps) or needed <= budget + _NOTE_SIZE) and measure(write(ceilings)) <= budget:
        return list(ceilings)
    if low == 0 and any(pinned) and (needed := size(0)) > budget:
        from prowess.errors import ConfigError

        raise ConfigError(
            f"the pinned skills alone take {needed:,}, more than the budget of {budget:,}",
            hint="pin fewer skills, or raise the budget",
        )
    # A run of `low` steps fits, one of `high` steps does not; the run of all steps is the whole text.
    high -= 1
    while low < high:
        middle = (low + high + 1) // 2
        if size(middle) <= budget:
            low = middle
        else:
            high = middle - 1
    return plan(low)


def ranked_steps(ranked: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yield the steps for the skills that a message needs: a number and a level.

    The best few get a short description, all others a name, since the right one is often not the best; then the others
    get a short description, and all of them a full one.
    """
    for index in ranked[:_NEAREST]:
        yield index, _NAME
        yield index, _SHORT
    for level in (_NAME, _SHORT):
        for index in ranked[_NEAREST:]:
            yield index, level
    for index in ranked:
        yield index, _FULL
