"""Parse the front matter that most skills have, without YAML.

Most front matter is a few `key: value` lines. This module reads them several times as fast as YAML does, and without
importing a YAML parser. It never guesses: where it returns a result, the full parser returns the same and has no
finding (tests prove it with generated text); where the text is not plain, it returns `None`.

- `fast_parse` returns what a catalog shows: name, description, keys.
- `fast_parse_table` returns the top level as text.
- `fast_parse_entries` returns every field, for the full parser.

    front   = 1*entry
    entry   = key ":" [" " value] newline                     ; value, or null
            / key ":" newline 1*("  " key ": " value newline) ; a map of texts
            / key ":" newline 1*("  - " value newline)        ; a list of texts
            / key ": " (">" / "|") ["-"] newline 1*("  " text newline)
    value   = plain / DQUOTE *character DQUOTE / "'" *character "'"  ; no escapes, no doubled quotes
"""

from __future__ import annotations

import re
from functools import cache, lru_cache

from prowess._internal.patterns import compile_on_use

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import TypeAlias

    PlainEntry: TypeAlias = tuple[str, "str | tuple[str, ...] | Mapping[str, str]", bool, int]

FastFrontmatter = tuple[str, str, frozenset[str], bytes]
"""Name, description, keys, the front matter with both fences.

A description with white space around it is left to the full parser; the line end of a block of text is left out."""

_PRINTABLE = bytes([10, *range(32, 127)])
_FIELD_ROW = compile_on_use(r"^([A-Za-z][A-Za-z0-9_-]{0,63}):(?: ([^\n]+))?\n((?:  [^\n]+\n)*)", re.MULTILINE)
"""A key, the value on its line, the indented lines below it."""
_BLOCK_TEXT_ROWS = compile_on_use(r"(?:  [^ \n][^\n]*\n)+")
_MAP_ITEM_ROW = compile_on_use(
    r"^  ([A-Za-z][A-Za-z0-9_-]{0,63}): ([A-Za-z0-9/.][^\n]*|\"[^\"\\\n]*\"|'[^'\n]*')\n", re.MULTILINE
)
_LIST_ITEM_ROW = compile_on_use(r"^  - ([A-Za-z0-9/.][^\n]*|\"[^\"\\\n]*\"|'[^'\n]*')\n", re.MULTILINE)
_MAX_BYTES = 16 * 1024
"""Of a front matter; the full parser counts the lines and bytes of a larger one."""
_MAX_NAME = 64
"""Characters, as in `_rules.MAX_NAME`; longer names are left to the full parser."""
_VALID_NAME = compile_on_use(r"[a-z][a-z0-9]*(?:-[a-z0-9]+)*")
_PLAIN_VALUE = rb"[A-Za-z0-9][ -\"$-9;-~]*[!-\"$-9;-~]"
"""Printable ASCII that begins with a letter or digit, does not end with a blank, and contains neither `:` nor `#`."""
_QUOTED_VALUE = rb"\"[ !#-\[\]-~]*\"|'[ -&(-~]*'"
_COMMON_FRONTMATTER = compile_on_use(
    rb"---\nname: ([a-z][a-z0-9]*(?:-[a-z0-9]+)*)\n"
    rb"description: (?:([A-Za-z][ -\"$-9;-~]*[!-\"$-9;-~])"
    rb"|\"([!#-\[\]-~][ !#-\[\]-~]*[!#-\[\]-~])\"|'([!-&(-~][ -&(-~]*[!-&(-~])'"
    rb"|([>|])-?\n((?:  [!-~][ -~]*\n)*  [!-~][ -~]*[!-~]))\n"
    rb"((?:[A-Za-z][A-Za-z0-9_-]{0,63}: (?:%(words)s|%(quoted)s)\n"
    rb"|metadata:\n(?:  [A-Za-z][A-Za-z0-9_-]{0,63}: (?:%(words)s|%(quoted)s)\n)+)*)"
    rb"---\n" % {b"words": _PLAIN_VALUE, b"quoted": _QUOTED_VALUE}
)
"""The form of most files in one pattern: name, description, then fields of one line, or `metadata:` as a map."""
_KEYS = compile_on_use(rb"^([A-Za-z][A-Za-z0-9_-]*):", re.MULTILINE)
_INNER_KEYS = compile_on_use(rb"^  ([A-Za-z][A-Za-z0-9_-]*):", re.MULTILINE)
_NAME_AND_DESCRIPTION = frozenset(("name", "description"))
_BLOCK_INDICATORS = frozenset((">-", "|-", ">", "|"))
YAML_LITERALS = frozenset(("true", "false", "null"))
"""Plain words that YAML does not read as text, in lower case."""
_YAML_LITERAL_BYTES = frozenset(word.encode() for word in YAML_LITERALS)
_RESERVED_FIRST_CHARACTERS = frozenset("-?:,[]{}#&*!|>'\"%@`. ")
"""A plain value does not begin with one of these, or may be a number if it does."""


