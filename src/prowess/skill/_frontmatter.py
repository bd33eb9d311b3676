"""Parse the front matter of a SKILL.md.

    file    = fence newline yaml fence [newline body]
    fence   = "---" *blank          ; a whole line, at its very beginning
    yaml    = a mapping; every scalar is the text its author typed

The result is always a `Document`, whatever the bytes. Its findings report what is wrong; it has the fields that could
be read all the same, because some clients load files that others reject.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache

from prowess._internal.frozen import Frozen

from ._fast import fast_parse_entries
from ._fences import LONG_CLOSING_FENCE, FindingRecorder, find_fences, frontmatter_end, program_language
from ._repair import TAB_REPLACEMENT, Repair, repair
from ._yaml import Field, FrontmatterReader, Value, YamlSyntaxError, scalar_kind

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from prowess.findings import Finding

MAX_FRONTMATTER_BYTES = 64 * 1024
_MAX_REPAIRS = 32
_BOM_HINT = "save it as UTF-8 without a byte order mark, or run `prowess check --fix`"
_CR_HINT = "use LF or CRLF line ends, or run `prowess check --fix`"


class Document(Frozen):
    """The parts of a SKILL.md."""

    fields: Mapping[str, Field]
    body: str
    """The text after the front matter; the whole text if there is no front matter."""
    body_line: int
    """1-based line of the body's first line in the file."""
    text: str
    """The decoded file, as far as it was read, with LF line ends."""
    frontmatter: str | None
    """The text between the fences after repair, or `None` without front matter."""
    findings: tuple[Finding, ...]
    line_count: int


@cache
def control_character() -> re.Pattern[str]:
    """Return the pattern of control characters, compiled on first use."""
    return re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\x80-\x84\x86-\x9f\ufffe\uffff]")


def parse_frontmatter(data: bytes, path: str | None = None, *, complete: bool = True) -> Document:
    """Return the parts of a SKILL.md. Never raises.

    Args:
        data: the file, or its beginning up to `frontmatter_end` at least.
        path: the name of the file in findings.
        complete: whether `data` is the whole file; if not, a missing closing fence means that the front matter is too
            large.
    """
    if not complete:
        # The data may end inside a character, or after the fence; that is not a problem of the file.
        end = frontmatter_end(data)
        data = data[:end] if end >= 0 else data[: data.rfind(b"\n") + 1] or data[:-3]
    report = FindingRecorder(path)
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        report("encoding-utf16", "the file is UTF-16, not UTF-8", 1, 1, "save it as UTF-8 without a byte order mark")
    language = program_language(data)
    if language is not None:
        message = f"the front matter is a program (`{language}`), which opencode and others run when they list skills"
        report("frontmatter-code", message, 1, 4, "write the fields as YAML, below a line that is exactly `---`")
    text = _decode(data, report)
    lines = text.count("\n") + 1

    def document(fields: Mapping[str, Field], body: str, body_line: int, frontmatter: str | None) -> Document:
        return Document(
            fields=fields,
            body=body,
            body_line=body_line,
            text=text,
            frontmatter=frontmatter,
            findings=tuple(report.findings),
            line_count=lines,
        )

    bounds = find_fences(text, report)
    if bounds is None and not complete and report.findings[-1].code == "frontmatter-unclosed":
        report.findings.pop()
        report("frontmatter-too-large", "the front matter is larger than 64 KiB", 1, 1, "move the text into the body")
    if bounds is None:
        _remove_fix_hints(report)
        return document({}, text, 1, None)
    start, end, body_start = bounds
    frontmatter = text[start:end]
    if len(frontmatter.encode("utf-8", "surrogatepass")) > MAX_FRONTMATTER_BYTES:
        report("frontmatter-too-large", "the front matter is larger than 64 KiB", 1, 1, "move the text into the body")
        _remove_fix_hints(report)
        return document({}, text[body_start:], text.count("\n", 0, body_start) + 1, None)
    fields, frontmatter = _parse_fields(frontmatter, report, 2)
    body_line = text.count("\n", 0, body_start) + 1
    if any(item.code == "encoding-not-utf8" and (item.line or 0) < body_line for item in report.findings):
        _remove_fix_hints(report)
    return document(fields, text[body_start:], body_line, frontmatter)


def _remove_fix_hints(report: FindingRecorder) -> None:
    """Leave `check --fix` out of all hints: it does not change a front matter that cannot be read."""
    report.findings[:] = [
        item.with_changes(hint=item.hint.removesuffix(", or run `prowess check --fix`")) if item.hint else item
        for item in report.findings
    ]


