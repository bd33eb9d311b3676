"""bytes -> fields, body, positions

    file    = fence newline yaml fence [newline body]
    fence   = "---" *blank          ; a whole line, at its very beginning
    yaml    = a mapping, read so that every scalar is the text its author typed

Nothing but a `Document` leaves it, whatever the bytes: what is wrong is a finding in it, and the fields that could be
read are there all the same, because some clients load what others refuse.
"""

from __future__ import annotations

import re

from prowess._internal.frozen import Frozen
from prowess.findings import Finding, finding

from ._fast import fast_parse_entries
from ._repair import TAB_REPLACEMENT, Repair, repair
from ._yaml import Field, FrontmatterReader, Value, YamlSyntaxError, scalar_kind

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "MAX_FRONTMATTER_BYTES",
    "Document",
    "Field",
    "Value",
    "frontmatter_end",
    "scalar_kind",
    "parse_frontmatter",
    "parse_yaml_mapping",
]

MAX_FRONTMATTER_BYTES = 64 * 1024
_MAX_REPAIRS = 32
_MAX_REPORTED = 20
"""Findings of one code in one file: the twentieth duplicate key tells nothing new."""


class Document(Frozen):
    """A SKILL.md taken apart."""

    fields: Mapping[str, Field]
    body: str
    """What follows the front matter; the whole text where there is none."""
    body_line: int
    """1-based line of the body's first line in the file."""
    text: str
    """The decoded file (as far as it was read), newlines normalised."""
    frontmatter: str | None
    """The text between the fences after repair, or None without front matter."""
    findings: tuple[Finding, ...]
    line_count: int


class _FindingCollector:
    """Takes down what is wrong with one file."""

    def __init__(self, path: str | None) -> None:
        self.path = path
        self.findings: list[Finding] = []

    def __call__(
        self, code: str, message: str, line: int | None = None, column: int | None = None, hint: str | None = None
    ) -> None:
        if sum(item.code == code for item in self.findings) < _MAX_REPORTED:
            self.findings.append(finding(code, message, path=self.path, line=line, column=column, hint=hint))


_CLOSING_FENCE_BYTES = re.compile(rb"[\r\n]-{3}[ \t]*(?=[\r\n])")
_CLOSING_FENCE_LONG_BYTES = re.compile(rb"[\r\n]-{3,}[ \t]*(?=[\r\n])")
_CLOSING_FENCE = re.compile(r"^-{3}[ \t]*$", re.MULTILINE)
_CLOSING_FENCE_LONG = re.compile(r"^-{3,}[ \t]*$", re.MULTILINE)
_OPENING_FENCE = re.compile(r"-{3}([ \t]*)(?:\n|\Z)")
_OPENING_FENCE_LONG = re.compile(r"-{4,}[ \t]*(?:\n|\Z)")
_CONTROL_CHARACTER = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\x80-\x84\x86-\x9f\ufffe\uffff]")


def frontmatter_end(data: bytes) -> int:
    """Return how many bytes of `data` hold the front matter and its closing fence, or -1 if no fence closes it."""
    pattern = _CLOSING_FENCE_LONG_BYTES if data.startswith((b"----", b"\xef\xbb\xbf----")) else _CLOSING_FENCE_BYTES
    match = pattern.search(data)
    return -1 if match is None else match.end()


def parse_frontmatter(data: bytes, path: str | None = None, *, complete: bool = True) -> Document:
    """Take a SKILL.md apart. Never raises.

    Args:
        data: the file's bytes, or its beginning at least as far as `front_end`.
        path: what findings call the file.
        complete: whether `data` is the whole file; if not, a missing closing fence means too much front matter.
    """
    if not complete:
        # What was read may end inside a character or beyond the fence: neither is a fault of the file's.
        end = frontmatter_end(data)
        data = data[:end] if end >= 0 else data[: data.rfind(b"\n") + 1] or data[:-3]
    report = _FindingCollector(path)
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        report("encoding-utf16", "the file is UTF-16, not UTF-8", 1, 1, "save it as UTF-8 without a byte order mark")
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

    bounds = _find_fences(text, report)
    if bounds is None and not complete and report.findings[-1].code == "frontmatter-unclosed":
        report.findings.pop()
        report("frontmatter-too-large", "the front matter is larger than 64 KiB", 1, 1, "move the text into the body")
    if bounds is None:
        return document({}, text, 1, None)
    start, end, body_start = bounds
    frontmatter = text[start:end]
    if len(frontmatter.encode("utf-8", "surrogatepass")) > MAX_FRONTMATTER_BYTES:
        report("frontmatter-too-large", "the front matter is larger than 64 KiB", 1, 1, "move the text into the body")
        return document({}, text[body_start:], text.count("\n", 0, body_start) + 1, None)
    fields, frontmatter = _parse_fields(frontmatter, report, 2)
    return document(fields, text[body_start:], text.count("\n", 0, body_start) + 1, frontmatter)


