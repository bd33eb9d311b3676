"""Read the steps of the sessions in a home, with their texts: what the model said, which tools it called, and results.

Prowess keeps no text of a user's sessions. This is for the home of one run of an eval, which is removed afterwards, and
for sessions that a user has an eval judge.
"""

from __future__ import annotations

import json

from ._lines import Lines, at, objects_at, text_at
from ._places import Unreadable, UnreadableSessionError, session_files
from ._recording import read_file_of
from ._session import RecordedSession
from .atif import message_step

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from prowess.filesystem import Question

_MAX_STEPS = 10_000
_MAX_TEXTS = 32 * 1024 * 1024
"""Characters of all texts of one session."""
_MAX_TEXT = 65_536
"""Characters of a text, or of the arguments of a call."""


def read_steps(agent: str, question: Question) -> tuple[dict[str, Any], ...]:
    """Return the steps of ATIF of all sessions in a home, without their numbers: those of sub-agents at the end.

    Args:
        agent: `claude-code` or `codex`.
        question: whose sessions; what cannot be read is left out.
    """
    unreadable: list[Unreadable] = []
    steps: list[dict[str, Any]] = []
    # The file of a sub-agent is deeper than that of its session, or was begun later.
    for path, _ in sorted(session_files(agent, question, unreadable), key=lambda item: (item[0].count("/"), item[0])):
        reader = _Reader()
        try:
            lines = Lines(path)
            for line in lines:
                if len(steps) + len(reader.steps) >= _MAX_STEPS:
                    break
                _READERS[agent](lines.record(line), reader)
        except UnreadableSessionError:
            pass
        steps += reader.steps
    return tuple(steps)


def read_session(agent: str, path: str, home: str) -> tuple[list[RecordedSession], tuple[dict[str, Any], ...]]:
    """Return what a file of an agent's sessions says, and its steps as `read_steps` does.

    Args:
        agent: `claude-code` or `codex`.
        path: of the file.
        home: of the user whose session it is.

    Raises:
        UnreadableSessionError: it cannot be read.
    """
    rows, problem = read_file_of(agent, path, home)
    if problem is not None and not rows:
        raise UnreadableSessionError(problem)
    reader, lines = _Reader(), Lines(path)
    for line in lines:
        if len(reader.steps) >= _MAX_STEPS:
            break
        _READERS[agent](lines.record(line), reader)
    return [RecordedSession.from_row(row) for row in rows], tuple(reader.steps)


class _Reader:
    """Joins the parts of one answer of the model, and calls with their results."""

    def __init__(self) -> None:
        self.steps: list[dict[str, Any]] = []
        self._answers: dict[str, dict[str, Any]] = {}
        self._calls: dict[str, dict[str, Any]] = {}
        self._is_open = False
        """Whether the last step is an answer without a result so far."""
        self._left = _MAX_TEXTS

    def _cut(self, text: str) -> str:
        text = text[: min(_MAX_TEXT, self._left)]
        self._left -= len(text)
        return text

    def say(self, source: str, text: str, time: str) -> None:
        """Add a message of the user or the system."""
        self._is_open = False
        if text:
            self.steps.append(message_step(source, self._cut(text), time))

    def answer(self, key: str, time: str) -> dict[str, Any]:
        """Return the step of an answer; without a key, parts that follow each other are one answer."""
        step = self._answers.get(key) if key else self.steps[-1] if self._is_open else None
        if step is None:
            step = message_step("agent", "", time)
            self.steps.append(step)
            if key:
                self._answers[key] = step
        self._is_open = True
        return step

    def add_text(self, step: dict[str, Any], text: str) -> None:
        """Add a part of the text of an answer."""
        step["message"] = "\n".join(part for part in (step["message"], self._cut(text)) if part)

    def call(self, step: dict[str, Any], key: str, tool: str, arguments: Any) -> None:
        """Add a call to an answer."""
        size = len(json.dumps(arguments))
        if size > min(_MAX_TEXT, self._left):
            arguments, size = {}, 0
        self._left -= size
        call = {"tool_call_id": key, "function_name": tool[:_MAX_TEXT], "arguments": arguments}
        step.setdefault("tool_calls", []).append(call)
        self._calls[key] = step

    def result(self, key: str, content: str, *, failed: bool) -> None:
        """Add the result of a call."""
        self._is_open = False
        if (step := self._calls.pop(key, None)) is not None:
            extra = {"extra": {"is_error": True}} if failed else {}
            result = {"source_call_id": key, "content": self._cut(content), **extra}
            step.setdefault("observation", {"results": []})["results"].append(result)


def _text_of(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(text_at(part, "text") for part in objects_at({"": content}, "") if text_at(part, "text"))


def _read_claude_code(record: dict[str, Any], reader: _Reader) -> None:
    """Read a record of Claude Code; each part of an answer is one."""
    time, content = text_at(record, "timestamp"), at(record, "message", "content")
    if record.get("type") == "assistant":
        step = reader.answer(text_at(record, "message", "id") or text_at(record, "uuid"), time)
        for item in objects_at(record, "message", "content"):
            if item.get("type") == "text":
                reader.add_text(step, text_at(item, "text"))
            elif item.get("type") == "tool_use":
                reader.call(step, text_at(item, "id"), text_at(item, "name"), item.get("input"))
    elif record.get("type") == "user":
        results = [item for item in objects_at(record, "message", "content") if item.get("type") == "tool_result"]
        for item in results:
            failed = item.get("is_error") is True
            reader.result(text_at(item, "tool_use_id"), _text_of(item.get("content")), failed=failed)
        if not results:
            reader.say("user", _text_of(content), time)


def _read_codex(record: dict[str, Any], reader: _Reader) -> None:
    """Read a record of Codex: what the model got and gave."""
    payload, time = record.get("payload"), text_at(record, "timestamp")
    if record.get("type") != "response_item":
        return
    kind, key = at(payload, "type"), text_at(payload, "call_id")
    if kind == "message" and at(payload, "role") == "assistant":
        reader.add_text(reader.answer("", time), _text_of(at(payload, "content")))
    elif kind == "message" and at(payload, "role") == "user":
        reader.say("user", _text_of(at(payload, "content")), time)
    elif kind in ("function_call", "custom_tool_call"):
        text = text_at(payload, "arguments") or text_at(payload, "input")
        reader.call(reader.answer("", time), key, text_at(payload, "name"), _arguments(text))
    elif kind in ("function_call_output", "custom_tool_call_output"):
        output = at(payload, "output")
        content = _text_of(output) if not isinstance(output, dict) else text_at(output, "content")
        reader.result(key, content, failed=at(output, "success") is False)


def _arguments(text: str) -> Any:
    """Return the arguments of a call; of a tool without a schema they are a text."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return {"input": text}
    return value if isinstance(value, dict) else {"input": text}


_READERS = {"claude-code": _read_claude_code, "codex": _read_codex}
