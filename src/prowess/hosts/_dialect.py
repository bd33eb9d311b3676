"""skill + a host's fences and repairs -> the skill as that client reads it

Most files every client takes apart alike. Where fences are odd or YAML gives up, each goes on in its own way: what it
finds between its own fences, and makes of the lines there, is put between plain fences and read again.
"""

from __future__ import annotations

import re

from prowess.findings import finding
from prowess.skill import from_document, parse_frontmatter

from ._lines import INVALID_YAML_CODES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from prowess.skill import Skill

    from ._host import ReadingRules, Repair

__all__ = ["apply_dialect"]

_FENCE_CODES = frozenset(
    (
        "frontmatter-missing",
        "frontmatter-not-first",
        "frontmatter-unclosed",
        "fence-blanks",
        "fence-blanks-closing",
        "fence-dashes",
        "newline-cr",
    )
)
_REPAIRABLE_CODES = INVALID_YAML_CODES - {"yaml-duplicate-key"}


def apply_dialect(skill: Skill, path: str, reading: ReadingRules, text: Callable[[], str]) -> Skill:
    """Read a skill as a host does, from the text of its file.

    Args:
        skill: as the reader has it.
        path: of its file.
        reading: the host's.
        text: gives the whole file with its own line ends; called only where the fences are odd.
    """
    document = skill.document
    if document is None:
        return skill
    codes = {item.code for item in skill.findings}
    front = document.frontmatter or ""
    if (
        reading.opening
        and (codes & _FENCE_CODES or "---" in front or not front.strip())
        and codes.isdisjoint(_UNREADABLE_CODES)
    ):
        whole = text().replace("\r\n", "\n")
        opening = re.match(reading.opening, whole)
        closing = opening and re.compile(reading.closing).search(whole, opening.end())
        if opening is None or closing is None:
            if codes & _FENCE_CODES:
                return skill
            code = "frontmatter-missing" if opening is None else "frontmatter-unclosed"
            problem = finding(code, "the client sees no front matter here", path=path)
            return skill.with_changes(findings=(*skill.findings, problem))
        skill = _read_between_fences(skill, path, whole[opening.end() : closing.start()], whole[closing.end() :])
        codes = {item.code for item in skill.findings}
    skill = _with_parser_refusal(skill, path, reading)
    codes = {item.code for item in skill.findings}
    if reading.repair is not None and (codes & _REPAIRABLE_CODES or (reading.repair.types and _wrong_types(skill))):
        document = skill.document
        if document is not None and document.frontmatter is not None:
            lines = document.text.split("\n")[1 : document.body_line - 1]
            while lines and not lines[-1].startswith("---"):
                lines.pop()
            mended = _repair_lines(lines[:-1], reading.repair)
            if mended != lines[:-1]:
                again = _with_parser_refusal(
                    _read_between_fences(skill, path, "\n".join(mended), document.body), path, reading
                )
                if codes.isdisjoint(_REPAIRABLE_CODES) or _REPAIRABLE_CODES.isdisjoint(
                    item.code for item in again.findings
                ):
                    return again
    return skill


_UNREADABLE_CODES = frozenset(("frontmatter-too-large", "encoding-utf16"))


def _read_between_fences(skill: Skill, path: str, front: str, body: str) -> Skill:
    """Read a front matter again, between plain fences."""
    front = front.replace("\r", "\n").strip("\n").removeprefix("---\n")
    data = f"---\n{front}\n---\n{body.removeprefix(chr(10))}".encode(errors="replace")
    again = from_document(parse_frontmatter(data, path), path)
    kept = tuple(item for item in skill.findings if item.code.startswith("encoding-"))
    return again.with_changes(findings=(*kept, *again.findings))


def _with_parser_refusal(skill: Skill, path: str, reading: ReadingRules) -> Skill:
    """Add what the client's parser does not take, though the reader does."""
    front = skill.document.frontmatter if skill.document is not None else None
    if front is None or not any(re.search(pattern, front) for pattern in reading.refuses):
        return skill
    problem = finding("yaml-syntax", "the client's YAML parser does not take this front matter", path=path)
    return skill.with_changes(findings=(*skill.findings, problem))


def _wrong_types(skill: Skill) -> bool:
    fields = (skill.fields.get(key) for key in ("name", "description"))
    return any(field is not None and field.kind in ("list", "map") for field in fields)


def _repair_lines(lines: list[str], rule: Repair) -> list[str]:
    """Put values in quotes, line by line."""
    pattern, when, unless = re.compile(rule.line), re.compile(rule.when), re.compile(rule.unless)
    result = []
    block: int | None = None
    for line in lines:
        indent = len(line) - len(line.lstrip(" "))
        if block is not None and rule.blocks and (not line.strip() or indent > block):
            result.append(line)
            continue
        block = None
        match = pattern.match(line)
        if match is not None:
            value = match["value"].rstrip()
            if rule.blocks and value.startswith(("|", ">")):
                block = indent
            elif when.search(value) and not unless.search(value):
                rest = match.groupdict().get("rest") or ""
                line = f"{match['key']}{match['gap'] or ' '}{_quote_value(value, rule.quote)}{rest}"
        result += line.split("\n")
    return result


def _quote_value(value: str, style: str) -> str:
    if style == "single":
        return "'" + value.replace("'", "''") + "'"
    if style == "double":
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    return f"|-\n  {value}"
