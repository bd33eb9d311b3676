"""Call a tool of a session by its name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from prowess.session import Tool

__all__ = ["call_tool"]


def call_tool(tools: Iterable[Tool], name: str, arguments: Mapping[str, Any]) -> str:
    """Call a tool and return its text; errors are part of the text.

    An agent keeps the tools that it was made with, but its conversation may have fewer now, as skills change.

    Args:
        tools: those of the conversation's session.
        name: of the tool that the model chose.
        arguments: what the model passed.
    """
    for tool in tools:
        if tool.name == name:
            return tool.call(**arguments)
    return f"error: `{name}` is not available now\nhint: go on without it"
