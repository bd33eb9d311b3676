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

from ._chosen import choose_skills, most_ranked
from ._prompt_text import FULL, WRITERS, host_writer, is_shortened, visible_description, write_lines

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from prowess.catalog import Catalog, Entry
    from prowess.search import Index

    from ._chosen import Choice
    from ._prompt_text import Writer

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

        entries, further, index = first_entries(
            catalog, write, budget, measure, levels, query, index, most_ranked(budget, unit)
        )
        write = partial(write, further=len(further))
    else:
        entries = catalog.active
    ceilings = [min(LEVELS.index(levels.get(entry.name, "full")), FULL) for entry in entries]
    pinned = [levels.get(entry.name) == "pin" for entry in entries]
    plan = ceilings
    if budget is not None:
        chosen = None
        if query is not None:
            chosen = partial(
                choose_skills,
                entries,
                pinned,
                query,
                index or catalog,
                most_ranked(budget, unit),
                keep_order=host_block,
            )
        order, plan, note = plan_prompt(entries, ceilings, pinned, write, budget, measure, chosen)
        entries, ceilings = tuple(entries[row] for row in order), [ceilings[row] for row in order]
        write = partial(write, note=note) if note else write
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
    write: Writer,
    budget: int,
    measure: Callable[[str], int],
    choose: Callable[[], Choice] | None,
) -> tuple[list[int], list[int], str]:
    """Return the order in which to write entries, the level of each in that order, and what is said of the message.

    Args:
        entries: in the order of the catalog.
        ceilings: the most that may be shown of each.
        pinned: which of them are shown in any case.
        write: returns the text of some entries.
        budget: the most the text may take.
        measure: returns the size of a text.
        choose: chooses by the message of a user; `None` without message.

    Raises:
        ConfigError: the pinned skills alone exceed the budget.
    """
    plan = plan_levels(ceilings, pinned, lambda levels: write(entries, levels), budget, measure)
    if choose is None or plan == ceilings:
        return list(range(len(entries))), plan, ""
    choice = choose()
    order, note = choice.order, choice.note
    written = [entries[row] for row in order]
    highest = [ceilings[row] for row in order]
    stay = [pinned[row] for row in order]
    if note:
        # What the message does not ask for would fill the block.
        needed = {*choice.ranked}
        highest = [top if stay[row] or row in needed else 0 for row, top in enumerate(highest)]
        least = write(written, [top if pin else 0 for top, pin in zip(highest, stay, strict=True)], note=note)
        note = note if measure(least) <= budget else ""
        write = partial(write, note=note)
    plan = plan_levels(highest, stay, lambda levels: write(written, levels), budget, measure, choice.steps)
    return order, plan, note


_NOTE_SIZE = 200
"""More than the size of the last line, which counts what is not shown, in any unit."""


def plan_levels(
    ceilings: Sequence[int],
    pinned: Sequence[bool],
    write: Callable[[Sequence[int]], str],
    budget: int,
    measure: Callable[[str], int],
    first: Sequence[tuple[int, int]] = (),
) -> list[int]:
    """Choose a level of detail for every skill; level 0 shows nothing.

    Levels are raised in one fixed order of steps: pinned skills in full; then those that a message needs
    (`needed_steps`); then every skill by name, in the catalog's order; then every skill in short; then in full. The
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
        first: the steps before all others, each a number and a level.

    Raises:
        ConfigError: the pinned skills alone exceed the budget.
    """
    floor = [ceiling if pin else 0 for ceiling, pin in zip(ceilings, pinned, strict=True)]
    by_level = ((index, level) for level in range(1, max(ceilings, default=0) + 1) for index in range(len(ceilings)))
    steps = [
        (index, level)
        for index, level in dict.fromkeys(chain(first, by_level))
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
