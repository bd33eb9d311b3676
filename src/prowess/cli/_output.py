"""Print: data to stdout, messages to stderr, findings and JSON.

All text from files and paths passes `neutral` before it reaches a terminal.
"""

from __future__ import annotations

import os
import sys
from errno import EAGAIN

from prowess._internal.text import (
    INVISIBLE_CHARACTERS,
    PATH_LIMIT,
    escape_ci_marks,
    neutral,
    quoted,
)

from ._color import has_color, paint

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import TextIO

    from prowess.findings import Finding
    from prowess.skill import Value

__all__ = [
    "encode_json",
    "encode_lines",
    "evidence_json",
    "evidence_notes",
    "format_finding",
    "format_value",
    "join_words",
    "pluralize",
    "print_encoded",
    "print_error",
    "print_evidence_note",
    "print_findings",
    "print_json",
    "print_message",
    "print_note",
    "print_output",
    "print_stderr",
    "print_stdout",
    "print_untrusted_chunk",
    "print_untrusted_text",
    "to_json_value",
]


# ── stderr ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def print_error(message: str, hint: str | None = None) -> None:
    """Print an error on stderr, and a hint that says what to do."""
    shown = "\n".join(map(neutral, message.split("\n")))
    print_stderr(f"error: {shown}")
    if hint:
        shown = "\n".join(map(neutral, hint.split("\n")))
        print_stderr(f"\nhint: {shown}")


def print_note(text: str) -> None:
    """Print a note on stderr, made safe to show."""
    print_stderr(f"note: {neutral(text)}")


def print_message(text: str) -> None:
    """Print a message of one line as a note, one of several lines without that word."""
    if "\n" in text:
        print_stderr("\n".join(map(neutral, text.split("\n"))))
    else:
        print_note(text)


def print_evidence_note(hosts: Iterable[str]) -> None:
    """Say on stderr which agents were never run; `*` marks their names."""
    for note in evidence_notes(hosts):
        print_stderr(note)


def evidence_notes(hosts: Iterable[str]) -> list[str]:
    """Return the line that says which agents were never run, if there are any."""
    # The rules of `prowess` are no client's, and without it no host's table is loaded.
    names = [name for name in hosts if name != "prowess"]
    if not names:
        return []
    from prowess.hosts import evidence_note

    note = evidence_note(names)
    return [] if note is None else [note]


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
        _write_line(sys.stderr, "\n".join(map(_paint_message, map(_escape_ci_commands, text.split("\n")))))
        sys.stderr.flush()
    except OSError:
        # A message that cannot be written changes neither the result nor the exit code.
        from contextlib import suppress

        with suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())


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


def print_stdout(text: str, *, command: bool = False) -> None:
    """Print a line of data on stdout, in any encoding. Without `command`, a CI system sees no command in it."""
    _write_line(sys.stdout, text if command else _escape_ci_commands(text))


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


def print_output(output: bytes, note: str, *, is_json: bool = False) -> None:
    """Print what a command made or had in the cache.

    Args:
        output: what `encode_json` returned, or else `encode_lines`; for stdout.
        note: for stderr; nothing if empty.
        is_json: whether the output is JSON.
    """
    (_print_json_bytes if is_json else print_encoded)(output)
    if note:
        print_stderr(note)


def print_untrusted_text(text: str) -> None:
    """Print untrusted text on stdout: lines and tabs as they are, other invisible characters as escapes."""
    lines = text.removesuffix("\n").split("\n")
    text = "\n".join("\t".join(map(neutral, line.split("\t"))) for line in lines)
    print_encoded(encode_lines(text) or b"\n")


def print_untrusted_chunk(text: str) -> None:
    """Print a part of an untrusted text on stdout as it arrives, without ending the line."""
    lines = ("\t".join(map(neutral, line.split("\t"))) for line in text.split("\n"))
    encoding = sys.stdout.encoding or "utf-8"
    sys.stdout.write("\n".join(lines).encode(encoding, "backslashreplace").decode(encoding))
    sys.stdout.flush()


def print_json(value: object) -> None:
    r"""Print data as JSON in UTF-8. A byte of a path that is not UTF-8 is written as `\\xNN`."""
    _print_json_bytes(encode_json(value))


def encode_json(value: object) -> bytes:
    """Return data as JSON for `print_output`."""
    import json
    import re

    from ._json_text import json_text

    text = json_text(value)
    # Invisible characters could control a terminal, so JSON escapes them.
    text = re.sub(f"[{INVISIBLE_CHARACTERS}]", lambda match: json.dumps(match[0])[1:-1], text)
    text = escape_ci_marks(text, "\\u0023")
    return re.sub("[\ud800-\udfff]", lambda match: json.dumps(neutral(match[0]))[1:-1], text).encode() + b"\n"


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


def format_finding(item: Finding, *, base: str = "", stream: TextIO | None = None) -> list[str]:
    """Format a finding as text: place, severity, message and code; a hint is a second line.

    Args:
        item: the finding.
        base: the directory that paths are relative to.
        stream: where it will be printed; stdout by default.
    """
    path = item.path or ""
    if base and path.startswith(base + os.sep):
        path = path[len(base) + 1 :]
    place = ":".join(str(part) for part in (neutral(path), item.line, item.column) if part not in (None, ""))
    severity = paint(f"{item.severity.value}:", item.severity.value, stream)
    code = paint(f"[{item.code}]", "dim", stream)
    lines = [f"{place + ': ' if place else ''}{severity} {neutral(item.message)} {code}"]
    if item.agents:
        lines.append(f"    invisible to {', '.join(item.agents)}")
    if item.hint:
        lines.append(f"    {paint('hint:', 'hint', stream)} {neutral(item.hint)}")
    return lines


def print_findings(
    findings: Iterable[Finding], *, base: str = "", indent: str = "", to: Callable[[str], None] = print_stdout
) -> None:
    """Print findings as text.

    Args:
        findings: to print.
        base: the directory that paths are relative to.
        indent: the beginning of each line.
        to: `print_stdout` or `print_stderr`.
    """
    stream = sys.stderr if to is print_stderr else sys.stdout
    for item in findings:
        for line in format_finding(item, base=base, stream=stream):
            to(f"{indent}{line}")


# ── values ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def pluralize(count: int, word: str) -> str:
    """Format a count of things: `1 skill`, `2 skills`."""
    return f"{count:,} {word}{'' if count == 1 else 's'}"


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