def parse_yaml_mapping(data: bytes, path: str | None = None) -> tuple[Mapping[str, Value], tuple[Finding, ...]]:
    """Parse a YAML file by the rules of a front matter; return its values and findings. Never raises."""
    report = FindingRecorder(path)
    text = _decode(data, report)
    frontmatter = text.removeprefix("---\n")
    fields, _ = _parse_fields(frontmatter, report, 1 if frontmatter is text else 2)
    return {key: entry.value for key, entry in fields.items()}, tuple(report.findings)


def _decode(data: bytes, report: FindingRecorder) -> str:
    """Decode UTF-8; other bytes are replaced and reported with their offset."""
    if data.startswith(b"\xef\xbb\xbf"):
        report("encoding-bom", "the file begins with a byte order mark", 1, 1, _BOM_HINT)
        data = data[3:]
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        line = len(re.findall(rb"\r\n|\n|\r", data[: error.start])) + 1
        report(
            "encoding-not-utf8",
            f"byte {data[error.start]:#04x} at offset {error.start} is not UTF-8",
            line,
            None,
            "save the file as UTF-8",
        )
        text = data.decode(errors="replace")
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        report(
            "encoding-nul", "the file contains a NUL byte", line, None, "remove every NUL byte: SKILL.md is a text file"
        )
    if "\r" in text:
        text = text.replace("\r\n", "\n")
        if "\r" in text:
            first = text.index("\r")
            text = text.replace("\r", "\n")
            close = LONG_CLOSING_FENCE.search(text, text.find("\n") + 1)
            if text.startswith("---") and close is not None and first <= close.end():
                line = text.count("\n", 0, first) + 1
                report("newline-cr", "a line ends in a lone carriage return", line, None, _CR_HINT)
    return text


def _parse_fields(frontmatter: str, report: FindingRecorder, first: int) -> tuple[dict[str, Field], str]:
    """Return the fields of a front matter, and its text after repair; `first` is its first line in the file.

    Valid YAML is never repaired. A repair is kept only if the text up to the end of the repaired value was invalid
    before and is valid after it.
    """
    original = frontmatter.split("\n")
    entries = fast_parse_entries(frontmatter)
    if entries is not None and not any(_has_other_items(value) for _, value, _, _ in entries):
        fields = {key: _plain_field(value, quoted, line, original[line]) for key, value, quoted, line in entries}
        return fields, frontmatter
    control = control_character()
    if match := control.search(frontmatter):
        report(
            "control-character",
            f"the front matter contains the control character U+{ord(match[0]):04X}",
            frontmatter.count("\n", 0, match.start()) + first,
            match.start() - frontmatter.rfind("\n", 0, match.start()),
            "remove all control characters from the front matter, or run `prowess check --fix`",
        )
    # The YAML reader refuses control characters, but some clients show them to their model.
    substitutes = _substitutes(control, frontmatter)
    lines = control.sub(lambda match: substitutes.get(match[0], ""), frontmatter).split("\n")
    positions = _Positions(original, lines, first)
    reader = FrontmatterReader(original)
    repairs: list[Repair] = []
    while True:
        try:
            fields, problems = reader.read(lines)
            break
        except YamlSyntaxError as error:
            repaired = repair(lines, error, reader) if len(repairs) < _MAX_REPAIRS else None
            if repaired is None:
                hint = error.hint or "close every quote and bracket, or put the whole value in quotes"
                message = _with_controls(error.message, substitutes)
                report("yaml-syntax", message, *positions.in_file(error.line, error.column), hint)
                return _salvage_fields(frontmatter), frontmatter
            repairs.append(repaired)
            lines[repaired.first_line : repaired.first_line + len(repaired.lines)] = repaired.lines
    for done in repairs:
        for code, line, message, hint in done.findings:
            report(code, _with_controls(message, substitutes), *positions.in_file(line, done.column), hint)
    for code, line, column, message, hint in problems:
        report(code, _with_controls(message, substitutes), *positions.in_file(line, column), hint)
    for key, field in fields.items():
        if original[field.line - 2] != lines[field.line - 2]:
            fields[key] = field.with_changes(column=positions.in_file(field.line - 2, field.column - 1)[1])
    if substitutes:
        fields = {
            _with_controls(key, substitutes): field.with_changes(value=_value_with_controls(field.value, substitutes))
            for key, field in fields.items()
        }
    return fields, "\n".join(lines).translate({ord(substitute): None for substitute in substitutes.values()})


