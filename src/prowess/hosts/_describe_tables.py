"""Describe the tables of a host in words: names, descriptions, reading, budget, isolation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from prowess._internal.text import neutral

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

_ACTION_PHRASES = {
    "body": "is taken from the body",
    "folder": "is replaced by the folder's name",
    "hide": "hides the skill from the model, not from the list",
    "keep": "is shown as empty",
    "reject": "rejects the skill",
    "text": "is used as written",
    "value": "is converted to text as in JavaScript",
}
_DEFAULT_ACTIONS = dict.fromkeys(("missing", "null", "empty", "number", "bool", "list", "map"), "reject")
_VALUE_PHRASES = {
    "cut": "cut",
    "drop": "the skill is not loaded",
    "bytes": "bytes of UTF-8",
    "tokens": "tokens of four bytes",
    "utf16": "UTF-16 code units",
    "width": "terminal cells",
}
"""The meaning of values in host files."""
NAME_PHRASES: Mapping[str, str | Mapping[str, str]] = {
    "identity": "a skill is called by its {}",
    "on": "a name that is",
    "trim": "white space around it is kept",
    "pattern": "must match `{}`",
    "max_length": "at most {} characters",
    "must_equal_folder": "must be the folder's name",
    "replace": "every match of `{}` becomes `{}`",
}
DESCRIPTION_PHRASES: Mapping[str, str | Mapping[str, str]] = {
    "on": "a description that is",
    "trim": "white space around it is kept",
    "fallback": "if the body is empty too, it is `{}`",
    "limit": "at most {} characters",
    "past_limit": "beyond the limit: {}",
    "ellipsis": "if cut, it ends in `{}`",
    "one_line": "each run of white space becomes one blank",
    "unit": "counted in {}",
}
READING_PHRASES: Mapping[str, str | Mapping[str, str]] = {
    "rejects": "does not load a skill with {}",
    "as_body": "takes the whole file as the body with {}",
    "loose_as_body": "takes a whole single file, such as a command, as the body with {}",
    "as_empty": "takes the front matter as empty with {}",
    "opening": "its opening fence is `{}`",
    "closing": "its closing fence is `{}`",
    "line_breaks": "these characters end a line too: `{}`",
    "yaml_line_breaks": "these characters end a line for its YAML parser too: `{}`",
    "refuses": "its YAML parser rejects a match of `{}`",
    "texts": "it reads `{}` as text",
    "not_texts": "it reads `{}` as a number or date",
    "quoted_controls": "control characters from U+007F on are valid in quotes",
    "half_pairs": {
        "replace": "an escape that is half of a surrogate pair becomes U+FFFD",
        "remove": "an escape that is half of a surrogate pair is removed",
    },
    "empty_keys": "a line without a key, such as `: value`, is valid",
    "flow_keys": "a list or table may be a key",
    "marks_are_text": "a byte order mark at the beginning of a later line is text",
    "whole_file": "errors in the body count too",
}
BUDGET_PHRASES = {
    "limit": "at most {} in total",
    "unit": "counted in {}",
    "reserved": "its own skills take {} of it",
    "note": "{}",
}
ISOLATION_PHRASES = {
    "program": "started with `{}`",
    "arguments": "first arguments, one by one: `{}`",
    "key_variable": "its key is in `{}`",
    "env": "`{}` is `{}`",
    "settings": "its settings are written in the format of {}",
}


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


def describe_path(path: str) -> str:
    """Return a path of a host's file in words: `~/.x/skills`, or what a variable says instead."""
    if not path.startswith("$"):
        return f"`{path}`"
    moved, _, usual = path.partition("|")
    variable = moved[1:].partition("/")[0]
    return f"`{usual}`, or `{moved}` if {variable} is set" if usual else f"`{moved}`"


