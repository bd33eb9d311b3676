"""Read a SKILL.md the way one client does.

Most files are read alike by every client. Clients differ where fences are unusual, where YAML fails, and in what they
make of a value that is not text: most are written in JavaScript. The rules are data of the host; this module applies
them. What a client finds between its own fences is put between plain fences and parsed again.
"""

from __future__ import annotations

import re
from functools import partial

from prowess.clients import of_client
from prowess.findings import finding
from prowess.skill import from_document, parse_frontmatter

from ._lenient_yaml import has_unquoted_controls, replace_half_pairs, write_flow_keys
from ._line_parsers import JAVASCRIPT_SPACE, fenced_lines, host_pattern, white_space

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from prowess.filesystem import Filesystem
    from prowess.hosts import Host, ReadingRules
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
    reading, own = host.reading, partial(of_client, host.name)
    blanks, codes = own(white_space)(), own(codes_as_read)(_codes(skill))
    front = skill.document.frontmatter or ""
    has_odd_fences = bool(codes & _FENCE_CODES) or "---" in front or not front.strip()
    if reading.line_breaks and not has_odd_fences:
        has_odd_fences = re.search(reading.line_breaks, skill.document.text) is not None
    if reading.opening and has_odd_fences and codes.isdisjoint(_UNREADABLE_CODES):
        text = read_text().replace("\r\n", "\n")
        if reading.line_breaks:
            text = re.sub(reading.line_breaks, "\n", text)
        if (parsed := own(parse_other_format)(skill, path, text, reading)) is not None:
            return parsed
        opening = re.match(host_pattern(reading.opening, blanks), text)
        closing = opening and re.compile(host_pattern(reading.closing, blanks)).search(text, opening.end())
        if opening is None or closing is None:
            if opening is not None and "frontmatter-not-first" in codes:
                found = tuple(item for item in skill.findings if item.code not in _FENCE_CODES)
                skill, codes = skill.with_changes(findings=found), codes - _FENCE_CODES
            if codes & _FENCE_CODES:
                return skill
            code = "frontmatter-missing" if opening is None else "frontmatter-unclosed"
            return with_finding(skill, code, "the client finds no front matter in this file", path)
        skill = parse_between_fences(skill, path, text[opening.end() : closing.start()], text[closing.end() :])
    document = skill.document
    lines = frontmatter_lines(document) if document is not None and document.frontmatter is not None else []
    if reading.yaml_line_breaks and document is not None and lines:
        front = "\n".join(lines)
        split = re.sub(reading.yaml_line_breaks, "\n", front)
        skill = skill if split == front else parse_between_fences(skill, path, split, document.body)
    skill = own(without_tabs)(_read_leniently(skill, path, host), path)
    skill = _with_parser_refusal(skill, path, reading)
    return skill if own(repair_lines) is repair_lines else _repair(skill, path, host, lines, read_text)


_PLAIN = bytes([10, *range(32, 127)])
"""The characters of most front matter."""
_LAST_CLASS = re.compile(r"(?<!\\)\[[^\[\]]*\]\Z")


def plain_front_check(host: Host) -> Callable[[bytes], bool]:
    """Return a function that says whether `apply_dialect` leaves front matter without findings as it is.

    Its argument is the front matter with both fences.
    """
    reading, trim = host.reading, of_client(host.name, trim_front)
    anchored, anywhere, unusual = [], [], []
    for pattern in filter(None, (reading.line_breaks, reading.yaml_line_breaks, *reading.refuses)):
        if _needs_unusual_character(pattern):
            unusual.append(re.compile(pattern).search)
        elif pattern.startswith("(?m)^"):
            # To look for a newline takes a quarter of the time of looking for the beginning of a line.
            anchored.append(re.compile("(?m)\n" + pattern.removeprefix("(?m)^")).search)
        else:
            anywhere.append(re.compile(pattern).search)

    plain_if_no_fence = not (anchored or anywhere or unusual or trim is not trim_front)

    def is_left_as_it_is(front: bytes) -> bool:
        if b"---" in front[4:-5]:
            return False
        if plain_if_no_fence:
            return True
        after_newline = front[3:-5].decode()
        text = after_newline[1:]
        if trim(text) != text:
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


def with_finding(skill: Skill, code: str, message: str, path: str) -> Skill:
    """Return a skill with one more finding."""
    return skill.with_changes(findings=(*skill.findings, finding(code, message, path=path)))


def parse_between_fences(skill: Skill, path: str, front: str, body: str) -> Skill:
    """Parse a front matter again, between plain fences."""
    front = front.replace("\r", "\n").strip("\n").removeprefix("---\n")
    data = f"---\n{front}\n---\n{body.removeprefix(chr(10))}".encode(errors="replace")
    parsed = from_document(parse_frontmatter(data, path), path)
    kept = tuple(item for item in skill.findings if item.code.startswith("encoding-"))
    return parsed.with_changes(findings=(*kept, *parsed.findings))