def parse_yaml_mapping(data: bytes, path: str | None = None) -> tuple[Mapping[str, Value], tuple[Finding, ...]]:
    """Read a YAML file that is a mapping, with the rules and findings of a front matter. Never raises."""
    report = _FindingCollector(path)
    text = _decode(data, report)
    frontmatter = text.removeprefix("---\n")
    fields, _ = _parse_fields(frontmatter, report, 1 if frontmatter is text else 2)
    return {key: entry.value for key, entry in fields.items()}, tuple(report.findings)


def _decode(data: bytes, report: _FindingCollector) -> str:
    """Decode as UTF-8; whatever is not is replaced and reported with its offset."""
    if data.startswith(b"\xef\xbb\xbf"):
        report("encoding-bom", "the file begins with a byte order mark", 1, 1, "save it as UTF-8 without one")
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
        report("encoding-nul", "the file holds a NUL byte", line, None, "remove it: SKILL.md is a text file")
    if "\r" in text:
        text = text.replace("\r\n", "\n")
        if "\r" in text:
            first = text.index("\r")
            text = text.replace("\r", "\n")
            close = _CLOSING_FENCE_LONG.search(text, text.find("\n") + 1)
            if text.startswith("---") and close is not None and first <= close.end():
                line = text.count("\n", 0, first) + 1
                report("newline-cr", "a line ends in a lone carriage return", line, None, "use LF or CRLF line ends")
    return text


def _find_late_fence(text: str) -> int | None:
    """Return where a fence begins that only blank lines and comments stand before, or None.

    By hand: a regular expression for this takes for ever on a file of nothing but comments.
    """
    at = 0
    while at < len(text):
        end = text.find("\n", at)
        line = text[at : end if end >= 0 else len(text)].strip(" \t")
        if line == "---":
            return at if at and end >= 0 else None
        if line.startswith("<!--"):
            close = text.find("-->", at)
            end = text.find("\n", close)
            if close < 0 or end < 0 or text[close + 3 : end].strip(" \t"):
                return None
        elif line and not line.startswith("#"):
            return None
        if end < 0:
            return None
        at = end + 1
    return None


def _find_fences(text: str, report: _FindingCollector) -> tuple[int, int, int] | None:
    """Find where the front matter starts, where it ends, and where the body starts."""
    opening = _OPENING_FENCE.match(text)
    closing_pattern = _CLOSING_FENCE
    if opening is None:
        opening = _OPENING_FENCE_LONG.match(text)
        closing_pattern = _CLOSING_FENCE_LONG
        if opening is None:
            late = _find_late_fence(text)
            if late is not None:
                line = text.count("\n", 0, late) + 1
                report(
                    "frontmatter-not-first",
                    "something stands before the `---` that opens the front matter",
                    line,
                    1,
                    "make the first line exactly `---`",
                )
            else:
                report(
                    "frontmatter-missing",
                    "the file does not begin with a `---` line" if text.strip() else "the file is empty",
                    1,
                    1,
                    "begin with `---`, then `name:` and `description:`, then `---`",
                )
            return None
        report("fence-dashes", "the opening fence has more than three dashes", 1, 4, "write exactly `---`")
    elif opening[1]:
        report("fence-blanks", "the opening fence has blanks after its dashes", 1, 4, "write exactly `---`")
    closing = closing_pattern.search(text, opening.end())
    if closing is None:
        report(
            "frontmatter-unclosed",
            "no `---` line closes the front matter",
            1,
            1,
            "put a line that is exactly `---` after the last field",
        )
        return None
    if len(closing[0]) > 3 and closing_pattern is _CLOSING_FENCE:
        line = text.count("\n", 0, closing.start()) + 1
        report("fence-blanks-closing", "the closing fence has blanks after its dashes", line, 4, "write exactly `---`")
    return opening.end(), closing.start(), min(closing.end() + 1, len(text))


