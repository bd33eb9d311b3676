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
from dataclasses import dataclass, replace
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
    "read_yaml",
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
_MAX_REPAIR_EVENTS = 4 * MAX_EVENTS
"""YAML events over all attempts at one front matter: a long one with many mistakes is given up before it takes long."""
_NO_LINES = "not `key: value` lines"
_BESIDE = "keep data in a file beside SKILL.md"
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
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\x80-\x84\x86-\x9f\ufffe\uffff]")


def front_end(data: bytes) -> int:
    """Return how many bytes of `data` hold the front matter and its closing fence, or -1 if no fence closes it."""
    pattern = _CLOSE_LONG_BYTES if data.startswith((b"----", b"\xef\xbb\xbf----")) else _CLOSE_BYTES
    match = pattern.search(data)
    return -1 if match is None else match.end()


def read(data: bytes, path: str | None = None, *, complete: bool = True) -> Document:
    """Take a SKILL.md apart. Never raises.

    Args:
        data: the file's bytes, or its beginning at least as far as `front_end`.
        path: what findings call the file.
        complete: whether `data` is the whole file; if not, a missing closing fence means too much front matter.
    """
    if not complete:
        # What was read may end inside a character or beyond the fence: neither is a fault of the file's.
        end = front_end(data)
        data = data[:end] if end >= 0 else data[: data.rfind(b"\n") + 1] or data[:-3]
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
    if bounds is None and not complete and found[-1].code == "frontmatter-unclosed":
        found.pop()
        report("frontmatter-too-large", "the front matter is larger than 64 KiB", 1, 1, "move the text into the body")
    if bounds is None:
        return document({}, text, 1, None)
    start, end, body_start = bounds
    front = text[start:end]
    if len(front.encode("utf-8", "surrogatepass")) > MAX_FRONTMATTER_BYTES:
        report("frontmatter-too-large", "the front matter is larger than 64 KiB", 1, 1, "move the text into the body")
        return document({}, text[body_start:], text.count("\n", 0, body_start) + 1, None)
    fields, front = _fields(front, report)
    return document(fields, text[body_start:], text.count("\n", 0, body_start) + 1, front)


def read_yaml(data: bytes, path: str | None = None) -> tuple[Mapping[str, Value], tuple[Finding, ...]]:
    """Read a YAML file that is a mapping, with the rules and findings of a front matter. Never raises."""
    found: list[Finding] = []

    def report(code: str, message: str, line: int | None = None, column: int | None = None, hint: str = "") -> None:
        # Lines were counted for a text that stands below a fence.
        line = max(line - 1, 1) if line is not None else None
        found.append(finding(code, message, path=path, line=line, column=column, hint=hint or None))

    text = _decode(data, report)
    fields, _ = _fields(text.removeprefix("---\n"), report)
    return {key: entry.value for key, entry in fields.items()}, tuple(found)


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


def _after_comments(text: str) -> int | None:
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


def _fences(text: str, report: Report) -> tuple[int, int, int] | None:
    """Find where the front matter starts, where it ends, and where the body starts."""
    opening = _OPEN.match(text)
    closing_pattern = _CLOSE
    if opening is None:
        opening = _OPEN_LONG.match(text)
        closing_pattern = _CLOSE_LONG
        if opening is None:
            late = _after_comments(text)
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
    if len(closing[0]) > 3 and closing_pattern is _CLOSE:
        line = text.count("\n", 0, closing.start()) + 1
        report("fence-blanks-closing", "the closing fence has blanks after its dashes", line, 4, "write exactly `---`")
    return opening.end(), closing.start(), min(closing.end() + 1, len(text))


_NULL = frozenset(("", "~", "null", "Null", "NULL"))
_BOOL = frozenset(("true", "True", "TRUE", "false", "False", "FALSE"))
_NUMBER = re.compile(
    r"0o[0-7]+|0x[0-9a-fA-F]+|\.(?:nan|NaN|NAN)"
    r"|[-+]?(?:(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?|\.(?:inf|Inf|INF))"
)


def kind_of(text: str) -> str:
    """Name what YAML 1.2's core schema makes of a plain scalar."""
    if text in _NULL:
        return "null"
    if text in _BOOL:
        return "bool"
    return "number" if _NUMBER.fullmatch(text) else "text"


