"""Print what a command found: data to stdout, messages to stderr, tables, findings and JSON.

A command returns a `Result`, which `print_result` prints as JSON or as text. Text from files and paths passes `neutral`
before it reaches a terminal. Colour never carries meaning: the text says the same without it. `paint` is the only
source of escape sequences. Its rules are those of no-color.org and force-color.org, where an empty variable counts as
not set.
"""

from __future__ import annotations

import os
import sys
from errno import EAGAIN

from prowess._internal.text import (
    INVISIBLE_CHARACTERS,
    PATH_LIMIT,
    character_width,
    display_width,
    escape_ci_marks,
    neutral,
    quoted,
)

from ._commands import OK

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import Any, TextIO

    from prowess.findings import Finding
    from prowess.skill import Value


class _Text(str):
    """A text that is not a plain line of data."""

    __slots__ = ()

    def print(self) -> None:
        """Print it where it belongs."""
        raise NotImplementedError


class Message(_Text):
    """A line of text for stderr."""

    __slots__ = ()

    def print(self) -> None:
        print_stderr(self)


class Untrusted(_Text):
    """A text for stdout that anyone may have written: lines and tabs stay, other invisible characters are escaped."""

    __slots__ = ()

    def print(self) -> None:
        lines = self.removesuffix("\n").split("\n")
        print_encoded(encode_lines("\n".join(map(_neutral_but_tabs, lines))) or b"\n")


class CiCommand(_Text):
    """A line for stdout that a CI system may take for a command."""

    __slots__ = ()

    def print(self) -> None:
        _write_line(sys.stdout, self)


class Result:
    """What a command found."""

    def __init__(
        self, as_dict: object, text: Iterable[str] = (), code: int = OK, notes: Iterable[Message] = ()
    ) -> None:
        """Keep what to print.

        Args:
            as_dict: what `--json` prints, or a function that returns it.
            text: the lines that people read, those for stderr as `Message`.
            code: the exit code.
            notes: the last messages, also with `--json`.
        """
        self.as_dict, self.text, self.code, self.notes = as_dict, text, code, notes


def print_result(result: Result, *, is_json: bool) -> int:
    """Print what a command found, and return its exit code."""
    if is_json:
        _print_json_bytes(encode_json(result.as_dict() if callable(result.as_dict) else result.as_dict))
    else:
        print_lines(result.text)
    print_lines(result.notes)
    return result.code


def encode_result(result: Result, *, is_json: bool) -> tuple[bytes, str]:
    """Return a result for the cache and `print_output`: what is for stdout, and what is for stderr."""
    if is_json:
        return encode_json(result.as_dict() if callable(result.as_dict) else result.as_dict), ""
    lines = [*result.text]
    return (
        encode_lines("\n".join(line for line in lines if not isinstance(line, Message))),
        "\n".join(line for line in lines if isinstance(line, Message)),
    )


def json_fields(value: object, names: str) -> dict[str, object]:
    """Return attributes of a value, given by their names with blanks between them, as a part of a JSON object."""
    return {name: getattr(value, name) for name in names.split()}


def as_dicts(values: Iterable[Any]) -> list[dict[str, object]]:
    """Return values, such as findings, each in its shape of every `--json` output."""
    return [value.as_dict() for value in values]


# ── stderr ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def print_lines(lines: Iterable[str]) -> None:
    """Print lines, each where it belongs, with as few writes as possible."""
    data: list[str] = []
    try:
        for line in lines:
            if isinstance(line, _Text):
                _print_data(data)
                line.print()
            else:
                data.append(line)
    finally:
        _print_data(data)


def _print_data(lines: list[str]) -> None:
    """Print lines on stdout, and forget them."""
    text = "".join([f"{line}\n" for line in lines])
    lines.clear()
    if text:
        print_encoded(encode_lines(text))


def print_error(message: str, hint: str | None = None) -> None:
    """Print an error on stderr, and a hint that says what to do."""
    shown = "\n".join(map(neutral, message.split("\n")))
    print_stderr(f"error: {shown}")
    if hint:
        shown = "\n".join(map(neutral, hint.split("\n")))
        print_stderr(f"\nhint: {shown}")


def note(text: str) -> Message:
    """Return a note, made safe to show."""
    return Message(f"note: {neutral(text)}")


