"""Write each repeated part of a JSON Schema once, under `$defs`."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

__all__ = ["share_definitions"]

_ONE_SCHEMA = ("items", "not", "if", "then", "propertyNames", "additionalProperties")
_SCHEMAS = ("anyOf", "oneOf", "allOf")
_MIN_CHARS = 80
"""A shorter part is easier to read than a reference to it."""


def share_definitions(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return a JSON Schema of the same meaning in which each repeated part is a reference to its definition.

    A definition has the name of the property that it is first used for, with a number if that name is taken.
    """
    counts: Counter[str] = Counter()
    names: dict[str, str] = {}
    definitions: dict[str, Any] = {}

    def count(name: str, part: Any) -> Any:
        key = json.dumps(part)
        counts[key] += 1
        # What is inside a definition is written once, however often the definition is used.
        return _map_parts(name, part, count) if counts[key] == 1 else part

    def share(name: str, part: Any) -> Any:
        key = json.dumps(part)
        if counts[key] == 1 or len(key) < _MIN_CHARS:
            return _map_parts(name, part, share)
        if key not in names:
            same = sum(other.partition(".")[0] == name for other in names.values())
            names[key] = f"{name}.{same + 1}" if same else name
            definitions[names[key]] = _map_parts(name, part, share)
        return {"$ref": f"#/$defs/{names[key]}"}

    count("", schema)
    return {**share("", schema), "$defs": {name: definitions[name] for name in sorted(definitions)}}


def _map_parts(name: str, part: Any, change: Callable[[str, Any], Any]) -> Any:
    """Return a schema with each of its direct parts changed; `change` also gets the name of the innermost property."""
    if not isinstance(part, Mapping):  # `true` and `false` are schemas too
        return part
    result = dict(part)
    for key, value in part.items():
        if key == "properties":
            result[key] = {inner: change(inner, item) for inner, item in value.items()}
        elif key in _SCHEMAS:
            result[key] = [change(name, item) for item in value]
        elif key in _ONE_SCHEMA:
            result[key] = change(name, value)
    return result