class _NotYamlError(Exception):
    """Where YAML gave up: a 0-based line and column within the front matter."""

    def __init__(self, message: str, line: int, column: int) -> None:
        super().__init__(message)
        self.message, self.line, self.column = message, line, column


def _fields(front: str, report: Report) -> tuple[dict[str, Field], str]:
    """Read the YAML, repairing what is commonly left unquoted; return the fields and the text that was read.

    YAML has the first word: what it reads is never repaired. A repair is kept only where the text up to the end of
    the repaired value could not be read before and can be read after it.
    """
    original = front.split("\n")
    if match := _CONTROL.search(front):
        line = front.count("\n", 0, match.start())
        report(
            "control-character",
            f"the front matter holds the control character U+{ord(match[0]):04X}",
            line + 2,
            match.start() - front.rfind("\n", 0, match.start()),
            "remove it",
        )
    lines = _CONTROL.sub("", front).split("\n")

    def place(line: int, column: int) -> tuple[int, int]:
        """Tell where in the file a 0-based place of the repaired text is."""
        if line >= len(lines):
            line, column = len(lines) - 1, len(lines[-1])
        return line + 2, _original_column(original[line], lines[line], column) + 1

    reader = _Reader(original)
    repairs: list[_Repair] = []
    while True:
        try:
            fields, problems = reader.read(lines)
        except _NotYamlError as error:
            repair = _repair(lines, error, reader) if len(repairs) < _MAX_REPAIRS else None
            if repair is None:
                hint = "close every quote and bracket, or put the whole value in quotes"
                report("yaml-syntax", error.message, *place(error.line, error.column), hint)
                return _salvage(front), front
            repairs.append(repair)
            lines[repair.first : repair.first + len(repair.lines)] = repair.lines
        else:
            break
    for repair in repairs:
        for code, line, message, hint in repair.findings:
            report(code, message, *place(line, repair.column), hint)
    for code, line, column, message, hint in problems:
        report(code, message, *place(line, column), hint)
    for key, entry in fields.items():
        if original[entry.line - 2] != lines[entry.line - 2]:
            fields[key] = replace(entry, column=place(entry.line - 2, entry.column - 1)[1])
    return fields, "\n".join(lines)


def _original_column(original: str, repaired: str, column: int) -> int:
    """Find the character of a line of the file that became the one at `column` of the repaired line."""
    if original == repaired:
        return column
    at = here = 0
    while here < column and at < len(original):
        if here < len(repaired) and original[at] == repaired[here]:
            at, here = at + 1, here + 1
        elif _CONTROL.match(original[at]):
            at += 1
        elif original[at] == "\t" and repaired.startswith(_TAB, here):
            at, here = at + 1, here + len(_TAB)
        else:
            here += 1
    return at


_TAB = "  "
"""What a tab of indentation becomes."""

# A key, or the dashes of a list, and what follows on the same line. Possessive, so that no line takes long.
_ENTRY = re.compile(
    r"""
    (?P<dashes>[ ]*(?:-[ \t]+)*)
    (?:(?P<key>"[^"\\]*"|'[^']*'|[^\s\-?:,\[\]{}#&*!|>'"%@`](?:[^:]|:(?![ \t]))*)(?P<colon>[ ]*:[ \t]+))?
    (?P<value>[^\s].*)?
    """,
    re.VERBOSE,
)
_RESERVED = "@*&%`"
_SIGILS = "*&%"
"""Those that clients which repair others leave alone: an alias, an anchor, a directive."""


@dataclass(frozen=True, slots=True)
class _Repair:
    """Lines that YAML can read instead of some that it cannot."""

    first: int
    lines: list[str]
    column: int
    findings: list[tuple[str, int, str, str]]
    """Code, line, message, hint."""


def _repair(lines: list[str], error: _NotYamlError, reader: _Reader) -> _Repair | None:
    """Mend what YAML stumbled over: a tab, or a value that wants quotes; None if it is neither.

    The value is the one that the place of the problem belongs to. Only an opened `{{` is noticed later than it stands.
    """
    number = min(error.line, len(lines) - 1)
    if repair := _without_tabs(lines, number):
        return repair
    if (start := _entry_line(lines, number)) is not None:
        repair = _quoted_value(lines, start, reader)
        if repair is not None:
            return repair
    for start in range(number, -1, -1):
        match = _ENTRY.match(lines[start])
        if match and (match["value"] or "").startswith(("{{", "[[")):
            return _quoted_value(lines, start, reader)
    return None


