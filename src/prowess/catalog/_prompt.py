"""Write the block that tells a model which skills there are, under a budget.

The block is planned before it is written: every skill has a level of detail, and levels are raised in a fixed order
until the budget is used up. The result lists what was shortened or left out. Names and descriptions are escaped, so
that the block parses back to exactly the skills that went in. Without skills the text is empty.
"""

from __future__ import annotations

from functools import partial

from prowess._internal.frozen import Frozen
from prowess._internal.text import did_you_mean, normalize_name, quoted

from ._catalog import entries_named
from ._entry import State
from ._prompt_text import FULL, WRITERS, host_writer, is_shortened, visible_description

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ._catalog import Catalog
    from ._search import Index

__all__ = ["FORMATS", "LEVELS", "Prompt", "estimate_tokens", "render"]

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

    Raises:
        ConfigError: the format, unit or a level is unknown, or the pinned skills alone exceed the budget.
    """
    levels = levels or {}
    _check_options(catalog, format, budget, unit, levels)
    host_rules = catalog.host_rules
    host_block = format is None and "template" in host_rules
    write = host_writer(catalog) if host_block else WRITERS[format or "xml"]
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
        from ._chosen import plan_prompt

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
