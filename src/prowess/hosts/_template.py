"""skill + a host's template -> the text its model gets

One place fills templates, for the prompt that is shown and for the budget that is counted: what a client's catalog
costs is what its own lines are long.
"""

from __future__ import annotations

import os
import re
from functools import cache, lru_cache

from prowess._internal.text import neutral, without_hidden

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ._host import Host

__all__ = ["RootAliases", "collation_key", "fill_template", "measure_text", "template_values"]

_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&apos;"}


@cache
def _entity_table(characters: str) -> dict[int, str]:
    return {ord(c): _ENTITIES[c] for c in characters}


def escape_entities(text: str, characters: str) -> str:
    """Write the given characters of a text as XML entities."""
    return text.translate(_entity_table(characters)) if characters else text


def measure_text(text: str, unit: str) -> int:
    """Measure a text in `chars` (Unicode), `utf16` (units of UTF-16), `bytes` (of UTF-8), `tokens` (four bytes)
    or `width` (cells of a terminal).
    """
    if unit == "chars":
        return len(text)
    if unit == "utf16":
        return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2
    if unit == "width":
        return len(text) if text.isascii() else sum(_cell_width(c) for c in text)
    size = len(text) if text.isascii() else len(text.encode("utf-8", "replace"))
    return size if unit == "bytes" else -(-size // 4)


@lru_cache(maxsize=4096)
def _cell_width(character: str) -> int:
    """Count the cells of a terminal that a character takes."""
    import unicodedata

    if unicodedata.combining(character) or unicodedata.category(character) == "Cf":
        return 0
    return 1 + (unicodedata.east_asian_width(character) in "WF")


_PUNCTUATION = "_-,;:!?.'\"()[]{}@*/\\&#%`^+<=>|~$"


def collation_key(name: str) -> tuple[tuple[tuple[int, int, str], ...], str, str]:
    """Return a key that sorts as a dictionary does: punctuation, digits, letters; then accents; then case."""
    import unicodedata

    plain = [c for c in unicodedata.normalize("NFD", name) if not unicodedata.combining(c)]

    def rank(c: str) -> tuple[int, int, str]:
        if c.isalpha():
            return 2, 0, c.casefold()
        return (1, 0, c) if c.isdigit() else (0, _PUNCTUATION.find(c), c)

    return tuple(rank(c) for c in plain), unicodedata.normalize("NFD", name).casefold(), name.swapcase()


class RootAliases:
    """The short names `r0`, `r1`, ... of the skills folders that have a skill in the catalog, in order."""

    def __init__(self, roots: Iterable[str], first: int = 0) -> None:
        self._numbers = {root: number for number, root in enumerate(dict.fromkeys(roots), first)}

    def shorten_path(self, path: str, root: str) -> str:
        """Write a path by its root's short name."""
        return f"r{self._numbers.get(root, 0)}/{os.path.relpath(path, root)}"

    def table(self) -> str:
        """Write what each short name stands for, a line each."""
        return "".join(f"- `r{number}` = `{neutral(root)}`\n" for root, number in self._numbers.items())


@lru_cache(maxsize=16384)
def clean_description(description: str) -> str:
    """Return a text line by line without what does not show; planning a prompt asks for it many times."""
    return "\n".join(without_hidden(line) for line in description.split("\n"))


def template_values(
    host: Host, *, name: str, alias: str | None, description: str, path: str, root: str, scope: str, roots: RootAliases
) -> dict[str, str]:
    """Return what fills a template's holes for one skill.

    What does not show is left out: a client may pass it on to its model, Prowess does not.
    """
    return {
        "name": without_hidden(name),
        "alias": f" ({without_hidden(alias)})" if alias else "",
        "description": clean_description(description),
        "path": neutral(path),
        "short_path": neutral(roots.shorten_path(path, root)),
        "scope": host.scope_words.get(scope, scope),
    }


@cache
def _placeholder_pattern() -> re.Pattern[str]:
    return re.compile(r"\{(name|alias|description|path|short_path|scope|roots|names)\}")


def fill_template(pattern: str, values: Mapping[str, str], escape: str = "") -> str:
    """Fill the holes of a pattern in one pass, so that a brace in foreign text is never a hole."""
    return _placeholder_pattern().sub(lambda hole: escape_entities(values.get(hole[1], ""), escape), pattern)
