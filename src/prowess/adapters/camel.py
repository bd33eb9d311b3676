"""Session -> skills in the turns of one CAMEL agent

What is injected is put among the messages on their way to the model, behind everything that writes: the agent's memory,
its storage and `chat_history` never see it. The names of CAMEL's own design are here too.
"""

from __future__ import annotations

import inspect
import warnings
from contextvars import ContextVar
from functools import wraps
from typing import TYPE_CHECKING, Any

from prowess.adapters._camel_design import (
    FilesystemSkillProvider,
    SkillDocument,
    SkillError,
    SkillLoader,
    SkillLoadOutcome,
    SkillManager,
    SkillMetadata,
    SkillProvider,
    SkillWarning,
    import_camel,
)
from prowess.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator

    from prowess.session import Session

__all__ = [
    "attach",
    "detach",
    "SkillManager",
    "SkillProvider",
    "FilesystemSkillProvider",
    "SkillLoader",
    "SkillMetadata",
    "SkillDocument",
    "SkillLoadOutcome",
    "SkillError",
    "SkillWarning",
]


def attach(agent: Any, session: Session, *, catalog: bool = False) -> Any:
    """Let a `ChatAgent` use the skills of a session: those that the user's message of a turn names, for that turn.

    Attaching what is attached already changes nothing. `agent.reset()` begins the session's conversation again.

    Args:
        agent: of CAMEL; it is returned.
        session: of the conversation that the agent holds.
        catalog: whether the model may choose skills by itself: the system message then names them, and the agent has
            the session's tools.

    Raises:
        ImportError: CAMEL is not installed.
        ConfigError: the agent has another session, lacks what is needed, or has a tool of the same name.
    """
    camel = import_camel()
    known = vars(agent).get(_ATTACHMENT_ATTRIBUTE)
    if known is not None:
        if known.session is session and known.catalog is catalog:
            return agent
        raise ConfigError("the agent has a session already", hint="call `detach(agent)` first")
    lacking = [name for name in (*_TURN_METHODS, *_REQUIRED_ATTRIBUTES) if not hasattr(agent, name)]
    if lacking:
        raise ConfigError(
            f"the agent has no `{lacking[0]}`", hint="this adapter is made for `ChatAgent` of camel-ai 0.2.90 and later"
        )
    taken = [tool.name for tool in session.tools() if catalog and tool.name in agent.tool_dict]
    if taken:
        raise ConfigError(f"the agent has a tool `{taken[0]}` of its own", hint="attach without `catalog=True`")
    attachment = _Attachment(agent, session, camel.FunctionTool, catalog=catalog)
    attachment.install()
    return agent


def detach(agent: Any) -> Any:
    """Take an agent's session away, with its tools; what is in the agent's memory stays. It is returned."""
    attachment = vars(agent).get(_ATTACHMENT_ATTRIBUTE)
    if attachment is not None:
        attachment.remove()
    return agent


_ATTACHMENT_ATTRIBUTE = "_prowess"
"""The attribute of an agent that holds what joins it with its session."""
_TURN_METHODS = ("_step_impl", "_astep_non_streaming_task", "_stream", "_astream")
"""What an agent does in one turn, in the four ways there are."""
_REQUIRED_ATTRIBUTES = ("update_memory", "clone", "reset", "model_backend")
_SIDE_REQUEST_METHODS = (
    "_get_context_with_summarization",
    "_get_context_with_summarization_async",
    "_execute_tool",
    "_aexecute_tool",
    "_execute_tool_from_stream_data",
    "_aexecute_tool_from_stream_data",
    "_format_response_if_needed",
    "_aformat_response_if_needed",
)
"""What an agent does within a turn that may ask the same models something else: sum up, work, format."""


