"""Descriptions that pass the check, for those who write one: `descriptions.txt` has them."""

from __future__ import annotations

from functools import lru_cache

from prowess._internal.frozen import Frozen
from prowess.search import generic_terms, ordered_terms


class ExampleDescription(Frozen):
    """A description that passes."""

    name: str
    description: str


@lru_cache(maxsize=1)
def example_descriptions() -> tuple[ExampleDescription, ...]:
    """Return all of them, in their order."""
    from pkgutil import get_data

    text = (get_data(__package__, "descriptions.txt") or b"").decode()
    pairs = (line.split(": ", 1) for line in text.split("\n\n", 1)[1].splitlines())
    return tuple(ExampleDescription(name=name, description=description) for name, description in pairs)


def similar_descriptions(text: str, count: int = 3) -> tuple[ExampleDescription, ...]:
    """Return the examples that share most words with a text, such as a description and its body; else the first.

    Args:
        text: of a skill.
        count: examples to return.
    """
    wanted = set(ordered_terms(text, whole=False)) - generic_terms()

    def shared(example: ExampleDescription) -> int:
        words = f"{example.name.replace('-', ' ')} {example.description}"
        return len(wanted.intersection(ordered_terms(words, whole=False)))

    return tuple(sorted(example_descriptions(), key=shared, reverse=True)[:count])
