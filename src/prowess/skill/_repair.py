"""Repair front matter that is not valid YAML: values that need quotes, and tabs as indentation.

Nothing else is repaired, and nothing that is valid YAML.
"""

from __future__ import annotations

import re
from functools import cache

from prowess._internal.frozen import Frozen
from prowess._internal.text import quoted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._yaml import FrontmatterReader, YamlSyntaxError

_TAB_HINT = "indent with spaces, or run `prowess check --fix`"
TAB_REPLACEMENT = "  "
"""Replaces a tab in an indentation."""

# A key, or the dashes of a list, and the rest of the line. Blanks before the colon are part of an unquoted key; if the
# colon could take them too, a line of blanks would take quadratic time.
_ENTRY_LINE = r"""
    (?P<dashes>[ ]*(?:-[ \t]+)*)
    (?:(?P<key>"[^"\\]*"|'[^']*'|[^\s\-?:,\[\]{}#&*!|>'"%@`](?:[^:]|:(?![ \t]))*)(?P<colon>(?:(?<=["'])[ ]*)?:[ \t]+))?
    (?P<value>[^\s].*)?
"""
_RESERVED_INDICATORS = "@*&%`"
_ANCHOR_ALIAS_DIRECTIVE = "*&%"
"""The indicators of an alias, an anchor and a directive; clients that repair the others do not repair these."""


@cache
def _entry_pattern() -> re.Pattern[str]:
    """Return the pattern of an entry; most front matter needs no repair, so it is compiled on first use."""
    return re.compile(_ENTRY_LINE, re.VERBOSE)


class Repair(Frozen, kw_only=False):
    """Lines that replace invalid ones."""

    first_line: int
    """0-based number of the first line that is replaced."""
    lines: list[str]
    column: int
    """0-based column of the change in a line."""
    findings: list[tuple[str, int, str, str]]
    """Code, 0-based line, message, hint."""


def repair(lines: list[str], error: YamlSyntaxError, reader: FrontmatterReader) -> Repair | None:
    """Return a repair of the line with a YAML error, or `None` if it has neither a tab nor an unquoted value.

    The error is usually in the value to repair; only an unclosed `{{` is reported on a later line.
    """
    number = min(error.line, len(lines) - 1)
    repaired = _replace_tabs(lines, number)
    start = None if repaired else _find_value_start(lines, number)
    if start is not None:
        repaired = _quote_value(lines, start, reader)
    if repaired is not None:
        return repaired
    for start in range(number, -1, -1):
        match = _entry_pattern().match(lines[start])
        if match and (match["value"] or "").startswith(("{{", "[[")):
            return _quote_value(lines, start, reader)
    return None


def _replace_tabs(lines: list[str], number: int) -> Repair | None:
    """Replace the tabs that indent a line, and those at the beginning of any other line, with spaces.

    A line that begins with a tab is either invalid, or inside quotes or brackets, where indentation has no meaning. A
    tab after a space may be text of a block scalar, so it is replaced only on the line with the error.
    """
    if "\t" not in lines[number][: _indent(lines[number], " \t")]:
        return None
    repaired, findings = list(lines), []
    for index, line in enumerate(lines):
        if index == number or line.startswith("\t"):
            width = _indent(line, " \t")
            repaired[index] = line[:width].replace("\t", TAB_REPLACEMENT) + line[width:]
            if len(line) > width:
                findings.append(("repair-tab", index, "the line is indented with a tab", _TAB_HINT))
    return Repair(0, repaired, 0, findings)


def _indent(line: str, blanks: str = " ") -> int:
    return len(line) - len(line.lstrip(blanks))


def _find_value_start(lines: list[str], number: int) -> int | None:
    """Return the line on which the value of a line begins: this line, or one above it with a smaller indent."""
    start = None
    least: int | None = None
    for index in range(number, -1, -1):
        line = lines[index]
        if not line.strip():
            continue
        match = _entry_pattern().match(line)
        if match and match["value"] and (match["key"] or "-" in match["dashes"]):
            column = match.start("key") if match["key"] else match["dashes"].rindex("-")
            if least is None or (least > column and not match["value"].startswith("#")):
                start = index
        width = _indent(line)
        least = width if least is None else min(least, width)
        if least == 0:
            break
    return start


def _quote_value(lines: list[str], start: int, reader: FrontmatterReader) -> Repair | None:
    """Quote the plain value that begins on a line, with the lines that continue it, if YAML can then read it."""
    match = _entry_pattern().match(lines[start])
    if match is None or not match["value"]:
        return None
    column = match.start("key") if match["key"] else match["dashes"].rfind("-")
    end = start + 1
    for index in range(start + 1, len(lines)):
        line = lines[index]
        if line.strip():
            if _indent(line) <= column or line.lstrip().startswith("#"):
                break
            end = index + 1
    value = "\n".join([match["value"], *lines[start + 1 : end]]).rstrip(" \t")
    reason = _reason_to_quote(value, keyed=match["key"] is not None)
    if reason is None:
        return None
    code, message = reason
    quoted_lines = (lines[start][: match.start("value")] + _single_quote(value)).split("\n")
    before = lines[:start]
    if reader.can_read(before + lines[start:end]) or not reader.can_read(before + quoted_lines):
        return None
    hint = "put the whole value in quotes, or run `prowess check --fix`"
    return Repair(start, quoted_lines, match.start("value"), [(code, start, message, hint)])


def _reason_to_quote(value: str, *, keyed: bool) -> tuple[str, str] | None:
    """Return the code and message for a value that must be quoted, or `None`."""
    # A value between a pair of brackets is a list or a map; it is not changed into text.
    bracket = value.startswith(("{{", "[[")) or (value[0] in "[{" and value[-1] not in "]}" and "\n" not in value)
    if value[0] in _RESERVED_INDICATORS or bracket:
        mark = value[:2] if value.startswith(("{{", "[[")) else value[0]
        code = "repair-sigil" if mark in _ANCHOR_ALIAS_DIRECTIVE else "repair-indicator"
        return code, f"the unquoted value begins with {quoted(mark)}, which YAML reserves"
    if not keyed or value[0] in "'\"[{!|>#":
        return None
    comment = re.search(r"[ \t]#", value)
    if comment and "\n" in value[comment.start() :]:
        return None
    if re.search(r":(?:[ \t]|$)", value[: comment.start()] if comment else value, re.MULTILINE):
        return "repair-colon", "the unquoted value contains `: `"
    return None


def _single_quote(value: str) -> str:
    """Return a text in single quotes, in which YAML escapes only `'`."""
    return "'" + value.replace("'", "''") + "'"
