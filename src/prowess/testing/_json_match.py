"""what is expected + a JSON value -> where they differ

Objects match as subsets, arrays by length and order, scalars by their JSON type: `1` equals `1.0`, neither `true` nor
`"1"`; `null` wants the key there. UAAPS, "Skill Testing": `stdout-json`, "deep partial match". Numbers are compared as
they are written, not as what a computer's arithmetic makes of them.
"""

from __future__ import annotations

import json
from decimal import Decimal, InvalidOperation

from prowess._internal.text import neutral, quoted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

__all__ = ["differences", "exact_number", "parse_single_value"]

_MAX_SHOWN_CHARS = 80
"""Characters of a value in a message."""


def exact_number(text: str) -> Decimal:
    """Return a number of JSON, to its last digit.

    Raises:
        ValueError: its exponent has more than 18 digits.
    """
    try:
        return Decimal(text)
    except InvalidOperation:
        raise ValueError(f"the exponent of {quoted(text)} is too large") from None


def parse_single_value(data: bytes | str) -> Any:
    """Return the one JSON value that an output is. Every number is a `Decimal`.

    Raises:
        ValueError: it is none, more than one, or holds a key twice.
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
            raise ValueError(f"another begins at {place}") from None
        words = error.msg[:1].lower() + error.msg[1:].removesuffix(" at")
        raise ValueError(f"{words} at {place}") from None
    except RecursionError:
        raise ValueError("it nests too deep") from None


def _reject_constant(word: str) -> Any:
    raise ValueError(f"{word} is no value of JSON")


def _build_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        # Which of the two counts is up to who reads it, so neither may make a test pass.
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise ValueError(f"the key {quoted(twice)} stands twice in an object")
    return made


def differences(expected: Any, found: Any, path: str = "$") -> Iterator[str]:
    """Yield each place where a value is not what is expected, in words."""
    if isinstance(expected, dict) and isinstance(found, dict):
        for key, value in expected.items():
            inner = f"{path}.{key}" if key.isascii() and key.isidentifier() else f"{path}[{_format_value(key)}]"
            if key in found:
                yield from differences(value, found[key], inner)
            else:
                yield f"{inner} is not there"
    elif isinstance(expected, list) and isinstance(found, list):
        if len(expected) != len(found):
            yield f"{path} has {_items(len(found))}, not {len(expected):,}"
        for at, (one, other) in enumerate(zip(expected, found, strict=False)):
            yield from differences(one, other, f"{path}[{at}]")
    elif not _is_equal(expected, found):
        yield f"{path} is {_format_value(found)}, not {_format_value(expected)}"


def _items(count: int) -> str:
    return "1 item" if count == 1 else f"{count:,} items"


def _is_equal(one: Any, other: Any) -> bool:
    if _is_number(one) and _is_number(other):
        return _to_decimal(one) == _to_decimal(other)
    return type(one) is type(other) and bool(one == other)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | Decimal) and not isinstance(value, bool)


def _to_decimal(value: float | Decimal) -> Decimal:
    # A float is the number it is written as, not the nearest one that its bits can hold.
    return Decimal(repr(value)) if isinstance(value, float) else Decimal(value)


def _format_value(value: Any) -> str:
    """Write a value as JSON, harmless and cut short; it may be large and nest deep."""
    text, left = [], _MAX_SHOWN_CHARS + 1
    for part in _json_chunks(value):
        text.append(part[:left])
        left -= len(part)
        if left <= 0:
            break
    whole = "".join(text)
    return neutral(whole if len(whole) <= _MAX_SHOWN_CHARS else f"{whole[: _MAX_SHOWN_CHARS - 1]}…")


def _json_chunks(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        yield "{"
        for at, (key, item) in enumerate(value.items()):
            yield f"{', ' if at else ''}{json.dumps(key[:_MAX_SHOWN_CHARS], ensure_ascii=False)}: "
            yield from _json_chunks(item)
        yield "}"
    elif isinstance(value, list):
        yield "["
        for at, item in enumerate(value):
            if at:
                yield ", "
            yield from _json_chunks(item)
        yield "]"
    elif isinstance(value, str):
        yield json.dumps(value[: _MAX_SHOWN_CHARS + 1], ensure_ascii=False)
    elif _is_number(value):
        yield str(_to_decimal(value))
    else:
        yield json.dumps(value)
