"""Shorten the entries of a catalog to the budget of their host.

What a client does with its budget is in `clients/budget` and its own module. The budget that a user gives is in
`prompt/`.
"""

from __future__ import annotations

from prowess._internal.text import neutral
from prowess.clients import of_client
from prowess.clients.budget import ModelCatalog, shorten

from ._entry import State

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from prowess.clients.settings import Settings
    from prowess.hosts import Host

    from ._entry import Entry


def hidden_skills_take_names() -> bool:
    """Return whether a skill that the model does not see yet, or at all, keeps others of its name from it."""
    return True


def with_user_budget(host: Host, settings: Settings) -> Host:
    """Return the host with the limits that its user has set."""
    if settings.budget_limit is not None:
        host = host.with_changes(budget=host.budget.with_changes(limit=settings.budget_limit))
    if settings.description_limit is not None:
        shown = host.description_rules.with_changes(limit=settings.description_limit)
        host = host.with_changes(description_rules=shown)
    return host


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
    take_names = of_client(host.name, hidden_skills_take_names)()
    listed: set[str] = set()
    result = []
    for entry in entries:
        if entry.state is State.ACTIVE:
            state = State.USER_ONLY if is_typed(entry) else State.REJECTED
            # A skill that only its user has took no name from this one, but the list has each name once.
            state = State.SHADOWED if entry.name in listed and not take_names else state
            entry = entry.with_changes(state=state, reason=reason, rule="settings")
        elif entry.state is State.USER_ONLY:
            listed.add(entry.name)
        result.append(entry)
    return result


def fit_to_budget(
    host: Host,
    entries: list[Entry],
    settings: Settings,
    *,
    roots: Sequence[str],
    first_line: Callable[[Entry], str],
    expand: Callable[[str], str],
) -> list[Entry]:
    """Shorten descriptions as the host does to fit its catalog into its budget.

    Args:
        host: whose budget.
        entries: all entries of its catalog, in the order in which it shows them.
        settings: of its user.
        roots: the folders that it searches, in its order.
        first_line: returns the first line of an entry's description.
        expand: returns where a path of a host file is on this machine.
    """
    budget = host.budget
    result = [entry.with_changes(description="") if entry.rule == "name-only" else entry for entry in entries]
    active = [index for index, entry in enumerate(result) if entry.state is State.ACTIVE]
    if not budget.limit or not active:
        return result
    shown = [result[index] for index in active]
    catalog = ModelCatalog(
        host, shown, settings, roots=roots, first_lines=lambda: [*map(first_line, shown)], expand=expand
    )
    reason = f"{host.title} gives its catalog {budget.limit:,} {_UNITS[budget.unit]}"
    for index, text in zip(active, of_client(host.name, shorten)(catalog), strict=True):
        if text is None:
            change = {"state": State.USER_ONLY, "reason": f"left out: {reason}", "rule": "budget"}
        elif text != result[index].description:
            change = {"description": text, "reason": f"shortened: {reason}", "rule": "budget"}
        else:
            continue
        result[index] = result[index].with_changes(**change)
    return result


_UNITS = {"chars": "characters", "utf16": "characters", "bytes": "bytes", "width": "characters", "tokens": "tokens"}
