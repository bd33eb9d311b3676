"""the beginning of a SKILL.md -> its name, description and keys, where they are beyond doubt

A catalog needs no more of most skills, and most front matter is a few plain lines. What is taken at a glance is read
in full only when somebody asks. A glance never guesses: where it gives anything, the full reader gives the same and
has nothing to say against the file (a property under test); where it gives nothing, the full reader has the word.
"""

from __future__ import annotations

import re
from functools import lru_cache

from ._plain import UNUSUAL_CHARACTER

__all__ = ["YAML_LITERALS", "FastFrontmatter", "fast_parse", "fast_parse_table"]

FastFrontmatter = tuple[str, str, frozenset[str], bytes]
"""Name, description, keys, the front matter with both fences.

White space around a description leaves it to the reader, but for the line end of a block of text, which is left out."""

_PRINTABLE = bytes([10, *range(32, 127)])
_FIELD_ROW = re.compile(r"^([A-Za-z][A-Za-z0-9_-]{0,63}):(?: ([^\n]+))?\n((?:  [^\n]+\n)*)", re.MULTILINE)
"""A key, what stands beside it, what stands below it."""
_BLOCK_TEXT_ROWS = re.compile(r"(?:  [^ \n][^\n]*\n)+")
_MAP_ITEM_ROW = re.compile(
    r"^  ([A-Za-z][A-Za-z0-9_-]{0,63}): ([A-Za-z0-9/.][^\n]*|\"[^\"\\\n]*\"|'[^'\n]*')\n", re.MULTILINE
)
_LIST_ITEM_ROW = re.compile(r"^  - ([A-Za-z0-9/.][^\n]*|\"[^\"\\\n]*\"|'[^'\n]*')\n", re.MULTILINE)
_MAX_BYTES = 16 * 1024
"""Of a front matter that is taken in: of a larger one the reader counts lines and bytes."""
_MAX_NAME = 64
"""Characters, at most what `rules.MAX_NAME` allows: longer names are left to the reader."""
_VALID_NAME = re.compile(r"[a-z][a-z0-9]*(?:-[a-z0-9]+)*")
_PLAIN_VALUE = rb"[A-Za-z0-9][ -\"$-9;-~]*[!-\"$-9;-~]"
"""Printable ASCII that begins with a letter or digit, does not end with a blank, and holds neither `:` nor `#`."""
_QUOTED_VALUE = rb"\"[ !#-\[\]-~]*\"|'[ -&(-~]*'"
_match_common_frontmatter = re.compile(
    rb"---\nname: ([a-z][a-z0-9]*(?:-[a-z0-9]+)*)\n"
    rb"description: (?:([A-Za-z][ -\"$-9;-~]*[!-\"$-9;-~])"
    rb"|\"([!#-\[\]-~][ !#-\[\]-~]*[!#-\[\]-~])\"|'([!-&(-~][ -&(-~]*[!-&(-~])'"
    rb"|([>|])-?\n((?:  [!-~][ -~]*\n)*  [!-~][ -~]*[!-~]))\n"
    rb"((?:[A-Za-z][A-Za-z0-9_-]{0,63}: (?:%(words)s|%(quoted)s)\n"
    rb"|metadata:\n(?:  [A-Za-z][A-Za-z0-9_-]{0,63}: (?:%(words)s|%(quoted)s)\n)+)*)"
    rb"---\n" % {b"words": _PLAIN_VALUE, b"quoted": _QUOTED_VALUE}
).match
"""What most files begin with, in one piece: name, description, then fields that are one line or a map."""
_find_keys = re.compile(rb"^([A-Za-z][A-Za-z0-9_-]*):", re.MULTILINE).findall
_find_inner_keys = re.compile(rb"^  ([A-Za-z][A-Za-z0-9_-]*):", re.MULTILINE).findall
_NAME_AND_DESCRIPTION = frozenset(("name", "description"))
_BLOCK_INDICATORS = frozenset((">-", "|-", ">", "|"))
YAML_LITERALS = frozenset(("true", "false", "null"))
"""Plain values that are words and yet no texts, in lower case."""
_YAML_LITERAL_BYTES = frozenset(word.encode() for word in YAML_LITERALS)
_RESERVED_FIRST_CHARACTERS = frozenset("-?:,[]{}#&*!|>'\"%@`. ")
"""What no plain value begins with, or may be a number if it does."""


def fast_parse(data: bytes) -> FastFrontmatter | None:
    """Look at a SKILL.md.

    Args:
        data: the file, or its first bytes.

    Returns:
        What is plain to see, or None. The name is one the specification allows, or there is None to see either.
    """
    match = _match_common_frontmatter(data)
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
        keys = _unique_keys((b"name", b"description", *_find_keys(rest))) if rest else _NAME_AND_DESCRIPTION
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
    """Return the keys, the same set for all skills that have the same; None where one stands twice."""
    together = frozenset(key.decode() for key in keys)
    return together if len(together) == len(keys) else None


def _has_unique_inner_keys(rest: bytes) -> bool:
    """Say whether no key below `metadata:` stands twice."""
    inner = _find_inner_keys(rest)
    return not inner or len(set(inner)) == len(inner)


def fast_parse_table(data: bytes) -> dict[str, str] | None:
    """Read the top level of a plain front matter.

    Args:
        data: the file, or its first bytes.

    Returns:
        For each key its text, empty where a list or a map stands below it; None where not all is plain to see.
    """
    end = data.find(b"\n---\n", 3)
    if not 0 < end < _MAX_BYTES or data[:4] != b"---\n":
        return None
    front = data[4 : end + 1]
    try:
        text = front.decode()
    except UnicodeDecodeError:
        return None
    if front.translate(None, _PRINTABLE) and UNUSUAL_CHARACTER.search(text):
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
    # A row that is missing here is a line that is not plain; a key that is missing stood twice.
    return table if lines == text.count("\n") and len(table) == len(rows) else None


def _is_plain_collection(below: str) -> bool:
    """Say whether the lines below a key are a list of texts, or a map of texts."""
    rows = below.count("\n")
    if " #" in below or ":\n" in below:
        return False
    keys = _MAP_ITEM_ROW.findall(below)
    if len(keys) == rows:
        return len({key for key, _ in keys}) == below.count(": ") == rows
    return ": " not in below and len(_LIST_ITEM_ROW.findall(below)) == rows
