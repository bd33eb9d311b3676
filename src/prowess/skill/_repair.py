"""lines that YAML refuses -> lines that it reads

What people commonly leave unquoted, and tabs: nothing else is mended, and never what YAML reads as it stands.
"""

from __future__ import annotations

import re
from functools import cache

from prowess._internal.frozen import Frozen
from prowess._internal.text import quoted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._yaml import FrontmatterReader, YamlSyntaxError

__all__ = ["TAB_REPLACEMENT", "Repair", "repair"]

TAB_REPLACEMENT = "  "
"""What a tab of indentation becomes."""

# A key, or the dashes of a list, and what follows on the same line. Blanks before the colon are part of a key that is
# not quoted: were they both, a line of blanks would take for ever.
_ENTRY_LINE = r"""
    (?P<dashes>[ ]*(?:-[ \t]+)*)
    (?:(?P<key>"[^"\\]*"|'[^']*'|[^\s\-?:,\[\]{}#&*!|>'"%@`](?:[^:]|:(?![ \t]))*)(?P<colon>(?:(?<=["'])[ ]*)?:[ \t]+))?
    (?P<value>[^\s].*)?
"""
_RESERVED_INDICATORS = "@*&%`"
_ANCHOR_ALIAS_DIRECTIVE = "*&%"
"""Those that clients which repair others leave alone: an alias, an anchor, a directive."""


@cache
def _entry_pattern() -> re.Pattern[str]:
    """Compile it on first use: most front matter needs no repair."""
    return re.compile(_ENTRY_LINE, re.VERBOSE)


class Repair(Frozen, kw_only=False):
    """Lines that YAML can read instead of some that it cannot."""

    first_line: int
    """0-based number of the first line they stand for."""
    lines: list[str]
    column: int
    """0-based, of what was changed in a line."""
    findings: list[tuple[str, int, str, str]]
    """Code, 0-based line, message, hint."""


def repair(lines: list[str], error: YamlSyntaxError, reader: FrontmatterReader) -> Repair | None:
    """Mend what YAML stumbled over: a tab, or a value that wants quotes; None if it is neither.

    The value is the one that the place of the problem belongs to. Only an opened `{{` is noticed later than it stands.
    """
    number = min(error.line, len(lines) - 1)
    mended = _replace_tabs(lines, number)
    start = None if mended else _find_value_start(lines, number)
    if start is not None:
        mended = _quote_value(lines, start, reader)
    if mended is not None:
        return mended
    for start in range(number, -1, -1):
        match = _entry_pattern().match(lines[start])
        if match and (match["value"] or "").startswith(("{{", "[[")):
            return _quote_value(lines, start, reader)
    return None


def _replace_tabs(lines: list[str], number: int) -> Repair | None:
    """Turn the tabs that indent a line into spaces, and with them those at the very beginning of any other line.

    A line that begins with a tab is either unreadable or inside quotes or brackets, where the blanks it begins with
    mean nothing. A tab after a space may be text of a block scalar: it is left alone unless YAML stumbles there.
    """
    if "\t" not in lines[number][: _indent(lines[number], " \t")]:
        return None
    mended, findings = list(lines), []
    for at, line in enumerate(lines):
        if at == number or line.startswith("\t"):
            width = _indent(line, " \t")
            mended[at] = line[:width].replace("\t", TAB_REPLACEMENT) + line[width:]
            if len(line) > width:
                findings.append(("repair-tab", at, "a line is indented with a tab", "indent with spaces"))
    return Repair(0, mended, 0, findings)


def _indent(line: str, blanks: str = " ") -> int:
    return len(line) - len(line.lstrip(blanks))


def _find_value_start(lines: list[str], number: int) -> int | None:
    """Find the line on which the value begins that a line belongs to: its own, or one above with a smaller indent."""
    found = None
    least: int | None = None
    for at in range(number, -1, -1):
        line = lines[at]
        if not line.strip():
            continue
        match = _entry_pattern().match(line)
        if match and match["value"] and (match["key"] or "-" in match["dashes"]):
            column = match.start("key") if match["key"] else match["dashes"].rindex("-")
            if least is None or (least > column and not match["value"].startswith("#")):
                found = at
        width = _indent(line)
        least = width if least is None else min(least, width)
        if least == 0:
            break
    return found


def _quote_value(lines: list[str], start: int, reader: FrontmatterReader) -> Repair | None:
    """Quote the plain value that begins on a line, with the lines that continue it, if that is what YAML needs."""
    match = _entry_pattern().match(lines[start])
    if match is None or not match["value"]:
        return None
    column = match.start("key") if match["key"] else match["dashes"].rfind("-")
    end = start + 1
    for at in range(start + 1, len(lines)):
        line = lines[at]
        if line.strip():
            if _indent(line) <= column or line.lstrip().startswith("#"):
                break
            end = at + 1
    value = "\n".join([match["value"], *lines[start + 1 : end]]).rstrip(" \t")
    reason = _reason_to_quote(value, keyed=match["key"] is not None)
    if reason is None:
        return None
    code, message = reason
    quoted_lines = (lines[start][: match.start("value")] + _single_quote(value)).split("\n")
    before = lines[:start]
    if reader.can_read(before + lines[start:end]) or not reader.can_read(before + quoted_lines):
        return None
    hint = "put the whole value in quotes; `prowess check --fix` does it"
    return Repair(start, quoted_lines, match.start("value"), [(code, start, message, hint)])


def _reason_to_quote(value: str, *, keyed: bool) -> tuple[str, str] | None:
    # What begins with a bracket and ends with its fellow is meant as a list or a map, and is not made text.
    bracket = value.startswith(("{{", "[[")) or (value[0] in "[{" and value[-1] not in "]}" and "\n" not in value)
    if value[0] in _RESERVED_INDICATORS or bracket:
        mark = value[:2] if value.startswith(("{{", "[[")) else value[0]
        code = "repair-sigil" if mark in _ANCHOR_ALIAS_DIRECTIVE else "repair-indicator"
        return code, f"the value begins with {quoted(mark)}, which YAML reserves, and is not quoted"
    if not keyed or value[0] in "'\"[{!|>#":
        return None
    comment = re.search(r"[ \t]#", value)
    if comment and "\n" in value[comment.start() :]:
        return None
    if re.search(r":(?:[ \t]|$)", value[: comment.start()] if comment else value, re.MULTILINE):
        return "repair-colon", "the value holds `: ` and is not quoted"
    return None


def _single_quote(value: str) -> str:
    """Quote one line of text the YAML way that leaves everything but `'` alone."""
    return "'" + value.replace("'", "''") + "'"
