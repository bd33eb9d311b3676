"""Read a SKILL.md the way one client does.

Most files are read alike by every client. Clients differ where fences are unusual, where YAML fails, and in what they
make of a value that is not text: most are written in JavaScript. The rules are data of the host; this module applies
them. What a client finds between its own fences is put between plain fences and parsed again.
"""

from __future__ import annotations

import re

from prowess.clients import of_client
from prowess.findings import finding
from prowess.skill import from_document, parse_frontmatter

from ._lenient_yaml import has_unquoted_controls, replace_half_pairs, write_flow_keys
from ._line_parsers import JAVASCRIPT_SPACE, fenced_lines, host_pattern, white_space

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from prowess.hosts import Host, ReadingRules, Repair
    from prowess.skill import Document, Skill

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
"""Findings of files that a YAML parser refuses."""
_REPAIRABLE_CODES = INVALID_YAML_CODES - {"yaml-duplicate-key"}
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
_UNREADABLE_CODES = frozenset(("frontmatter-too-large", "encoding-utf16"))


def apply_dialect(skill: Skill, path: str, host: Host, read_text: Callable[[], str]) -> Skill:
    """Return a skill as a host reads it.

    Args:
        skill: as Prowess reads it.
        path: of its file.
        host: whose rules to follow.
        read_text: returns the whole file with its own line ends; called only if the fences are unusual.
    """
    if skill.document is None:
        return skill
    reading, blanks = host.reading, of_client(host.name, white_space)()
    codes = _codes(skill)
    if reading.byte_order_marks and "encoding-utf16" in codes:
        codes = codes - {"encoding-utf16"} | {"frontmatter-missing"}
    front = skill.document.frontmatter or ""
    has_odd_fences = bool(codes & _FENCE_CODES) or "---" in front or not front.strip()
    if reading.line_breaks and not has_odd_fences:
        has_odd_fences = re.search(reading.line_breaks, skill.document.text) is not None
    if reading.opening and has_odd_fences and codes.isdisjoint(_UNREADABLE_CODES):
        text = read_text().replace("\r\n", "\n")
        if reading.line_breaks:
            text = re.sub(reading.line_breaks, "\n", text)
        if reading.json and (start := re.match(reading.json, text)):
            return _parse_json(skill, path, text[start.end() :], reading)
        opening = re.match(host_pattern(reading.opening, blanks), text)
        closing = opening and re.compile(host_pattern(reading.closing, blanks)).search(text, opening.end())
        if opening is None or closing is None:
            if opening is not None and "frontmatter-not-first" in codes:
                found = tuple(item for item in skill.findings if item.code not in _FENCE_CODES)
                skill, codes = skill.with_changes(findings=found), codes - _FENCE_CODES
            if codes & _FENCE_CODES:
                return skill
            code = "frontmatter-missing" if opening is None else "frontmatter-unclosed"
            return _with_finding(skill, code, "the client finds no front matter in this file", path)
        skill = _parse_between_fences(skill, path, text[opening.end() : closing.start()], text[closing.end() :])
    document = skill.document
    lines = _frontmatter_lines(document) if document is not None and document.frontmatter is not None else []
    if reading.yaml_line_breaks and document is not None and lines:
        front = "\n".join(lines)
        split = re.sub(reading.yaml_line_breaks, "\n", front)
        skill = skill if split == front else _parse_between_fences(skill, path, split, document.body)
    skill = _read_leniently(skill, path, reading)
    skill = _with_parser_refusal(_without_tabs(skill, path) if reading.skips_tabs else skill, path, reading)
    return skill if reading.repair is None else _repair(skill, path, reading, lines, read_text, blanks)


_PLAIN = bytes([10, *range(32, 127)])
"""The characters of most front matter."""
_LAST_CLASS = re.compile(r"(?<!\\)\[[^\[\]]*\]\Z")


def plain_front_check(reading: ReadingRules) -> Callable[[bytes], bool]:
    """Return a function that says whether `apply_dialect` leaves front matter without findings as it is.

    Its argument is the front matter with both fences.
    """
    anchored, anywhere, unusual = [], [], []
    for pattern in filter(None, (reading.line_breaks, reading.yaml_line_breaks, *reading.refuses)):
        if _needs_unusual_character(pattern):
            unusual.append(re.compile(pattern).search)
        elif pattern.startswith("(?m)^"):
            # To look for a newline takes a quarter of the time of looking for the beginning of a line.
            anchored.append(re.compile("(?m)\n" + pattern.removeprefix("(?m)^")).search)
        else:
            anywhere.append(re.compile(pattern).search)

    plain_if_no_fence = not (anchored or anywhere or unusual or reading.trims)

    def is_left_as_it_is(front: bytes) -> bool:
        if b"---" in front[4:-5]:
            return False
        if plain_if_no_fence:
            return True
        after_newline = front[3:-5].decode()
        text = after_newline[1:]
        if reading.trims and text.strip(JAVASCRIPT_SPACE) != text:
            return False
        if unusual and front.translate(None, _PLAIN) and any(search(text) for search in unusual):
            return False
        return not (any(search(after_newline) for search in anchored) or any(search(text) for search in anywhere))

    return is_left_as_it_is


