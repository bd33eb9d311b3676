"""Check the types of values in settings files and manifests, as a client does."""

from __future__ import annotations

import re
from collections.abc import Mapping

from prowess._internal.text import quoted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

__all__ = ["find_problem", "find_wrong_type"]


def _is_text(value: object) -> bool:
    return isinstance(value, str)


_LABEL = re.compile(r"(?=.{1,64}\Z)[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*").fullmatch
_EMAIL = re.compile(r"[^\s@.][^\s@]*@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*\.[A-Za-z]{2,}").fullmatch
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:\S+").fullmatch
_CHECKS: Mapping[str, Callable[[object], bool]] = {
    "text": _is_text,
    "bool": lambda value: isinstance(value, bool),
    "number": lambda value: isinstance(value, int | float) and not isinstance(value, bool),
    "integer": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "positive": lambda value: isinstance(value, int) and not isinstance(value, bool) and value > 0,
    "list": lambda value: isinstance(value, list | tuple),
    "map": lambda value: isinstance(value, Mapping),
    "null": lambda value: value is None,
    "absent": lambda value: False,  # noqa: ARG005 - no value has this type
    "fraction": lambda value: isinstance(value, int | float) and not isinstance(value, bool) and 0 < value <= 1,
    "label": lambda value: isinstance(value, str) and _LABEL(value) is not None,
    "email": lambda value: isinstance(value, str) and (not value or _EMAIL(value) is not None),
    "url": lambda value: isinstance(value, str) and _URL(value) is not None,
    "texts": lambda value: isinstance(value, list | tuple) and all(map(_is_text, value)),
}
"""The types of a host's `settings_types`."""
_MISSING = object()
"""The value of a key that must be there, and is not."""


def find_wrong_type(table: object, types: Mapping[str, str]) -> str | None:
    """Return the first key whose value has another type than it must have, or `None`.

    Args:
        table: what a file holds.
        types: dotted key to type, as in `Host.settings_types`; a key that is missing is right, unless the type says
            that it must be there.
    """
    for key, wanted in types.items():
        words = wanted.removesuffix("!").split("|")
        for value in _values(table, key.split("."), needed=wanted.endswith("!")):
            if not any(_has_type(value, word) for word in words):
                return key
    return None


def find_problem(table: object, types: Sequence[str], keys: Sequence[str] = ()) -> str | None:
    """Return what is wrong with a table, in words, or `None`.

    Args:
        table: what a file holds.
        types: `KEY:TYPE` as in `find_wrong_type`, and `KEY!` for a key that must be there and not be empty.
        keys: the only keys that it may have; empty for any.
    """
    if not isinstance(table, Mapping):
        return "it is not a table of keys"
    unknown = sorted(map(str, set(table) - set(keys))) if keys else []
    if unknown:
        return f"{quoted(unknown[0])} is unknown"
    for item in types:
        if item.endswith("!") and not next(_values(table, item[:-1].split("."), needed=False), None):
            return f"{quoted(item[:-1])} is missing"
    wrong = find_wrong_type(table, dict(item.partition(":")[::2] for item in types if ":" in item))
    return None if wrong is None else f"{quoted(wrong)} has the wrong type"


def _has_type(value: object, word: str) -> bool:
    if word.startswith("re:"):
        return isinstance(value, str) and re.fullmatch(word[3:], value) is not None
    return value == word[1:] if word.startswith("=") else _CHECKS[word](value)


def _values(table: object, parts: list[str], *, needed: bool) -> Iterator[object]:
    """Yield the values of a key; where a needed one is missing, a value of no type. A part `*` is any key or item."""
    if not parts:
        yield table
        return
    part, rest = parts[0], parts[1:]
    if isinstance(table, Mapping):
        if needed and not rest and part != "*" and part not in table:
            yield _MISSING
        for value in table.values() if part == "*" else [table[part]] if part in table else []:
            yield from _values(value, rest, needed=needed)
    elif part == "*" and isinstance(table, list | tuple):
        for item in table:
            yield from _values(item, rest, needed=needed)
