"""the beginning of a SKILL.md -> its name, description and keys, where they are beyond doubt

A catalog needs no more of most skills, and most front matter is a few plain lines. What is taken at a glance is read
in full only when somebody asks. A glance never guesses: where it gives anything, the full reader gives the same and
has nothing to say against the file (a property under test); where it gives nothing, the full reader has the word.
"""

from __future__ import annotations

import re

from ._plain import ODD

__all__ = ["Glance", "glance"]

Glance = tuple[str, str, frozenset[str], bool]
"""Name, description without blanks around it, keys; whether no rule can mind any other field."""

_PRINTABLE = bytes([10, *range(32, 127)])
_ROW = re.compile(r"^([A-Za-z][A-Za-z0-9_-]{0,63}):(?: ([^\n]+))?\n((?:  [^\n]+\n)*)", re.MULTILINE)
"""A key, what stands beside it, what stands below it."""
_BLOCK = re.compile(r"(?:  [^ \n][^\n]*\n)+")
_INNER = re.compile(r"  ([A-Za-z][A-Za-z0-9_-]{0,63}): ([A-Za-z0-9/.][^\n]*|\"[^\"\\\n]*\"|'[^'\n]*')\n")
_ITEM = re.compile(r"  - ([A-Za-z0-9/.][^\n]*|\"[^\"\\\n]*\"|'[^'\n]*')\n")
MAX_FRONTMATTER_BYTES = 64 * 1024
_NAME = re.compile(r"[a-z][a-z0-9]*(?:-[a-z0-9]+)*")
_SIMPLE = frozenset(("name", "description", "license"))
_CHECKED = _SIMPLE | {"compatibility", "metadata", "allowed-tools"}
_NO_TEXT = frozenset(("true", "false", "null"))
_RESERVED = frozenset("-?:,[]{}#&*!|>'\"%@`. ")
"""What no plain value begins with, or may be a number if it does."""


def glance(data: bytes) -> Glance | None:
    """Look at a SKILL.md.

    Args:
        data: the file, or its first bytes.

    Returns:
        What is plain to see, or None. The name is one the specification allows, or there is None to see either.
    """
    end = data.find(b"\n---\n", 3)
    if not 0 < end < MAX_FRONTMATTER_BYTES or data[:4] != b"---\n":
        return None
    front = data[4 : end + 1]
    try:
        text = front.decode()
    except UnicodeDecodeError:
        return None
    if front.translate(None, _PRINTABLE) and ODD.search(text):
        return None
    rows = _ROW.findall(text)
    table: dict[str, str] = {}
    lines = 0
    for key, beside, below in rows:
        value = beside
        lines += 1
        if below:
            lines += below.count("\n")
            if beside in (">-", "|-", ">", "|"):
                if _BLOCK.fullmatch(below) is None:
                    return None
                value = below[2:-1].replace("\n  ", " " if beside[0] == ">" else "\n")
            elif beside or not _is_plain_below(below):
                return None
        elif beside:
            first = beside[0]
            if first in "\"'":
                value = beside.rstrip(" ")[1:-1]
                if beside.rstrip(" ")[-1] != first or len(beside) < 2 or first in value or "\\" in value:
                    return None
            elif not _is_plain(beside):
                return None
        table[key] = value
    # A row that is missing here is a line that is not plain; a key that is missing stood twice.
    if lines != text.count("\n") or len(table) != len(rows):
        return None
    name, description = table.get("name"), table.get("description", "").strip()
    if name is None or name in _NO_TEXT or _NAME.fullmatch(name) is None or len(name) > 64 or " " not in description:
        return None
    keys = frozenset(table)
    return name, description, keys, keys <= _SIMPLE or (keys <= _CHECKED and _is_spotless(table, text))


def _is_spotless(table: dict[str, str], text: str) -> bool:
    """Say whether no rule minds the fields beside name and description."""
    tools = table.get("allowed-tools", "Read")
    return (
        0 < len(table.get("compatibility", "any").strip()) <= 500
        and tools[:1].isalpha()
        and tools not in _NO_TEXT
        and ("metadata" not in table or "\nmetadata:\n  " in text)
        and "\n  - " not in text
    )


def _is_plain(value: str) -> bool:
    return value[0] not in _RESERVED and ": " not in value and " #" not in value and value[-1] not in ": "


def _is_plain_below(below: str) -> bool:
    """Say whether the lines below a key are a list of texts, or a map of texts."""
    rows = below.count("\n")
    if " #" in below or ":\n" in below:
        return False
    keys = _INNER.findall(below)
    if len(keys) == rows:
        return len({key for key, _ in keys}) == below.count(": ") == rows
    return ": " not in below and len(_ITEM.findall(below)) == rows
