"""Adapt a catalog to LangChain: middleware that gives an agent skills.

A LangChain agent is a graph that many conversations share, so the session of a conversation is in the state of the
graph, as JSON, and a checkpointer saves it. Active skills are not saved: they are added to each call of the model.
"""

from __future__ import annotations

import asyncio
import base64
import os
from contextlib import contextmanager
from contextvars import ContextVar
from copy import copy
from threading import Condition, Lock
from typing import TYPE_CHECKING, Annotated, Any, Literal, NotRequired

from prowess._internal.frozen import Frozen
from prowess._internal.installer import missing_extra
from prowess.catalog import Catalog
from prowess.errors import ConfigError
from prowess.session import FileAnswer, Session

from ._base import (
    SCRIPT_TOOLS,
    CatalogSkills,
    Source,
    call_in_thread,
    call_tool,
    conversation_of,
    merge_sessions,
    with_tail,
)

try:
    from langchain.agents.middleware import AgentMiddleware, AgentState, ExtendedModelResponse
    from langchain.agents.middleware.types import PrivateStateAttr
    from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
    from langchain_core.tools import StructuredTool
    from langgraph.errors import GraphBubbleUp
    from langgraph.types import Command
except ImportError as error:
    raise ImportError(missing_extra("langchain", "langchain")) from error

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping

    from prowess.session import Scripts, Tool, UntrustedSkill

__all__ = ["SkillsMiddleware", "SkillsState"]

_MAX_SHOWN = 4
"""Catalogs of turns that may still run; in a turn that began before, the model is shown the skills as they are now."""


class SkillsState(AgentState):
    """The state of a conversation with skills."""

    skills: NotRequired[Annotated[str, merge_sessions]]  # type: ignore[valid-type]
    """What `Session.to_json` returns."""
    skills_of_turn: NotRequired[Annotated[str, PrivateStateAttr]]  # type: ignore[valid-type]
    """Which of the last catalogs of the middleware the turn began with."""
    skills_media: NotRequired[Annotated[str, PrivateStateAttr]]  # type: ignore[valid-type]
    """What the model accepts in the result of a tool: `image`, `pdf`, both or neither."""