def _read_leniently(skill: Skill, path: str, host: Host) -> Skill:
    """Return a skill with what the client's YAML parser accepts, though YAML does not."""
    document = skill.document
    if document is None or document.frontmatter is None:
        return skill
    reading, codes, trim = host.reading, _codes(skill), of_client(host.name, trim_front)
    has_marks = reading.marks_are_text and "\n\ufeff" in document.text
    has_flow_keys = reading.flow_keys and "repair-indicator" in codes
    if not (trim is not trim_front or has_marks or has_flow_keys or codes & {"yaml-syntax", "control-character"}):
        return skill
    front = "\n".join(frontmatter_lines(document))
    changed = trim(front)
    if reading.half_pairs and "yaml-syntax" in codes:
        changed = replace_half_pairs(changed, reading.half_pairs)
    if reading.empty_keys and "yaml-syntax" in codes:
        changed = re.sub(r"(?m)^:(?=[ \n]|\Z)", '"":', changed)
    if has_flow_keys:
        changed = of_client(host.name, write_flow_keys)(changed)
    if has_marks:
        changed = changed.replace("\n\ufeff", "\n\ufffd")
    if changed.strip("\n") != front.strip("\n"):
        skill = parse_between_fences(skill, path, changed, document.body)
    if reading.quoted_controls and "control-character" in _codes(skill) and not has_unquoted_controls(changed):
        return skill.with_changes(findings=tuple(item for item in skill.findings if item.code != "control-character"))
    return skill


def _with_parser_refusal(skill: Skill, path: str, reading: ReadingRules) -> Skill:
    """Add a finding if the client's YAML parser refuses front matter that is valid YAML."""
    document = skill.document
    if document is None or document.frontmatter is None or not reading.refuses:
        return skill
    front = "\n".join(frontmatter_lines(document))
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


def frontmatter_lines(document: Document) -> list[str]:
    """Return the lines between the fences as they are in the file."""
    lines = fenced_lines(document)
    while lines and not lines[-1].startswith("---"):
        lines.pop()
    return lines[:-1]


# ── what single clients do ───────────────────────────────────────────────────────────────────────────────────────────


def codes_as_read(codes: set[str]) -> set[str]:
    """Return the codes of findings of a file, as far as the client finds the same problems."""
    return codes


def read_text(filesystem: Filesystem, real: str) -> str:
    """Return the text of a file as the client decodes it."""
    return filesystem.text(real)


def parse_other_format(skill: Skill, path: str, text: str, reading: ReadingRules) -> Skill | None:
    """Return a skill whose front matter is no YAML; `None` if the client reads this file as YAML.

    Args:
        skill: as Prowess reads it.
        path: of its file.
        text: of the file.
        reading: the rules of the client.
    """
    return None


def trim_front(front: str) -> str:
    """Return what is between the fences as the client gives it to its YAML parser."""
    return front


def without_tabs(skill: Skill, path: str) -> Skill:
    """Return a skill parsed with the tabs at the beginning of lines as the client takes them."""
    return skill


# ── repairs: what a client does to lines that its YAML parser refuses ────────────────────────────────────────────────


def repair_lines(lines: list[str]) -> list[str]:
    """Return the lines of front matter that a client's YAML parser refuses, as it tries them again."""
    return lines


def is_repaired(skill: Skill, read_text: Callable[[], str], *, is_valid: bool) -> bool:
    """Return whether the client repairs a file.

    Args:
        skill: as its parser reads it.
        read_text: returns the file with its own line ends, and with a byte order mark if it has one.
        is_valid: whether its parser accepts the file.
    """
    return not is_valid


def quote_values(
    lines: list[str], line: str, is_broken: Callable[[str], bool], quote: Callable[[str], str]
) -> list[str]:
    """Return lines of front matter with some values in quotes.

    Args:
        lines: between the fences.
        line: a regular expression with the groups `key`, `gap` and `value`.
        is_broken: returns whether a value is put in quotes.
        quote: returns it in quotes, perhaps on several lines.
    """
    pattern = re.compile(host_pattern(line, JAVASCRIPT_SPACE))
    result = []
    for text in lines:
        match = pattern.match(text)
        value = match["value"].rstrip(JAVASCRIPT_SPACE) if match is not None else ""
        if match is not None and is_broken(value):
            text = f"{match['key']}{match['gap'] or ' '}{quote(value)}"
        result += text.split("\n")
    return result


def _repair(skill: Skill, path: str, host: Host, lines: list[str], read_text: Callable[[], str]) -> Skill:
    """Return the skill parsed from repaired lines, or as it is if the client repairs nothing or in vain."""
    reading, codes, document = host.reading, _codes(skill), skill.document
    if document is None or document.frontmatter is None:
        return skill
    mark = "\ufeff" if "encoding-bom" in codes else ""
    is_valid = codes.isdisjoint(_REPAIRABLE_CODES)
    if not of_client(host.name, is_repaired)(skill, lambda: mark + read_text(), is_valid=is_valid):
        return skill
    if not reading.yaml_line_breaks:
        lines = frontmatter_lines(document)
    repaired_lines = of_client(host.name, repair_lines)(lines)
    if repaired_lines == lines:
        return skill
    front = "\n".join(repaired_lines)
    if reading.yaml_line_breaks:
        front = re.sub(reading.yaml_line_breaks, "\n", front)
    repaired = _with_parser_refusal(parse_between_fences(skill, path, front, document.body), path, reading)
    return repaired if is_valid or _codes(repaired).isdisjoint(_REPAIRABLE_CODES) else skill
