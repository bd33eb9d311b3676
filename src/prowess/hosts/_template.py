"""Fill the templates of a host: the text that its model gets, and the length of each line for the budget."""

from __future__ import annotations

import os
import re
from functools import cache, lru_cache

from prowess._internal.text import display_width, neutral, without_hidden

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Protocol

    from ._schema import Host

    class ShownSkill(Protocol):
        """A skill as a catalog shows it."""

        @property
        def name(self) -> str: ...
        @property
        def alias(self) -> str | None: ...
        @property
        def description(self) -> str: ...
        @property
        def path(self) -> str: ...
        @property
        def root(self) -> str: ...
        @property
        def scope(self) -> str: ...

else:
    ShownSkill = object  # only type checkers need it, and `typing` takes long to load

_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&apos;"}


@cache
def _entity_table(characters: str) -> dict[int, str]:
    return {ord(c): _ENTITIES[c] for c in characters}


def escape_entities(text: str, characters: str) -> str:
    """Return a text with the given characters as XML entities."""
    # Looking for them takes less time than translating, and most texts contain no such character.
    return text.translate(_entity_table(characters)) if any(map(text.__contains__, characters)) else text


def measure_text(text: str, unit: str) -> int:
    """Return the length of a text.

    Args:
        text: any text.
        unit: `chars` (Unicode), `utf16` (units of UTF-16), `bytes` (of UTF-8), `tokens` (four bytes) or `width` (cells
            of a terminal).
    """
    if unit == "chars":
        return len(text)
    if unit == "utf16":
        return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2
    if unit == "width":
        return display_width(text)
    size = len(text) if text.isascii() else len(text.encode("utf-8", "replace"))
    return size if unit == "bytes" else -(-size // 4)


_PUNCTUATION = "_-,;:!?.'\"()[]{}@*/\\&#%`^+<=>|~$"


def collation_key(name: str) -> tuple[tuple[tuple[int, int, str], ...], str, str]:
    """Return a key that sorts as in a dictionary: punctuation, digits, letters; then accents; then case."""
    if name.isascii():
        return tuple(map(_collation_rank, name)), name.lower(), name.swapcase()
    import unicodedata

    decomposed = unicodedata.normalize("NFD", name)
    without_accents = (c for c in decomposed if not unicodedata.combining(c))
    return tuple(map(_collation_rank, without_accents)), decomposed.casefold(), name.swapcase()


@lru_cache(maxsize=1024)
def _collation_rank(character: str) -> tuple[int, int, str]:
    if character.isalpha():
        return 2, 0, character.casefold()
    if character.isdigit():
        return 1, 0, character
    place = _PUNCTUATION.find(character)
    return 0, place if place >= 0 or character.isspace() else len(_PUNCTUATION), character


class RootAliases:
    """The short names `r0`, `r1`, ... of the roots with a skill in the catalog, in order."""

    def __init__(self, roots: Iterable[str]) -> None:
        self._numbers = {root: number for number, root in enumerate(dict.fromkeys(roots))}

    def shorten_path(self, path: str, root: str) -> str:
        """Return a path that begins with the short name of its root."""
        inside = path[len(root) + 1 :] if path.startswith(f"{root}{os.sep}") else os.path.relpath(path, root)
        return f"r{self._numbers.get(root, 0)}/{inside}"

    def table(self) -> str:
        """Return a line for each short name and its root."""
        return "".join(f"- `r{number}` = `{neutral(root)}`\n" for root, number in self._numbers.items())


@lru_cache(maxsize=16384)
def clean_description(description: str) -> str:
    """Return a text without hidden characters, line by line. It is cached: planning a prompt needs it many times."""
    return "\n".join(without_hidden(line) for line in description.split("\n"))


TEMPLATE_VALUES: Mapping[str, Callable[[Host, ShownSkill, RootAliases], str]] = {
    "name": lambda _host, skill, _roots: without_hidden(skill.name),
    "alias": lambda _host, skill, _roots: f" ({without_hidden(alias)})" if (alias := skill.alias) else "",
    "description": lambda _host, skill, _roots: clean_description(skill.description),
    "path": lambda _host, skill, _roots: neutral(skill.path),
    "short_path": lambda _host, skill, roots: neutral(roots.shorten_path(skill.path, skill.root)),
    "scope": lambda host, skill, _roots: host.scope_words.get(skill.scope, skill.scope),
}
"""Functions that return the values of the placeholders for one skill.

Hidden characters are removed: a client may pass them to its model, Prowess does not."""


@cache
def _placeholder_pattern() -> re.Pattern[str]:
    return re.compile(r"\{(name|alias|description|when_line|path|short_path|scope|roots|names)\}")


def fill_template(pattern: str, values: Mapping[str, str], escape: str = "") -> str:
    """Return a pattern with its placeholders filled, in one pass: braces in a value are never a placeholder."""
    return _placeholder_pattern().sub(lambda match: escape_entities(values.get(match[1], ""), escape), pattern)


@cache
def split_template(pattern: str) -> tuple[str, tuple[str, ...]]:
    """Return a pattern without its placeholders, and the names of these."""
    pieces = _placeholder_pattern().split(pattern)
    return "".join(pieces[::2]), tuple(pieces[1::2])