def _needs_unusual_character(pattern: str) -> bool:
    """Return whether each match of a pattern ends with a character that is not plain, whatever comes before it."""
    last = _LAST_CLASS.search(pattern)
    return last is not None and "|" not in pattern and re.search(last[0], _PLAIN.decode()) is None


def _codes(skill: Skill) -> set[str]:
    return {item.code for item in skill.findings}


def _with_finding(skill: Skill, code: str, message: str, path: str) -> Skill:
    return skill.with_changes(findings=(*skill.findings, finding(code, message, path=path)))


def _parse_between_fences(skill: Skill, path: str, front: str, body: str) -> Skill:
    """Parse a front matter again, between plain fences."""
    front = front.replace("\r", "\n").strip("\n").removeprefix("---\n")
    data = f"---\n{front}\n---\n{body.removeprefix(chr(10))}".encode(errors="replace")
    parsed = from_document(parse_frontmatter(data, path), path)
    kept = tuple(item for item in skill.findings if item.code.startswith("encoding-"))
    return parsed.with_changes(findings=(*kept, *parsed.findings))


def _read_leniently(skill: Skill, path: str, reading: ReadingRules) -> Skill:
    """Return a skill with what the client's YAML parser accepts, though YAML does not."""
    document = skill.document
    if document is None or document.frontmatter is None:
        return skill
    codes = _codes(skill)
    has_marks = reading.marks_are_text and "\n\ufeff" in document.text
    has_flow_keys = reading.flow_keys and "repair-indicator" in codes
    if not (reading.trims or has_marks or has_flow_keys or codes & {"yaml-syntax", "control-character"}):
        return skill
    front = "\n".join(_frontmatter_lines(document))
    changed = front.strip(JAVASCRIPT_SPACE) if reading.trims else front
    if reading.half_pairs and "yaml-syntax" in codes:
        changed = replace_half_pairs(changed, reading.half_pairs)
    if reading.empty_keys and "yaml-syntax" in codes:
        changed = re.sub(r"(?m)^:(?=[ \n]|\Z)", '"":', changed)
    if has_flow_keys:
        changed = write_flow_keys(changed, reading.flow_keys)
    if has_marks:
        changed = changed.replace("\n\ufeff", "\n\ufffd")
    if changed.strip("\n") != front.strip("\n"):
        skill = _parse_between_fences(skill, path, changed, document.body)
    if reading.quoted_controls and "control-character" in _codes(skill) and not has_unquoted_controls(changed):
        return skill.with_changes(findings=tuple(item for item in skill.findings if item.code != "control-character"))
    return skill


def _parse_json(skill: Skill, path: str, text: str, reading: ReadingRules) -> Skill:
    """Return a skill whose front matter is JSON, which is a kind of YAML."""
    import json

    closing = re.search(reading.closing, text)
    front, end = (text[: closing.start()], closing.end()) if closing else (text, len(text))
    try:
        table = json.loads(front)
    except (ValueError, RecursionError):
        return _with_finding(skill, "yaml-syntax", "the front matter is not valid JSON", path)
    lines = json.dumps(table).replace("\x7f", "\\u007f")
    parsed = _parse_between_fences(skill, path, lines, text[end:])
    return parsed.with_changes(findings=tuple(item for item in parsed.findings if item.code != "encoding-bom"))


def _with_parser_refusal(skill: Skill, path: str, reading: ReadingRules) -> Skill:
    """Add a finding if the client's YAML parser refuses front matter that is valid YAML."""
    document = skill.document
    if document is None or document.frontmatter is None or not reading.refuses:
        return skill
    front = "\n".join(_frontmatter_lines(document))
    refused = next(filter(None, (re.search(pattern, front) for pattern in reading.refuses)), None)
    if refused is None:
        return skill
    is_character = len(refused[0]) == 1
    hint = f"remove the character U+{ord(refused[0]):04X}" if is_character else "put the whole value in quotes"
    hint = next((item.hint for item in skill.findings if item.code == "encoding-not-utf8" and item.hint), hint)
    line, column = front.count("\n", 0, refused.start()) + 2, refused.start() - front.rfind("\n", 0, refused.start())
    message = "the client's YAML parser refuses this front matter"
    problem = finding("yaml-syntax", message, path=path, line=line, column=column, hint=hint)
    return skill.with_changes(findings=(*skill.findings, problem))


_TABBED_LINE = re.compile(r" *\t")
_BLOCK_SCALAR = re.compile(r"(?::|-)[ \t]+[|>][-+0-9]*[ \t]*(?:#.*)?\Z")


