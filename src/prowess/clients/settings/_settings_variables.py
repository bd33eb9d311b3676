"""Replace environment variables in the texts of settings."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_VARIABLE = re.compile(r"\$(?:([A-Za-z0-9_]+)|\{([^}]{1,200})\})")
_MAX_LENGTH = 65_536
"""Characters of a text with its variables; a text that would be longer stays as it is."""


def plugin_variables(folder: str, cwd: str) -> Mapping[str, str]:
    """Return what `${NAME}` is in the texts of a plugin's skills."""
    return {"extensionPath": folder, "workspacePath": cwd, "/": os.sep, "pathSeparator": os.sep}


def fill_braces(text: str, values: Mapping[str, str]) -> str:
    """Return a text with `${NAME}` replaced by its value; an unknown name stays, and so does a text that gets long."""
    if "${" not in text:
        return text
    filled = re.sub(r"\$\{([^\n}]{0,200})\}", lambda match: values.get(match[1], match[0]), text[:_MAX_LENGTH])
    return filled if len(filled) <= 16 * _MAX_LENGTH and len(text) <= _MAX_LENGTH else text


def replace_variables(value: Any, env: Mapping[str, str], *, defaults: bool = True) -> Any:
    """Return a value of JSON with `$NAME`, `${NAME}` and `${NAME:-TEXT}` replaced in its texts, not in its keys.

    A variable that is not set is replaced by TEXT, or stays as it is.

    Args:
        value: the content of a file.
        env: the variables.
        defaults: whether TEXT counts; otherwise `NAME:-TEXT` is a name like any other.
    """
    if isinstance(value, Mapping):
        return {key: replace_variables(item, env, defaults=defaults) for key, item in value.items()}
    if isinstance(value, list):
        return [replace_variables(item, env, defaults=defaults) for item in value]
    if not isinstance(value, str) or "$" not in value:
        return value

    def replacement(match: re.Match[str]) -> str:
        name, has_default, default = match[1] or match[2], "", ""
        if not match[1] and defaults:
            name, has_default, default = name.partition(":-")
        return env.get(name, default if has_default else match[0])

    size = len(value) + sum(len(replacement(match)) for match in _VARIABLE.finditer(value))
    return value if size > _MAX_LENGTH else _VARIABLE.sub(replacement, value)