def _without_tabs(lines: list[str], number: int) -> _Repair | None:
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
            mended[at] = line[:width].replace("\t", _TAB) + line[width:]
            if len(line) > width:
                findings.append(("repair-tab", at, "a line is indented with a tab", "indent with spaces"))
    return _Repair(0, mended, 0, findings)


def _indent(line: str, blanks: str = " ") -> int:
    return len(line) - len(line.lstrip(blanks))


def _entry_line(lines: list[str], number: int) -> int | None:
    """Find the line on which the value begins that a line belongs to: its own, or one above with a smaller indent."""
    found = None
    least: int | None = None
    for at in range(number, -1, -1):
        line = lines[at]
        if not line.strip():
            continue
        match = _ENTRY.match(line)
        if match and match["value"] and (match["key"] or "-" in match["dashes"]):
            column = match.start("key") if match["key"] else match["dashes"].rindex("-")
            if least is None or (least > column and not match["value"].startswith("#")):
                found = at
        width = _indent(line)
        least = width if least is None else min(least, width)
        if least == 0:
            break
    return found


def _quoted_value(lines: list[str], start: int, reader: _Reader) -> _Repair | None:
    """Quote the plain value that begins on a line, with the lines that continue it, if that is what YAML needs."""
    match = _ENTRY.match(lines[start])
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
    quoted_lines = (lines[start][: match.start("value")] + single_quoted(value)).split("\n")
    before = lines[:start]
    if reader.reads(before + lines[start:end]) or not reader.reads(before + quoted_lines):
        return None
    hint = "put the whole value in quotes; `prowess check --fix` does it"
    return _Repair(start, quoted_lines, match.start("value"), [(code, start, message, hint)])


_COLON = re.compile(r":(?:[ \t]|$)", re.MULTILINE)
_COMMENT = re.compile(r"[ \t]#")


def _reason_to_quote(value: str, *, keyed: bool) -> tuple[str, str] | None:
    # What begins with a bracket and ends with its fellow is meant as a list or a map, and is not made text.
    bracket = value.startswith(("{{", "[[")) or (value[0] in "[{" and value[-1] not in "]}" and "\n" not in value)
    if value[0] in _RESERVED or bracket:
        mark = value[:2] if value.startswith(("{{", "[[")) else value[0]
        code = "repair-sigil" if mark in _SIGILS else "repair-indicator"
        return code, f"the value begins with {quoted(mark)}, which YAML reserves, and is not quoted"
    if not keyed or value[0] in "'\"[{!|>#":
        return None
    comment = _COMMENT.search(value)
    if comment and "\n" in value[comment.start() :]:
        return None
    if _COLON.search(value, 0, comment.start() if comment else len(value)):
        return "repair-colon", "the value holds `: ` and is not quoted"
    return None


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
        if error.problem == "found unexpected end of stream":
            # A quote that nothing closes is mended where it is opened, not where the text ends.
            mark = error.context_mark or mark
        words = " ".join(part for part in (error.problem, error.context) if part) or "it is not valid YAML"
        line, column = (mark.line, mark.column) if mark is not None else (0, 0)
        raise _NotYamlError(f"the front matter is not valid YAML: {words}", line, column) from None
    except yaml.YAMLError as error:
        words = getattr(error, "reason", None) or "it is not valid YAML"
        raise _NotYamlError(f"the front matter is not valid YAML: {words}", 0, 0) from None
    except (ValueError, OverflowError, RecursionError):
        # Number escapes past what a character can be: PyYAML's pure reader lets these through.
        raise _NotYamlError("the front matter is not valid YAML: it cannot be read", 0, 0) from None


# YAML 1.1 ends a line at these; YAML 1.2, and so everyone else, has them as text.
_BREAKS = "\x85\u2028\u2029"


