"""Tell whether the model of a client has a tool with which it can load skills."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from prowess.hosts import Host

    from ._client_arguments import ClientArguments

__all__ = ["hidden_by_tools"]


def hidden_by_tools(host: Host, arguments: ClientArguments, values: Callable[..., Iterator[tuple[str, Any]]]) -> str:
    """Return the argument or the settings file because of which the model gets no catalog; empty if it gets one.

    Args:
        host: the client.
        arguments: those that it is started with.
        values: returns the values of a key of its settings, each with its file, highest precedence first.
    """
    if not host.catalog_tools:
        return ""
    source, tools = "", list(host.catalog_tools)
    for setting in host.settings:
        if setting.form == "tools":
            for path, value in values(setting.key, setting.files):
                if isinstance(value, list):
                    source, tools = path, [tool for tool in value if isinstance(tool, str)]
                    break
    for argument, _ in arguments.with_effect("no-tools"):
        source, tools = argument.name, []
    for argument, given in arguments.with_effect("tools"):
        source, tools = argument.name, _names(given)
    for argument, given in arguments.with_effect("not-tools")[-1:]:
        excluded = set(_names(given))
        if excluded.intersection(tools):
            source, tools = argument.name, [tool for tool in tools if tool not in excluded]
    return "" if set(tools).intersection(host.catalog_tools) else source


def _names(values: list[str]) -> list[str]:
    return [name.strip() for value in values for name in value.split(",") if name.strip()]
