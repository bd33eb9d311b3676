"""Compare the result of a command with what its case expects.

In JSON, objects match as subsets, arrays by length and order, scalars by their JSON type: `1` equals `1.0`, but not
`true` or `"1"`; `null` requires the key. Numbers are compared as decimal numbers, as they are written, and not as
floats. Source: UAAPS, "Skill Testing": `stdout-json`, "deep partial match".
"""

from __future__ import annotations

import json
from collections import Counter
from decimal import Decimal

from prowess._internal.frozen import Frozen
from prowess._internal.text import nearest_names, neutral, quoted

from ._cases import ABSENT, exact_number

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from prowess.sandbox import Result

    from ._cases import Case

_MAX_SHOWN_CHARS = 80
"""Characters of a value to show in a message."""


def parse_single_value(data: bytes | str) -> Any:
    """Parse an output that is a single JSON value. Every number is a `Decimal`.

    Raises:
        ValueError: it is not valid JSON, more than one value, or has a duplicate key.
    """
    try:
        text = data if isinstance(data, str) else data.decode()
    except UnicodeDecodeError as error:
        raise ValueError(f"byte {error.object[error.start]:#04x} at offset {error.start} is not UTF-8") from None
    if not text.strip(" \t\r\n"):
        raise ValueError("it is empty")
    try:
        return json.loads(
            text,
            parse_constant=_reject_constant,
            parse_int=exact_number,
            parse_float=exact_number,
            object_pairs_hook=_build_object,
        )
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        if error.msg == "Extra data":
            raise ValueError(f"a second value begins at {place}") from None
        reason = error.msg[:1].lower() + error.msg[1:].removesuffix(" at")
        raise ValueError(f"{reason} at {place}") from None
    except RecursionError:
        raise ValueError("it has too many levels") from None


def _reject_constant(word: str) -> Any:
    raise ValueError(f"{word} is not valid JSON")


def _build_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) < len(pairs):
        # Parsers differ in which of the two values they use, so neither may make a test pass.
        counts = Counter(key for key, _ in pairs)
        duplicate = next(key for key, count in counts.items() if count > 1)
        raise ValueError(f"duplicate key {quoted(duplicate)} in an object")
    return result


def differences(expected: Any, value: Any, path: str = "$") -> Iterator[str]:
    """Yield a sentence for each difference between a value and the expected one."""
    if isinstance(expected, dict) and isinstance(value, dict):
        for key, expected_value in expected.items():
            inner = f"{path}.{key}" if key.isascii() and key.isidentifier() else f"{path}[{_format_value(key)}]"
            if key in value:
                yield from differences(expected_value, value[key], inner)
            else:
                yield f"{inner} is missing"
    elif isinstance(expected, list) and isinstance(value, list):
        if len(expected) != len(value):
            yield f"{path} has {_count_items(len(value))}, not {len(expected):,}"
        for index, (expected_item, item) in enumerate(zip(expected, value, strict=False)):
            yield from differences(expected_item, item, f"{path}[{index}]")
    elif not _is_equal(expected, value):
        yield f"{path} is {_format_value(value)}, not {_format_value(expected)}"


def _count_items(count: int) -> str:
    return "1 item" if count == 1 else f"{count:,} items"


def _is_equal(expected: Any, value: Any) -> bool:
    if _is_number(expected) and _is_number(value):
        return _to_decimal(expected) == _to_decimal(value)
    return type(expected) is type(value) and bool(expected == value)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | Decimal) and not isinstance(value, bool)


def _to_decimal(value: float | Decimal) -> Decimal:
    # `repr` gives the decimal number as written; the float itself is only close to it.
    return Decimal(repr(value)) if isinstance(value, float) else Decimal(value)


def _format_value(value: Any) -> str:
    """Return a value as JSON for a message, cut off; only as much as is shown is formatted."""
    chunks, remaining = [], _MAX_SHOWN_CHARS + 1
    for chunk in _json_chunks(value):
        chunks.append(chunk[:remaining])
        remaining -= len(chunk)
        if remaining <= 0:
            break
    text = "".join(chunks)
    return neutral(text if len(text) <= _MAX_SHOWN_CHARS else f"{text[: _MAX_SHOWN_CHARS - 1]}…")


