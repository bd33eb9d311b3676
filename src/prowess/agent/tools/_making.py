"""Make the tools of a configuration, and check what a model gives them.

A model may give anything: unknown names, wrong types, text that no program accepts. The caller gets text or a
`ToolFailedError`, and nothing else.

`permissions` refuse calls by their arguments, with InitRunner's rules: patterns in `deny` count first, then those in
`allow`, then `default`. A pattern is `ARGUMENT=GLOB`, or a `GLOB` for the value of any argument; `ARGUMENT` may name a
value inside (`options.path`). Here a path also counts as the place that it leads to, and a command by its program's
name: `./x/../.env` and `/bin/rm` do not avoid a rule.
"""

from __future__ import annotations

import os
import shlex
from importlib import import_module
from typing import TYPE_CHECKING, Any

from prowess._internal.files import real_path, real_path_or_none
from prowess._internal.frozen import Frozen
from prowess._internal.globs import compile_glob
from prowess._internal.text import describe_os_error, neutral, quoted
from prowess.agent.policy import AgentTool, RefusedError, ToolFailedError
from prowess.errors import ConfigError, ProwessError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from prowess.agent.policy import ToolContext


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


_FOLDER_KEYS = {"filesystem": "root_path", "git": "repo_path"}
"""The key of the folder that paths in arguments are relative to."""
_PATH_ARGUMENTS = frozenset(("path", "paths"))


class CallRules(Frozen):
    """The `permissions` of one tool."""

    default: str = "allow"
    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    folder: str | None = None
    """The absolute folder that paths are relative to."""

    @classmethod
    def from_options(cls, kind: str, options: Mapping[str, Any], context: ToolContext) -> CallRules | None:
        """Return the rules of a configuration, or `None` if there are no rules.

        Raises:
            ConfigError: a pattern is incomplete.
        """
        rules = options.get("permissions")
        if rules is None:
            return None
        for pattern in (*rules["allow"], *rules["deny"]):
            name, equals, glob = pattern.partition("=")
            if not (name and glob) if equals else not pattern:
                message = f"the pattern {quoted(pattern)} in `permissions` is incomplete"
                raise ConfigError(message, hint="write it as `ARGUMENT=PATTERN`")
        folder = context.absolute_path(options[_FOLDER_KEYS[kind]]) if kind in _FOLDER_KEYS else None
        return cls(**rules, folder=folder)

    def check(self, arguments: Mapping[str, Any]) -> None:
        """Check that a call is allowed.

        Raises:
            RefusedError: it is not.
        """
        for pattern in self.deny:
            if any(self._is_denied(name, value, glob) for name, value, glob in _values(pattern, arguments)):
                raise RefusedError(f"`permissions` refuse calls with {quoted(pattern)}")
        for pattern in self.allow:
            if any(self._is_allowed(name, value, glob) for name, value, glob in _values(pattern, arguments)):
                return
        if self.default != "allow":
            raise RefusedError("`permissions` allow only some calls, and not this one")

    def _is_denied(self, name: str, value: str, glob: str) -> bool:
        places = [form for place in self._places(name, value) for form in place]
        # On some systems `.ENV` is the file `.env`.
        return any(compile_glob(glob.lower())(form.lower()) for form in (value, *places, *_command_forms(name, value)))

    def _is_allowed(self, name: str, value: str, glob: str) -> bool:
        places = self._places(name, value) or [(value,)]
        return all(any(compile_glob(glob)(form) for form in place) for place in places)

    def _places(self, name: str, value: str) -> list[tuple[str, ...]]:
        """Return what a path means, with and without links: absolute, and relative to the folder."""
        if self.folder is None or name not in _PATH_ARGUMENTS or "\0" in value:
            return []
        path = os.path.normpath(os.path.join(self.folder, value))
        # A link that cannot be read is not followed by a tool either.
        real = real_path_or_none(path) or path
        tops = (self.folder, real_path(self.folder))
        return [(place, os.path.relpath(place, top)) for place, top in zip((path, real), tops, strict=True)]


def _command_forms(name: str, value: str) -> Iterator[str]:
    """Yield a command without its quotes, also with the bare name of its program."""
    if name != "command":
        return
    try:
        words = shlex.split(value)
    except ValueError:
        return
    if words:
        yield " ".join(words)
        yield " ".join((os.path.basename(words[0]), *words[1:]))


def _values(pattern: str, arguments: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Yield the values that a pattern is compared with: the argument's name, the value as text, and the glob."""
    name, equals, glob = pattern.partition("=")
    if not equals:
        for argument, given in arguments.items():
            yield from ((argument, text, pattern) for text in _leaves(given))
        return
    value: Any = arguments
    for part in name.split("."):
        if not isinstance(value, dict) or part not in value:
            return
        value = value[part]
    yield from ((name, text, glob) for text in _leaves(value))


def _leaves(value: object) -> Iterator[str]:
    """Yield every text, number and truth value inside a value, as text."""
    pending = [value]
    while pending:
        item = pending.pop()
        if isinstance(item, dict):
            pending += item.values()
        elif isinstance(item, list | tuple):
            pending += item
        elif item is not None:
            yield str(item)


def make_tools(kind: str, options: Mapping[str, Any], context: ToolContext) -> tuple[AgentTool, ...]:
    """Make the tools of one configuration.

    Args:
        kind: the type, as in `TOOL_FIELDS`: the name of a module of this package with a function
            `tools(options, context)`. For `mcp` call `make_mcp_toolset`.
        options: all keys of the type, with defaults filled in.
        context: the rest that the tools are made with: folders, policy, environment.

    Raises:
        ConfigError: the configuration cannot be used on this machine.
    """
    made: tuple[AgentTool, ...] = import_module(f".{kind}", __package__).tools(options, context)
    return made