def message(text: str) -> Message:
    """Return a text of one line as a note, one of several lines without that word."""
    return Message("\n".join(map(neutral, text.split("\n")))) if "\n" in text else note(text)


def print_message(text: str) -> None:
    """Print a text as `message` has it."""
    print_stderr(message(text))


def evidence_notes(hosts: Iterable[str]) -> list[Message]:
    """Return the message that says which agents were never run, if there are any; `*` marks their names."""
    # The rules of `prowess` are no client's, and without it no host's table is loaded.
    names = [name for name in hosts if name != "prowess"]
    if not names:
        return []
    from prowess.hosts import evidence_note

    note = evidence_note(names)
    return [] if note is None else [Message(note)]


def evidence_json(hosts: Iterable[str]) -> dict[str, object]:
    """Return what the rules of each agent rest on."""
    from prowess.hosts import evidence_of

    return {host: evidence_of(host).as_dict() for host in hosts}


def print_stderr(text: str) -> None:
    """Print a message on stderr, in any encoding, after all data that was printed before it."""
    _flush_stdout()
    if sys.stderr is None:
        return
    try:
        lines = (part for line in text.split("\n") for part in _wrap_message(line))
        _write_line(sys.stderr, "\n".join(map(_paint_message, map(_escape_ci_commands, lines))))
        sys.stderr.flush()
    except OSError:
        # A message that cannot be written changes neither the result nor the exit code.
        from contextlib import suppress

        with suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())


def _wrap_message(line: str) -> list[str]:
    """Return a line of a message as several that fit the terminal.

    A painted line was fitted before it was painted, and a line of a file, with its number, stays whole.
    """
    if line.startswith("    prowess "):
        return wrap_command(line, sys.stderr)
    is_of_file = " | " in line and not line.partition("|")[0].strip(" 0123456789")
    return [line] if is_of_file or "\x1b" in line else wrap_for_terminal(line, "  ", sys.stderr)


def _paint_message(line: str) -> str:
    """Paint the first word of a message, and what to type in a hint."""
    word, colon, rest = line.partition(": ")
    if not colon or word not in ("error", "warning", "note", "hint") or not has_color(sys.stderr):
        return line
    if word == "hint":
        import re

        rest = re.sub("`[^`]+`", lambda match: paint(match[0], "command", sys.stderr), rest)
    return f"{paint(f'{word}:', 'info' if word == 'note' else word, sys.stderr)} {rest}"


def _flush_stdout() -> None:
    try:
        sys.stdout.flush()
    except (OSError, AttributeError):
        return  # `main` flushes again at the end, and reports the error


# ── stdout ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def encode_lines(text: str) -> bytes:
    """Return lines of data as UTF-8 for `print_encoded`; a CI system sees no command in them."""
    if not text:
        return b""
    if "::" in text or "##" in text:
        text = "\n".join(map(_escape_ci_commands, text.split("\n")))
    return (text if text.endswith("\n") else text + "\n").encode("utf-8", "backslashreplace")


def print_encoded(data: bytes) -> None:
    """Print what `encode_lines` returned on stdout, in any encoding, with as few writes as possible."""
    stream = sys.stdout
    buffer = getattr(stream, "buffer", None)
    if buffer is None or stream.encoding.lower() != "utf-8" or os.linesep != "\n":
        encoding = stream.encoding or "utf-8"
        stream.write(data.decode().encode(encoding, "backslashreplace").decode(encoding))
        return
    _write_all(stream, data)


def _write_all(stream: TextIO, data: bytes) -> None:
    """Write bytes to the buffer of a stream, with as few writes as possible.

    Raises:
        BlockingIOError: the stream does not wait, and takes no more data now.
    """
    stream.flush()
    rest = memoryview(data)
    while rest:  # without a buffer, as with `python -u`, a write may end early
        written = stream.buffer.write(rest)
        if not written:
            raise BlockingIOError(EAGAIN, "stdout takes no more data now")
        rest = rest[written:]


def print_output(output: bytes, note: str, *, is_json: bool = False) -> int:
    """Print what `encode_result` returned, now or before, and return the exit code."""
    (_print_json_bytes if is_json else print_encoded)(output)
    if note:
        print_stderr(note)
    return OK


