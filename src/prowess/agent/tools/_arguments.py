"""what a model gave -> a call of a tool's function, or words on what is wrong with it

A model may give anything: other names, other types, text that no program can be handed. Whatever comes of it, the
caller sees text or a `ToolFailedError`.
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
    """What a tool is given by one name."""

    kind: str
    """`string`, `integer`, `object`, or `any`: whatever JSON has."""
    doc: str
    default: Any = None
    """What it is where the model leaves it out, or gives null."""
    needed: bool = False
    choices: tuple[str, ...] = ()
    """What the model is told that a `string` may be; whether it is one, the function sees."""


def make_agent_tool(
    kind: str,
    name: str,
    description: str,
    arguments: Mapping[str, Argument],
    function: Callable[..., str],
    *,
    ask: bool = False,
) -> AgentTool:
    """Make a tool of a function.

    Args:
        kind: its type.
        name: its own.
        description: what it does, for the model.
        arguments: what the function is given, each by its name.
        function: given arguments of the right types; may raise any `ProwessError`, and `OSError`.
        ask: whether its configuration wants the user to be asked.
    """

    def call(**given: Any) -> str:
        values = _checked_arguments(name, arguments, given)
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
    """Return what an error says and what to do: the model reads nothing else."""
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


def _checked_arguments(tool: str, arguments: Mapping[str, Argument], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return all arguments of a function.

    Raises:
        ToolFailedError: what was given does not fit.
    """
    takes = f"{tool} takes {', '.join(f'`{name}`' for name in arguments) or 'no arguments'}"
    for name in given:
        if name not in arguments:
            raise ToolFailedError(f"there is no argument {quoted(name)}; {takes}")
    values = {}
    for name, argument in arguments.items():
        value = given.get(name)
        if value is None and argument.needed:
            raise ToolFailedError(f"`{name}` is missing; {takes}")
        values[name] = argument.default if value is None else _checked_value(name, argument.kind, value)
    return values


def _checked_value(name: str, kind: str, value: Any) -> Any:
    """Return what a function is given for one argument.

    Raises:
        ToolFailedError: it is of another kind.
        RefusedError: it holds what no program can be handed.
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
            raise ToolFailedError(f"`{name}` must be a whole number, not {type(value).__name__}")
        return value
    if not isinstance(value, str):
        raise ToolFailedError(f"`{name}` must be text, not {type(value).__name__}")
    if "\0" in value:
        raise RefusedError(f"`{name}` holds a NUL character; leave it out")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise ToolFailedError(f"`{name}` holds half a character; remove the lone surrogate") from None
    return value
