"""Parse JSON into nodes, and turn nodes into JSON values."""

from __future__ import annotations

import math
import re

from prowess._internal.text import quoted

from ._yaml import Node, YamlSyntaxError, parse_yaml_node

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeAlias

    _Items: TypeAlias = tuple[tuple[str, Any], ...]
else:
    _Items = tuple

JSON_INTEGER = re.compile(r"-?(?:0|[1-9][0-9]{0,17})").fullmatch
JSON_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?").fullmatch
MAX_DIGITS = 400
"""Of a number; Python refuses to convert very long ones, as an attack."""


def parse_json_node(text: str) -> Node:
    """Return the value of a JSON text.

    Raises:
        ValueError: the text is not JSON (then it is a `json.JSONDecodeError`), a key is repeated, or a text contains
            half a character.
        RecursionError: the text has too many levels.
    """
    import json

    node = _json_node(
        json.loads(
            text,
            object_pairs_hook=_JsonObject,
            parse_constant=_reject_constant,
            parse_int=_JsonNumber,
            parse_float=_JsonNumber,
        )
    )
    try:
        # JSON is YAML, except for a few texts, and only the YAML parser reports positions.
        return _with_positions(node, parse_yaml_node(text))
    except YamlSyntaxError:
        return node


def _with_positions(node: Node, yaml_node: Node | None) -> Node:
    """Return a node of JSON with the positions of the same node of YAML."""
    if yaml_node is None or len(node.items) != len(yaml_node.items):
        return node
    items = tuple(map(_with_positions, node.items, yaml_node.items))
    return node.with_changes(
        items=items,
        keys=tuple(map(_with_positions, node.keys, yaml_node.keys)),
        line=yaml_node.line,
        column=yaml_node.column,
    )


class _JsonObject(_Items):
    """The keys and values of a JSON object, in order, repeated ones included."""

    __slots__ = ()


class _JsonNumber(str):
    """A JSON number, as its author typed it."""

    __slots__ = ()


def _reject_constant(word: str) -> str:
    raise ValueError(f"`{word}` is not a JSON value")


def _json_node(value: Any) -> Node:
    """Return a parsed JSON value as a node without positions.

    Raises:
        ValueError: a key is repeated, or a text contains half a character.
    """
    if isinstance(value, _JsonObject):
        names = [key for key, _ in value]
        seen: set[str] = set()
        for name in names:
            if name in seen:
                raise ValueError(f"duplicate key {quoted(name)}")
            seen.add(name)
        keys = tuple(map(_text_node, names))
        return Node(kind="map", keys=keys, items=tuple(_json_node(item) for _, item in value))
    if isinstance(value, list):
        return Node(kind="list", items=tuple(map(_json_node, value)))
    if value is None:
        return Node(kind="null", text="null", plain=True)
    if isinstance(value, bool):
        return Node(kind="bool", text=str(value).lower(), plain=True)
    return Node(kind="number", text=str(value), plain=True) if isinstance(value, _JsonNumber) else _text_node(value)


def _text_node(text: str) -> Node:
    if not text.isascii() and re.search("[\ud800-\udfff]", text):
        raise ValueError(f"{quoted(text)} contains a lone surrogate")
    return Node(kind="text", text=text)


_JSON_LITERALS = {"true": True, "false": False, "null": None}


def json_value(node: Node, number: Callable[[str], Any] | None = None) -> Any:
    """Return a node as a JSON value.

    A plain scalar that JSON knows (`true`, `null`, `12`) has its JSON type; anything else is text: `012`, `yes`,
    `2024-01-01`.

    Args:
        node: the value.
        number: converts a number that is not whole, or has many digits; by default it becomes a Python number, or text
            if Python cannot represent it.
    """
    if node.kind == "map":
        return {key.text: json_value(item, number) for key, item in zip(node.keys, node.items, strict=True)}
    if node.kind == "list":
        return [json_value(item, number) for item in node.items]
    if node.plain:
        if node.text in _JSON_LITERALS:
            return _JSON_LITERALS[node.text]
        if JSON_INTEGER(node.text):
            return int(node.text)
        if JSON_NUMBER(node.text):
            return (number or _python_number)(node.text)
    return node.text


def _python_number(text: str) -> float | str:
    if len(text) >= MAX_DIGITS:
        return text
    value: float = float(text) if set(text) & set(".eE") else int(text)
    return value if math.isfinite(value) else text
