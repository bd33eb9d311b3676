"""front matter that is not YAML -> fields, as two clients read it all the same

Gemini CLI and Qwen Code fall back to parsers of their own, line by line, where YAML gives up. What they make of a line
differs from any YAML: quotes and comments may stay, an indented line may count.
"""

from __future__ import annotations

import re

from prowess.skill import Document, Field, Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["INVALID_YAML_CODES", "parse_fallback_fields"]

INVALID_YAML_CODES = frozenset(
    (
        "yaml-syntax",
        "yaml-duplicate-key",
        "yaml-not-mapping",
        "repair-colon",
        "repair-indicator",
        "repair-sigil",
        "repair-tab",
    )
)
"""Findings with which a YAML parser would have given up."""

_RAW_FIELD = r"\s*(name|description):\s*(.*)$"
_NUMBER = r"[-+]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?|0[xX][0-9a-fA-F]+"


def parse_fallback_fields(document: Document, parser: str) -> Mapping[str, Field]:
    """Read the front matter with a client's second parser.

    Args:
        document: one with front matter.
        parser: `raw` (Gemini CLI 0.61.0) or `values` (Qwen Code 0.24.4); see `host.Reading`.
    """
    lines = document.text.split("\n")[1 : document.body_line - 1]
    while lines and not re.fullmatch(r"-{3,}[ \t]*", lines[-1]):
        lines.pop()
    return _parse_raw(lines[:-1]) if parser == "raw" else _parse_values(lines[:-1])


def _parse_raw(lines: list[str]) -> dict[str, Field]:
    """`name` and `description` wherever they stand, the last of each; indented lines below a description are its."""
    fields: dict[str, Field] = {}
    number = 0
    while number < len(lines):
        match = re.match(_RAW_FIELD, lines[number])
        start = number
        number += 1
        if match is None:
            continue
        parts = [match[2].strip()]
        while match[1] == "description" and number < len(lines) and re.match(r"[ \t]+\S", lines[number]):
            parts.append(lines[number].strip())
            number += 1
        fields[match[1]] = Field(value=" ".join(filter(None, parts)), kind="text", line=start + 2, column=1)
    return fields


def _parse_values(lines: list[str]) -> dict[str, Field]:
    """One line a field; below a bare key, lines of two blanks and a dash are a list, others of two blanks a map."""
    fields: dict[str, Field] = {}
    kept = [(number, line) for number, line in enumerate(lines) if line.strip() and not line.strip().startswith("#")]
    key = ""
    items: list[Value] | None = None
    table: dict[str, Value] | None = None
    for index, (number, line) in enumerate(kept):
        if line.startswith("  - ") and key and table is None:
            items = [*(items or []), _parse_value(line[4:].strip())[0]]
            fields[key] = Field(value=tuple(items), kind="list", line=number + 2, column=1)
            continue
        if items is not None:
            key, items = "", None
        if table is not None and line.startswith("  "):
            name, _, value = line.strip().partition(":")
            table[name.strip()] = _parse_value(value.strip())[0]
            continue
        table = None
        name, colon, text = line.partition(":")
        if not colon:
            continue
        key, text = name.strip(), text.strip()
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
    if text in ("true", "false"):
        return text, "bool"
    if text == "null":
        return "", "null"
    if len(text) > 1 and text[0] == text[-1] == '"':
        return text[1:-1].replace('\\"', '"').replace("\\\\", "\\"), "text"
    return text, "number" if re.fullmatch(_NUMBER, text) else "text"
