"""Choose the skills of a block by the message of a user: which are named, which are described, and what is said.

The search is often right only among the first twenty, so many are named and few are described. Skills whose names are
alike are described together, since only the model can choose among them.
"""

from __future__ import annotations

import re

from prowess._internal.frozen import Frozen

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from prowess.catalog import Catalog, Entry
    from prowess.search import Index

_LEAST_CHARS = 16
"""Characters that a named skill takes at least, so that more of them are not ranked than a budget can name."""
_LEAST_RANKED = 32
_CHUNK, _DESCRIBED = 24, 4
"""Of so many skills, the first few are described before the others are named."""
_MOST_SIBLINGS = 4
"""Skills that are described since their names are like those of the first few."""
_HARDLY, _LEAST_UNKNOWN = 0.25, 3
"""The share of its words up to which hardly a word of a message is known, and how many words it lacks at least."""
_NAME, _SHORT, _FULL = 1, 2, 3
_split_name = re.compile(r"[^\W_]+").findall


def most_ranked(budget: int, unit: str) -> int:
    """Return how many skills are ranked for a block.

    Args:
        budget: the most that the block may take.
        unit: `chars` or `tokens`, of four characters.
    """
    return max(_LEAST_RANKED, budget * (4 if unit == "tokens" else 1) // _LEAST_CHARS)


class Choice(Frozen):
    """What a message chooses. Numbers are those in `order`."""

    order: list[int]
    """The numbers of all entries, in the order in which to write them."""
    ranked: list[int]
    """The skills that the message needs, best first."""
    steps: list[tuple[int, int]]
    """Their levels, in the order in which they are raised: a number and a level."""
    note: str
    """What the block says of the message; mostly nothing."""


def choose_skills(
    entries: Sequence[Entry],
    pinned: Sequence[bool],
    message: str,
    source: Index | Catalog,
    limit: int,
    *,
    keep_order: bool,
) -> Choice:
    """Choose the skills that a message needs.

    Args:
        entries: in the order of the catalog.
        pinned: which of them are shown in any case; they come first.
        message: of the user.
        source: the index of the catalog, or the catalog.
        limit: skills at most.
        keep_order: whether the order of the catalog stays, as in a text of a client.
    """
    from prowess.search import Index, installed_ranker

    index = source if isinstance(source, Index) else Index(entries, source.readers, ranker=installed_ranker())
    rows = {entry.path: row for row, entry in enumerate(entries)}
    best = [rows[entry.path] for entry in index.best(message, limit) if entry.path in rows]
    order = list(range(len(entries)))
    if not keep_order:
        first = [row for row, pin in enumerate(pinned) if pin]
        order = list(dict.fromkeys((*first, *with_siblings(best, entries), *order)))
    places = {row: place for place, row in enumerate(order)}
    steps = [(places[row], level) for row, level in needed_steps(best, entries)]
    return Choice(order=order, ranked=[places[row] for row in best], steps=steps, note=_note_on(message, index))


def _note_on(message: str, index: Index) -> str:
    """Return that hardly a word of a message is known, and in which language to search; empty if that is not so."""
    known, unknown = index.count_known(message)
    if unknown < _LEAST_UNKNOWN or known > _HARDLY * (known + unknown):
        return ""
    languages = index.languages()
    words = f"words in {' or '.join(languages)}" if languages else "other words"
    return f"Hardly a word of this message is in a skill: search_skills finds more with {words}"


def with_siblings(ranked: Sequence[int], entries: Sequence[Entry]) -> list[int]:
    """Return ranked skills, of the first ones each with those after it that have a similar name."""
    words = [_split_name(entries[row].name.lower()) for row in ranked]
    order: list[int] = []
    rest = list(range(len(ranked)))
    while rest and len(order) < _CHUNK:
        first = rest.pop(0)
        near = [other for other in rest if other < _CHUNK and _are_siblings(words[first], words[other])]
        order += [first, *near]
        rest = [other for other in rest if other not in near]
    return [ranked[place] for place in (*order, *rest)]


def _are_siblings(one: Sequence[str], other: Sequence[str]) -> bool:
    """Return whether two names have the first word in common, or two words."""
    return one[:1] == other[:1] or len({*one} & {*other}) > 1


def needed_steps(ranked: Sequence[int], entries: Sequence[Entry]) -> Iterator[tuple[int, int]]:
    """Yield the steps for the skills that a message needs: a number and a level.

    Of each twenty-four, the best four get a short description before the others are named. All are named before one
    more is described, and all are described in short before one is in full: the right one is often not the best.

    Args:
        ranked: their numbers, best first.
        entries: all skills.
    """
    for start in range(0, len(ranked), _CHUNK):
        chunk = ranked[start : start + _CHUNK]
        described = list(chunk[:_DESCRIBED])
        if not start:
            words = {row: _split_name(entries[row].name.lower()) for row in chunk}
            near = (
                row for row in chunk[_DESCRIBED:] if any(_are_siblings(words[row], words[one]) for one in described)
            )
            described += [row for row, _ in zip(near, range(_MOST_SIBLINGS), strict=False)]
        for row in described:
            yield row, _NAME
            yield row, _SHORT
        for row in chunk:
            yield row, _NAME
    for level in (_SHORT, _FULL):
        for row in ranked:
            yield row, level
