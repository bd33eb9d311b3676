"""Attach a session to a CAMEL agent: wrap the methods with which it runs a turn and asks models."""

from __future__ import annotations

import inspect
import warnings
from contextvars import ContextVar
from functools import wraps
from typing import TYPE_CHECKING, Any

from ._camel_design import SkillWarning

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator

    from prowess.session import Scripts, Session

__all__ = ["ATTACHMENT_ATTRIBUTE", "REQUIRED_ATTRIBUTES", "Attachment"]

ATTACHMENT_ATTRIBUTE = "_prowess"
"""The attribute of an agent that holds its `Attachment`."""
_TURN_METHODS = ("_step_impl", "_astep_non_streaming_task", "_stream", "_astream")
"""The methods that run one turn: plain, asynchronous, streamed, and asynchronously streamed."""
REQUIRED_ATTRIBUTES = (*_TURN_METHODS, "update_memory", "clone", "reset", "model_backend")
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
"""Methods that may ask the same models something else during a turn: to summarize, run tools, or format."""


class _Turn:
    """One turn of one agent, with the skills to show in it."""

    def __init__(self, attachment: Attachment, text: str, messages: list[dict[str, Any]]) -> None:
        self.attachment, self.text = attachment, text
        self.injected = [message["content"] for message in messages]

    def with_skills(self, messages: list[Any]) -> list[Any]:
        """Return the messages of one request with the skills added; the given list does not change."""
        texts = [_message_text(message) for message in messages]
        added = [text for text in self.injected if not any(text in other for other in texts)]
        session = self.attachment.session
        if self.attachment.catalog:
            added += [text for text in (session.tail(visible=[*texts, *added]),) if text]
        users = [index for index, message in enumerate(messages) if message.get("role") == "user"]
        users_with_text = [index for index in users if self.text in texts[index]]
        index = (users_with_text or users or [len(messages)])[-1]
        skills = [{"role": "user", "content": text} for text in added]
        filled = [*messages[:index], *skills, *messages[index:]]
        return _append_to_system(filled, session.block(self.text)) if self.attachment.catalog else filled


_CURRENT_TURN: ContextVar[_Turn | None] = ContextVar("prowess_camel_turn", default=None)
"""The running turn; CAMEL runs each turn in its own thread or task."""