def _substitutes(control: re.Pattern[str], text: str) -> dict[str, str]:
    """Return a private character for each control character of a text; nothing if the text has private ones itself."""
    found = set(control.findall(text))
    return {} if not found or re.search("[\U000f0000-\U000fffff]", text) else {c: chr(0xF0000 + ord(c)) for c in found}


def _with_controls(text: str, substitutes: Mapping[str, str]) -> str:
    """Return a text with the control characters that its substitutes replace."""
    for control, substitute in substitutes.items():
        text = text.replace(substitute, control)
    return text


def _value_with_controls(value: Value, substitutes: Mapping[str, str]) -> Value:
    if isinstance(value, str):
        return _with_controls(value, substitutes)
    if isinstance(value, tuple):
        return tuple(_value_with_controls(item, substitutes) for item in value)
    return {_with_controls(key, substitutes): _value_with_controls(item, substitutes) for key, item in value.items()}


class _Positions:
    """Converts positions of repaired lines into positions of the file."""

    def __init__(self, original: list[str], repaired: list[str], first: int) -> None:
        self._original, self._repaired, self._first = original, repaired, first
        self._columns: dict[int, list[int]] = {}  # one line may have ten thousand positions

    def in_file(self, line: int, column: int) -> tuple[int, int]:
        """Return the 1-based line and column in the file of a 0-based position."""
        if line >= len(self._repaired):
            line, column = len(self._repaired) - 1, len(self._repaired[-1])
        if self._original[line] == self._repaired[line]:
            return line + self._first, column + 1
        if line not in self._columns:
            self._columns[line] = _map_columns(self._original[line], self._repaired[line])
        return line + self._first, self._columns[line][min(column, len(self._repaired[line]))] + 1


@lru_cache(maxsize=256)
def plain_field(rows: str) -> Field | None:
    """Return one field of a front matter that the fast path has read; `None` if only the full parser can read it.

    Args:
        rows: its lines, with their ends.
    """
    entries = fast_parse_entries(rows)
    if entries is None or len(entries) != 1 or _has_other_items(entries[0][1]):
        return None
    _, value, quoted, line = entries[0]
    return _plain_field(value, quoted, line, rows.partition("\n")[0])


def _has_other_items(value: Value) -> bool:
    """Return whether a list may have items that are not texts; only the full parser knows which are in quotes."""
    return isinstance(value, tuple) and any(scalar_kind(item) != "text" for item in value if isinstance(item, str))


def _plain_field(value: Value, quoted: bool, line: int, source: str) -> Field:
    if isinstance(value, str):
        kind = "text" if quoted else scalar_kind(value)
    else:
        kind = "list" if isinstance(value, tuple) else "map"
    kinds = ("text",) * len(value) if isinstance(value, tuple) else ()
    return Field(value=value, kind=kind, line=line + 2, column=1, source=source, kinds=kinds)


def _map_columns(original: str, repaired: str) -> list[int]:
    """Return, for each character of a repaired line and for its end, its position in the line of the file."""
    columns = []
    position = index = 0
    while index <= len(repaired):
        if position < len(original) and index < len(repaired) and _is_same(original[position], repaired[index]):
            columns.append(position)
            position, index = position + 1, index + 1
        elif position < len(original) and control_character().match(original[position]):
            position += 1
        elif position < len(original) and original[position] == "\t" and repaired.startswith(TAB_REPLACEMENT, index):
            columns += [position] * len(TAB_REPLACEMENT)
            position, index = position + 1, index + len(TAB_REPLACEMENT)
        else:
            columns.append(position)
            index += 1
    return columns


def _is_same(original: str, repaired: str) -> bool:
    return original == repaired or ord(repaired) == 0xF0000 + ord(original)


_KEY_VALUE_LINE = r"([A-Za-z_][\w.-]*)[ \t]*:(?:[ \t]+(.*))?$"


def _salvage_fields(frontmatter: str) -> dict[str, Field]:
    """Return the `key: value` lines of a text that is not YAML, as some clients read it."""
    fields: dict[str, Field] = {}
    for number, line in enumerate(frontmatter.split("\n")):
        match = re.match(_KEY_VALUE_LINE, line.rstrip(" \t"))
        if match is not None:
            value = match[2] or ""
            if len(value) > 1 and value[0] == value[-1] and value[0] in "'\"":
                value = value[1:-1]
            fields[match[1]] = Field(value=value, kind="text", line=number + 2, column=1, source=line)
    return fields
