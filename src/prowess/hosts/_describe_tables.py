"""Describe the tables of a host in words: names, descriptions, reading, budget, isolation."""

from __future__ import annotations

from collections.abc import Mapping

from prowess._internal.text import neutral

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

__all__ = [
    "BUDGET_PHRASES",
    "DESCRIPTION_PHRASES",
    "ISOLATION_PHRASES",
    "NAME_PHRASES",
    "READING_PHRASES",
    "describe_path",
    "describe_table",
]

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
    "block": "as block scalars",
    "cut": "cut",
    "drop": "the skill is not loaded",
    "first-line": "every description keeps its first line",
    "level": "all descriptions are cut evenly",
    "omit": "the first skill that does not fit and all after it are left out",
    "name-list": "the first skill that does not fit and all after it are listed by name in the last line",
    "name-only": "skills that do not fit lose their description",
    "skip": "left out",
    "strip": "used without `#`",
    "bytes": "bytes of UTF-8",
    "tokens": "tokens of four bytes",
    "utf16": "UTF-16 code units",
    "width": "terminal cells",
}
"""The meaning of values in host files."""
NAME_PHRASES = {
    "identity": "a skill is called by its {}",
    "on": "a name that is",
    "trim": "white space around it is kept",
    "one_line": "white space is collapsed",
    "pattern": "must match `{}`",
    "max_length": "at most {} characters",
    "must_equal_folder": "must be the folder's name",
    "reserved": "must not contain {}",
    "replace": "every match of `{}` becomes `{}`",
    "lower": "a name with `{}` is written in lower case",
    "alias_pattern": "the name in the front matter is an alias if it matches `{}`",
}
DESCRIPTION_PHRASES = {
    "on": "a description that is",
    "shown": "the model gets no descriptions, only names",
    "trim": "white space around it is kept",
    "fallback": "if the body is empty too, it is `{}`",
    "fallback_lines": "from the body, {} lines are taken",
    "fallback_headings": "headings of the body: {}",
    "fallback_length": "from the body, at most {} characters are taken",
    "fallback_ellipsis": "if cut there, it ends in `{}`",
    "limit": "at most {} characters",
    "past_limit": "beyond the limit: {}",
    "ellipsis": "if cut, it ends in `{}`",
    "one_line": "white space is collapsed",
    "clean": "invisible characters become blanks",
    "escape": "written as entities: `{}`",
    "append": "appended to it: {}",
    "joiner": "between the two: `{}`",
    "unit": "counted in {}",
}
READING_PHRASES = {
    "rejects": "does not load a skill with {}",
    "as_body": "takes the whole file as the body with {}",
    "as_empty": "takes the front matter as empty with {}",
    "opening": "its opening fence is `{}`",
    "closing": "its closing fence is `{}`",
    "line_breaks": "these characters end a line too: `{}`",
    "refuses": "its YAML parser rejects `{}`",
    "texts": "it reads `{}` as text",
    "not_texts": "it reads `{}` as a number or date",
    "byte_order_marks": "it reads UTF-16 and UTF-32 with a byte order mark",
    "repair": "values that its YAML parser rejects are quoted ({}) and parsed again",
    "duplicates": "only these keys must be unique: {}",
    "second_parser": "if the YAML is invalid, fields are read line by line ({})",
    "second_for_types": "the same if a name or description is missing or not text",
    "body_needed": "it does not load a skill without instructions",
    "whole_file": "errors in the body count too",
}
BUDGET_PHRASES = {
    "limit": "at most {} in total",
    "unit": "counted in {}",
    "greedy": "if a skill does not fit, later and shorter ones may",
    "reserved": "its own skills take {} of it",
    "bundled": "its own skill `{}` takes {} characters of it",
    "degrade": "beyond it: {}",
    "note": "{}",
}
ISOLATION_PHRASES = {
    "program": "started with `{}`",
    "arguments": "first arguments, one by one: `{}`",
    "key_variable": "its key is in `{}`",
    "env": "`{}` is `{}`",
    "settings": "its settings are written in the format of {}",
}


def describe_path(path: str) -> str:
    """Return a path of a host's file in words: `~/.x/skills`, or what a variable says instead."""
    if not path.startswith("$"):
        return f"`{path}`"
    moved, _, usual = path.partition("|")
    variable = moved[1:].partition("/")[0]
    return f"`{usual}`, or `{moved}` if {variable} is set" if usual else f"`{moved}`"


def describe_table(
    table: Any, phrases: Mapping[str, str], default_actions: Mapping[str, str] | None = None
) -> Iterator[str]:
    """Yield a line for each field of a host's table that is not the default.

    Args:
        table: one of the tables of a `Host`.
        phrases: words for each field, with `{}` for its value; a field without words is shown by its name.
        default_actions: what happens to values that are not text, if the table's `on` does not say.
    """
    defaults = type(table)()
    for name in type(table).__annotations__:
        value = getattr(table, name)
        if name == "on":
            yield from _describe_actions(phrases["on"], {**_DEFAULT_ACTIONS, **(default_actions or {}), **value})
        elif value != getattr(defaults, name) or name == "identity":
            yield from _fill_phrase(phrases.get(name, name.replace("_", " ") + ": {}"), value)


def _describe_actions(start: str, actions: Mapping[str, str]) -> Iterator[str]:
    """Yield a line for each action, with the types of values it applies to."""
    type_phrases = {"number": "a number", "bool": "true or false", "list": "a list", "map": "a map"}
    for action, words in _ACTION_PHRASES.items():
        types = [type_phrases.get(key, key) for key, other in actions.items() if other == action]
        if types:
            yield f"{start} {' or '.join([', '.join(types[:-1]), types[-1]] if types[:-1] else types)} {words}"


def _fill_phrase(phrase: str, value: object) -> Iterator[str]:
    if isinstance(value, Mapping):
        yield from (neutral(phrase.replace("{}", str(key), 1).replace("{}", str(item))) for key, item in value.items())
    elif isinstance(value, bool):
        yield phrase.replace("{}", "yes" if value else "no")
    else:
        value = getattr(value, "quote", value)
        value = _VALUE_PHRASES.get(value, value) if isinstance(value, str) else value
        shown = ", ".join(value) if isinstance(value, tuple) else f"{value:,}" if isinstance(value, int) else str(value)
        yield phrase.replace("{}", neutral(shown))