class Attachment:
    """The connection of an agent and a session."""

    def __init__(
        self, agent: Any, session: Session, function_tool: Any, *, catalog: bool, scripts: bool | Scripts
    ) -> None:
        self.agent, self.session, self.catalog, self.scripts = agent, session, catalog, scripts
        self._function_tool = function_tool
        self._tools: list[str] = []
        self._original_attributes: dict[str, Any] = {}

    def install(self) -> None:
        """Wrap the methods of the agent, and give it the tools of the session."""
        wrappers = dict(
            zip(
                _TURN_METHODS,
                (self._wrap_turn, self._wrap_async_turn, self._wrap_stream, self._wrap_async_stream),
                strict=True,
            )
        )
        wrappers |= {name: _without_turn for name in _SIDE_REQUEST_METHODS if hasattr(self.agent, name)}
        wrappers |= {"update_memory": _without_skill_messages, "clone": self._wrap_clone, "reset": self._wrap_reset}
        attributes = vars(self.agent)
        for name, wrap in wrappers.items():
            self._original_attributes[name] = attributes.get(name)
            attributes[name] = wrap(getattr(self.agent, name))
        attributes[ATTACHMENT_ATTRIBUTE] = self
        self._update_tools_and_models()

    def remove(self) -> None:
        """Restore the methods of the agent, and remove the tools of the session."""
        attributes = vars(self.agent)
        for name, original in self._original_attributes.items():
            del attributes[name]
            if original is not None:
                attributes[name] = original
        del attributes[ATTACHMENT_ATTRIBUTE]
        self.agent.remove_tools(self._tools)

    def _update_tools_and_models(self) -> None:
        """Update the tools of the session, which may change, and wrap the agent's models, which may be new ones."""
        if self.catalog:
            self.agent.remove_tools(self._tools)
            tools = [_function_tool(self._function_tool, tool) for tool in self.session.tools(scripts=self.scripts)]
            self.agent.add_tools(tools)
            self._tools = [tool.get_function_name() for tool in tools]
        models = vars(self.agent.model_backend)
        for name in ("run", "arun"):
            if not hasattr(models.get(name), ATTACHMENT_ATTRIBUTE):
                models[name] = _with_turn_skills(getattr(self.agent.model_backend, name))

    def _begin_turn(self, message: Any) -> _Turn:
        text = message if isinstance(message, str) else message.content
        messages = self.session.inject(text)  # first, because it brings a live catalog up to date
        self._update_tools_and_models()
        self._warn(text)
        return _Turn(self, text, messages)

    def _warn(self, text: str) -> None:
        """Warn of skills that cannot be read; a name that no skill has is a matter of the user and the model."""
        if self.session.warnings:
            unknown = {mention.problem for mention in self.session.mentions(text) if mention.entry is None}
            for warning in self.session.warnings:
                if warning not in unknown:
                    warnings.warn(warning, SkillWarning, stacklevel=5)

    def _end_turn(self, turn: _Turn) -> None:
        """Clear the cached token count of the last request: the memory does not contain the added skills."""
        creator = self.agent.memory.get_context_creator()
        if turn.injected and hasattr(creator, "clear_cache"):
            creator.clear_cache()

    def _wrap_turn(self, step: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(step)
        def run_turn(message: Any, *args: Any, **named: Any) -> Any:
            turn = self._begin_turn(message)
            token = _CURRENT_TURN.set(turn)
            try:
                return step(message, *args, **named)
            finally:
                _CURRENT_TURN.reset(token)
                self._end_turn(turn)

        return run_turn

    def _wrap_async_turn(self, step: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(step)
        async def run_turn(message: Any, *args: Any, **named: Any) -> Any:
            turn = self._begin_turn(message)
            token = _CURRENT_TURN.set(turn)
            try:
                return await step(message, *args, **named)
            finally:
                _CURRENT_TURN.reset(token)
                self._end_turn(turn)

        return run_turn

    def _wrap_stream(self, stream: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(stream)
        def stream_turn(message: Any, *args: Any, **named: Any) -> Iterator[Any]:
            turn = self._begin_turn(message)
            parts = stream(message, *args, **named)
            try:
                while True:
                    token = _CURRENT_TURN.set(turn)  # not while the caller uses the part
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

        return stream_turn

    def _wrap_async_stream(self, stream: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(stream)
        async def stream_turn(message: Any, *args: Any, **named: Any) -> AsyncIterator[Any]:
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

        return stream_turn

    def _wrap_clone(self, clone: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(clone)
        def clone_with_session(with_memory: bool = False, **named: Any) -> Any:
            agent = clone(with_memory, **named)
            agent.remove_tools(self._tools)  # they belong to the conversation of the original
            session = self.session.fork()
            if with_memory:
                session.restore(self.session.to_json())
            Attachment(agent, session, self._function_tool, catalog=self.catalog, scripts=self.scripts).install()
            return agent

        return clone_with_session

    def _wrap_reset(self, reset: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(reset)
        def restart_session(*args: Any, **named: Any) -> Any:
            self.session.restart()
            return reset(*args, **named)

        return restart_session


def _without_turn(call: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a method so that its requests to models do not contain the skills of the turn."""
    if inspect.iscoroutinefunction(call):

        @wraps(call)
        async def call_async_without_turn(*args: Any, **named: Any) -> Any:
            token = _CURRENT_TURN.set(None)
            try:
                return await call(*args, **named)
            finally:
                _CURRENT_TURN.reset(token)

        return call_async_without_turn

    @wraps(call)
    def call_without_turn(*args: Any, **named: Any) -> Any:
        token = _CURRENT_TURN.set(None)
        try:
            return call(*args, **named)
        finally:
            _CURRENT_TURN.reset(token)

    return call_without_turn


def _without_skill_messages(update: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap `update_memory` so that messages marked as skills are not stored."""

    @wraps(update)
    def update_without_skills(message: Any, *args: Any, **named: Any) -> Any:
        if (message.meta_dict or {}).get("skill") is True:
            return [] if named.get("return_records") else None
        return update(message, *args, **named)

    return update_without_skills


def _with_turn_skills(run: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a model so that its requests contain the skills of the running turn, if there is one."""

    @wraps(run)
    def run_with_skills(messages: list[Any], *args: Any, **named: Any) -> Any:
        turn = _CURRENT_TURN.get()
        return run(messages if turn is None else turn.with_skills(messages), *args, **named)

    setattr(run_with_skills, ATTACHMENT_ATTRIBUTE, True)
    return run_with_skills


def _append_to_system(messages: list[Any], block: str) -> list[Any]:
    """Return messages with a text appended to the system message, which is created if missing."""
    if not block:
        return messages
    if messages and messages[0].get("role") == "system":
        return [{**messages[0], "content": f"{_message_text(messages[0])}\n\n{block}"}, *messages[1:]]
    return [{"role": "system", "content": block}, *messages]


def _message_text(message: Any) -> str:
    """Return the text of a message, without images."""
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