def describe_types(types: Iterable[str]) -> str:
    """Return the types of values in words.

    Args:
        types: `KEY:TYPE`, and `KEY!` for a key that must be there, as in `PluginRules.manifest_types`.
    """
    keys: dict[str, list[str]] = {}
    for item in types:
        key, _, kinds = item.partition(":")
        words = keys.setdefault(key.removesuffix("!"), [])
        if key.endswith("!"):
            words.append("needed")
        if kinds:
            words.append(join_words([_describe_type(kind) for kind in kinds.split("|")]))
    return "; ".join(f"`{key}` ({', '.join(words)})" for key, words in keys.items())


def _describe_type(kind: str) -> str:
    if kind.startswith("re:"):
        return f"text that matches `{kind[3:]}`"
    return f"`{kind[1:]}`" if kind.startswith("=") else _TYPE_WORDS.get(kind, kind)


def join_words(words: Sequence[str]) -> str:
    """Return words as a list in a sentence: `a, b or c`."""
    return " or ".join([", ".join(words[:-1]), words[-1]] if words[:-1] else words)


def quote_all(items: Iterable[str], joiner: str = ", ") -> str:
    """Return items in back-ticks."""
    return joiner.join(f"`{item}`" for item in items)


def describe_table(
    table: Any, phrases: Mapping[str, str | Mapping[str, str]], default_actions: Mapping[str, str] | None = None
) -> Iterator[str]:
    """Yield a line for each field of a host's table that is not the default, and the facts that follow it.

    Args:
        table: one of the tables of a `Host`.
        phrases: words for each field: with `{}` for its value, `{path}` for a path or `{types}` for types in words; or
            each value with its words. A field with empty words has no line.
        default_actions: what happens to values that are not text, if the table's `on` does not say.
    """
    defaults = type(table)()
    for name in filter(phrases.__contains__, type(table).__annotations__):
        yield from _describe_field(table, name, phrases[name], getattr(defaults, name), default_actions)
        yield from map(neutral, getattr(table, "facts", {}).get(name, ()))


def _describe_field(
    table: Any,
    name: str,
    phrase: str | Mapping[str, str],
    default: object,
    default_actions: Mapping[str, str] | None,
) -> Iterator[str]:
    """Yield the lines of one field of a table."""
    value = getattr(table, name)
    if name == "on":
        value = {**_DEFAULT_ACTIONS, **(default_actions or {}), **value}
        yield from _describe_actions(str(phrase), value)
    elif value == default and name != "identity":
        return
    elif isinstance(phrase, Mapping):
        yield from filter(None, [phrase[value]])
    else:
        yield from filter(None, _fill_phrase(phrase, value))


def _describe_actions(start: str, actions: Mapping[str, str]) -> Iterator[str]:
    """Yield a line for each action, with the types of values it applies to."""
    type_phrases = {"number": "a number", "bool": "true or false", "list": "a list", "map": "a map"}
    for action, words in _ACTION_PHRASES.items():
        types = [type_phrases.get(key, key) for key, other in actions.items() if other == action]
        if types:
            yield f"{start} {join_words(types)} {words}"


def _fill_phrase(phrase: str, value: object) -> Iterator[str]:
    """Yield the line of a field, or one for each item of a mapping."""
    if isinstance(value, Mapping):
        yield from (neutral(phrase.replace("{}", str(key), 1).replace("{}", str(item))) for key, item in value.items())
        return
    items = value if isinstance(value, tuple) else (value,)
    if "{path}" in phrase:
        filled = phrase.replace("{path}", "; ".join(map(describe_path, items)))
    elif "{types}" in phrase:
        filled = phrase.replace("{types}", describe_types(items))
    elif isinstance(value, tuple) and "`{}`" in phrase:
        filled = phrase.replace("`{}`", quote_all(value))
    else:
        filled = phrase.replace("{}", ", ".join(map(_describe_value, items)))
    yield neutral(filled)


def _describe_value(value: object) -> str:
    if isinstance(value, str):
        return _VALUE_PHRASES.get(value, value)
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)
