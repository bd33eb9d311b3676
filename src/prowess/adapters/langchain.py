"""Adapt a catalog to LangChain: middleware that gives an agent skills.

A LangChain agent is a graph that many conversations share, so the session of a conversation is in the state of the
graph, as JSON, and a checkpointer saves it. Active skills are not saved: they are added to each call of the model.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated, Any, NotRequired

from prowess.errors import ConfigError
from prowess.session import Session

from ._extras import missing_extra
from ._session_records import merge_sessions

try:
    from langchain.agents.middleware import AgentMiddleware, AgentState, ExtendedModelResponse
    from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
    from langchain_core.tools import StructuredTool
    from langgraph.types import Command
except ImportError as error:
    raise ImportError(missing_extra("langchain", "langchain")) from error

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from prowess.catalog import Catalog, LiveCatalog
    from prowess.session import Tool

__all__ = ["SkillsMiddleware", "SkillsState"]


class SkillsState(AgentState):
    """The state of a conversation with skills."""

    skills: NotRequired[Annotated[str, merge_sessions]]  # type: ignore[valid-type]
    """What `Session.to_json` returns."""


class SkillsMiddleware(AgentMiddleware):
    """Gives the skills of a catalog to an agent of `create_agent`.

    Args:
        catalog: the skills to choose from; with a `LiveCatalog`, those of the moment of each call of the model.
        options: as for a `Session`.

    Raises:
        ConfigError: unknown unit or format.
    """

    state_schema = SkillsState

    def __init__(self, catalog: Catalog | LiveCatalog, **options: Any) -> None:
        super().__init__()
        self.catalog = catalog
        self._options = options
        template_session = Session(catalog, **options)
        self._template_session = template_session
        self.tools = [
            StructuredTool(
                name=tool.name,
                description=tool.description,
                args_schema=dict(tool.parameters),
                func=_standalone_call(tool),
            )
            for tool in template_session.tools()
        ]

    def session(self, state: Mapping[str, Any]) -> Session:
        """Return the session of a conversation from its state, or a new session if there is no valid record."""
        try:
            return Session.from_json(state.get("skills") or "", self.catalog, **self._options)
        except ConfigError:
            return Session(self.catalog, **self._options)

    # ── the model ────────────────────────────────────────────────────────────────────────────────────────────────────

    def wrap_model_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:
        """Add the skills to a call of the model."""
        filled, update = self._with_skills(request)
        return ExtendedModelResponse(model_response=handler(filled), command=update)

    async def awrap_model_call(self, request: Any, handler: Callable[[Any], Awaitable[Any]]) -> Any:
        """Add the skills to a call of the model."""
        filled, update = await asyncio.to_thread(self._with_skills, request)
        return ExtendedModelResponse(model_response=await handler(filled), command=update)

    def _with_skills(self, request: Any) -> tuple[Any, Any]:
        session, messages = self.session(request.state), request.messages
        visible = [message.text for message in messages]
        added: list[str] = []
        update = None
        if messages and isinstance(
            messages[-1], HumanMessage
        ):  # a turn begins; otherwise the last message is a tool result
            added += [message["content"] for message in session.inject(visible[-1], visible=visible)]
            update = Command(update={"skills": session.to_json()})
        tail = session.tail(visible=[*visible, *added])
        skill_messages = [HumanMessage(text) for text in (*added, tail) if text]
        prompts = [message.text for message in messages if isinstance(message, HumanMessage)]
        if self._template_session.catalog is not session.catalog:
            self._template_session.update(self.catalog)
        block = self._template_session.block(prompts[-1] if prompts else "")
        system = _append_to_system(request.system_message, block)
        return request.override(system_message=system, messages=[*messages, *skill_messages]), update

    # ── tools ────────────────────────────────────────────────────────────────────────────────────────────────────────

    def wrap_tool_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:
        """Run a tool of the session, in the session of the conversation; other tools as usual."""
        return self._call_skill_tool(request) if self._is_session_tool(request) else handler(request)

    async def awrap_tool_call(self, request: Any, handler: Callable[[Any], Awaitable[Any]]) -> Any:
        """Run a tool of the session, in the session of the conversation; other tools as usual."""
        return await (
            asyncio.to_thread(self._call_skill_tool, request) if self._is_session_tool(request) else handler(request)
        )

    def _is_session_tool(self, request: Any) -> bool:
        return any(request.tool is tool for tool in self.tools)

    def _call_skill_tool(self, request: Any) -> Any:
        session, call = self.session(request.state), request.tool_call
        tools = {tool.name: tool for tool in session.tools()}
        for other in _earlier_calls(call, request.state["messages"]):
            if other["name"] == "activate_skill":
                tools["activate_skill"].call(**other["args"])
        text = tools[call["name"]].call(**call["args"])
        message = ToolMessage(text, name=call["name"], tool_call_id=call["id"])
        return Command(update={"skills": session.to_json(), "messages": [message]})


def _standalone_call(tool: Tool) -> Callable[..., str]:
    """Return the function of a tool for calls outside this middleware; LangChain reads its annotations."""

    def call(**arguments: Any) -> str:
        return tool.call(**arguments)

    return call


def _earlier_calls(call: Mapping[str, Any], messages: list[Any]) -> list[Any]:
    """Return the calls before this one in the same message, because tools run separately and share no state."""
    for message in reversed(messages):
        if isinstance(message, AIMessage):
            ids = [other["id"] for other in message.tool_calls]
            return list(message.tool_calls[: ids.index(call["id"])]) if call["id"] in ids else []
    return []


def _append_to_system(system: Any, block: str) -> Any:
    """Append a text to a system message, which may be missing, text, or content blocks."""
    if not block:
        return system
    if system is None:
        return SystemMessage(block)
    if isinstance(system.content, str):
        return system.model_copy(update={"content": f"{system.content}\n\n{block}"})
    return system.model_copy(update={"content": [*system.content, {"type": "text", "text": f"\n\n{block}"}]})