def print_untrusted_chunk(text: str) -> None:
    """Print a part of an untrusted text on stdout as it arrives, without ending the line."""
    encoding = sys.stdout.encoding or "utf-8"
    lines = "\n".join(map(_neutral_but_tabs, text.split("\n")))
    sys.stdout.write(lines.encode(encoding, "backslashreplace").decode(encoding))
    sys.stdout.flush()


def _neutral_but_tabs(line: str) -> str:
    return "\t".join(map(neutral, line.split("\t")))


def encode_json(value: object) -> bytes:
    r"""Return data as JSON in UTF-8. A byte of a path that is not UTF-8 is written as `\\xNN`."""
    import json
    import re

    text = json_text(value)
    # Invisible characters could control a terminal, so JSON escapes them.
    text = re.sub(f"[{INVISIBLE_CHARACTERS}]", lambda match: json.dumps(match[0])[1:-1], text)
    text = escape_ci_marks(text, "\\u0023")
    return re.sub("[\ud800-\udfff]", lambda match: json.dumps(neutral(match[0]))[1:-1], text).encode() + b"\n"


def json_text(value: object) -> str:
    """Return what `json.dumps(value, indent=2, ensure_ascii=False)` returns, in a third of the time.

    With `indent` that is written in Python, and calls several functions for each value. Here the same text is joined
    from what its encoder in C makes of each string.
    """
    from json import dumps
    from json.encoder import encode_basestring

    def encode(value: object, newline: str) -> str:
        if isinstance(value, str):
            return encode_basestring(value)
        inner = f"{newline}  "
        if isinstance(value, dict) and value:
            pairs = [
                f"{encode_basestring(key if isinstance(key, str) else dumps(key))}: {encode(item, inner)}"
                for key, item in value.items()
            ]
            return f"{{{inner}{f',{inner}'.join(pairs)}{newline}}}"
        if isinstance(value, list | tuple) and value:
            return f"[{inner}{f',{inner}'.join([encode(item, inner) for item in value])}{newline}]"
        return dumps(value)

    return encode(value, "\n")


def _print_json_bytes(data: bytes) -> None:
    """Print what `encode_json` returned on stdout, in UTF-8 whatever the encoding of stdout is."""
    if getattr(sys.stdout, "buffer", None) is None:
        sys.stdout.write(data.decode())
    else:
        _write_all(sys.stdout, data)


def _write_line(stream: TextIO, text: str) -> None:
    encoding = getattr(stream, "encoding", None) or "utf-8"
    stream.write(text.encode(encoding, "backslashreplace").decode(encoding) + "\n")


def _escape_ci_commands(line: str) -> str:
    """Escape what a CI system would take for a command: GitHub's `::` at the start of a line, marks anywhere."""
    line = escape_ci_marks(line)
    if "::" not in line:
        return line
    import re

    return re.sub(r"^(\s*):(?=:)", r"\1\\x3a", line)


# ── findings ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def format_finding(
    item: Finding,
    *,
    base: str = "",
    stream: TextIO | None = None,
    excerpt: Iterable[str] = (),
    indent: str = "",
    group: bool = False,
) -> list[str]:
    """Format a finding as text: place, severity, message and code, then the agents that it costs, and a hint.

    Args:
        item: the finding.
        base: the directory that paths are relative to.
        stream: where it will be printed; stdout by default.
        excerpt: lines of the file, which come after the message.
        indent: of each line.
        group: whether the code has its group before it.
    """
    path = item.path or ""
    if base and path.startswith(base + os.sep):
        path = path[len(base) + 1 :]
    place = ":".join(str(part) for part in (neutral(path), item.line, item.column) if part not in (None, ""))
    severity, code = f"{item.severity.value}:", f"[{f'{item.group}/' if group else ''}{item.code}]"
    before = f"{indent}{place}: " if place else indent
    first, *more = wrap_for_terminal(f"{before}{severity} {neutral(item.message)} {code}", f"{indent}    ", stream)
    if first.startswith(f"{before}{severity}"):
        rest = first.removeprefix(f"{before}{severity}")
        first = f"{before}{paint(severity, item.severity.value, stream)}{rest}"
    lines = [first, *more]
    if lines[-1].endswith(code):
        lines[-1] = lines[-1].removesuffix(code) + paint(code, "dim", stream)
    lines += [f"{indent}{line}" for line in excerpt]
    if item.agents:
        lines += wrap_for_terminal(f"{indent}    invisible to {', '.join(item.agents)}", f"{indent}      ", stream)
    if item.hint:
        first, *more = wrap_for_terminal(f"{indent}    hint: {neutral(item.hint)}", f"{indent}      ", stream)
        lines += [first.replace("hint:", paint("hint:", "hint", stream), 1), *more]
    return lines


