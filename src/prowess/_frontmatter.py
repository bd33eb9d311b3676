"""bytes -> fields, body, positions

    file    = fence newline yaml fence [newline body]
    fence   = "---" *blank          ; a whole line, at its very beginning
    yaml    = a mapping, read so that every scalar is the text its author typed

The only file that knows YAML. Nothing but a `Document` leaves it, whatever the bytes: what is wrong is a finding in
it, and the fields that could be read are there all the same, because some clients load what others refuse.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from .findings import Finding, finding, quoted

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = [
    "MAX_DEPTH",
    "MAX_EVENTS",
    "MAX_FRONTMATTER_BYTES",
    "Document",
    "Field",
    "Value",
    "front_end",
    "kind_of",
    "read",
]

MAX_FRONTMATTER_BYTES = 64 * 1024
MAX_DEPTH = 64
MAX_EVENTS = 20_000

Value: TypeAlias = "str | tuple[Value, ...] | Mapping[str, Value]"
"""What a field can hold: text, a list, or a map; every scalar is the text its author typed."""

Report: TypeAlias = Callable[..., None]
_Problem: TypeAlias = tuple[str, int, int, str, str]
"""Code, 0-based line and column within the front matter, message, hint."""

_MAX_REPAIRS = 32
_MAX_REPORTED = 20
"""Findings of one code in one file: the twentieth duplicate key tells nothing new."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """One top-level entry of the front matter."""

    value: Value
    kind: str
    """What YAML 1.2 makes of it: `text`, `null`, `bool`, `number`, `list` or `map`. Quoted scalars are `text`."""
    line: int
    """1-based, of the key, in the file."""
    column: int
    source: str = ""
    """The line as it stands in the file, without its newline."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A SKILL.md taken apart."""

    fields: Mapping[str, Field]
    body: str
    """What follows the front matter; the whole text where there is none."""
    body_line: int
    """1-based line of the body's first line in the file."""
    text: str
    """The decoded file (as far as it was read), newlines normalised."""
    front: str | None
    """The text between the fences after repair, or None without front matter."""
    findings: tuple[Finding, ...]
    line_count: int


_CLOSE_BYTES = re.compile(rb"[\r\n]-{3}[ \t]*(?=[\r\n])")
_CLOSE_LONG_BYTES = re.compile(rb"[\r\n]-{3,}[ \t]*(?=[\r\n])")
_CLOSE = re.compile(r"^-{3}[ \t]*$", re.MULTILINE)
_CLOSE_LONG = re.compile(r"^-{3,}[ \t]*$", re.MULTILINE)
_OPEN = re.compile(r"-{3}([ \t]*)(?:\n|\Z)")
_OPEN_LONG = re.compile(r"-{4,}[ \t]*(?:\n|\Z)")
_LATE = re.compile(r"(?:[ \t]*\n|[ \t]*<!--.*?-->[ \t]*\n|[ \t]*#[^\n]*\n)+---[ \t]*\n", re.DOTALL)
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\x80-\x84\x86-\x9f\ufffe\uffff]")


def front_end(data: bytes) -> int:
    """Return how many bytes of `data` hold the front matter and its closing fence, or -1 if no fence closes it."""
    pattern = _CLOSE_LONG_BYTES if data.startswith((b"----", b"\xef\xbb\xbf----")) else _CLOSE_BYTES
    match = pattern.search(data)
    return -1 if match is None else match.end()


def read(data: bytes, path: str | None = None) -> Document:
    """Take a SKILL.md apart. Never raises.

    Args:
        data: the file's bytes, or its beginning at least as far as `front_end`.
        path: what findings call the file.
    """
    found: list[Finding] = []

    def report(code: str, message: str, line: int | None = None, column: int | None = None, hint: str = "") -> None:
        if sum(item.code == code for item in found) < _MAX_REPORTED:
            found.append(finding(code, message, path=path, line=line, column=column, hint=hint or None))

    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        report("encoding-utf16", "the file is UTF-16, not UTF-8", 1, 1, "save it as UTF-8 without a byte order mark")
    text = _decode(data, report)
    lines = text.count("\n") + 1

    def document(fields: Mapping[str, Field], body: str, body_line: int, front: str | None) -> Document:
        return Document(
            fields=fields,
            body=body,
            body_line=body_line,
            text=text,
            front=front,
            findings=tuple(found),
            line_count=lines,
        )

    bounds = _fences(text, report)
    if bounds is None:
        return document({}, text, 1, None)
    start, end, body_start = bounds
    front = text[start:end]
    if len(front.encode("utf-8", "surrogatepass")) > MAX_FRONTMATTER_BYTES:
        report("frontmatter-too-large", "the front matter is larger than 64 KiB", 1, 1, "move the text into the body")
        return document({}, text[body_start:], text.count("\n", 0, body_start) + 1, None)
    fields, front = _fields(front, report)
    return document(fields, text[body_start:], text.count("\n", 0, body_start) + 1, front)


