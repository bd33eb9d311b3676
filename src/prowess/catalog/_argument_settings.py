"""Read the arguments of a client that set what its settings files could say: `-c KEY=VALUE`."""

from __future__ import annotations

from ._settings_files import parse_toml

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ._client_arguments import ClientArguments

__all__ = ["ARGUMENTS", "argument_settings"]

ARGUMENTS = "@arguments"
"""The path of the settings file that consists of arguments."""
_MAX_KEY_PARTS = 64


def argument_settings(arguments: ClientArguments, toml: str = "1.0") -> dict[str, Any] | None:
    """Return what arguments set, as a settings file would; `None` if one of them is invalid.

    The parts of a key are between its dots, quotes or not. A value that is not TOML is text.

    Args:
        arguments: the client's.
        toml: the version of TOML.
    """
    given = sorted(arguments.with_effect("set"), key=lambda item: item[0].sets != "{value}")
    table: dict[str, Any] = {}
    for argument, values in given:
        for value in values or [""]:
            key, equals, text = argument.sets.replace("{value}", value).partition("=")
            parts = [part.strip() for part in key.strip().split(".")]
            if not equals or not key.strip() or len(parts) > _MAX_KEY_PARTS:
                return None
            _set(table, parts, _toml_value(text, toml))
    return table


def _toml_value(text: str, toml: str) -> Any:
    try:
        return parse_toml(f"value = {text}".encode(), toml)["value"]
    except (ValueError, RecursionError):
        return text.strip().strip("\"'")


def _set(table: dict[str, Any], parts: list[str], value: Any) -> None:
    for part in parts[:-1]:
        inner = table.get(part)
        if not isinstance(inner, dict):
            inner = table[part] = {}
        table = inner
    table[parts[-1]] = value