def finding_lines(findings: Iterable[Finding], *, base: str = "", indent: str = "") -> Iterator[str]:
    """Yield findings as text for stdout, each line with an indent; paths are relative to the directory `base`."""
    for item in findings:
        yield from format_finding(item, base=base, indent=indent)


def finding_messages(findings: Iterable[Finding], *, base: str = "") -> Iterator[Message]:
    """Yield findings as text for stderr."""
    for item in findings:
        yield from map(Message, format_finding(item, base=base, stream=sys.stderr))


# ── values ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def pluralize(count: int, word: str) -> str:
    """Format a count of things: `1 skill`, `2 skills`."""
    return f"{count:,} {word}{'' if count == 1 else 's'}"


def format_size(count: int) -> str:
    """Format a number of bytes: `812 bytes`, `4.1 kB`, `1.2 MB`."""
    if count < 1_000:
        return pluralize(count, "byte")
    return f"{count / 1e3:.1f} kB" if count < 999_950 else f"{count / 1e6:.1f} MB"


def join_words(words: Sequence[str], last: str = "and") -> str:
    """Join words as in a sentence: `a`, `a and b`, `a, b and c`."""
    return f" {last} ".join(filter(None, [", ".join(words[:-1]), words[-1]]))


def format_value(value: Value) -> str:
    """Format a value of front matter on one line: text as it is, other values as JSON."""
    if isinstance(value, str):
        return neutral(value) if value.strip() == value and value else quoted(value, PATH_LIMIT)
    import json

    return neutral(json.dumps(to_json_value(value), ensure_ascii=False))


def to_json_value(value: Value) -> object:
    """Return a value of front matter as lists and dicts."""
    if isinstance(value, str):
        return value
    if isinstance(value, tuple):
        return [to_json_value(item) for item in value]
    return {key: to_json_value(item) for key, item in value.items()}


# ── questions ────────────────────────────────────────────────────────────────────────────────────────────────────────


def can_ask() -> bool:
    """Return whether a user can be asked."""
    return sys.stdin is not None and sys.stdin.isatty() and sys.stdout.isatty()


def discard_typed_input() -> None:
    """Discard what was typed on the terminal so far: it is no answer to a question that is not shown yet."""
    if sys.platform == "win32":
        import msvcrt

        while msvcrt.kbhit():
            msvcrt.getwch()
        return
    import termios
    from contextlib import suppress

    with suppress(OSError, ValueError, termios.error):  # not a terminal
        termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)


def ask(question: str) -> bool:
    """Ask the user, and return whether the answer is yes."""
    discard_typed_input()
    print_stderr(f"{question} [y/N]")
    return sys.stdin.readline().strip().lower() in ("y", "yes")


# ── colour ───────────────────────────────────────────────────────────────────────────────────────────────────────────

COLOR_CHOICES = ("auto", "always", "never")
"""The values of `--color`."""

_STYLES = {
    "error": "1;31",
    "warning": "33",
    "info": "36",
    "hint": "32",
    "command": "1",
    "good": "32",
    "dim": "2",
}
"""What can be painted, and the parameters of its escape sequence."""

STATUS_STYLES = {"passed": "good", "failed": "error", "error": "error", "timeout": "error"}
"""The style of each status of a test."""

_color_choice = "auto"


def choose_color(choice: str) -> None:
    """Set when to print colour: `auto`, `always` or `never`."""
    global _color_choice  # noqa: PLW0603 - one command line a process
    _color_choice = choice


def paint(text: str, style: str | None, stream: TextIO | None = None) -> str:
    """Return a safe text in a style, or as it is if the stream gets no colour.

    Args:
        text: without control characters: what is not ours has passed `neutral`.
        style: a key of the table of styles, or `None`.
        stream: where it will be printed; stdout by default.
    """
    return f"\x1b[{_STYLES[style]}m{text}\x1b[0m" if style and text and has_color(stream or sys.stdout) else text