def _without_tabs(skill: Skill, path: str) -> Skill:
    """Return a skill parsed without the tabs at the beginning of its lines, except where they are text."""
    document = skill.document
    if document is None or document.frontmatter is None or "\t" not in document.text[: document.text.find("\n---")]:
        return skill
    found = _frontmatter_lines(document)
    first = next(filter(str.strip, found), "")
    if _TABBED_LINE.match(first):
        return _with_finding(skill, "yaml-syntax", "the client's YAML parser refuses a tab before the first key", path)
    lines: list[str] = []
    block_indent: int | None = None
    for line in found:
        indent = len(line) - len(line.lstrip(" "))
        if block_indent is None or (line.strip() and indent <= block_indent):
            line = line[:indent] + line[indent:].lstrip("\t ")
            line = f" {line}" if line.startswith("---") and not found[len(lines)].startswith("---") else line
            block_indent = indent if _BLOCK_SCALAR.search(line) else None
        lines.append(line)
    return skill if lines == found else _parse_between_fences(skill, path, "\n".join(lines), document.body)


def _frontmatter_lines(document: Document) -> list[str]:
    """Return the lines between the fences as they are in the file."""
    lines = fenced_lines(document)
    while lines and not lines[-1].startswith("---"):
        lines.pop()
    return lines[:-1]


# ── repairs: what a client does to lines that its YAML parser refuses ────────────────────────────────────────────────


def _repair(
    skill: Skill, path: str, reading: ReadingRules, lines: list[str], read_text: Callable[[], str], blanks: str
) -> Skill:
    """Return the skill parsed from repaired lines, or as it is if the client repairs nothing or in vain."""
    codes, rule = _codes(skill), reading.repair
    if rule is None:
        return skill
    if codes.isdisjoint(_REPAIRABLE_CODES) and not (rule.types and _has_wrong_types(skill)):
        return skill
    document = skill.document
    if document is None or document.frontmatter is None:
        return skill
    if rule.file and not re.match(rule.file, ("\ufeff" if "encoding-bom" in codes else "") + read_text()):
        return skill
    if not reading.yaml_line_breaks:
        lines = _frontmatter_lines(document)
    repaired_lines = _repair_lines(lines, rule, blanks)
    if repaired_lines == lines:
        return skill
    front = "\n".join(repaired_lines)
    if reading.yaml_line_breaks:
        front = re.sub(reading.yaml_line_breaks, "\n", front)
    repaired = _with_parser_refusal(_parse_between_fences(skill, path, front, document.body), path, reading)
    is_better = codes.isdisjoint(_REPAIRABLE_CODES) or _codes(repaired).isdisjoint(_REPAIRABLE_CODES)
    return repaired if is_better else skill


def _has_wrong_types(skill: Skill) -> bool:
    fields = (skill.fields.get(key) for key in ("name", "description"))
    return any(field is not None and field.kind in ("list", "map") for field in fields)


def _repair_lines(lines: list[str], rule: Repair, blanks: str) -> list[str]:
    """Put values in quotes, line by line."""
    pattern = re.compile(host_pattern(rule.line, blanks))
    when, unless = re.compile(host_pattern(rule.when, blanks)), re.compile(host_pattern(rule.unless, blanks))
    result = []
    block_indent: int | None = None
    for line in lines:
        indent = len(line) - len(line.lstrip(" "))
        if block_indent is not None and rule.blocks and (not line.strip() or indent > block_indent):
            result.append(line)
            continue
        block_indent = None
        match = pattern.match(line)
        if match is not None:
            value = match["value"].rstrip(blanks)
            if rule.blocks and value.startswith(("|", ">")):
                block_indent = indent
            elif (when.search(value) or (rule.brackets and _is_broken_flow(value))) and not unless.search(value):
                rest = match.groupdict().get("rest") or ""
                line = f"{match['key']}{match['gap'] or ' '}{_quote_value(value, rule.quote)}{rest}"
        result += line.split("\n")
    return result


_FLOW_TOKEN = re.compile(r"""(?<=[\[{,:\s])(?:"(?:\\.|[^"\\])*"|'[^']*')|[\]\[{},]|.""")


def _is_broken_flow(value: str) -> bool:
    """Return whether a value begins with a bracket, and is no list or table of YAML."""
    stack: list[str] = []
    before = ""
    for token in _FLOW_TOKEN.findall(value) if value.startswith(("[", "{")) else ():
        if before and not stack and token.strip():
            return True  # text after the last bracket
        if token in ("[", "{"):
            stack.append(token)
        elif token in ("]", "}"):
            if stack.pop() + token not in ("[]", "{}"):
                return True
        elif token.strip() in (",", "@", "`", "%", "|", ">", "*") and before in ("[", "{", ","):
            return True
        before = token if token.strip() else before
    return bool(stack)


def _quote_value(value: str, style: str) -> str:
    if style == "single":
        return "'" + value.replace("'", "''") + "'"
    if style == "double":
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    return f"|-\n  {value}"