def _decode(data: bytes, report: Report) -> str:
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
            close = _CLOSE_LONG.search(text, text.find("\n") + 1)
            if text.startswith("---") and close is not None and first <= close.end():
                line = text.count("\n", 0, first) + 1
                report("newline-cr", "a line ends in a lone carriage return", line, None, "use LF or CRLF line ends")
    return text


def _fences(text: str, report: Report) -> tuple[int, int, int] | None:
    """Find where the front matter starts, where it ends, and where the body starts."""
    opening = _OPEN.match(text)
    closing_pattern = _CLOSE
    if opening is None:
        opening = _OPEN_LONG.match(text)
        closing_pattern = _CLOSE_LONG
        if opening is None:
            if late := _LATE.match(text):
                line = text.count("\n", 0, late.end() - 1) + 1
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
    if len(closing[0]) > 3 and closing_pattern is _CLOSE:
        line = text.count("\n", 0, closing.start()) + 1
        report("fence-blanks", "the closing fence has blanks after its dashes", line, 4, "write exactly `---`")
    return opening.end(), closing.start(), min(closing.end() + 1, len(text))


_NULL = frozenset(("", "~", "null", "Null", "NULL"))
_BOOL = frozenset(("true", "True", "TRUE", "false", "False", "FALSE"))
_NUMBER = re.compile(
    r"[-+]?(?:0o[0-7]+|0x[0-9a-fA-F]+|(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?|\.(?:inf|Inf|INF))|\.(?:nan|NaN|NAN)"
)


def kind_of(text: str) -> str:
    """Name what YAML 1.2's core schema makes of a plain scalar."""
    if text in _NULL:
        return "null"
    if text in _BOOL:
        return "bool"
    return "number" if _NUMBER.fullmatch(text) else "text"


class _SyntaxProblem(Exception):
    """Where YAML gave up: a 0-based line and column within the front matter."""

    def __init__(self, message: str, line: int, column: int) -> None:
        super().__init__(message)
        self.message, self.line, self.column = message, line, column


def _fields(front: str, report: Report) -> tuple[dict[str, Field], str]:
    """Read the YAML, repairing what is commonly left unquoted; return the fields and the text that was read."""
    original = front
    if _CONTROL.search(front):
        match = _CONTROL.search(front)
        assert match is not None
        line = front.count("\n", 0, match.start())
        report(
            "control-character",
            f"the front matter holds the control character U+{ord(match[0]):04X}",
            line + 2,
            match.start() - front.rfind("\n", 0, match.start()),
            "remove it",
        )
        front = _CONTROL.sub("", front)
    front = _retab(front, report)
    tried: set[int] = set()
    problem: _SyntaxProblem | None = None
    for _ in range(_MAX_REPAIRS):
        try:
            fields, problems = _compose(front, original)
        except _SyntaxProblem as error:
            problem = problem or error
            repaired = _quote_values(front, error, tried)
            if repaired is None:
                break
            front, repairs = repaired
            for code, line, column, message in repairs:
                report(
                    code, message, line + 2, column + 1, "put the whole value in quotes; `prowess check --fix` does it"
                )
        else:
            for code, line, column, message, hint in problems:
                report(code, message, line + 2, column + 1, hint)
            return fields, front
    assert problem is not None
    report("yaml-syntax", problem.message, problem.line + 2, problem.column + 1)
    return _salvage(original), original


def _retab(front: str, report: Report) -> str:
    """Turn tabs at the beginning of lines into two spaces each: YAML forbids them as indentation."""
    if "\t" not in front:
        return front
    lines = front.split("\n")
    for number, line in enumerate(lines):
        if line.startswith((" ", "\t")) and (blanks := line[: len(line) - len(line.lstrip(" \t"))]).count("\t"):
            if blanks != line:
                report("repair-tab", "a line is indented with a tab", number + 2, 1, "indent with spaces")
            lines[number] = blanks.replace("\t", "  ") + line[len(blanks) :]
    return "\n".join(lines)


