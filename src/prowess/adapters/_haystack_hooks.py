"""Add skills to the messages of a Haystack agent before each call of its model, and remove them after it."""

from __future__ import annotations

import asyncio
from contextvars import ContextVar
from itertools import takewhile
from threading import get_ident
from typing import TYPE_CHECKING, Any
from weakref import ref

from ._added_texts import added_texts
from ._extras import missing_extra

try:
    from haystack.components.agents.state import State, replace_values
    from haystack.core.serialization import default_to_dict, import_class_by_name
    from haystack.dataclasses import ChatMessage
except ImportError as error:
    raise ImportError(missing_extra("haystack-ai", "haystack")) from error

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Protocol

    from prowess.session import Session

    class Skills(Protocol):
        """What a hook needs of `prowess.adapters.haystack.Skills`."""

        def run_session(self, state: State) -> Session: ...
        def save(self, state: State, session: Session) -> None: ...
        def to_dict(self) -> dict[str, Any]: ...


__all__ = ["SkillsHook"]

_ADDED = "prowess"
"""In the metadata of a message that a hook added or changed: the text it had before, or `None` if it is new."""
_runs_in_tools: ContextVar[tuple[tuple[ref[Any], object], ...]] = ContextVar("_runs_in_tools", default=())
"""The states of the runs whose tools run now, the innermost last, each with the thread and task of its run."""


class SkillsHook:
    """Adds skills to the messages before a call of the model, or removes them after it.

    Args:
        skills: what to add; `None` removes.
        tools: whether tools run next.
    """

    def __init__(self, skills: Skills | None = None, *, tools: bool = False) -> None:
        self.skills, self.tools = skills, tools

    def run(self, state: State) -> None:
        """Change the messages of an agent's state."""
        self._change_messages(state, is_nested=_is_in_tool())
        _note_tools(state, running=self.tools)

    async def run_async(self, state: State) -> None:
        """Change the messages of an agent's state, without blocking other runs."""
        await asyncio.to_thread(self._change_messages, state, is_nested=_is_in_tool())
        _note_tools(state, running=self.tools)

    def _change_messages(self, state: State, *, is_nested: bool) -> None:
        messages = [message for item in state.data["messages"] for message in _without_skills(item)]
        if self.skills is not None:
            messages = _with_skills(messages, state, self.skills, is_nested=is_nested)
        state.set("messages", messages, handler_override=replace_values)

    def to_dict(self) -> dict[str, Any]:
        """Return the hook for the file of a pipeline."""
        skills = None if self.skills is None else self.skills.to_dict()
        data: dict[str, Any] = default_to_dict(self, skills=skills, tools=self.tools)
        return data

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> SkillsHook:
        """Return the hook of a pipeline's file."""
        given = data["init_parameters"]
        skills = given["skills"] and import_class_by_name(given["skills"]["type"]).from_dict(given["skills"])
        return cls(skills, tools=given["tools"])


def _note_tools(state: State, *, running: bool) -> None:
    """Note that tools of a run are running, or that they have ended."""
    runs = tuple(run for run in _runs_in_tools.get() if run[0]() is not None)
    outer = tuple(takewhile(lambda run: run[0]() is not state, runs))
    _runs_in_tools.set((*outer, (ref(state), _thread_and_task())) if running else outer)


def _is_in_tool() -> bool:
    """Return whether this code runs in a tool: Haystack runs tools in other threads or tasks.

    So a run that failed in this one, and did not note that its tools have ended, does not count.
    """
    here = _thread_and_task()
    return any(run() is not None and place != here for run, place in _runs_in_tools.get())


def _thread_and_task() -> object:
    try:
        task = asyncio.current_task()
    except RuntimeError:  # no event loop
        task = None
    return get_ident(), id(task)


def _with_skills(messages: list[Any], state: State, skills: Skills, *, is_nested: bool) -> list[Any]:
    session = skills.run_session(state)
    if state.data["step_count"] == 0 and messages and messages[-1].is_from("user"):
        # In a tool of another agent, a model wrote the message: it names no skills.
        session.inject("" if is_nested else "\n".join(messages[-1].texts))
    skills.save(state, session)
    added = added_texts(session, [text for message in messages for text in _texts(message)])
    messages = _append_to_system(messages, session.block())
    return [*messages, *(ChatMessage.from_user(text, meta={_ADDED: None}) for text in added)]


def _without_skills(message: Any) -> list[Any]:
    """Return a message as it was before a hook changed it; an empty list if a hook added it."""
    if _ADDED not in message.meta:
        return [message]
    meta = {key: value for key, value in message.meta.items() if key != _ADDED}
    text = message.meta[_ADDED]
    if text is None:
        return []
    # Stored messages may come from anywhere: a user's message never becomes one of the system.
    is_own = message.is_from("system") and isinstance(text, str)
    return [ChatMessage.from_system(text, meta=meta, name=message.name)] if is_own else [message]


def _append_to_system(messages: list[Any], block: str) -> list[Any]:
    """Append a text to the system message, because some endpoints accept only one."""
    if not block:
        return messages
    if not messages or not messages[0].is_from("system"):
        return [ChatMessage.from_system(block, meta={_ADDED: None}), *messages]
    first, text = messages[0], "\n".join(messages[0].texts)
    changed = ChatMessage.from_system(f"{text}\n\n{block}", meta={**first.meta, _ADDED: text}, name=first.name)
    return [changed, *messages[1:]]


def _texts(message: Any) -> Iterator[str]:
    """Return the texts of a message, and those of its tool results."""
    yield from message.texts
    for result in message.tool_call_results:
        parts = [result.result] if isinstance(result.result, str) else result.result
        yield from (part if isinstance(part, str) else getattr(part, "text", "") for part in parts)