def _parse_fields(frontmatter: str, report: _FindingCollector, first: int) -> tuple[dict[str, Field], str]:
    """Read the YAML, repairing what is commonly left unquoted; return the fields and the text that was read.

    `first` is the line of the file on which it begins.
    YAML has the first word: what it reads is never repaired. A repair is kept only where the text up to the end of
    the repaired value could not be read before and can be read after it.
    """
    original = frontmatter.split("\n")
    entries = fast_parse_entries(frontmatter)
    if entries is not None:
        return {
            key: _plain_field(value, quoted, line, original[line]) for key, value, quoted, line in entries
        }, frontmatter
    if match := _CONTROL_CHARACTER.search(frontmatter):
        line = frontmatter.count("\n", 0, match.start())
        report(
            "control-character",
            f"the front matter holds the control character U+{ord(match[0]):04X}",
            line + first,
            match.start() - frontmatter.rfind("\n", 0, match.start()),
            "remove it",
        )
    lines = _CONTROL_CHARACTER.sub("", frontmatter).split("\n")

    def place(line: int, column: int) -> tuple[int, int]:
        """Tell where in the file a 0-based place of the repaired text is."""
        if line >= len(lines):
            line, column = len(lines) - 1, len(lines[-1])
        if original[line] == lines[line]:
            return line + first, column + 1
        # One line may hold ten thousand places.
        if line not in columns:
            columns[line] = _map_columns(original[line], lines[line])
        return line + first, columns[line][min(column, len(lines[line]))] + 1

    columns: dict[int, list[int]] = {}
    reader = FrontmatterReader(original)
    repairs: list[Repair] = []
    while True:
        try:
            fields, problems = reader.read(lines)
        except YamlSyntaxError as error:
            mended = repair(lines, error, reader) if len(repairs) < _MAX_REPAIRS else None
            if mended is None:
                hint = "close every quote and bracket, or put the whole value in quotes"
                report("yaml-syntax", error.message, *place(error.line, error.column), hint)
                return _salvage_fields(frontmatter), frontmatter
            repairs.append(mended)
            lines[mended.first_line : mended.first_line + len(mended.lines)] = mended.lines
        else:
            break
    for done in repairs:
        for code, line, message, hint in done.findings:
            report(code, message, *place(line, done.column), hint)
    for code, line, column, message, hint in problems:
        report(code, message, *place(line, column), hint)
    for key, entry in fields.items():
        if original[entry.line - 2] != lines[entry.line - 2]:
            fields[key] = entry.with_changes(column=place(entry.line - 2, entry.column - 1)[1])
    return fields, "\n".join(lines)


def _plain_field(value: Value, quoted: bool, line: int, source: str) -> Field:
    if isinstance(value, str):
        kind = "text" if quoted else scalar_kind(value)
    else:
        kind = "list" if isinstance(value, tuple) else "map"
    return Field(value=value, kind=kind, line=line + 2, column=1, source=source)


def _map_columns(original: str, repaired: str) -> list[int]:
    """Find, for each character of the repaired line and for its end, the one of the file's line that became it."""
    columns = []
    at = here = 0
    while here <= len(repaired):
        if at < len(original) and here < len(repaired) and original[at] == repaired[here]:
            columns.append(at)
            at, here = at + 1, here + 1
        elif at < len(original) and _CONTROL_CHARACTER.match(original[at]):
            at += 1
        elif at < len(original) and original[at] == "\t" and repaired.startswith(TAB_REPLACEMENT, here):
            columns += [at] * len(TAB_REPLACEMENT)
            at, here = at + 1, here + len(TAB_REPLACEMENT)
        else:
            columns.append(at)
            here += 1
    return columns


_KEY_VALUE_LINE = re.compile(r"([A-Za-z_][\w.-]*)[ \t]*:(?:[ \t]+(.*))?$")


def _salvage_fields(frontmatter: str) -> dict[str, Field]:
    """Read what looks like `key: value` from a text that is not YAML, for the clients that do the same."""
    fields: dict[str, Field] = {}
    for number, line in enumerate(frontmatter.split("\n")):
        match = _KEY_VALUE_LINE.match(line.rstrip(" \t"))
        if match is not None:
            value = match[2] or ""
            if len(value) > 1 and value[0] == value[-1] and value[0] in "'\"":
                value = value[1:-1]
            fields[match[1]] = Field(value=value, kind="text", line=number + 2, column=1, source=line)
    return fields