def has_color(stream: TextIO | None) -> bool:
    """Return whether a stream gets colour: the option decides, then NO_COLOR, then FORCE_COLOR, then the terminal."""
    if _color_choice != "auto":
        return _color_choice == "always"
    environ = os.environ
    if environ.get("NO_COLOR"):
        return False
    if environ.get("FORCE_COLOR"):
        return True
    if environ.get("TERM") == "dumb" or (os.name == "nt" and not environ.get("WT_SESSION")):
        return False
    return stream is not None and stream.isatty()


# ── tables ───────────────────────────────────────────────────────────────────────────────────────────────────────────

_MAX_COLUMN_WIDTH = 64
"""The widest a column of a fitted table gets, in cells: the longest name the specification allows."""
_MIN_LAST_WIDTH = 20
"""The cells that the last column of a fitted table needs beside the others."""
_CONTINUED = "    "
"""The indent of a row's second line."""


def format_table(
    rows: Iterable[Sequence[str]],
    *,
    fit_terminal: bool = True,
    styles: Mapping[int, Mapping[str, str]] | None = None,
) -> list[str]:
    """Format rows as a table for stdout.

    Args:
        rows: of equal length; the first is the heading.
        fit_terminal: whether to cut the last column to the width of the terminal, and very wide others; on a terminal,
            columns without room continue on a second line of the row.
        styles: of columns, by their index: the style of a cell by its text.
    """
    rows = [[neutral(cell) for cell in row] for row in rows]
    if not rows:
        return []
    widths = [max(display_width(row[index]) for row in rows) for index in range(len(rows[0]))]
    lines_of_columns = [range(len(widths))]
    if fit_terminal:
        width = terminal_width()
        widths = [min(cells, _MAX_COLUMN_WIDTH, width - len(_CONTINUED)) for cells in widths[:-1]] + widths[-1:]
        if sys.stdout.isatty():
            lines_of_columns = _split_columns([*widths[:-1], min(widths[-1], _MIN_LAST_WIDTH)], width)
        before = [widths[index] + 2 for index in lines_of_columns[-1][:-1]]
        remaining = width - sum(before) - (len(_CONTINUED) if len(lines_of_columns) > 1 else 0)
        widths[-1] = min(widths[-1], max(remaining, _MIN_LAST_WIDTH))
    styles = styles or {}
    lines = [
        (_CONTINUED if columns[0] else "")
        + "  ".join(
            _paint_cell(truncate_or_pad(row[index], widths[index]), row[index], styles.get(index)) for index in columns
        ).rstrip()
        for row in rows
        for columns in lines_of_columns
    ]
    return [line for line in lines if line.strip()] if len(lines_of_columns) > 1 else lines


def _split_columns(widths: Sequence[int], width: int) -> list[range]:
    """Return the columns of each line of a row: those that do not fit continue on the next line."""
    lines, used = [range(0)], 0
    for index, cells in enumerate(widths):
        if lines[-1] and used + cells > width:
            lines.append(range(index, index))
            used = len(_CONTINUED)
        lines[-1] = range(lines[-1].start, index + 1)
        used += cells + 2
    return lines


def _paint_cell(padded: str, cell: str, styles: Mapping[str, str] | None) -> str:
    return padded if styles is None or cell not in styles else paint(cell, styles[cell]) + padded[len(cell) :]


_MAX_TERMINAL_WIDTH = 65_535
"""The widest that a terminal can say that it is."""


def terminal_width(stream: TextIO | None = None) -> int:
    """Return the width for tables: the terminal's, or 100 if a stream is no terminal.

    Args:
        stream: stdout by default.
    """
    stream, whole = (sys.stdout, sys.__stdout__) if stream is None else (stream, stream)
    if not stream.isatty():
        return 100
    # Like `shutil.get_terminal_size`, without the time it takes to load that module.
    try:
        columns = int(os.environ.get("COLUMNS", "0"))
    except ValueError:
        columns = 0
    if not 0 < columns <= _MAX_TERMINAL_WIDTH and whole is not None:
        columns = 0
        try:
            columns = os.get_terminal_size(whole.fileno()).columns
        except (OSError, ValueError):
            columns = 0
    return max(columns, 60) if columns > 0 else 100


