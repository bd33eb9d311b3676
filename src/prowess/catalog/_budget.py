"""Shorten the entries of a catalog to the budget of their host.

The budget of a client counts the lines of its own template. The budget that a user gives is in `_prompt`.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from itertools import accumulate

from prowess._internal.frozen import EMPTY, Frozen
from prowess._internal.text import neutral
from prowess._internal.variable_paths import variable_path
from prowess.hosts import TEMPLATE_VALUES, RootAliases, escape_entities, measure_text, split_template

from ._entry import State

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from prowess.clients.settings import Settings
    from prowess.hosts import Host, ShortPathRules

    from ._entry import Entry


def with_user_budget(host: Host, settings: Settings, home: str, variables: Mapping[str, str]) -> Host:
    """Return the host with the budget that its user has set.

    Args:
        host: whose budget.
        settings: of its user.
        home: the user's home.
        variables: those that move the client's folders.
    """
    budget = host.budget
    if budget.short_paths is not None:
        own = variable_path(budget.short_paths.own, variables, home)
        budget = budget.with_changes(short_paths=budget.short_paths.with_changes(own=own))
    if settings.budget_limit is not None:
        budget = budget.with_changes(limit=settings.budget_limit)
    if not settings.bundled:
        budget = budget.with_changes(bundled=EMPTY)
    if settings.description_limit is not None:
        shown = host.description_rules.with_changes(limit=settings.description_limit)
        host = host.with_changes(description_rules=shown)
        cut = max(0, budget.reserved_text - settings.description_limit)
        budget = budget.with_changes(reserved=budget.reserved - cut)
    return host if budget is host.budget else host.with_changes(budget=budget)


def hide_all(host: Host, settings: Settings, entries: list[Entry], is_typed: Callable[[Entry], bool]) -> list[Entry]:
    """Hide all skills from the model, if the host's user has set so.

    Args:
        host: whose skills.
        settings: what its user has set.
        entries: the skills.
        is_typed: returns whether the user may type the name of a skill; others are not listed any more.
    """
    if not settings.catalog_off:
        return entries
    reason = f"{host.title} sends its model no skills, says {neutral(settings.catalog_off)}"
    listed: set[str] = set()
    result = []
    for entry in entries:
        if entry.state is State.ACTIVE:
            state = State.USER_ONLY if is_typed(entry) else State.REJECTED
            # A skill that only its user has took no name from this one, but the list has each name once.
            state = State.SHADOWED if entry.name in listed and not host.hidden_shadows else state
            entry = entry.with_changes(state=state, reason=reason, rule="settings")
        elif entry.state is State.USER_ONLY:
            listed.add(entry.name)
        result.append(entry)
    return result


def fit_to_budget(
    host: Host, entries: list[Entry], first_line: Callable[[Entry], str], roots: Iterable[str] = ()
) -> list[Entry]:
    """Shorten descriptions as the host does to fit its catalog into its budget.

    Args:
        host: whose budget.
        entries: all entries of its catalog, in the order in which it shows them.
        first_line: returns the first line of an entry's description.
        roots: the folders that it searches, in its order.
    """
    budget = host.budget
    result = [entry.with_changes(description="") if entry.rule == "name-only" else entry for entry in entries]
    active = [index for index, entry in enumerate(result) if entry.state is State.ACTIVE]
    if not budget.limit or not active:
        return result
    shown = [result[index] for index in active]
    if budget.degrade == "level":
        return _cut_evenly(host, result, active, roots)
    lines = _LineCosts(host, shown)
    full_costs = lines.full_costs()
    available = budget.limit - budget.reserved
    if sum(full_costs) <= available:
        return result
    if budget.degrade == "omit":
        return _leave_out_the_rest(host, result, active, full_costs, available)
    reason = f"shortened: {host.title} gives its catalog {budget.limit:,} {_UNITS[budget.unit]}"
    if budget.degrade == "first-line":
        cut = [first_line(entry) for entry in shown]
    else:
        name_only_costs = lines.name_only_costs() if budget.degrade == "name-only" else [0] * len(shown)
        fits = fit_in_order(full_costs, name_only_costs, available, greedy=budget.greedy)
        cut = [entry.description if fit else "" for entry, fit in zip(shown, fits, strict=True)]
    left = budget.rest_limit - len(host.template.rest.split("{names}")[0])
    for index, text in zip(active, cut, strict=True):
        if budget.rest_limit and not text and result[index].description:
            left -= len(result[index].name)
            if left < 0:
                result[index] = result[index].with_changes(state=State.USER_ONLY, reason=reason, rule="budget")
                continue
            left -= len(", ")
        if text != result[index].description:
            result[index] = result[index].with_changes(description=text, reason=reason, rule="budget")
    return result


def _leave_out_the_rest(
    host: Host, result: list[Entry], active: list[int], costs: Sequence[int], available: int
) -> list[Entry]:
    """Leave out the first entry that does not fit, and all after it."""
    reason = f"left out: {host.title} gives its catalog {host.budget.limit:,} {_UNITS[host.budget.unit]}"
    for index, total in zip(active, accumulate(costs), strict=True):
        if total > available:
            result[index] = result[index].with_changes(state=State.USER_ONLY, reason=reason, rule="budget")
    return result


def _cut_evenly(host: Host, result: list[Entry], active: list[int], roots: Iterable[str]) -> list[Entry]:
    """Cut all descriptions to the same length; if not even the names fit, leave out those that do not."""
    budget, shown = host.budget, [result[index] for index in active]
    available = budget.limit - budget.reserved
    plan = _LineCosts(host, shown).plan(available)
    if budget.short_paths is not None:
        short = ShortPaths(budget.short_paths, shown, roots, bundled=bool(budget.bundled))
        cost = short.table_cost(budget.unit)
        if cost < available:
            shorter = _LineCosts(host, shown, short).plan(available - cost)
            plan = min(plan, shorter, key=lambda plan: (-plan.included, plan.cut))
    reason = f"{host.title} gives its catalog {budget.limit:,} {_UNITS[budget.unit]}"
    for index, kept in zip(active, plan.kept, strict=True):
        text = result[index].description
        if kept is None:
            change = {"state": State.USER_ONLY, "reason": f"left out: {reason}", "rule": "budget"}
        elif kept < len(text):
            change = {"description": text[:kept], "reason": f"shortened: {reason}", "rule": "budget"}
        else:
            continue
        result[index] = result[index].with_changes(**change)
    return result


_UNITS = {"chars": "characters", "utf16": "characters", "bytes": "bytes", "width": "characters", "tokens": "tokens"}


class _Plan(Frozen):
    """How much of each description a catalog shows."""

    kept: list[int | None]
    """Characters; `None` for a skill that is left out."""
    included: int
    """How many lines it has, with those of the client's own skills."""
    cut: int
    """How many characters are left out."""


