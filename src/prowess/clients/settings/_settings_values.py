"""Read values of settings: keys, switches, tables and lists of several files, and the types that they must have."""

from __future__ import annotations

import re
from collections.abc import Mapping

from prowess._internal.globs import NAMES, compile_glob
from prowess._internal.text import quoted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import Any

_TRUE = frozenset(("true", "1", "yes", "on"))
_FALSE = frozenset(("false", "0", "no", "off"))
_MISSING = object()
"""The value of a key that is missing."""


def parse_bool(value: object) -> bool | None:
    """Return the truth of a setting: true, false, or a word such as `on`; `None` for anything else."""
    if isinstance(value, bool):
        return value
    word = value.strip().lower() if isinstance(value, str) else ""
    return True if word in _TRUE else False if word in _FALSE else None


def name_matcher(pattern: str) -> Callable[[str], bool]:
    """Return a test of names for a pattern: `*` is any text, `?` one character, and ` *` at its end is optional."""
    pattern = pattern.replace("\\", "/")
    patterns = [pattern, pattern[:-2]] if pattern.endswith(" *") else [pattern]
    matchers = [compile_glob(item, NAMES) for item in patterns]
    return lambda name: any(matches(name.replace("\\", "/")) for matches in matchers)


def is_switched_on(variable: str, env: Mapping[str, str]) -> bool:
    """Return whether an environment variable means yes.

    Args:
        variable: its name, or `NAME=WORD|WORD` with the only words that do, in lower case.
        env: the environment.
    """
    name, equals, words = variable.partition("=")
    value = env.get(name, "")
    return value.lower() in words.split("|") if equals else parse_bool(value) is True


def truth_of(value: object) -> bool:
    """Return the truth of any value as in JavaScript; the text `false` is false."""
    return bool(value) and not (isinstance(value, str) and value.lower() == "false")


def texts_of(value: object) -> list[str]:
    """Return the texts of a list; nothing for any other value."""
    return [item for item in value if isinstance(item, str)] if isinstance(value, list | tuple) else []


def items_of(value: object) -> Iterable[tuple[Any, Any]]:
    """Return the items of a table; nothing for any other value."""
    return value.items() if isinstance(value, Mapping) else ()


def get_dotted(table: Any, key: str) -> Any:
    """Return the value of a key such as `skills.disabled`; `None` if it is missing."""
    for part in filter(None, key.split(".")):
        if not isinstance(table, Mapping):
            return None
        table = table.get(part)
    return table


# ── several files ────────────────────────────────────────────────────────────────────────────────────────────────────


def merge_deep(low: Any, high: Any) -> Any:
    """Return two values as one: tables key by key, each key where it first came; else the higher value."""
    if not isinstance(low, Mapping) or not isinstance(high, Mapping):
        return high
    return {**low, **{key: merge_deep(low.get(key), value) for key, value in high.items()}}


def merge_files(values: Sequence[tuple[str, Any]]) -> Any:
    """Return the values of several files as one; a file that is found twice counts at its lower place.

    Args:
        values: each with its file, highest precedence first.
    """
    merged = None
    for value in dict(reversed(values)).values():
        merged = merge_deep(merged, value)
    return merged


def merge_union(tables: Iterable[tuple[str, Any]], key: str, *, single: bool = False) -> list[tuple[str, list[Any]]]:
    """Return the lists of a key that are left if files are merged, each with its file, lowest first.

    A value that is no list is one more item if a lower file has a list; otherwise it is replaced by the next list.
    Anything but a table on the way to the key, or instead of the list, replaces what lower files have there.

    Args:
        tables: the file and content of each, lowest first.
        key: a dotted key.
        single: whether there is an empty list below the lowest file.
    """
    *way, last = key.split(".")
    found: list[tuple[str, list[Any]]] = []
    has_list = single
    for path, table in tables:
        node = table
        for part in way:
            node = node.get(part, _MISSING) if isinstance(node, Mapping) else node
            if not isinstance(node, Mapping):
                break
        value = node.get(last, _MISSING) if isinstance(node, Mapping) else node
        if value is _MISSING:
            continue
        if isinstance(value, list) and isinstance(node, Mapping):
            found = [*found, (path, value)] if has_list else [(path, value)]
            has_list = True
        elif has_list and isinstance(node, Mapping) and not isinstance(value, Mapping):
            found.append((path, [value]))
        else:
            found, has_list = [], False
    return found


# ── types ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _is_text(value: object) -> bool:
    return isinstance(value, str)


_LABEL = re.compile(r"(?=.{1,64}\Z)[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*").fullmatch
_EMAIL = re.compile(r"[^\s@.][^\s@]*@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*\.[A-Za-z]{2,}").fullmatch
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:\S+").fullmatch
_CHECKS: Mapping[str, Callable[[object], bool]] = {
    "": lambda value: value is not _MISSING,
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


def find_problem(table: object, types: Mapping[str, str], keys: Sequence[str] = ()) -> str | None:
    """Return what is wrong with a table, in words, or `None`.

    Args:
        table: what a file holds.
        types: as in `find_wrong_type`; what must be there must not be empty either.
        keys: the only keys that it may have; empty for any.
    """
    if not isinstance(table, Mapping):
        return "it is not a table of keys"
    unknown = sorted(map(str, set(table) - set(keys))) if keys else []
    if unknown:
        return f"{quoted(unknown[0])} is unknown"
    for key, wanted in types.items():
        if wanted.endswith("!") and not next(_values(table, key.split("."), needed=False), None):
            return f"{quoted(key)} is missing"
    wrong = find_wrong_type(table, types)
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
