"""Write the block that tells a model which skills there are, under a budget.

The block is planned before it is written: every skill has a level of detail, and levels are raised in a fixed order
until the budget is used up. The result lists what was shortened or left out. Names and descriptions are escaped, so
that the block parses back to exactly the skills that went in. Without skills the text is empty.
"""

from __future__ import annotations

from functools import partial
from itertools import chain

from prowess._internal.frozen import Frozen
from prowess._internal.text import did_you_mean, normalize_name, quoted
from prowess.catalog import State, entries_named

from ._prompt_text import FULL, MAX_RANKED, WRITERS, host_writer, is_shortened, visible_description, write_lines

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from prowess.catalog import Catalog, Entry
    from prowess.search import Index

FORMATS = ("xml", "markdown", "json")
LEVELS = ("off", "name-only", "short", "full", "pin")
"""How much of a skill may be shown at most, the least first; `pin` is `full` whatever the budget."""


class Prompt(Frozen):
    """The block a model gets, and which skills are in it."""

    text: str
    """Empty without skills to show."""
    shown: tuple[str, ...]
    """Names of the skills in the text, in its order, whatever their level."""
    shortened: tuple[str, ...]
    """The shown skills whose description was cut or left out."""
    omitted: tuple[str, ...]
    """Active skills that are not in the text."""
    chars: int
    """Unicode characters of the text."""
    tokens: int
    """An estimate, see `estimate_tokens`."""
    complete: bool = True
    """Whether the budget of `render` changed nothing."""

    def __str__(self) -> str:
        return self.text

    def as_dict(self) -> dict[str, object]:
        """Return the prompt in the shape of `prompt --json`."""
        names = {name: list(getattr(self, name)) for name in ("shown", "shortened", "omitted")}
        return {"text": self.text, **names, "chars": self.chars, "tokens": self.tokens}


def estimate_tokens(text: str) -> int:
    """Estimate the tokens of a text as one for four bytes of UTF-8, rounded up, without a model's tokenizer."""
    return -(-len(text.encode("utf-8", "replace")) // 4)


def render(
    catalog: Catalog,
    *,
    format: str | None = None,  # noqa: A002 - the option's own name
    budget: int | None = None,
    unit: str = "chars",
    levels: Mapping[str, str] | None = None,
    query: str | None = None,
    index: Index | None = None,
    locations: bool = True,
) -> Prompt:
    """Write the active skills of a catalog for a model.

    Args:
        catalog: of one host.
        format: `xml` (the agentskills.io shape), `markdown` or `json`; by default the host's own text, which for
            `prowess` is `xml`.
        budget: the most the text may take; `None` is no limit.
        unit: what the budget counts: `chars` (Unicode characters) or `tokens` (see `estimate_tokens`).
        levels: skill name to the most that may be shown of it, one of `LEVELS`.
        query: a user's message; if not all skills fit, those that it needs come first.
        index: the index of the catalog, if the caller has one.
        locations: whether the model opens files by their path. Otherwise paths are left out, except in a host's own
            text, and by default each skill is a line.

    Raises:
        ConfigError: the format, unit or a level is unknown, or the pinned skills alone exceed the budget.
    """
    levels = levels or {}
    _check_options(catalog, format, budget, unit, levels)
    host_rules = catalog.host_rules
    host_block = format is None and "template" in host_rules
    if host_block:
        write = host_writer(catalog)
    elif locations:
        write = WRITERS[format or "xml"]
    else:
        write = partial(WRITERS[format], locations=False) if format else write_lines
    measure = estimate_tokens if unit == "tokens" else len
    further: Sequence[str] = ()
    if budget is not None and hasattr(catalog.skills, "tables"):  # `ManySkills`, without loading it
        from ._many_prompt import first_entries

        entries, further, index = first_entries(catalog, write, budget, measure, levels, query, index)
        write = partial(write, further=len(further))
    else:
        entries = catalog.active
    ceilings = [min(LEVELS.index(levels.get(entry.name, "full")), FULL) for entry in entries]
    pinned = [levels.get(entry.name) == "pin" for entry in entries]
    plan = ceilings
    if budget is not None:
        searched = (query, index or catalog, host_block) if query is not None else None
        order, plan = plan_prompt(entries, ceilings, pinned, write, budget, measure, searched)
        entries, ceilings = tuple(entries[row] for row in order), [ceilings[row] for row in order]
    text = write(entries, plan)
    levels_shown = [(entry, level) for entry, level in zip(entries, plan, strict=True) if level]
    prompt = Prompt(
        text=text,
        shown=tuple(entry.name for entry, _ in levels_shown),
        shortened=tuple(
            entry.name
            for entry, level in levels_shown
            if is_shortened(entry, level) or ("budget" in host_rules and entry.rule == "budget")
        ),
        omitted=(*(entry.name for entry, level in zip(entries, plan, strict=True) if not level), *further),
        chars=len(text),
        tokens=estimate_tokens(text),
        complete=plan == ceilings and not further,
    )
    _clear_caches(host_block)
    return prompt


def _check_options(
    catalog: Catalog,
    form: str | None,
    budget: int | None,
    unit: str,
    levels: Mapping[str, str],
) -> None:
    """Check the arguments of `render`.

    Raises:
        ConfigError: one of them is invalid.
    """
    from prowess.errors import ConfigError  # only a wrong call needs it, and a small module counts at start-up

    for name, level in levels.items():
        if level not in LEVELS:
            hint = did_you_mean(level, LEVELS, "use one of " + ", ".join(LEVELS))
            raise ConfigError(f"{quoted(level)} is not a level of detail for {quoted(name)}", hint=hint)
    if unit not in ("chars", "tokens"):
        raise ConfigError(f"`{unit}` is not a unit", hint="use chars or tokens")
    if budget is not None and budget < 0:
        raise ConfigError("a budget cannot be negative")
    if form is not None and form not in FORMATS:
        raise ConfigError(f"`{form}` is not a format", hint="use one of " + ", ".join(FORMATS))
    unknown = [name for name in levels if not _is_active(catalog, name)]
    if unknown:
        names = (entry.name for entry in catalog.active)
        hint = did_you_mean(unknown[0], names, "`prowess list` shows all skills")
        raise ConfigError(f"no active skill is called {quoted(unknown[0])}", hint=hint)


def _is_active(catalog: Catalog, name: str) -> bool:
    named = entries_named(catalog.skills, normalize_name(name))
    return any(entry.name == name and entry.state is State.ACTIVE for entry in named)


def _clear_caches(host_block: bool) -> None:
    """Free what was cached for the plan: it may be large."""
    visible_description.cache_clear()
    if host_block:
        from prowess.hosts import clean_description

        clean_description.cache_clear()


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
    from prowess.search import Index, installed_ranker

    index = source if isinstance(source, Index) else Index(entries, source.readers, ranker=installed_ranker())
    rows = {entry.path: row for row, entry in enumerate(entries)}
    best = [rows[entry.path] for entry in index.best(message, MAX_RANKED) if entry.path in rows]
    if keep_order:
        return list(range(len(entries))), best
    first = [row for row, pin in enumerate(pinned) if pin]
    order = list(dict.fromkeys((*first, *best, *range(len(entries)))))
    places = {row: place for place, row in enumerate(order)}
    return order, [places[row] for row in best]


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