class SkillsMiddleware(AgentMiddleware):
    """Gives the skills of a catalog to an agent of `create_agent`.

    Args:
        catalog: a directory, whose skills each turn gets as they are then, or a catalog.
        scripts: whether a model may run the scripts of active skills that the user trusts, and how.
        options: as for a `Session`.

    Raises:
        ConfigError: neither a directory nor a catalog, or an invalid option.
    """

    state_schema = SkillsState

    def __init__(self, catalog: Source = ".", *, scripts: bool | Scripts = False, **options: Any) -> None:
        super().__init__()
        self._skills = CatalogSkills(catalog, options, scripts)
        self.catalog = self._skills.catalog
        if not isinstance(self._skills.scripts, bool):
            self._skills.scripts = _with_interrupts(self._skills.scripts)
        self.tools = _structured_tools(self._skills.tools())
        self._shown: dict[str, _ShownSkills] = {}
        """Of the last catalogs, most recent last."""
        self._lock = Lock()
        self._script_calls = _ScriptCalls()

    @property
    def name(self) -> str:
        """The name of the middleware: another one than that of deepagents, whose class has the same name."""
        return "ProwessSkillsMiddleware"

    def session(self, state: Mapping[str, Any]) -> Session:
        """Return the session of a conversation from its state, or a new session if there is no valid record."""
        return self._session(state, self._skills_of_turn(state))

    def _session(self, state: Mapping[str, Any], shown: _ShownSkills) -> Session:
        try:
            return Session.from_json(state.get("skills") or "", shown.template.catalog, **self._skills.options)
        except ConfigError:
            return Session(shown.template.catalog, **self._skills.options)

    def _skills_of_turn(self, state: Mapping[str, Any]) -> _ShownSkills:
        """Return the skills as they were when the turn began, or as they are now if another process began it."""
        return self._shown.get(str(state.get("skills_of_turn"))) or self._current_skills()

    def _current_skills(self) -> _ShownSkills:
        catalog = self.catalog if isinstance(self.catalog, Catalog) else self.catalog.current()
        with self._lock:
            for shown in self._shown.values():
                if shown.template.catalog is catalog:
                    return shown
            template = Session(catalog, **self._skills.options)
            tools = _structured_tools(self._skills.tools(template))
            shown = _ShownSkills(key=os.urandom(8).hex(), template=template, tools=tools)
            self._shown[shown.key] = shown
            if len(self._shown) > _MAX_SHOWN:
                del self._shown[next(iter(self._shown))]
            return shown

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
        messages = request.messages
        # A turn begins with the user's message; otherwise the last message is a tool result. A subagent that has the
        # record of its agent belongs to the agent's turn; a model wrote its first message.
        begins = bool(messages) and isinstance(messages[-1], HumanMessage) and not _is_subagent(request.state)
        shown = self._current_skills() if begins else self._skills_of_turn(request.state)
        session = self._session(request.state, shown)
        visible = [message.text for message in messages]
        added: list[str] = []
        keys = {"skills_of_turn": shown.key, "skills_media": _accepted_media(request.model)}
        update = {key: value for key, value in keys.items() if request.state.get(key, "") != value}
        if begins:
            added += [message["content"] for message in session.inject(visible[-1], visible=visible)]
            update["skills"] = session.to_json()
        texts = with_tail(session, added, visible)
        prompts = [message.text for message in messages if isinstance(message, HumanMessage)]
        block = shown.template.block(prompts[-1] if prompts else "")
        if texts and messages and isinstance(messages[-1], HumanMessage | ToolMessage):
            messages = [*messages[:-1], _append_text(messages[-1], "\n\n".join(texts))]
        else:  # some endpoints accept no message after it
            block = "\n\n".join(filter(None, (block, *texts)))
        filled = request.override(
            system_message=_append_to_system(request.system_message, block),
            messages=messages,
            tools=self._replace_tools(request.tools, shown.tools),
        )
        return filled, Command(update=update) if update else None

    def _replace_tools(self, tools: list[Any], own: list[StructuredTool]) -> list[Any]:
        """Replace the tools that the agent was created with by those for the skills of this turn.

        A tool that another middleware has removed stays removed.
        """
        others = [tool for tool in tools if not any(tool is registered for registered in self.tools)]
        removed = {tool.name for tool in self.tools if not any(tool is kept for kept in tools)}
        return [*others, *(tool for tool in own if tool.name not in removed)]

    # ── tools ────────────────────────────────────────────────────────────────────────────────────────────────────────

    def wrap_tool_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:
        """Run a tool of the session, in the session of the conversation; other tools as usual."""
        if self._is_session_tool(request):
            return self._call_skill_tool(request)
        with _tool_of_conversation(request.state):
            return handler(request)

    async def awrap_tool_call(self, request: Any, handler: Callable[[Any], Awaitable[Any]]) -> Any:
        """Run a tool of the session, in the session of the conversation; other tools as usual."""
        if self._is_session_tool(request):
            return await call_in_thread(self._call_skill_tool, request)
        with _tool_of_conversation(request.state):
            return await handler(request)

    def _is_session_tool(self, request: Any) -> bool:
        if request.tool is None:  # it came with the skills of this turn
            return any(tool.name == request.tool_call["name"] for tool in self._skills_of_turn(request.state).tools)
        return any(request.tool is tool for tool in self.tools)

    def _call_skill_tool(self, request: Any) -> Any:
        session, call = self.session(request.state), request.tool_call
        tools = self._skills.tools(session)
        for other in _earlier_calls(call, request.state["messages"]):
            if other["name"] == "activate_skill":
                call_tool(tools, other["name"], other["args"])
        with self._script_calls.in_order(call, request.state["messages"]):
            _interrupts.set(())
            text = call_tool(tools, call["name"], call["args"])
            if interrupts := _interrupts.get():
                raise interrupts[0]
        content = _with_file(text, request.state) if isinstance(text, FileAnswer) else text
        artifact = [file.as_dict() for file in session.files()] if call["name"] == "run_skill_script" else None
        message = ToolMessage(content, name=call["name"], tool_call_id=call["id"], artifact=artifact)
        return Command(update={"skills": session.to_json(), "messages": [message]})


def _accepted_media(model: Any) -> str:
    """Return what a model accepts in the result of a tool, as it says; of OpenAI's interfaces only one does."""
    profile = getattr(model, "profile", None) if getattr(model, "use_responses_api", True) else None
    return " ".join(kind for kind in ("image", "pdf") if (profile or {}).get(f"{kind}_tool_message"))


def _with_file(answer: FileAnswer, state: Mapping[str, Any]) -> str | list[Any]:
    """Return the answer of a tool with its file, if the model accepts it."""
    file = answer.file
    kind = "image" if file.is_image else "pdf"
    if kind not in str(state.get("skills_media", "")).split():
        return str(answer)
    data = {"base64": base64.b64encode(file.data).decode(), "mime_type": file.media_type}
    return [{"type": "text", "text": str(answer)}, {"type": "image" if kind == "image" else "file", **data}]


_interrupts: ContextVar[tuple[GraphBubbleUp, ...]] = ContextVar("_interrupts", default=())
"""What `on_untrusted` raised to interrupt the graph."""


