"""Make a tool from a function, and check the arguments that a model gives it.

A model may give anything: unknown names, wrong types, text that no program accepts. The caller gets text or a
`ToolFailedError`, and nothing else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from prowess._internal.frozen import Frozen
from prowess._internal.text import describe_os_error, neutral, quoted
from prowess.agent.policy import AgentTool, RefusedError, ToolFailedError
from prowess.errors import ProwessError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["Argument", "make_agent_tool"]


class Argument(Frozen, kw_only=False):
    """One argument of a tool."""

    kind: str
    """`string`, `integer`, `object`, or `any` for any JSON value."""
    doc: str
    default: Any = None
    """The value if the model leaves it out or gives null."""
    needed: bool = False
    choices: tuple[str, ...] = ()
    """The values of a `string` that the model may choose from; the function checks them."""


def make_agent_tool(
    kind: str,
    name: str,
    description: str,
    arguments: Mapping[str, Argument],
    function: Callable[..., str],
    *,
    ask: bool = False,
) -> AgentTool:
    """Make a tool from a function.

    Args:
        kind: its type.
        name: its name.
        description: what it does, for the model.
        arguments: the function's arguments, by name.
        function: called with arguments of the right types; may raise any `ProwessError`, and `OSError`.
        ask: whether its configuration requires confirmation.
    """

    def call(**supplied: Any) -> str:
        values = _checked_arguments(name, arguments, supplied)
        try:
            return function(**values)
        except ToolFailedError as error:
            raise type(error)(_message_with_hint(error)) from None
        except ProwessError as error:
            raise ToolFailedError(_message_with_hint(error)) from None
        except OSError as error:
            raise ToolFailedError(f"{name} failed: {neutral(describe_os_error(error))}") from None

    return AgentTool(
        kind=kind, name=name, description=description, parameters=_arguments_schema(arguments), call=call, ask=ask
    )


def _message_with_hint(error: ProwessError) -> str:
    """Return an error's message with its hint: the model sees nothing else."""
    return f"{error}; {error.hint}" if error.hint else str(error)


def _arguments_schema(arguments: Mapping[str, Argument]) -> dict[str, Any]:
    properties: dict[str, dict[str, Any]] = {}
    for name, argument in arguments.items():
        properties[name] = {} if argument.kind == "any" else {"type": argument.kind}
        if argument.choices:
            properties[name]["enum"] = [*argument.choices]
        properties[name]["description"] = argument.doc
        if argument.default is not None:
            properties[name]["default"] = argument.default
    needed = [name for name, argument in arguments.items() if argument.needed]
    return {"type": "object", "properties": properties, "required": needed, "additionalProperties": False}


def _checked_arguments(tool: str, arguments: Mapping[str, Argument], supplied: Mapping[str, Any]) -> dict[str, Any]:
    """Return all arguments of a function, with defaults filled in.

    Raises:
        ToolFailedError: an argument is missing, unknown or has the wrong type.
    """
    usage = f"{tool} takes {', '.join(f'`{name}`' for name in arguments) or 'no arguments'}"
    for name in supplied:
        if name not in arguments:
            raise ToolFailedError(f"unknown argument {quoted(name)}; {usage}")
    values = {}
    for name, argument in arguments.items():
        value = supplied.get(name)
        if value is None and argument.needed:
            raise ToolFailedError(f"`{name}` is missing; {usage}")
        values[name] = argument.default if value is None else _checked_value(name, argument.kind, value)
    return values


def _checked_value(name: str, kind: str, value: Any) -> Any:
    """Return the value of one argument.

    Raises:
        ToolFailedError: it has the wrong type.
        RefusedError: it contains a NUL character, which no program accepts.
    """
    if kind == "any":
        return value
    if kind == "object":
        if not isinstance(value, dict):
            raise ToolFailedError(f"`{name}` must be an object, not {type(value).__name__}")
        return value
    if kind == "integer":
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int):
            raise ToolFailedError(f"`{name}` must be an integer, not {type(value).__name__}")
        return value
    if not isinstance(value, str):
        raise ToolFailedError(f"`{name}` must be a string, not {type(value).__name__}")
    if "\0" in value:
        raise RefusedError(f"`{name}` contains a NUL character; leave it out")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise ToolFailedError(f"`{name}` is not valid Unicode; remove the lone surrogate") from None
    return value