def fast_parse(data: bytes) -> FastFrontmatter | None:
    """Return what a catalog shows of a SKILL.md, or `None` if it is not plain or its name breaks the specification.

    Args:
        data: the file, or its first bytes.
    """
    match = _COMMON_FRONTMATTER.match(data)
    if (
        match is not None
        and len(match[1]) <= _MAX_NAME
        and match[1] not in _YAML_LITERAL_BYTES
        and match.end() <= _MAX_BYTES
    ):
        name, plain, double, single, block, below, rest = match.groups()
        if block is not None:
            text = below[2:].replace(b"\n  ", b" " if block == b">" else b"\n")
        else:
            text = plain or double or single
        keys = _unique_keys((b"name", b"description", *_KEYS.findall(rest))) if rest else _NAME_AND_DESCRIPTION
        if keys is not None and b" " in text and (not rest or _has_unique_inner_keys(rest)):
            return name.decode(), text.decode(), keys, match[0]
    table = fast_parse_table(data)
    if table is None:
        return None
    name, description = table.get("name"), table.get("description", "").removesuffix("\n")
    if name is None or name in YAML_LITERALS or _VALID_NAME.fullmatch(name) is None or len(name) > _MAX_NAME:
        return None
    if " " not in description or description != description.strip():
        return None
    return name, description, frozenset(table), data[: data.find(b"\n---\n", 3) + 5]


@lru_cache(maxsize=256)
def _unique_keys(keys: tuple[bytes, ...]) -> frozenset[str] | None:
    """Return the keys, one shared set for all skills with the same keys; `None` if a key is repeated."""
    unique = frozenset(key.decode() for key in keys)
    return unique if len(unique) == len(keys) else None


def _has_unique_inner_keys(rest: bytes) -> bool:
    """Tell whether no key below `metadata:` is repeated."""
    inner = _INNER_KEYS.findall(rest)
    return not inner or len(set(inner)) == len(inner)


def fast_parse_table(data: bytes) -> dict[str, str] | None:
    """Parse the top level of a plain front matter.

    Args:
        data: the file, or its first bytes.

    Returns:
        For each key its text, empty if it has a list or a map; `None` if the front matter is not plain.
    """
    end = data.find(b"\n---\n", 3)
    if not 0 < end < _MAX_BYTES or data[:4] != b"---\n":
        return None
    front = data[4 : end + 1]
    try:
        text = front.decode()
    except UnicodeDecodeError:
        return None
    if front.translate(None, _PRINTABLE) and _unusual_character().search(text):
        return None
    rows = _FIELD_ROW.findall(text)
    table: dict[str, str] = {}
    lines = len(rows)
    for key, value, below in rows:
        if below:
            lines += below.count("\n")
            if value in _BLOCK_INDICATORS:
                if _BLOCK_TEXT_ROWS.fullmatch(below) is None:
                    return None
                kept = below[2:] if len(value) == 1 else below[2:-1]
                value = kept.replace("\n  ", " " if value[0] == ">" else "\n")
            elif value or not _is_plain_collection(below):
                return None
        elif value:
            first = value[0]
            if first in _RESERVED_FIRST_CHARACTERS:
                if first not in "\"'":
                    return None
                quoted = value.rstrip(" ")
                value = quoted[1:-1]
                if quoted[-1] != first or len(quoted) < 2 or first in value or "\\" in value:
                    return None
            elif ": " in value or " #" in value or value[-1] in ": ":
                return None
        table[key] = value
    # A missing row is a line that is not plain; a missing key was repeated.
    return table if lines == text.count("\n") and len(table) == len(rows) else None


def _is_plain_collection(below: str) -> bool:
    """Tell whether the lines below a key are a list of texts, or a map of texts."""
    rows = below.count("\n")
    if " #" in below or ":\n" in below:
        return False
    keys = _MAP_ITEM_ROW.findall(below)
    if len(keys) == rows:
        return len({key for key, _ in keys}) == below.count(": ") == rows
    return ": " not in below and len(_LIST_ITEM_ROW.findall(below)) == rows


