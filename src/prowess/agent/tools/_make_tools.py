"""Make the tools of a configuration by its type; only the module of that type is imported."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from prowess.agent.policy import AgentTool, ToolContext

__all__ = ["make_tools"]


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