def _json_chunks(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        yield "{"
        for index, (key, item) in enumerate(value.items()):
            yield f"{', ' if index else ''}{json.dumps(key[:_MAX_SHOWN_CHARS], ensure_ascii=False)}: "
            yield from _json_chunks(item)
        yield "}"
    elif isinstance(value, list):
        yield "["
        for index, item in enumerate(value):
            if index:
                yield ", "
            yield from _json_chunks(item)
        yield "]"
    elif isinstance(value, str):
        yield json.dumps(value[: _MAX_SHOWN_CHARS + 1], ensure_ascii=False)
    elif _is_number(value):
        yield str(_to_decimal(value))
    else:
        yield json.dumps(value)


_MAX_QUOTED_CHARS = 200
"""Characters of a text to show in a message."""
_MAX_DIFFERENCES = 20
"""Differences of one JSON value to report."""
_MAX_NEAREST_LOOKUPS = 3
"""Missing texts of one stream to find the most similar line for: it is slow."""
_MAX_SEARCHED_LINES = 2_000
"""Lines of a stream to compare when looking for the most similar one."""


class Failure(Frozen):
    """An expectation that is not met, or a reason why the case could not run."""

    kind: str
    """The key of the expectation, for example `stdout-contains`; or `files`, `sandbox`, `skill`, `timeout`."""
    message: str

    def as_dict(self) -> dict[str, str]:
        """Return it as in `test --json`."""
        return {"kind": self.kind, "message": self.message}


def decode_output(output: bytes) -> str:
    """Return an output as text: invalid UTF-8 becomes U+FFFD, and every line ends in a line feed."""
    return _normalize_newlines(output.decode("utf-8", "replace"))


def failures(case: Case, result: Result) -> Iterator[Failure]:
    """Yield the expectations that the result of a command does not meet. The messages are safe to show."""
    if result.exit_code != case.exit_code:
        yield Failure(
            kind="exit-code", message=f"the exit code is {_format_exit_code(result.exit_code)}, not {case.exit_code}"
        )
    streams = {
        "stdout": (decode_output(result.stdout), result.stdout_size > len(result.stdout)),
        "stderr": (decode_output(result.stderr), result.stderr_size > len(result.stderr)),
    }
    for stream, expected in (("stdout", case.stdout_contains), ("stderr", case.stderr_contains)):
        text, is_cut = streams[stream]
        missing = [part for part in expected if _normalize_newlines(part) not in text]
        for number, part in enumerate(missing):
            near = "" if is_cut or number >= _MAX_NEAREST_LOOKUPS else _nearest_line_hint(part, text)
            yield Failure(kind=f"{stream}-contains", message=_missing_message(stream, part, text, is_cut) + near)
    for part in case.not_contains:
        for stream, (text, is_cut) in streams.items():
            position = text.find(_normalize_newlines(part))
            if position >= 0:
                line = text.count("\n", 0, position) + 1
                message = f"{stream} contains {quoted(part, _MAX_QUOTED_CHARS)} in line {line}"
                yield Failure(kind="not-contains", message=message)
            elif is_cut:
                message = f"{stream} is too long and was cut off, so it may contain {quoted(part, _MAX_QUOTED_CHARS)}"
                yield Failure(kind="not-contains", message=message)
    if case.stdout_json is not ABSENT:
        yield from _json_failures(case, result.stdout, streams["stdout"][1])


def _format_exit_code(code: int | None) -> str:
    if code is not None and code > 128:
        import signal

        try:
            return f"{code} ({signal.Signals(code - 128).name})"
        except ValueError:
            pass
    return {126: "126 (command not executable)", 127: "127 (command not found)"}.get(code or 0, str(code))


def _normalize_newlines(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _missing_message(stream: str, part: str, text: str, is_cut: bool) -> str:
    message = f"{stream} does not contain {quoted(part, _MAX_QUOTED_CHARS)}"
    if is_cut:
        return f"{message} before it was cut off"
    if not text:
        return f"{message}: it is empty"
    return message


def _nearest_line_hint(part: str, text: str) -> str:
    """Return words about the line that is most similar to a text, or an empty text if none is similar."""
    lines = text.split("\n", _MAX_SEARCHED_LINES)[:_MAX_SEARCHED_LINES]
    near = nearest_names(
        _normalize_newlines(part)[:_MAX_QUOTED_CHARS], (line[:_MAX_QUOTED_CHARS] for line in lines if line), cutoff=0.5
    )
    if near:
        line_number = next(number for number, line in enumerate(lines, 1) if line[:_MAX_QUOTED_CHARS] == near[0])
        return f"; the most similar line is {line_number}: {quoted(near[0], _MAX_QUOTED_CHARS)}"
    return ""


def _json_failures(case: Case, output: bytes, is_cut: bool) -> Iterator[Failure]:
    if is_cut:
        message = "stdout is too long and was cut off, so it cannot be read as JSON"
        yield Failure(kind="stdout-json", message=message)
        return
    try:
        value = parse_single_value(output)
    except ValueError as error:
        yield Failure(kind="stdout-json", message=f"stdout is not one JSON value: {error}")
        return
    for number, difference in enumerate(differences(case.stdout_json, value)):
        if number >= _MAX_DIFFERENCES:
            yield Failure(kind="stdout-json", message="and more differences")
            return
        yield Failure(kind="stdout-json", message=difference)
