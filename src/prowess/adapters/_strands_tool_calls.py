"""Know whether an agent of Strands runs in a tool of another one, whose model then wrote its message."""

from __future__ import annotations

from contextvars import ContextVar
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from ._extras import missing_extra

try:
    from strands.hooks import AfterInvocationEvent, AfterToolCallEvent, BeforeToolCallEvent
except ImportError as error:
    raise ImportError(missing_extra("strands-agents", "strands")) from error

if TYPE_CHECKING:
    from strands import Agent

__all__ = ["ToolCalls", "is_in_tool"]


class _ToolCall:
    """A call of a tool by an agent."""

    def __init__(self, call_id: str) -> None:
        self.call_id, self.is_running = call_id, True


_calls_around: ContextVar[tuple[_ToolCall, ...]] = ContextVar("_calls_around", default=())
"""The tool calls of agents in which this code runs, the innermost last; some may have ended in another context."""


def is_in_tool() -> bool:
    """Return whether this code runs in a tool of an agent that is watched."""
    return any(call.is_running for call in _calls_around.get())


class ToolCalls:
    """The tool calls of the agents that it watches."""

    def __init__(self) -> None:
        self._calls: WeakKeyDictionary[Agent, list[_ToolCall]] = WeakKeyDictionary()

    def watch(self, agent: Agent) -> None:
        """Note from now on which tools of an agent are running."""
        agent.add_hook(self._begin, BeforeToolCallEvent)
        agent.add_hook(self._end, AfterToolCallEvent)
        agent.add_hook(self._end_all, AfterInvocationEvent)

    def _begin(self, event: BeforeToolCallEvent) -> None:
        call = _ToolCall(event.tool_use["toolUseId"])
        self._calls.setdefault(event.agent, []).append(call)
        _calls_around.set((*(other for other in _calls_around.get() if other.is_running), call))

    def _end(self, event: AfterToolCallEvent) -> None:
        for call in self._calls.get(event.agent, ()):
            call.is_running = call.is_running and call.call_id != event.tool_use["toolUseId"]

    def _end_all(self, event: AfterInvocationEvent) -> None:
        """End the calls that have no end of their own, for example those that wait for a person."""
        for call in self._calls.pop(event.agent, ()):
            call.is_running = False
