"""a tool's configuration -> the tools a model sees

Each file is one type. `BUILDERS` says where each is made; only those that a role or a skill asks for are imported.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from prowess.agent.policy import AgentTool, ToolContext

__all__ = ["TOOL_TYPES", "make_tools"]

TOOL_TYPES = ("filesystem", "git", "http", "mcp", "python", "script", "shell", "web_reader")
"""Types of tools, each a module of this package with a function `tools(options, around)`."""


def make_tools(kind: str, options: Mapping[str, Any], context: ToolContext) -> tuple[AgentTool, ...]:
    """Make the tools of one configuration.

    Args:
        kind: one of `BUILDERS`.
        options: as `tool_table` says, with its defaults.
        context: what else they are made with.

    Raises:
        ConfigError: the configuration cannot be used on this machine.
    """
    made: tuple[AgentTool, ...] = import_module(f".{kind}", __name__).tools(options, context)
    return made