_ENTRY = re.compile(
    r"(?P<key>[ ]*(?:-[ ]+)*[^\s:#'\"\[\]{},&*!|>%@`-][^:#'\"\[\]{}]*?[ ]*:[ ]+)(?P<value>\S.*?)[ \t]*$"
)
_BLOCK = re.compile(r"[|>][-+0-9]*[ \t]*(?:#.*)?$")


def _quote_values(
    front: str, error: _SyntaxProblem, tried: set[int]
) -> tuple[str, list[tuple[str, int, int, str]]] | None:
    """Quote the value YAML stumbled over, if it is one line of plain text; None if that is not what is wrong.

    A value is looked for at the place of the problem and on the lines before it, since YAML notices some mistakes
    only later. Lines of block scalars are text and never touched.
    """
    lines = front.split("\n")
    text_lines = _block_scalar_lines(lines)
    for number in range(min(error.line, len(lines) - 1), -1, -1):
        if number in tried or number in text_lines:
            continue
        match = _ENTRY.match(lines[number])
        if match is None:
            continue
        value = match["value"]
        repair = _reason_to_quote(value)
        if repair is None:
            continue
        tried.add(number)
        code, message = repair
        lines[number] = match["key"] + single_quoted(value)
        return "\n".join(lines), [(code, number, match.start("value"), message)]
    return None


def _reason_to_quote(value: str) -> tuple[str, str] | None:
    if value[0] in "'\"" or _BLOCK.match(value):
        return None
    if value[0] in "@*&%`" or value.startswith(("{{", "[[")):
        mark = value[:2] if value[0] in "{[" else value[0]
        return "repair-indicator", f"the value begins with {quoted(mark)}, which YAML reserves, and is not quoted"
    if value[0] in "[{!|>":
        return None
    if ": " in value or value.endswith(":") or ":\t" in value:
        return "repair-colon", "the value holds `: ` and is not quoted"
    return None


def _block_scalar_lines(lines: list[str]) -> set[int]:
    """Number the lines that are the text of a block scalar (`|` or `>`)."""
    inside: set[int] = set()
    indent: int | None = None
    for number, line in enumerate(lines):
        width = len(line) - len(line.lstrip(" "))
        if indent is not None:
            if not line.strip() or width > indent:
                inside.add(number)
                continue
            indent = None
        match = _ENTRY.match(line)
        if match is not None and _BLOCK.match(match["value"]):
            indent = width
    return inside


def single_quoted(value: str) -> str:
    """Quote one line of text the YAML way that leaves everything but `'` alone."""
    return "'" + value.replace("'", "''") + "'"