# ── every field, for the full parser ──────────────────────────────────────────────────────────────────────────────────

# A plain scalar begins with no character that YAML reserves, and contains neither `: ` nor ` #`. Blanks at its end are
# removed afterwards: a look-ahead at each blank would take quadratic time on a line of blanks.
_PLAIN_SCALAR = r"[^\s\-?:,\[\]{}#&*!|>'\"%@`](?:[^\s:#]|:(?! |$)|(?<! )\#| )*"
_SCALAR = rf"(?:({_PLAIN_SCALAR})|\"([^\"\\]*)\" *|'([^']*)' *)"
_MAX_LINES = 5000
"""A longer front matter may have too many YAML events; the full parser counts them."""


# Compiled on first use: the fast path of a catalog needs none of them.
@cache
def _line_patterns() -> tuple[re.Pattern[str], re.Pattern[str], re.Pattern[str], re.Pattern[str]]:
    """Return the patterns of an entry, and below it of a map's item, a list's item and a line of a text block."""
    return (
        re.compile(rf"([A-Za-z][A-Za-z0-9_-]{{0,63}}):(?: {_SCALAR}| ([>|]-?))?"),
        re.compile(rf"  ([A-Za-z][A-Za-z0-9_-]{{0,63}}): {_SCALAR}"),
        re.compile(rf"  - {_SCALAR}"),
        re.compile(r"  \S.*"),
    )


@cache
def _unusual_character() -> re.Pattern[str]:
    """Return the pattern of tabs, controls, no-break spaces and the line ends that YAML versions disagree about."""
    return re.compile("[\x00-\x09\x0b-\x1f\x7f-\xa0\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]")


def fast_parse_entries(front: str) -> list[PlainEntry] | None:
    """Parse plain front matter.

    Returns:
        For each entry its key, its value, whether a scalar was quoted (or is a block of text), and its line, counted
        from 0; `None` if the text is not plain.
    """
    lines = front.split("\n")
    if len(lines) > _MAX_LINES:
        return None
    # Printable ASCII needs no search, and nearly all front matter is.
    if not (front.isascii() and all(map(str.isprintable, lines))) and _unusual_character().search(front):
        return None
    if lines[-1] == "":
        lines.pop()
    entries: list[PlainEntry] = []
    keys: set[str] = set()
    number, count = 0, len(lines)
    match_entry = _line_patterns()[0].fullmatch
    while number < count:
        match = match_entry(lines[number])
        if match is None:
            return None
        key, plain, double, single, block = match.groups()
        if key in keys:
            return None
        keys.add(key)
        start = number
        number += 1
        if plain is not None:
            entries.append((key, plain.rstrip(" "), False, start))
        elif double is not None or single is not None:
            entries.append((key, double if double is not None else single, True, start))
        elif number >= count or not lines[number].startswith(" "):
            if block is not None or (number < count and lines[number].startswith("-")):
                return None
            entries.append((key, "", False, start))
        else:
            end = number
            while end < count and lines[end].startswith(" "):
                end += 1
            entry = _parse_indented_lines(lines[number:end], key, block, start)
            if entry is None:
                return None
            entries.append(entry)
            number = end
    return entries


def _parse_indented_lines(below: list[str], key: str, block: str | None, start: int) -> PlainEntry | None:
    """Parse the indented lines below a key; return `None` if they are not plain."""
    _, map_item, list_item, block_text = _line_patterns()
    if block is not None:
        if not all(map(block_text.fullmatch, below)):
            return None
        text = (" " if block[0] == ">" else "\n").join(line[2:] for line in below)
        return key, text if block[1:] else text + "\n", True, start
    if below[0].startswith("  - "):
        items = [match and _scalar_text(match.groups()) for match in map(list_item.fullmatch, below)]
        return None if None in items else (key, tuple(item for item in items if item is not None), False, start)
    table: dict[str, str] = {}
    for match in map(map_item.fullmatch, below):
        if match is None or match[1] in table:
            return None
        table[match[1]] = _scalar_text(match.groups()[1:])
    return key, table, False, start


def _scalar_text(groups: tuple[str | None, ...]) -> str:
    """Return the text that `_SCALAR` matched: plain, or in either kind of quotes."""
    plain, *quoted = groups
    return plain.rstrip(" ") if plain is not None else next(group for group in quoted if group is not None)
