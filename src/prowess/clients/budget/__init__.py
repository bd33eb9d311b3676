"""Shorten a catalog to the budget of a client: what the lines of its skills cost, and how much of them fits."""

from __future__ import annotations

from prowess.hosts import TEMPLATE_VALUES, RootAliases, escape_entities, measure_text, split_template

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from prowess.clients.settings import Settings
    from prowess.hosts import Host, ShownSkill

__all__ = ["LineCosts", "ModelCatalog", "cut_evenly", "fit_in_order", "shorten"]


class ModelCatalog:
    """The skills that a model is to see, and what decides how much of them fits."""

    __slots__ = ("expand", "first_lines", "host", "roots", "settings", "skills")

    def __init__(
        self,
        host: Host,
        skills: Sequence[ShownSkill],
        settings: Settings,
        *,
        roots: Sequence[str],
        first_lines: Callable[[], list[str]],
        expand: Callable[[str], str],
    ) -> None:
        """Keep what a client's function needs.

        Args:
            host: the client's rules, with the limit that its user has set.
            skills: in the order in which the client shows them.
            settings: of its user.
            roots: the folders that it searches, in its order.
            first_lines: returns the first line of each description.
            expand: returns where a path of a host file is on this machine.
        """
        self.host, self.skills, self.settings = host, skills, settings
        self.roots, self.first_lines, self.expand = roots, first_lines, expand

    @property
    def available(self) -> int:
        """What the budget leaves for the skills, in the client's unit."""
        return self.host.budget.limit - self.host.budget.reserved

    def descriptions(self) -> list[str | None]:
        """Return the descriptions as they are."""
        return [skill.description for skill in self.skills]

    def described_in_order(self, available: int, *, names_cost: bool, greedy: bool = False) -> list[str | None]:
        """Return the descriptions that fit, in their order; others are empty.

        Args:
            available: for all of them.
            names_cost: whether a skill without its description costs something.
            greedy: whether later, shorter ones may use the room of one that does not fit.
        """
        lines = LineCosts(self.host, self.skills)
        full = lines.full()
        if sum(full) <= available:
            return self.descriptions()
        fits = fit_in_order(full, lines.without_text() if names_cost else [0] * len(full), available, greedy=greedy)
        return [skill.description if fit else "" for skill, fit in zip(self.skills, fits, strict=True)]


def shorten(catalog: ModelCatalog) -> list[str | None]:
    """Return the description of each skill as its catalog shows it; `None` for a skill that the client leaves out."""
    return catalog.descriptions()


class LineCosts:
    """The cost of each skill as a line of the client's own template: of its pattern and of what fills that."""

    def __init__(
        self, host: Host, skills: Sequence[ShownSkill], short_path: Callable[[ShownSkill], str] | None = None
    ) -> None:
        """Measure everything but the descriptions.

        Args:
            host: the client's rules.
            skills: those of the catalog.
            short_path: returns the path of a skill in the catalog, if the client has a way of its own.
        """
        self.host, self.skills = host, skills
        # Tokens are counted for a whole line, as bytes.
        self._unit = "bytes" if host.budget.unit == "tokens" else host.budget.unit
        full, full_names = split_template(host.template.entry)
        name_only, other_names = split_template(host.template.name_only or host.template.entry)
        self._texts = full_names.count("description")
        """How often a line has the description."""
        own = {"short_path": short_path} if short_path is not None else {}
        roots = RootAliases(skill.root for skill in skills if "short_path" in full_names and not own)
        costs: dict[str, list[int]] = {"description": []}
        for name in {*full_names, *other_names} - {"description"}:
            if name in own:
                values = list(map(own[name], skills))
            else:
                value_of = TEMPLATE_VALUES.get(name, _no_value)
                values = [value_of(host, skill, roots) for skill in skills]
            costs[name] = [self._measure(value) for value in values]
        self._without_text = _sum_lists(measure_text(name_only, self._unit), [costs[n] for n in other_names], skills)
        self._before_text = _sum_lists(measure_text(full, self._unit), [costs[n] for n in full_names], skills)

    def _measure(self, text: str) -> int:
        return measure_text(escape_entities(text, self.host.template.escape), self._unit)

    def _in_tokens(self, size: int) -> int:
        return -(-size // 4) if self.host.budget.unit == "tokens" else size

    def full(self) -> list[int]:
        """Return the cost of each line with the whole description."""
        costs = []
        for number, skill in enumerate(self.skills):
            if text := skill.description:
                costs.append(self._in_tokens(self._before_text[number] + self._texts * self._measure(text)))
            else:
                costs.append(self._in_tokens(self._without_text[number]))
        return costs

    def without_text(self) -> list[int]:
        """Return the cost of each line without description."""
        return list(map(self._in_tokens, self._without_text))

    def with_text(self, number: int, size: int) -> int:
        """Return the cost of a line with a description of some bytes."""
        return self._in_tokens(self._before_text[number] + size if size else self._without_text[number])


def _no_value(_host: Host, _skill: ShownSkill, _roots: RootAliases) -> str:
    """Return what a placeholder is filled with that no skill has a value for."""
    return ""


def _sum_lists(first: int, lists: list[list[int]], skills: Sequence[ShownSkill]) -> list[int]:
    """Return the sums of a number and the items at each place of some lists, of which empty ones do not count."""
    return [first + sum(items) for items in zip(*filter(None, lists), strict=True)] or [first] * len(skills)


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
