"""Return a front matter as the JSON object that a YAML 1.2 parser gives, with typed values.

A skill that travels over MCP carries its front matter as JSON, and a host compares it field by field with what its own
parser reads (`specification/stable/skills.mdx` of SEP-2640, "Frontmatter verification"). So the types are those of the
core schema of YAML 1.2.2 (10.3.2): `1.10` is the number 1.1, `0x1F` is 31, `yes` and `2024-01-01` are text.
"""

from __future__ import annotations

import math

from prowess._internal.patterns import compile_on_use

from ._yaml import parse_yaml_node

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ._yaml import Node

_NULLS = ("", "~", "null", "Null", "NULL")
_BOOLEANS = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_INTEGER = compile_on_use(r"[-+]?[0-9]+")
_OCTAL_OR_HEXADECIMAL = compile_on_use(r"0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = compile_on_use(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_NOT_FINITE = compile_on_use(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")
_MAX_DIGITS = 300
"""Digits of a number; a longer one has no value in the JSON of other programs."""


def core_mapping(text: str, *, finite: bool = False) -> dict[str, Any]:
    """Return a front matter as a JSON object.

    Args:
        text: what is between the fences.
        finite: whether an infinity, and what is not a number, is an error. JSON has neither; some of its writers put
            null, and others fail.

    Raises:
        YamlSyntaxError: it is not YAML, or uses anchors, aliases or tags.
        ValueError: it is not a mapping, or a number is too long, or not finite.
    """
    node = parse_yaml_node(text)
    value = None if node is None else _value(node, finite)
    if not isinstance(value, dict):
        raise ValueError("the front matter is not a mapping")  # noqa: TRY004 - a problem of the text
    return value


def _value(node: Node, finite: bool) -> Any:
    if node.kind == "map":
        return {_key(key): _value(item, finite) for key, item in zip(node.keys, node.items, strict=True)}
    if node.kind == "list":
        return [_value(item, finite) for item in node.items]
    value = _scalar(node.text) if node.plain else node.text
    if value is None and finite and node.text not in _NULLS:
        raise ValueError(f"{node.text[:40]} is not a finite number")
    return value


def _key(node: Node) -> str:
    """Return a key as JSON has it: the text of its value."""
    value = _scalar(node.text) if node.plain else node.text
    if value is None:
        return ""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _scalar(text: str) -> Any:
    if text in _NULLS or _NOT_FINITE.fullmatch(text):  # JSON has no infinity: its writers put null
        return None
    if text in _BOOLEANS:
        return _BOOLEANS[text]
    if len(text) > _MAX_DIGITS and _FLOAT.fullmatch(text):
        raise ValueError("a number is too long")
    if _INTEGER.fullmatch(text):
        return int(text)
    if _OCTAL_OR_HEXADECIMAL.fullmatch(text):
        return int(text, 0)
    if _FLOAT.fullmatch(text):
        number = float(text)
        if not math.isfinite(number):
            return None
        return int(number) if number.is_integer() and abs(number) < 2**53 else number
    return text
