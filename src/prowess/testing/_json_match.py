"""Compare a JSON value with an expected one, and list the differences.

Objects match as subsets, arrays by length and order, scalars by their JSON type: `1` equals `1.0`, but not `true` or
`"1"`; `null` requires the key. Numbers are compared as decimal numbers, as they are written, and not as floats.
Source: UAAPS, "Skill Testing": `stdout-json`, "deep partial match".
"""

from __future__ import annotations

import json
from collections import Counter
from decimal import Decimal, InvalidOperation

from prowess._internal.text import neutral, quoted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

__all__ = ["differences", "exact_number", "parse_single_value"]

_MAX_SHOWN_CHARS = 80
"""Characters of a value to show in a message."""


def exact_number(text: str) -> Decimal:
    """Return a JSON number with all its digits.

    Raises:
        ValueError: its exponent has more than 18 digits.
    """
    try:
        return Decimal(text)
    except InvalidOperation:
        raise ValueError(f"the exponent of {quoted(text)} is too large") from None


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