def _with_interrupts(scripts: Scripts) -> Scripts:
    """Return the same option, whose question to the user may interrupt the graph: tools never raise."""
    ask = scripts.on_untrusted
    if ask is None:
        return scripts

    def ask_or_interrupt(skill: UntrustedSkill) -> bool | Literal["skill"]:
        try:
            return ask(skill)
        except GraphBubbleUp as interrupt:
            _interrupts.set((interrupt,))
            raise

    scripts = copy(scripts)  # with the same folders
    scripts.on_untrusted = ask_or_interrupt
    return scripts


_outer_conversation: ContextVar[str | None] = ContextVar("_outer_conversation", default=None)
"""The conversation whose tool runs in this context."""


@contextmanager
def _tool_of_conversation(state: Mapping[str, Any]) -> Iterator[None]:
    token = _outer_conversation.set(conversation_of(state.get("skills")))
    try:
        yield
    finally:
        _outer_conversation.reset(token)


def _is_subagent(state: Mapping[str, Any]) -> bool:
    outer = _outer_conversation.get()
    return outer is not None and outer == conversation_of(state.get("skills"))


class _ShownSkills(Frozen):
    """What models are shown of one catalog, in all conversations."""

    key: str
    template: Session
    """A session without a conversation, which writes the block."""
    tools: list[StructuredTool]


def _structured_tools(tools: Iterable[Tool]) -> list[StructuredTool]:
    return [
        StructuredTool(
            name=tool.name,
            description=tool.description,
            args_schema=dict(tool.parameters),
            func=_standalone_call(tool),
        )
        for tool in tools
    ]


def _standalone_call(tool: Tool) -> Callable[..., str]:
    """Return the function of a tool for calls outside this middleware; LangChain reads its annotations."""

    def call(**arguments: Any) -> str:
        return str(tool.call(**arguments))

    return call


def _earlier_calls(call: Mapping[str, Any], messages: list[Any]) -> list[Any]:
    """Return the calls before this one in the same message, because tools run separately and share no state."""
    message = _message_of_model(messages)
    calls = [] if message is None else message.tool_calls
    ids = [other["id"] for other in calls]
    return list(calls[: ids.index(call["id"])]) if call["id"] in ids else []


def _message_of_model(messages: list[Any]) -> Any:
    return next((message for message in reversed(messages) if isinstance(message, AIMessage)), None)


_START_SECONDS = 1.0
"""How long a call waits for those before it to start, which then are in the queue; some ran before an interruption."""
_MAX_CALLS = 1000
"""Calls that are remembered, of all conversations."""


class _ScriptCalls:
    """Lets the calls of tools for scripts in one message run one by one, in its order."""

    def __init__(self) -> None:
        self._changed = Condition()
        self._has_ended: dict[tuple[object, object], bool] = {}
        """By message and call, the last ones last."""

    @contextmanager
    def in_order(self, call: Mapping[str, Any], messages: list[Any]) -> Iterator[None]:
        """Run a block when those of the calls before it have ended; another tool does not wait.

        Args:
            call: the call of a tool.
            messages: of the conversation.
        """
        message = _message_of_model(messages)
        if call["name"] not in SCRIPT_TOOLS or message is None:
            yield
            return
        answered = {other.tool_call_id for other in messages if isinstance(other, ToolMessage)}
        earlier = [
            (message.id, other["id"])
            for other in _earlier_calls(call, messages)
            if other["name"] in SCRIPT_TOOLS and other["id"] not in answered
        ]
        key = message.id, call["id"]
        with self._changed:
            self._note(key, has_ended=False)
            self._changed.wait_for(lambda: all(other in self._has_ended for other in earlier), _START_SECONDS)
            self._changed.wait_for(lambda: all(self._has_ended.get(other, True) for other in earlier))
        try:
            yield
        finally:
            with self._changed:
                self._note(key, has_ended=True)

    def _note(self, key: tuple[object, object], *, has_ended: bool) -> None:
        self._has_ended.pop(key, None)
        self._has_ended[key] = has_ended
        if len(self._has_ended) > _MAX_CALLS:
            del self._has_ended[next(iter(self._has_ended))]
        self._changed.notify_all()


def _append_to_system(system: Any, block: str) -> Any:
    """Append a text to a system message, which may be missing, text, or content blocks."""
    if not block:
        return system
    return SystemMessage(block) if system is None else _append_text(system, block)


def _append_text(message: Any, text: str) -> Any:
    """Return a message with a text at its end; its content is text or content blocks."""
    content, added = message.content, f"\n\n{text}"
    content = content + added if isinstance(content, str) else [*content, {"type": "text", "text": added}]
    return message.model_copy(update={"content": content})