def _events(front: str) -> Iterator[Any]:
    import yaml

    # The C parser where PyYAML was built with it: about fifteen times as fast, the same events.
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        yield from yaml.parse(front, Loader=loader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        words = " ".join(part for part in (error.problem, error.context) if part) or "it is not valid YAML"
        line, column = (mark.line, mark.column) if mark is not None else (0, 0)
        raise _SyntaxProblem(f"the front matter is not valid YAML: {words}", line, column) from None
    except yaml.YAMLError as error:
        words = getattr(error, "reason", None) or "it is not valid YAML"
        raise _SyntaxProblem(f"the front matter is not valid YAML: {words}", 0, 0) from None
    except (ValueError, OverflowError, RecursionError):
        # Number escapes past what a character can be: PyYAML's pure reader lets these through.
        raise _SyntaxProblem("the front matter is not valid YAML: it cannot be read", 0, 0) from None


class _Frame:
    """A list or map that is still being read."""

    __slots__ = ("column", "items", "key", "line")

    def __init__(self, items: Any) -> None:
        self.items = items
        self.key: str | None = None
        """The key that waits for its value."""
        self.line = self.column = 0


def _compose(front: str, source: str) -> tuple[dict[str, Field], list[_Problem]]:
    """Build the fields from YAML events, noting every feature that a skill must not use."""
    import yaml

    fields: dict[str, Field] = {}
    problems: list[_Problem] = []
    anchors: dict[str, Value] = {}
    sources = source.split("\n")
    stack: list[_Frame] = []
    events = documents = 0

    def problem(code: str, mark: Any, message: str, hint: str = "") -> None:
        problems.append((code, mark.line, mark.column, message, hint))

    def place(value: Value, kind: str, mark: Any) -> None:
        """Put a finished node where it belongs."""
        frame = stack[-1]
        if isinstance(frame.items, list):
            frame.items.append(value)
        elif frame.key is None:
            if not isinstance(value, str):
                raise _SyntaxProblem("the front matter has a list or a map as a key", mark.line, mark.column)
            if value in frame.items:
                problem("yaml-duplicate-key", mark, f"the key {quoted(value)} stands twice", "remove one of them")
            frame.key, frame.line, frame.column = value, mark.line, mark.column
        else:
            if frame.items is fields:
                text = sources[frame.line] if frame.line < len(sources) else ""
                fields[frame.key] = Field(
                    value=value, kind=kind, line=frame.line + 2, column=frame.column + 1, source=text
                )
            else:
                frame.items[frame.key] = value
            frame.key = None

    for event in _events(front):
        mark = event.start_mark
        events += 1
        if events > MAX_EVENTS:
            problem("yaml-too-long", mark, f"the front matter has more than {MAX_EVENTS:,} YAML events")
            break
        anchor = getattr(event, "anchor", None)
        if isinstance(event, yaml.AliasEvent):
            if anchor not in anchors:
                raise _SyntaxProblem(f"the alias {quoted(f'*{anchor}')} has no anchor", mark.line, mark.column)
            problem("yaml-alias", mark, f"the alias {quoted(f'*{anchor}')} is not allowed", "write the value out")
            place(anchors[anchor], "text", mark)
            continue
        if anchor is not None:
            # An alias of a list or a map stays empty: repeated inside each other they would outgrow any memory.
            anchors[anchor] = getattr(event, "value", "")
            hint = "write the value without it, or in quotes"
            problem("yaml-anchor", mark, f"the anchor {quoted(f'&{anchor}')} is not allowed", hint)
        tag = getattr(event, "tag", None)
        if tag is not None:
            hint = "remove the tag, or put the value in quotes"
            problem("yaml-tag", mark, f"the tag {quoted(tag)} is not allowed", hint)
        if isinstance(event, yaml.ScalarEvent):
            kind = kind_of(event.value) if event.style in (None, "") else "text"
            if stack:
                place(event.value, kind, mark)
            elif event.value:
                problem("yaml-not-mapping", mark, "the front matter is text, not `key: value` lines")
        elif isinstance(event, yaml.MappingStartEvent | yaml.SequenceStartEvent):
            if len(stack) >= MAX_DEPTH:
                problem("yaml-too-deep", mark, f"the front matter nests more than {MAX_DEPTH} levels")
                break
            if isinstance(event, yaml.SequenceStartEvent):
                if not stack:
                    problem("yaml-not-mapping", mark, "the front matter is a list, not `key: value` lines")
                stack.append(_Frame([]))
            else:
                stack.append(_Frame({} if stack else fields))
        elif isinstance(event, yaml.MappingEndEvent | yaml.SequenceEndEvent):
            items = stack.pop().items
            if not stack:
                continue
            if isinstance(items, list):
                place(tuple(items), "list", mark)
            else:
                place(items, "map", mark)
        elif isinstance(event, yaml.DocumentStartEvent):
            documents += 1
            if documents > 1 or event.explicit:
                raise _SyntaxProblem("the front matter holds more than one YAML document", mark.line, mark.column)
    return fields, problems


_SALVAGE = re.compile(r"([A-Za-z_][\w.-]*)[ \t]*:(?:[ \t]+(.*?))?[ \t]*$")


def _salvage(front: str) -> dict[str, Field]:
    """Read what looks like `key: value` from a text that is not YAML, for the clients that do the same."""
    fields: dict[str, Field] = {}
    for number, line in enumerate(front.split("\n")):
        match = _SALVAGE.match(line)
        if match is not None:
            value = match[2] or ""
            if len(value) > 1 and value[0] == value[-1] and value[0] in "'\"":
                value = value[1:-1]
            fields[match[1]] = Field(value=value, kind="text", line=number + 2, column=1, source=line)
    return fields
