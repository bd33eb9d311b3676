"""Match one part of a path with choices such as `+(a|b*)`, in bounded time: at all places at once."""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    Item = str | re.Pattern[str] | tuple[str, list[list["Item"]]]
    """A star, an expression for one character, or the sign of a choice with its alternatives."""

__all__ = ["CHOICE", "PartWithChoices"]

CHOICE = re.compile(r"[@!?*+]\(")
_MAX_STEPS = 20_000
"""Items that are compared with a name; a name that needs more does not match."""


class PartWithChoices:
    """A part of a glob that has choices.

    Args:
        part: the part.
        tokens: returns the expressions of characters from a place up to a choice or one of `until`, and where that is.
    """

    def __init__(self, part: str, tokens: Callable[..., tuple[list[str], int]]) -> None:
        self._part, self._tokens = part, tokens
        self._unclosed: set[int] = set()
        self._items, _ = self._parse(0, "")
        self._hidden = part.startswith((".", "\\."))
        self._steps_left = 0

    def _parse(self, start: int, until: str) -> tuple[list[Item], int]:
        """Return the items up to one of `until`, and where that is."""
        part, index = self._part, start
        items: list[Item] = []
        while index < len(part) and part[index] not in until:
            if not CHOICE.match(part, index):
                tokens, index = self._tokens(part, index, until=until or "\0")
                items += [text if text == "*" else re.compile(text, re.DOTALL) for text in tokens]
                continue
            sign, alternatives, end = part[index], [], index + 1
            while index not in self._unclosed and end < len(part) and part[end] in "(|":
                inner, end = self._parse(end + 1, "|)")
                alternatives.append(inner)
            if index in self._unclosed or end >= len(part):  # it is text
                self._unclosed.add(index)
                items.append(re.compile(re.escape(sign)))
                index += 1
            else:
                items.append((sign, alternatives))
                index = end + 1
        return items, index

    def match(self, name: str) -> bool | None:
        """Return `True` if the name matches as a whole, otherwise `None`, as an expression does."""
        if not name or name in (".", "..") or (name.startswith(".") and not self._hidden):
            return None
        self._steps_left = _MAX_STEPS
        try:
            return True if len(name) in self._ends(self._items, name, {0}) else None
        except (RecursionError, TimeoutError):
            return None

    def _ends(self, items: Sequence[Item], name: str, starts: Iterable[int]) -> set[int]:
        """Return where the items may end if they start at one of these places."""
        places = set(starts)
        for index, item in enumerate(items):
            self._steps_left -= 1
            if self._steps_left < 0:
                raise TimeoutError
            if not places:
                break
            if item == "*":
                places = set(range(min(places), len(name) + 1))
            elif isinstance(item, re.Pattern):
                places = {place + 1 for place in places if item.match(name, place)}
            else:
                places = self._chosen(item[0], item[1], items[index + 1 :], name, places)
        return places

    def _chosen(
        self, sign: str, alternatives: Sequence[Sequence[Item]], rest: Sequence[Item], name: str, places: set[int]
    ) -> set[int]:
        """Return where a choice may end."""

        def once(starts: set[int]) -> set[int]:
            return {end for items in alternatives for end in self._ends(items, name, starts)}

        if sign == "!":
            # What follows must not match after one of the alternatives, but it may after anything else.
            free = [place for place in places if len(name) not in self._ends(rest, name, once({place}))]
            return set(range(min(free), len(name) + 1)) if free else set()
        if sign in "@?":
            return once(places) | (places if sign == "?" else set())
        found, new = places if sign == "*" else set(), places
        while new:
            new = once(new) - found
            found = found | new
        return found
