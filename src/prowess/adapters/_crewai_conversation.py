"""Add the skills of a conversation to the requests of CrewAI's agents, and remove them from the messages again."""

from __future__ import annotations

from contextlib import suppress
from threading import RLock
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from prowess.session import Session

__all__ = ["Conversation"]

_TASK = "Current Task: "
_MEMORIES = "\n\n# Memories from past conversations:\n"
"""What CrewAI writes before and after a user's message."""


class _Execution:
    """What one execution of an agent gets: one task, or one `kickoff` of the agent itself."""

    def __init__(self, executor: Any) -> None:
        self.executor = executor
        self.first_message = executor.messages[0]
        self.block = ""
        self.added: list[str] = []
        """The skills that its message named."""
        self.undo: list[tuple[dict[str, Any], dict[str, Any] | None]] = []
        """Messages of ours, and what each has replaced."""
        self.sent = 0
        """Messages of the last request."""


class Conversation:
    """The session of a `with` block, and what its executions get.

    Args:
        session: of the conversation.
        has_skills: whether the agent of an executor has its skills.
        lists_skills: whether that agent lists them itself.
    """

    def __init__(
        self, session: Session, has_skills: Callable[[Any], bool], lists_skills: Callable[[Any], bool]
    ) -> None:
        self.session = session
        self._has_skills, self._lists_skills = has_skills, lists_skills
        self._lock = RLock()
        self._executions: dict[int, _Execution] = {}

    def before_request(self, context: Any) -> None:
        """Add the catalog and active skills to the messages of a request."""
        executor = context.executor
        if executor is None or not self._has_skills(executor):
            return
        with self._lock:
            execution = self._execution_of(executor)
            added = self._added_texts(execution)
            if _is_too_long(executor, [execution.block, *added]):
                # CrewAI would do this next with our messages among the others, and the request would have no skills.
                with suppress(Exception):  # CrewAI tries again, and decides
                    executor.llm.summarize_messages(executor.messages, executor.callbacks, verbose=False)
                added = self._added_texts(execution)
            for text in added:
                executor.messages.append({"role": "user", "content": text})
                execution.undo.append((executor.messages[-1], None))
            if execution.block:
                self._add_block(execution, executor.messages)
            execution.sent = len(executor.messages)

    def _added_texts(self, execution: _Execution) -> list[str]:
        """Return the skills that the messages of an execution do not contain."""
        visible = [*map(_text_of, execution.executor.messages), *execution.added]
        return [text for text in (*execution.added, self.session.tail(visible=visible)) if text]

    def after_request(self, context: Any) -> None:
        """Remove them again, so that no history and no output contains them."""
        executor = getattr(context, "executor", None)
        with self._lock:
            for execution in self._executions.values():
                # Before a tool runs its executor is unknown; other executions may be waiting for the model.
                is_answered = len(execution.executor.messages) > execution.sent
                if executor is execution.executor or context is None or (executor is None and is_answered):
                    self._remove(execution)

    def _execution_of(self, executor: Any) -> _Execution:
        """Return the execution of a request; the first request of one begins a turn."""
        known = self._executions.get(id(executor))
        if known is not None:
            self._remove(known)
        # An agent keeps its executor for all its tasks. A summary replaces messages later than at the first request.
        if known is not None and (executor.iterations or known.first_message is executor.messages[0]):
            return known
        execution = self._executions[id(executor)] = _Execution(executor)
        prompt = _prompt_of(executor)
        visible = map(_text_of, executor.messages)
        execution.added = [message["content"] for message in self.session.inject(prompt, visible=visible)]
        execution.block = "" if self._lists_skills(executor) else self.session.block()
        return execution

    def _add_block(self, execution: _Execution, messages: list[Any]) -> None:
        """Append the catalog to the system message, or put it first where an agent has no system message."""
        first = messages[0]
        if first["role"] == "system":
            messages[0] = {**first, "content": f"{first['content']}\n\n{execution.block}"}
            execution.undo.append((messages[0], first))
        else:
            messages.insert(0, {"role": "user", "content": execution.block})
            execution.undo.append((messages[0], None))

    def _remove(self, execution: _Execution) -> None:
        messages = execution.executor.messages
        for ours, replaced in execution.undo:
            for index, message in enumerate(messages):
                if message is ours:
                    messages[index : index + 1] = [] if replaced is None else [replaced]
                    break
        execution.undo = []


def _is_too_long(executor: Any, added: Sequence[str]) -> bool:
    """Return whether CrewAI shortens the messages of a request to which texts are added; it keeps a single message."""
    others = [message for message in executor.messages if message["role"] != "system"]
    if not executor.respect_context_window or len(others) < 2:
        return False
    messages = [*executor.messages, *({"role": "user", "content": text} for text in added)]
    # A token has at least one character, and some models count only by a request.
    if sum(len(_text_of(message)) for message in messages) < executor.llm.get_context_window_size():
        return False
    return bool(executor.llm.is_context_window_overflowing_threshold(messages, None, executor.response_model))


def _prompt_of(executor: Any) -> str:
    """Return what a user wrote: the description of a task, or the last message of a user."""
    if executor.task is not None:
        return str(executor.task.description)
    text = next((_text_of(message) for message in reversed(executor.messages) if message["role"] == "user"), "")
    return (text.partition(_TASK)[2] or text).partition(_MEMORIES)[0]


def _text_of(message: Any) -> str:
    content = message.get("content")
    if isinstance(content, list):
        return "\n".join(part["text"] for part in content if isinstance(part, dict) and "text" in part)
    return content if isinstance(content, str) else ""
