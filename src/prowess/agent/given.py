"""what a model gave a tool -> its arguments, or a sentence on what is wrong with them

A model may give anything. As much of JSON Schema as tools need: the types of an object's properties, and which of them
must be there.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from prowess.agent.policy import ToolFailedError
from prowess.errors import ConfigError
from prowess.findings import quoted

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["arguments", "as_json", "filled", "object_schema"]

_TYPES: Mapping[str, type | tuple[type, ...]] = {
    "string": str,
    "integer": int,
    "number": (int, float),
    "boolean": bool,
    "object": dict,
    "array": list,
}
_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")


def object_schema(properties: Mapping[str, Any], *required: str) -> dict[str, Any]:
    """Return the JSON Schema of a tool's arguments."""
    return {
        "type": "object",
        "properties": dict(properties),
        "required": [*required],
        "additionalProperties": False,
    }


def arguments(given: Mapping[str, Any], schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return all arguments, None for those that were not given.

    Raises:
        ToolFailedError: they are none that the schema takes; all that is wrong is named.
    """
    known: Mapping[str, Any] = schema["properties"]
    wrong = [f"{quoted(name)} is missing" for name in schema["required"] if given.get(name) is None]
    wrong += [f"there is no {quoted(name)}" for name in given if name not in known]
    for name, about in known.items():
        value, kind = given.get(name), about.get("type")
        if value is None or kind is None:
            continue
        if not isinstance(value, _TYPES[kind]) or (isinstance(value, bool) and kind != "boolean"):
            wrong.append(f"{quoted(name)} must be of type {kind}")
        elif isinstance(value, str) and _unpaired(value):
            wrong.append(f"{quoted(name)} holds half a character")
    if wrong:
        raise ToolFailedError(f"{'; '.join(wrong)}; it takes {', '.join(f'`{name}`' for name in known)}")
    return {name: given.get(name) for name in known}


def filled(text: str, env: Mapping[str, str], where: str) -> tuple[str, tuple[str, ...]]:
    """Put the values of variables in the place of each `${NAME}`; return the text, and the values.

    Raises:
        ConfigError: a variable is not set.
    """
    values = []

    def value(match: re.Match[str]) -> str:
        found = env.get(match[1], "")
        if not found:
            raise ConfigError(f"{where} needs the variable `{match[1]}`, which is not set", hint=f"set `{match[1]}`")
        values.append(found)
        return found

    return _VARIABLE.sub(value, text), tuple(values)


def as_json(value: Any) -> bytes:
    """Return a value as JSON.

    Raises:
        ToolFailedError: it cannot be written.
    """
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
    except (ValueError, TypeError, RecursionError):
        raise ToolFailedError("`json` cannot be written as JSON") from None


def _unpaired(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False