class _LineCosts:
    """The cost of each entry as a line of the host's own template: of its pattern and of what fills that."""

    def __init__(self, host: Host, entries: list[Entry], short_paths: ShortPaths | None = None) -> None:
        self.host, self.entries = host, entries
        rules, template = host.budget.short_paths, host.template
        # Tokens are counted for a whole line, as bytes.
        self._unit = "bytes" if host.budget.unit == "tokens" else host.budget.unit
        full, full_names = split_template(template.entry)
        name_only, other_names = split_template(template.name_only or template.entry)
        self._texts = full_names.count("description")
        """How often a line has the description."""
        roots = RootAliases(entry.root for entry in entries if "short_path" in full_names and rules is None)
        own_path = "" if rules is None else rules.own
        costs: dict[str, list[int]] = {"description": []}
        for name in {*full_names, *other_names} - {"description"}:
            value_of = TEMPLATE_VALUES.get(name, _no_value)
            if name != "short_path" or rules is None:
                values = [value_of(host, entry, roots) for entry in entries]
            else:
                values = [entry.path if short_paths is None else short_paths.shorten(entry) for entry in entries]
            for own in host.budget.bundled:
                path = os.path.join(own_path, own, "SKILL.md") if short_paths is None else short_paths.own(own)
                values.append({"name": own, "short_path": path}.get(name, ""))
            costs[name] = [self._measure(value) for value in values]
        count = len(entries) + len(host.budget.bundled)
        self._without_text = _sum_lists(measure_text(name_only, self._unit), [costs[n] for n in other_names], count)
        self._before_text = _sum_lists(measure_text(full, self._unit), [costs[n] for n in full_names], count)

    def _measure(self, text: str) -> int:
        return measure_text(escape_entities(text, self.host.template.escape), self._unit)

    def _in_tokens(self, size: int) -> int:
        return -(-size // 4) if self.host.budget.unit == "tokens" else size

    def full_costs(self) -> list[int]:
        costs = []
        for number, entry in enumerate(self.entries):
            if text := entry.description:
                costs.append(self._in_tokens(self._before_text[number] + self._texts * self._measure(text)))
            else:
                costs.append(self._in_tokens(self._without_text[number]))
        return costs

    def name_only_costs(self) -> list[int]:
        return [self._in_tokens(size) for size in self._without_text[: len(self.entries)]]

    def plan(self, available: int) -> _Plan:
        """Plan a catalog whose descriptions are all cut to the same length. The client's own skills come first."""
        own = list(self.host.budget.bundled.values())
        texts = ["x" * size for size in own] + [entry.description for entry in self.entries]
        count = len(self.entries)
        without_text = self._without_text[count:] + self._without_text[:count]
        before_text = self._before_text[count:] + self._before_text[:count]
        sizes = [_prefix_bytes(text) for text in texts]

        def cost(number: int, characters: int) -> int:
            size = before_text[number] + sizes[number](characters) if characters else without_text[number]
            return self._in_tokens(size)

        lengths = [len(text) for text in texts]
        kept: list[int | None] = [*lengths]
        if sum(map(cost, range(len(texts)), lengths)) > available:
            even = cut_evenly(lengths, cost, available)
            kept = [*even] if even is not None else _names_that_fit(map(self._in_tokens, without_text), available)
        cut = sum(length - (size or 0) for length, size in zip(lengths, kept, strict=True))
        return _Plan(kept=kept[len(own) :], included=sum(size is not None for size in kept), cut=cut)


def _no_value(_host: Host, _entry: Entry, _roots: RootAliases) -> str:
    """Return what a placeholder is filled with that no skill has a value for."""
    return ""


def _sum_lists(first: int, lists: list[list[int]], count: int) -> list[int]:
    """Return the sums of a number and the items at each place of some lists, of which empty ones do not count."""
    return [first + sum(items) for items in zip(*filter(None, lists), strict=True)] or [first] * count


def _names_that_fit(costs: Iterable[int], available: int) -> list[int | None]:
    """Return no characters for each line that fits without text, and `None` for others; a later one may fit."""
    kept: list[int | None] = []
    for cost in costs:
        fits = cost <= available
        available -= cost if fits else 0
        kept.append(0 if fits else None)
    return kept


def _prefix_bytes(text: str) -> Callable[[int], int]:
    """Return a function that gives the bytes of the first characters of a text."""
    if text.isascii():
        return lambda count: count
    whole = len(text.encode("utf-8", "replace"))
    sizes: list[int] = []

    def size(count: int) -> int:
        if count >= len(text):
            return whole
        if not sizes:
            # Few texts are cut at all.
            sizes.extend(accumulate((len(c.encode("utf-8", "replace")) for c in text), initial=0))
        return sizes[count]

    return size


def fit_in_order(full: Sequence[int], name_only: Sequence[int], available: int, *, greedy: bool = False) -> list[bool]:
    """Return which entries can be shown in full, in their order, if all others show their name.

    Args:
        full: the cost of each entry in full.
        name_only: the cost of each entry reduced to its name; no more than its `full`.
        available: the limit for all of them.
        greedy: whether later, shorter entries may use the room of an entry that does not fit.

    Returns:
        For each entry whether it is shown in full. Unless `greedy`, no entry after the first that does not fit is.
    """
    remaining = available - sum(name_only)
    shown: list[bool] = []
    for whole, part in zip(full, name_only, strict=True):
        fits = whole - part <= remaining and (greedy or not shown or shown[-1])
        shown.append(fits)
        remaining -= whole - part if fits else 0
    return shown


def cut_evenly(lengths: Sequence[int], cost: Callable[[int, int], int], available: int) -> list[int] | None:
    """Cut texts evenly: in each round every text gets one more character, as long as the total fits.

    Args:
        lengths: the length of each text in characters.
        cost: returns the cost of an entry, by its number, with a number of characters of its text.
        available: the limit for all of them.

    Returns:
        The characters that each text keeps, or `None` if the entries do not fit even without text.
    """
    kept = [0] * len(lengths)
    costs = [cost(index, 0) for index in range(len(lengths))]
    remaining = available - sum(costs)
    if remaining < 0:
        return None
    growing = [index for index, length in enumerate(lengths) if length]
    while growing:
        next_growing = []
        for index in growing:
            new_cost = cost(index, kept[index] + 1)
            if new_cost - costs[index] <= remaining:
                remaining -= new_cost - costs[index]
                costs[index] = new_cost
                kept[index] += 1
                if kept[index] < lengths[index]:
                    next_growing.append(index)
        # A text that does not fit now will not fit later: the room only shrinks.
        growing = next_growing
    return kept


# ── short paths ──────────────────────────────────────────────────────────────────────────────────────────────────────


class ShortPaths:
    """The short paths of the skills of one catalog."""

    def __init__(self, rules: ShortPathRules, entries: Sequence[Entry], roots: Iterable[str], *, bundled: bool) -> None:
        """Give each folder that paths begin with a number.

        Args:
            rules: the client's.
            entries: the skills of the catalog.
            roots: the folders that the client searches, in its order.
            bundled: whether the client shows skills of its own.
        """
        self._rules = rules
        bases = {entry.root: self._plugin(entry.root) for entry in entries}
        counts = Counter(base[0] for entry in entries if (base := bases[entry.root]))
        self._beginnings = {root: base[1] if base and counts[base[0]] == 1 else root for root, base in bases.items()}
        own = [rules.own] if bundled else []
        used = [*own, *(self._beginnings[root] for root in dict.fromkeys([*roots, *bases]) if root in bases)]
        self._numbers = {folder: number for number, folder in enumerate(dict.fromkeys(used))}

    def _plugin(self, root: str) -> tuple[str, str] | None:
        """Return the folder of the plugin that a root belongs to, and the folder that its plugins share."""
        match = re.match(self._rules.shared, root + os.sep) if self._rules.shared else None
        return (match[0], match[1]) if match else None

    def shorten(self, entry: Entry) -> str:
        """Return the path of a skill, beginning with the number of its folder if it is in there."""
        folder = self._beginnings[entry.root]
        prefix = os.path.join(folder, "")
        if not entry.path.startswith(prefix):
            return entry.path
        inside = entry.path[len(prefix) :]
        if inside.startswith((".", os.sep)) or f"{os.sep}{os.sep}" in inside or f"{os.sep}." in inside:
            inside = os.path.relpath(entry.path, folder)
        return f"r{self._numbers[folder]}/{inside}"

    def own(self, name: str) -> str:
        """Return the path of a skill of the client itself."""
        return f"r{self._numbers.get(self._rules.own, 0)}/{name}/SKILL.md"

    def table_cost(self, unit: str) -> int:
        """Return how much more the catalog costs with the table."""
        lines = "".join(f"- `r{number}` = `{folder}`\n" for folder, number in self._numbers.items())
        with_table = measure_text("x" * self._rules.text_with_table + lines, unit)
        return max(with_table - measure_text("x" * self._rules.text_without_table, unit), 0)
