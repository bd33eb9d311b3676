"""plain front matter -> fields, without YAML

Most front matter is a few `key: value` lines. Those are read here, several times as fast, and without importing a YAML
parser at all. Whatever is not plain beyond doubt is left to YAML; that both agree is a property under test.

    front   = 1*entry
    entry   = key ":" [" " value] newline                     ; value, or null
            / key ":" newline 1*("  " key ": " value newline) ; a map of texts
            / key ":" newline 1*("  - " value newline)        ; a list of texts
            / key ": " (">" / "|") ["-"] newline 1*("  " text newline)
    value   = plain / DQUOTE *character DQUOTE / "'" *character "'"  ; no escapes, no doubled quotes
"""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import TypeAlias

    PlainEntry: TypeAlias = tuple[str, "str | tuple[str, ...] | Mapping[str, str]", bool, int]

__all__ = ["UNUSUAL_CHARACTER", "fast_parse_entries"]

# A plain scalar begins with nothing that YAML reserves, and holds neither `: ` nor ` #`. Blanks at its end are not its
# own, but are taken off afterwards: to look ahead for them at each blank takes for ever on a line of blanks.
_PLAIN_SCALAR = r"[^\s\-?:,\[\]{}#&*!|>'\"%@`](?:[^\s:#]|:(?! |$)|(?<! )\#| )*"
_SCALAR = rf"(?:({_PLAIN_SCALAR})|\"([^\"\\]*)\" *|'([^']*)' *)"
_ENTRY_LINE = re.compile(rf"([A-Za-z][A-Za-z0-9_-]{{0,63}}):(?: {_SCALAR}| ([>|]-?))?")
_MAP_ITEM_LINE = re.compile(rf"  ([A-Za-z][A-Za-z0-9_-]{{0,63}}): {_SCALAR}")
_LIST_ITEM_LINE = re.compile(rf"  - {_SCALAR}")
_BLOCK_TEXT_LINE = re.compile(r"  \S.*")
UNUSUAL_CHARACTER = re.compile("[\x00-\x09\x0b-\x1f\x7f-\xa0\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]")
"""Tabs, controls, no-break spaces and the line ends that YAML versions disagree about."""
_MAX_LINES = 5000
"""More may be more YAML events than are read; whoever counts them tells."""


def fast_parse_entries(front: str) -> list[PlainEntry] | None:
    """Read plain front matter.

    Returns:
        For each entry its key, its value, whether a scalar was quoted (or is a block of text), and its line, counted
        from 0; None where the text is not plain.
    """
    lines = front.split("\n")
    if len(lines) > _MAX_LINES:
        return None
    # What is printable ASCII needs no search, and nearly all is.
    if not (front.isascii() and all(map(str.isprintable, lines))) and UNUSUAL_CHARACTER.search(front):
        return None
    if lines[-1] == "":
        lines.pop()
    entries: list[PlainEntry] = []
    keys: set[str] = set()
    at, count = 0, len(lines)
    while at < count:
        match = _ENTRY_LINE.fullmatch(lines[at])
        if match is None:
            return None
        key, plain, double, single, block = match.groups()
        if key in keys:
            return None
        keys.add(key)
        start = at
        at += 1
        if plain is not None:
            entries.append((key, plain.rstrip(" "), False, start))
        elif double is not None or single is not None:
            entries.append((key, double if double is not None else single, True, start))
        elif at >= count or not lines[at].startswith(" "):
            if block is not None or (at < count and lines[at].startswith("-")):
                return None
            entries.append((key, "", False, start))
        else:
            at = _parse_indented_lines(lines, at, key, block, entries)
            if not at:
                return None
    return entries


def _parse_indented_lines(lines: list[str], at: int, key: str, block: str | None, entries: list[PlainEntry]) -> int:
    """Read the indented lines of an entry; return the number of the line after them, or 0 if they are not plain."""
    start, end = at - 1, at
    while end < len(lines) and lines[end].startswith(" "):
        end += 1
    below = lines[at:end]
    if block is not None:
        if not all(map(_BLOCK_TEXT_LINE.fullmatch, below)):
            return 0
        text = (" " if block[0] == ">" else "\n").join(line[2:] for line in below)
        entries.append((key, text if block[1:] else text + "\n", True, start))
        return end
    if below[0].startswith("  - "):
        items = [match and _scalar_text(match.groups()) for match in map(_LIST_ITEM_LINE.fullmatch, below)]
        if None in items:
            return 0
        entries.append((key, tuple(item for item in items if item is not None), False, start))
        return end
    table: dict[str, str] = {}
    for match in map(_MAP_ITEM_LINE.fullmatch, below):
        if match is None or match[1] in table:
            return 0
        table[match[1]] = _scalar_text(match.groups()[1:])
    entries.append((key, table, False, start))
    return end


def _scalar_text(groups: tuple[str | None, ...]) -> str:
    """Return the text of what `_VALUE` matched: plain, or in one of two kinds of quotes."""
    plain, *quoted = groups
    return plain.rstrip(" ") if plain is not None else next(group for group in quoted if group is not None)