class _Turn:
    """What belongs to one turn of one agent."""

    def __init__(self, attachment: _Attachment, text: str, messages: list[dict[str, Any]]) -> None:
        self.attachment, self.text = attachment, text
        self.injected = [message["content"] for message in messages]

    def with_skills(self, messages: list[Any]) -> list[Any]:
        """Return the messages of one request with what is rendered for it; what is given stays as it is."""
        texts = [_message_text(message) for message in messages]
        added = [text for text in self.injected if not any(text in other for other in texts)]
        session = self.attachment.session
        if self.attachment.catalog:
            added += [text for text in (session.tail(visible=[*texts, *added]),) if text]
        users = [index for index, message in enumerate(messages) if message.get("role") == "user"]
        mine = [index for index in users if self.text in texts[index]]
        place = (mine or users or [len(messages)])[-1]
        filled = [*messages[:place], *({"role": "user", "content": text} for text in added), *messages[place:]]
        return _append_to_system(filled, session.static_block()) if self.attachment.catalog else filled


_CURRENT_TURN: ContextVar[_Turn | None] = ContextVar("prowess_camel_turn", default=None)
"""The turn that runs here; CAMEL gives each a thread or a task."""


class _Attachment:
    """An agent and its session."""

    def __init__(self, agent: Any, session: Session, function_tool: Any, *, catalog: bool) -> None:
        self.agent, self.session, self.catalog = agent, session, catalog
        self._function_tool = function_tool
        self._tools: list[str] = []
        self._original_attributes: dict[str, Any] = {}

    def install(self) -> None:
        wraps = dict(
            zip(
                _TURN_METHODS,
                (self._wrap_turn, self._wrap_async_turn, self._wrap_stream, self._wrap_async_stream),
                strict=True,
            )
        )
        wraps |= {name: _without_turn for name in _SIDE_REQUEST_METHODS if hasattr(self.agent, name)}
        wraps |= {"update_memory": _without_skill_messages, "clone": self._wrap_clone, "reset": self._wrap_reset}
        attributes = vars(self.agent)
        for name, wrap in wraps.items():
            self._original_attributes[name] = attributes.get(name)
            attributes[name] = wrap(getattr(self.agent, name))
        attributes[_ATTACHMENT_ATTRIBUTE] = self
        self._update_tools_and_models()

    def remove(self) -> None:
        attributes = vars(self.agent)
        for name, before in self._original_attributes.items():
            del attributes[name]
            if before is not None:
                attributes[name] = before
        del attributes[_ATTACHMENT_ATTRIBUTE]
        self.agent.remove_tools(self._tools)

    def _update_tools_and_models(self) -> None:
        """Give the agent the tools that the catalog asks for now, and listen to its models, which may be others now."""
        if self.catalog:
            self.agent.remove_tools(self._tools)
            tools = [_function_tool(self._function_tool, tool) for tool in self.session.tools()]
            self.agent.add_tools(tools)
            self._tools = [tool.get_function_name() for tool in tools]
        models = vars(self.agent.model_backend)
        for name in ("run", "arun"):
            if not hasattr(models.get(name), _ATTACHMENT_ATTRIBUTE):
                models[name] = _with_turn_skills(getattr(self.agent.model_backend, name))

    def _begin_turn(self, message: Any) -> _Turn:
        self._update_tools_and_models()
        text = message if isinstance(message, str) else message.content
        messages = self.session.inject(text)
        for warning in self.session.warnings:
            warnings.warn(warning, SkillWarning, stacklevel=4)
        return _Turn(self, text, messages)

    def _end_turn(self, turn: _Turn) -> None:
        """Forget how many tokens the last request had: what was injected is not in the memory."""
        creator = self.agent.memory.get_context_creator()
        if turn.injected and hasattr(creator, "clear_cache"):
            creator.clear_cache()

    def _wrap_turn(self, step: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(step)
        def turn(message: Any, *args: Any, **named: Any) -> Any:
            turn = self._begin_turn(message)
            token = _CURRENT_TURN.set(turn)
            try:
                return step(message, *args, **named)
            finally:
                _CURRENT_TURN.reset(token)
                self._end_turn(turn)

        return turn

    def _wrap_async_turn(self, step: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(step)
        async def aturn(message: Any, *args: Any, **named: Any) -> Any:
            turn = self._begin_turn(message)
            token = _CURRENT_TURN.set(turn)
            try:
                return await step(message, *args, **named)
            finally:
                _CURRENT_TURN.reset(token)
                self._end_turn(turn)

        return aturn

    def _wrap_stream(self, stream: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(stream)
        def turns(message: Any, *args: Any, **named: Any) -> Iterator[Any]:
            turn = self._begin_turn(message)
            parts = stream(message, *args, **named)
            try:
                while True:
                    token = _CURRENT_TURN.set(turn)  # only while the agent works: between parts its caller does
                    try:
                        part = next(parts)
                    except StopIteration:
                        return
                    finally:
                        _CURRENT_TURN.reset(token)
                    yield part
            finally:
                parts.close()
                self._end_turn(turn)

        return turns

    def _wrap_async_stream(self, stream: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(stream)
        async def aturns(message: Any, *args: Any, **named: Any) -> AsyncIterator[Any]:
            turn = self._begin_turn(message)
            parts = stream(message, *args, **named)
            try:
                while True:
                    token = _CURRENT_TURN.set(turn)
                    try:
                        part = await anext(parts)
                    except StopAsyncIteration:
                        return
                    finally:
                        _CURRENT_TURN.reset(token)
                    yield part
            finally:
                await parts.aclose()
                self._end_turn(turn)

        return aturns

    def _wrap_clone(self, clone: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(clone)
        def cloned(*args: Any, **named: Any) -> Any:
            agent = clone(*args, **named)
            agent.remove_tools(self._tools)  # they belong to this conversation
            return agent

        return cloned

    def _wrap_reset(self, reset: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(reset)
        def again(*args: Any, **named: Any) -> Any:
            self.session.restart()
            return reset(*args, **named)

        return again


def _without_turn(call: Callable[..., Any]) -> Callable[..., Any]:
    """Let what an agent does within a turn ask models without the turn's skills."""
    if inspect.iscoroutinefunction(call):

        @wraps(call)
        async def acalled(*args: Any, **named: Any) -> Any:
            token = _CURRENT_TURN.set(None)
            try:
                return await call(*args, **named)
            finally:
                _CURRENT_TURN.reset(token)

        return acalled

    @wraps(call)
    def called(*args: Any, **named: Any) -> Any:
        token = _CURRENT_TURN.set(None)
        try:
            return call(*args, **named)
        finally:
            _CURRENT_TURN.reset(token)

    return called


def _without_skill_messages(update: Callable[..., Any]) -> Callable[..., Any]:
    """Keep messages that are marked as skills out of the memory."""

    @wraps(update)
    def updated(message: Any, *args: Any, **named: Any) -> Any:
        if (message.meta_dict or {}).get("skill") is True:
            return [] if named.get("return_records") else None
        return update(message, *args, **named)

    return updated


def _with_turn_skills(run: Callable[..., Any]) -> Callable[..., Any]:
    """Let models see the skills of the turn that runs; outside of one nothing changes."""

    @wraps(run)
    def ran(messages: list[Any], *args: Any, **named: Any) -> Any:
        turn = _CURRENT_TURN.get()
        return run(messages if turn is None else turn.with_skills(messages), *args, **named)

    setattr(ran, _ATTACHMENT_ATTRIBUTE, True)
    return ran


def _append_to_system(messages: list[Any], block: str) -> list[Any]:
    """Return messages with a text at the end of the first system message."""
    if not block:
        return messages
    if messages and messages[0].get("role") == "system":
        return [{**messages[0], "content": f"{_message_text(messages[0])}\n\n{block}"}, *messages[1:]]
    return [{"role": "system", "content": block}, *messages]


def _message_text(message: Any) -> str:
    """Return what a message says, without its pictures."""
    content = message.get("content") or ""
    if isinstance(content, str):
        return content
    return "\n".join(part.get("text") or "" for part in content if isinstance(part, dict))


def _function_tool(make: Any, tool: Any) -> Any:
    def call(**arguments: Any) -> str:
        text: str = tool.call(**arguments)
        return text

    call.__name__ = tool.name
    schema = {"name": tool.name, "description": tool.description, "parameters": dict(tool.parameters)}
    return make(call, openai_tool_schema={"type": "function", "function": schema})