class _Reader:
    """Reads front matter, as often as repairs need it, until it has cost too much."""

    def __init__(self, source: list[str]) -> None:
        self._source = source
        self._left = _MAX_REPAIR_EVENTS

    def read(self, lines: list[str]) -> tuple[dict[str, Field], list[_Problem]]:
        """Read lines of YAML.

        Raises:
            _NotYamlError: they are not YAML, or too much was read already.
        """
        front = "\n".join(lines)
        restore: dict[int, str] = {}
        if any(mark in front for mark in _BREAKS):
            # Characters that are not there stand in for them: fewer than 65,534 fit into a front matter.
            spare = (number for number in range(0xF0000, 0xFFFFE) if chr(number) not in front)
            restore = dict(zip(spare, _BREAKS, strict=False))
            front = front.translate({ord(mark): number for number, mark in restore.items()})
        return _compose(self._counted(_events(front)), self._source, restore)

    def reads(self, lines: list[str]) -> bool:
        """Tell whether lines are YAML."""
        try:
            self.read(lines)
        except _NotYamlError:
            return False
        return True

    def _counted(self, events: Iterator[Any]) -> Iterator[Any]:
        for event in events:
            self._left -= 1
            if self._left < 0:
                mark = event.start_mark
                raise _NotYamlError("the front matter has too many mistakes to be repaired", mark.line, mark.column)
            yield event


class _Frame:
    """A list or map that is still being read."""

    __slots__ = ("column", "items", "key", "line", "start")

    def __init__(self, items: Any, start: Any) -> None:
        self.items = items
        self.start = start
        self.key: str | None = None
        """The key that waits for its value."""
        self.line = self.column = 0


def _compose(
    stream: Iterator[Any], sources: list[str], restore: Mapping[int, str]
) -> tuple[dict[str, Field], list[_Problem]]:
    """Build the fields from YAML events, noting every feature that a skill must not use.

    Args:
        stream: the events.
        sources: the lines of the file's front matter.
        restore: what to put back into the scalars.
    """
    import yaml

    fields: dict[str, Field] = {}
    problems: list[_Problem] = []
    anchors: dict[str, Value] = {}
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
                raise _NotYamlError("the front matter has a list or a map as a key", mark.line, mark.column)
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

    for event in stream:
        mark = event.start_mark
        events += 1
        if events > MAX_EVENTS:
            problem("yaml-too-long", mark, f"the front matter has more than {MAX_EVENTS:,} YAML events", _BESIDE)
            break
        anchor = getattr(event, "anchor", None)
        if isinstance(event, yaml.AliasEvent):
            if anchor not in anchors:
                raise _NotYamlError(f"the alias {quoted(f'*{anchor}')} has no anchor", mark.line, mark.column)
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
            value = event.value.translate(restore) if restore else event.value
            kind = kind_of(value) if event.style in (None, "") and tag != "tag:yaml.org,2002:str" else "text"
            if stack:
                place(value, kind, mark)
            elif value:
                problem(
                    "yaml-not-mapping", mark, "the front matter is text, not `key: value` lines", "write `name: ...`"
                )
        elif isinstance(event, yaml.MappingStartEvent | yaml.SequenceStartEvent):
            if len(stack) >= MAX_DEPTH:
                problem("yaml-too-deep", mark, f"the front matter nests more than {MAX_DEPTH} levels", _BESIDE)
                break
            if isinstance(event, yaml.SequenceStartEvent):
                if not stack:
                    problem(
                        "yaml-not-mapping",
                        mark,
                        "the front matter is a list, not `key: value` lines",
                        "remove the dash",
                    )
                stack.append(_Frame([], mark))
            else:
                stack.append(_Frame({} if stack else fields, mark))
        elif isinstance(event, yaml.MappingEndEvent | yaml.SequenceEndEvent):
            ended = stack.pop()
            items = ended.items
            if not stack:
                continue
            if isinstance(items, list):
                place(tuple(items), "list", ended.start)
            else:
                place(items, "map", ended.start)
        elif isinstance(event, yaml.DocumentStartEvent):
            documents += 1
            if documents > 1 or event.explicit:
                raise _NotYamlError("the front matter holds more than one YAML document", mark.line, mark.column)
    return fields, problems


_SALVAGE = re.compile(r"([A-Za-z_][\w.-]*)[ \t]*:(?:[ \t]+(.*))?$")


def _salvage(front: str) -> dict[str, Field]:
    """Read what looks like `key: value` from a text that is not YAML, for the clients that do the same."""
    fields: dict[str, Field] = {}
    for number, line in enumerate(front.split("\n")):
        match = _SALVAGE.match(line.rstrip(" \t"))
        if match is not None:
            value = match[2] or ""
            if len(value) > 1 and value[0] == value[-1] and value[0] in "'\"":
                value = value[1:-1]
            fields[match[1]] = Field(value=value, kind="text", line=number + 2, column=1, source=line)
    return fields
