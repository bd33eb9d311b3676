"""Say in words what a host file says: the documentation of each key of `_schema`, with its value."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import starmap

from prowess._internal.text import neutral

from ._key_docs import KEY_DOCS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from prowess._internal.frozen import Frozen

_KIND_WORDS = {"number": "a number", "bool": "true or false", "list": "a list", "map": "a map"}
"""The kinds of values of front matter in words; others are words themselves."""
_TYPE_WORDS = {
    "bool": "true or false",
    "list": "a list",
    "map": "a table",
    "number": "a number",
    "integer": "an integer",
    "texts": "a list of texts",
    "url": "a URL",
    "email": "an email address",
    "label": "letters, digits, hyphens and dots",
}
"""The types of `settings_types` in words; others are words themselves."""


def key_lines(table: Frozen, *names: str) -> Iterator[str]:
    """Yield a line for each key of a host's table whose value is not the default, and the facts that follow it.

    Args:
        table: one of the classes of `_schema`.
        names: the keys to describe; without any, all of them.
    """
    facts: Any = getattr(table, "facts", {})
    for name, (text, default, words) in KEY_DOCS[type(table).__name__].items():
        value = getattr(table, name)
        if names and name not in names:
            continue
        if name == "facts":
            yield from map(neutral, value if isinstance(value, tuple) else ())
        elif words:
            yield from filter(None, _lines_of_words(value, words))
        elif value != default:
            yield from map(neutral, _lines_with_value(text.partition(". ")[0].rstrip("."), value))
        yield from map(neutral, facts.get(name, ()) if isinstance(facts, Mapping) else ())


def words_of(table: str, key: str) -> Mapping[str, str]:
    """Return the words for each value of a key, by its table and name."""
    return KEY_DOCS[table][key][2]


def _lines_of_words(value: object, words: Mapping[str, str]) -> Iterator[str]:
    """Yield the words for a value, or for each action with the kinds of values that it is for."""
    if not isinstance(value, Mapping):
        yield words.get(str(value).lower(), words.get("another number", "")).replace("{}", str(value))
        return
    for action, phrase in words.items():
        if kinds := [kind for kind, other in value.items() if other == action]:
            yield phrase.replace("{words}", join_kinds(kinds))


def _lines_with_value(text: str, value: object) -> Iterator[str]:
    """Yield a text with a value, or one for each item of a mapping."""
    text = f"{text[0].lower()}{text[1:]}"
    items = value if isinstance(value, tuple) else (value,)
    if isinstance(value, Mapping) and "{types}" in text:
        yield text.replace("{types}", "; ".join(starmap(_describe_type, value.items())))
    elif isinstance(value, Mapping):
        yield from (text.replace("{}", str(key), 1).replace("{}", str(item)) for key, item in value.items())
    elif "{place}" in text:
        yield text.replace("{place}", "; ".join(map(describe_path, items)))
    elif "`{}`" in text:
        yield text.replace("`{}`", quote_all(map(_show_value, items)))
    else:
        yield text.replace("{}", ", ".join(map(_show_value, items)))


def _show_value(value: object) -> str:
    return f"{value:,}" if isinstance(value, int) else str(value)


def describe_path(path: str) -> str:
    """Return a path of a host's file in words: `~/.x/skills`, or what a variable says instead."""
    if not path.startswith("$"):
        return f"`{path}`"
    moved, _, usual = path.partition("|")
    variable = moved[1:].partition("/")[0]
    return f"`{usual}`, or `{moved}` if {variable} is set" if usual else f"`{moved}`"


def _describe_type(key: str, wanted: str) -> str:
    """Return a key and the types that its value may have, as in `settings_types`."""
    words = []
    for kind in filter(None, wanted.removesuffix("!").split("|")):
        if kind.startswith("re:"):
            words.append(f"text that matches `{kind[3:]}`")
        else:
            words.append(f"`{kind[1:]}`" if kind.startswith("=") else _TYPE_WORDS.get(kind, kind))
    needed = ["needed"] if wanted.endswith("!") else []
    return f"`{key}` ({', '.join([*needed, *filter(None, [join_words(words)])])})"


def join_words(words: Sequence[str]) -> str:
    """Return words as a list in a sentence: `a, b or c`."""
    return " or ".join(filter(None, (", ".join(words[:-1]), *words[-1:])))


def join_kinds(kinds: Iterable[str]) -> str:
    """Return kinds of values of front matter as a list in a sentence."""
    return join_words([_KIND_WORDS.get(kind, kind) for kind in kinds])


def quote_all(items: Iterable[str], joiner: str = ", ") -> str:
    """Return items in back-ticks."""
    return joiner.join(f"`{item}`" for item in items)