def look() -> str:
    """Return what decides how a text looks: the terminal, its width, and which streams have colour."""
    return f"{terminal_width()} {has_color(sys.stdout)} {has_color(sys.stderr)} {sys.stdout.isatty()}"


def wrap_for_terminal(text: str, indent: str = "    ", stream: TextIO | None = None) -> list[str]:
    """Return a line as several that fit the terminal, or as it is without one.

    Words such as paths stay whole, and so does what is in back-ticks, as someone may copy it.

    Args:
        text: without colour.
        indent: of the lines after the first.
        stream: where it is printed; stdout by default.
    """
    width = terminal_width(stream)
    if not (stream or sys.stdout).isatty() or display_width(text) <= width:
        return [text]
    import re

    lines: list[str] = []
    for word in re.findall(r"\s*(?:`[^`]*`|[^\s`]|`)+", text):
        if not lines:
            lines.append(word)
        elif display_width(lines[-1] + word) <= width:
            lines[-1] += word
        else:
            lines.append(f"{indent}{word.lstrip()}")
    return lines


def wrap_command(command: str, stream: TextIO | None = None) -> list[str]:
    """Return a command as lines of a shell that fit the terminal, or as it is without one.

    It is cut between its words only, each line continued by a backslash, so what is pasted is the same command. A
    comment at its end is above it, since a comment cannot be continued.

    Args:
        command: without colour; indented by what the terminal has in front of it.
        stream: where it is printed; stdout by default.
    """
    indent = command[: len(command) - len(command.lstrip(" "))]
    width = terminal_width(stream) - len(" \\")
    if not (stream or sys.stdout).isatty() or display_width(command) <= terminal_width(stream):
        return [command]
    import re

    found = [*re.finditer(r"""(?:'[^']*'|"[^"]*"|\\.|[^\s'"\\])+""", command)]
    end = next((match.start() for match in found if match[0] == "#"), len(command))
    words = [match[0] for match in found if match.start() < end]
    comment = wrap_for_terminal(f"{indent}{command[end:]}", f"{indent}# ", stream) if end < len(command) else []
    # An option and its value stay on one line.
    whole: list[str] = []
    for word in words:
        if whole and whole[-1].startswith("--") and " " not in whole[-1] and not word.startswith(("-", "&")):
            whole[-1] += f" {word}"
        else:
            whole.append(word)
    lines: list[str] = []
    for word in whole:
        if lines and display_width(f"{lines[-1]} {word}") <= width:
            lines[-1] += f" {word}"
        else:
            lines.append(f"{indent if not lines else f'{indent}    '}{word}")
    return [*comment, *(f"{line} \\" for line in lines[:-1]), lines[-1]]


def truncate_or_pad(text: str, width: int) -> str:
    """Cut or pad a text to a number of cells."""
    if display_width(text) > width:
        from itertools import accumulate, takewhile

        cells_so_far = accumulate(map(character_width, text))
        text = text[: sum(1 for _ in takewhile(lambda cells: cells < width, cells_so_far))] + "…"
    return text + " " * (width - display_width(text))


# ── progress ─────────────────────────────────────────────────────────────────────────────────────────────────────────


class ProgressLine:
    """A progress line on a terminal, overwritten while a command takes long."""

    def __init__(self) -> None:
        self.is_terminal = sys.stderr is not None and sys.stderr.isatty()
        self.shown = False

    def show_folders(self, count: int) -> None:
        """Show how many folders were searched."""
        self.show(f"searching: {count:,} folders")

    def show_checked(self, count: int) -> None:
        """Show how many skills were checked, every hundred skills."""
        if count % 100 == 0:
            self.show(f"checking: {count:,} skills")

    def show_skills(self, count: int) -> None:
        """Show how many skills were compared, every hundred skills."""
        if count % 100 == 0:
            self.show(f"comparing: {count:,} skills")

    def show(self, text: str) -> None:
        """Show a text in place of the one before."""
        if self.is_terminal:
            sys.stderr.write(f"\r\x1b[K{text}")
            sys.stderr.flush()
            self.shown = True

    def clear(self) -> None:
        """Remove the line."""
        if self.shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
