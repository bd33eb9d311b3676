"""Read front matter that is not YAML line by line, as some clients do; and what a client takes for white space."""

from __future__ import annotations

import re
from functools import cache

from prowess.skill import Field

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from prowess.skill import Document, Value

JAVASCRIPT_SPACE = (
    "\t\n\v\f\r \xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029"
    "\u202f\u205f\u3000\ufeff"
)
"""What programs in JavaScript remove at both ends of a text; Python also removes U+001C to U+001F."""
UNICODE_SPACE = JAVASCRIPT_SPACE.replace("\ufeff", "\x85")
"""What programs in Rust remove."""


def white_space() -> str:
    """Return the characters that a client removes around texts, and that it takes for blank."""
    return JAVASCRIPT_SPACE


@cache
def host_pattern(pattern: str, blanks: str) -> str:
    r"""Return a regular expression in which `\s` means the white space of a client's language, not Python's.

    Args:
        pattern: in brackets, `\S` has Python's meaning, except in `[^\S\n]`.
        blanks: what the client takes for blank.
    """
    pattern = pattern.replace(r"[^\S\n]", f"[{blanks}]".replace("\n", "")).replace(r"[\s\S]", "(?s:.)")
    parts, in_brackets = [], False
    for part in re.findall(r"\\.|[^\\]", pattern, re.DOTALL):
        if part == r"\s":
            part = blanks if in_brackets else f"[{blanks}]"
        elif part == r"\S" and not in_brackets:
            part = f"[^{blanks}]"
        elif part in "[]":
            in_brackets = part == "["
        parts.append(part)
    return "".join(parts)


def fenced_lines(document: Document) -> list[str]:
    """Return the lines below the first fence, up to the second one, as they are in the file."""
    lines = document.text.split("\n")
    ends_with_fence = len(lines) == document.body_line and lines[-1].startswith("---")  # or is read no further
    return lines[1 : document.body_line if ends_with_fence else document.body_line - 1]


_RAW_FIELD = rf"[{JAVASCRIPT_SPACE}]*(name|description):[{JAVASCRIPT_SPACE}]*([^\n\u2028\u2029]*)\Z"
_NUMBER = r"[-+]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?|0[xX][0-9a-fA-F]+"


def parse_fallback_fields(document: Document, parser: str) -> Mapping[str, Field]:
    """Parse front matter line by line, as a client does after its YAML parser failed.

    Args:
        document: one with front matter.
        parser: `raw` (Gemini CLI 0.61.0) or `values` (Qwen Code 0.24.4); see `ReadingRules.second_parser`.
    """
    lines = fenced_lines(document)
    while lines and not re.fullmatch(r"-{3,}[ \t]*", lines[-1]):
        lines.pop()
    return _parse_raw(lines[:-1]) if parser == "raw" else _parse_values(lines[:-1])


def _parse_raw(lines: list[str]) -> dict[str, Field]:
    """Return `name` and `description`, the last of each; indented lines below a description continue it."""
    fields: dict[str, Field] = {}
    number = 0
    while number < len(lines):
        match = re.match(_RAW_FIELD, lines[number])
        start = number
        number += 1
        if match is None:
            continue
        parts = [match[2].strip(JAVASCRIPT_SPACE)]
        while match[1] == "description" and number < len(lines) and re.match(r"[ \t]+\S", lines[number]):
            parts.append(lines[number].strip(JAVASCRIPT_SPACE))
            number += 1
        fields[match[1]] = Field(value=" ".join(filter(None, parts)), kind="text", line=start + 2, column=1)
    return fields


def _parse_values(lines: list[str]) -> dict[str, Field]:
    """Return one field a line; below a key without value, `  - ` begins a list item and other indented lines a map."""
    fields: dict[str, Field] = {}
    kept = [
        (number, line)
        for number, line in enumerate(lines)
        if line.strip(JAVASCRIPT_SPACE) and not line.strip(JAVASCRIPT_SPACE).startswith("#")
    ]
    key = ""
    items: list[Value] | None = None
    table: dict[str, Value] | None = None
    for index, (number, line) in enumerate(kept):
        if line.startswith("  - ") and key and table is None:
            items = [*(items or []), _parse_value(line[4:].strip(JAVASCRIPT_SPACE))[0]]
            kinds = ("text",) * len(items)
            fields[key] = Field(value=tuple(items), kind="list", line=number + 2, column=1, kinds=kinds)
            continue
        if items is not None:
            key, items = "", None
        if table is not None and line.startswith("  "):
            name, _, value = line.strip(JAVASCRIPT_SPACE).partition(":")
            table[name.strip(JAVASCRIPT_SPACE)] = _parse_value(value.strip(JAVASCRIPT_SPACE))[0]
            continue
        table = None
        name, colon, text = line.partition(":")
        if not colon:
            continue
        key, text = name.strip(JAVASCRIPT_SPACE), text.strip(JAVASCRIPT_SPACE)
        if text:
            typed, kind = _parse_value(text)
            if kind != "null":
                fields[key] = Field(value=typed, kind=kind, line=number + 2, column=1)
        else:
            following = kept[index + 1][1] if index + 1 < len(kept) else ""
            if following.startswith("  ") and not following.startswith("  - "):
                table = {}
                fields[key] = Field(value=table, kind="map", line=number + 2, column=1)
    return fields


def _parse_value(text: str) -> tuple[Value, str]:
    """Return a value of the `values` parser, and its kind."""
    if text in ("true", "false"):
        return text, "bool"
    if text == "null":
        return "", "null"
    if len(text) > 1 and text[0] == text[-1] == '"':
        return text[1:-1].replace('\\"', '"').replace("\\\\", "\\"), "text"
    return text, "number" if re.fullmatch(_NUMBER, text) else "text"
