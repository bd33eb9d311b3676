"""what is expected + a JSON value -> where they differ

Objects match as subsets, arrays by length and order, scalars by their JSON type: `1` equals `1.0`, neither `true` nor
`"1"`; `null` wants the key there. UAAPS, "Skill Testing": `stdout-json`, "deep partial match".
"""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["differences", "one_value"]

_SHOWN = 80
"""Characters of a value in a message."""


def one_value(text: str) -> Any:
    """Return the one JSON value a text is.

    Raises:
        ValueError: it is none, or more than one.
    """

    def refused(word: str) -> Any:
        raise ValueError(f"{word} is no value of JSON")

    try:
        return json.loads(text, parse_constant=refused)
    except RecursionError:
        raise ValueError("it nests too deep") from None


def differences(expected: Any, found: Any, path: str = "$") -> Iterator[str]:
    """Yield each place where a value is not what is expected, in words."""
    if isinstance(expected, dict) and isinstance(found, dict):
        for key, value in expected.items():
            inner = f"{path}.{key}" if key.isidentifier() else f"{path}[{json.dumps(key, ensure_ascii=False)}]"
            if key in found:
                yield from differences(value, found[key], inner)
            else:
                yield f"{inner} is not there"
    elif isinstance(expected, list) and isinstance(found, list):
        if len(expected) != len(found):
            yield f"{path} has {len(found):,} items, not {len(expected):,}"
        for at, (one, other) in enumerate(zip(expected, found, strict=False)):
            yield from differences(one, other, f"{path}[{at}]")
    elif not _same(expected, found):
        yield f"{path} is {_shown(found)}, not {_shown(expected)}"


def _same(one: Any, other: Any) -> bool:
    numbers = [isinstance(value, int | float) and not isinstance(value, bool) for value in (one, other)]
    if all(numbers):
        return bool(one == other)
    return type(one) is type(other) and bool(one == other)


def _shown(value: Any) -> str:
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"
