"""Choose the entries of a catalog of very many skills that a prompt within a budget can show at all."""

from __future__ import annotations

from itertools import islice

from prowess._internal.text import normalize_name
from prowess.catalog import State
from prowess.search import Index

from ._prompt_text import NAME

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from prowess.catalog import Catalog, Entry

    from ._prompt_text import Writer

_FIRST = 64
_ACTIVE = (State.ACTIVE,)


def first_entries(
    catalog: Catalog,
    write: Writer,
    budget: int,
    measure: Callable[[str], int],
    levels: Mapping[str, str],
    query: str | None,
    index: Index | None,
    ranked: int,
) -> tuple[tuple[Entry, ...], list[str], Index | None]:
    """Return the entries that a prompt may show, the names of all further active skills, and the index of all.

    Skills are shown by name in the order of the catalog before more is shown of any, but for those with a level of
    their own and those that a message needs. So all others after those whose names alone fill the budget are left out.

    Args:
        catalog: whose `skills` are `ManySkills`.
        write: returns the text of some entries.
        budget: the most the text may take.
        measure: returns the size of a text.
        levels: as for `render`.
        query: a user's message.
        index: the index of the catalog, if the caller has one.
        ranked: skills that are ranked for the message, at most.
    """
    skills = catalog.skills
    active = (entry for entry in skills if entry.state is State.ACTIVE)
    entries: list[Entry] = []
    while more := [*islice(active, max(_FIRST, len(entries)))]:
        entries += more
        if measure(write(entries, [NAME] * len(entries))) > budget:
            break
    wanted: list[Entry] = []
    for name in levels:
        wanted += skills.named(normalize_name(name))  # type: ignore[attr-defined]
    if query is not None:
        index = index or Index(skills, catalog.readers, states=_ACTIVE)
        wanted += index.best(query, ranked)
    known = {entry.path for entry in entries}
    for entry in wanted:
        if entry.state is State.ACTIVE and entry.path not in known:
            known.add(entry.path)
            entries.append(entry)
    return tuple(entries), _further_names(skills, entries), index


def _further_names(skills: Sequence[Entry], entries: Sequence[Entry]) -> list[str]:
    """Return the names of the active skills that are not among some entries."""
    shown: dict[str, int] = {}
    for entry in entries:
        shown[entry.name] = shown.get(entry.name, 0) + 1
    names = []
    for name in skills.active_names():  # type: ignore[attr-defined]
        if shown.get(name):
            shown[name] -= 1
        else:
            names.append(name)
    return names
