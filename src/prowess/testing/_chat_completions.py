"""Read requests for OpenAI's chat completions into one form, and write the answers, whole or as a stream."""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from prowess._internal.frozen import EMPTY, Frozen

from ._scripted_model import Call

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ._scripted_model import Step

__all__ = ["ModelMessage", "ModelRequest", "ModelTool", "answer_chunks", "read_request", "whole_answer"]

_SYSTEM_ROLES = ("system", "developer")
_USAGE = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}
_SHOWN_CHARACTERS = 700
"""Of a message or a schema in `ModelRequest.describe`."""


class ModelMessage(Frozen):
    """A message that a model is sent."""

    role: str
    """`system`, `user`, `assistant` or `tool`."""
    text: str
    calls: tuple[Call, ...] = ()
    """The tools that an earlier answer called."""


class ModelTool(Frozen):
    """A tool that a model is offered."""

    name: str
    description: str = ""
    parameters: Mapping[str, Any] = EMPTY
    """JSON Schema of its arguments."""

    @property
    def text(self) -> str:
        """All of it, as the model reads it."""
        return f"{self.name}: {self.description}\n{json.dumps(self.parameters, ensure_ascii=False)}"


class ModelRequest(Frozen):
    """What a model is sent at once."""

    messages: tuple[ModelMessage, ...]
    tools: tuple[ModelTool, ...] = ()
    stream: bool = False
    counts_usage: bool = False
    """Whether the last part of a stream contains the tokens."""

    @property
    def system(self) -> str:
        """The texts of all system messages."""
        return "\n\n".join(message.text for message in self.messages if message.role == "system")

    @property
    def text(self) -> str:
        """The texts of all messages, in order."""
        return "\n\n".join(message.text for message in self.messages)

    @property
    def tool_names(self) -> tuple[str, ...]:
        """The names of the tools."""
        return tuple(tool.name for tool in self.tools)

    @property
    def whole(self) -> str:
        """All texts in order: the tools, then the messages."""
        return "\n\n".join([*(tool.text for tool in self.tools), self.text])

    def front(self, text: str) -> str:
        """Return what is sent before a text: the tools, then the messages up to the one with the text."""
        parts = [tool.text for tool in self.tools]
        for message in self.messages:
            before, found, _ = message.text.partition(text)
            parts.append(before)
            if found:
                break
        return "\n\n".join(parts)

    def describe(self) -> str:
        """Return it for a person, with long texts shortened."""
        lines = [f"tools: {', '.join(self.tool_names) or 'none'}"]
        for message in self.messages:
            calls = [f"calls {call.tool}({json.dumps(dict(call.arguments))})" for call in message.calls]
            lines.append(f"{message.role}: {_shorten(' '.join([message.text, *calls]).strip())}")
        return "\n".join(lines)


def _shorten(text: str) -> str:
    if len(text) <= _SHOWN_CHARACTERS:
        return text
    return f"{text[:_SHOWN_CHARACTERS]} ... [{len(text) - _SHOWN_CHARACTERS:,} characters more]"


# ── requests ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def read_request(body: bytes) -> ModelRequest:
    """Return a request in one form.

    Raises:
        ValueError: it is not a request for a chat completion, or OpenAI would refuse it.
    """
    try:
        value = json.loads(body)
    except RecursionError:
        raise ValueError("the body is nested too deeply") from None
    if not isinstance(value, Mapping) or not isinstance(value.get("messages"), list):
        raise ValueError("the body is not a JSON object with `messages`")  # noqa: TRY004 - of a client's bytes
    _check_calls(value["messages"])
    options, tools = value.get("stream_options"), value.get("tools")
    return ModelRequest(
        messages=tuple(_read_message(item) for item in value["messages"]),
        tools=tuple(map(_read_tool, tools)) if isinstance(tools, list) else (),
        stream=value.get("stream") is True,
        counts_usage=isinstance(options, Mapping) and options.get("include_usage") is True,
    )


def _check_calls(messages: Sequence[Any]) -> None:
    """Check that the results of tool calls follow them, as OpenAI does.

    Raises:
        ValueError: a result or a call is missing.
    """
    pending: list[object] = []
    for item in messages:
        message: Mapping[str, Any] = item if isinstance(item, Mapping) else {}
        if message.get("role") == "tool":
            if message.get("tool_call_id") not in pending:
                raise ValueError("a message with the role `tool` does not follow its tool call")
            pending.remove(message.get("tool_call_id"))
            continue
        if pending:
            raise ValueError("messages with the role `tool` are missing after an assistant message with `tool_calls`")
        calls = message.get("tool_calls")
        pending = [call.get("id") for call in calls if isinstance(call, Mapping)] if isinstance(calls, list) else []
    if pending:
        raise ValueError("messages with the role `tool` are missing after an assistant message with `tool_calls`")


def _read_message(item: Any) -> ModelMessage:
    if not isinstance(item, Mapping):
        raise ValueError("a message is not a JSON object")  # noqa: TRY004
    role, calls = str(item.get("role")), item.get("tool_calls")
    return ModelMessage(
        role="system" if role in _SYSTEM_ROLES else role,
        text=_read_content(item.get("content")),
        calls=tuple(_read_call(call) for call in calls) if isinstance(calls, list) else (),
    )


def _read_content(content: Any) -> str:
    """Return the text of a content, which is text or a list of parts."""
    if isinstance(content, list):
        return "\n".join(str(part.get("text", "")) if isinstance(part, Mapping) else str(part) for part in content)
    return "" if content is None else str(content)


def _read_call(item: Any) -> Call:
    function = item.get("function") if isinstance(item, Mapping) else None
    if not isinstance(function, Mapping):
        raise ValueError("a tool call has no `function`")  # noqa: TRY004
    try:
        arguments = json.loads(function.get("arguments") or "{}")
    except (TypeError, ValueError):
        arguments = None
    return Call(tool=str(function.get("name")), arguments=arguments if isinstance(arguments, Mapping) else {})


def _read_tool(item: Any) -> ModelTool:
    function = item.get("function") if isinstance(item, Mapping) else None
    form: Mapping[str, Any] = function if isinstance(function, Mapping) else {}
    parameters = form.get("parameters")
    return ModelTool(
        name=str(form.get("name")),
        description=str(form.get("description") or ""),
        parameters=parameters if isinstance(parameters, Mapping) else {},
    )


# ── answers ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def whole_answer(step: Step) -> dict[str, Any]:
    """Return the answer to a request that asks for no stream."""
    message: dict[str, Any] = {"role": "assistant", "content": step.say or None}
    if step.calls:
        message["tool_calls"] = _call_items(step.calls)
    choice = {"index": 0, "message": message, "finish_reason": _finish_reason(step), "logprobs": None}
    return {**_envelope("chat.completion"), "choices": [choice], "usage": _USAGE}


def answer_chunks(step: Step, request: ModelRequest) -> Iterator[dict[str, Any]]:
    """Yield the parts of a stream: a text by words, and each call in two parts."""
    envelope = _envelope("chat.completion.chunk")

    def chunk(delta: dict[str, Any], finish_reason: str | None = None) -> dict[str, Any]:
        return {**envelope, "choices": [{"index": 0, "delta": delta, "finish_reason": finish_reason}]}

    yield chunk({"role": "assistant", "content": ""})
    for part in re.findall(r"\s*\S+|\s+$", step.say):
        yield chunk({"content": part})
    for call in _call_items(step.calls):
        function = call["function"]
        yield chunk({"tool_calls": [{**call, "function": {**function, "arguments": function["arguments"][:4]}}]})
        yield chunk({"tool_calls": [{"index": call["index"], "function": {"arguments": function["arguments"][4:]}}]})
    yield chunk({}, _finish_reason(step))
    if request.counts_usage:
        yield {**envelope, "choices": [], "usage": _USAGE}


def _call_items(calls: Sequence[Call]) -> list[dict[str, Any]]:
    return [
        {
            "index": index,
            "id": f"call_{uuid.uuid4().hex}",
            "type": "function",
            "function": {"name": call.tool, "arguments": json.dumps(dict(call.arguments))},
        }
        for index, call in enumerate(calls)
    ]


def _finish_reason(step: Step) -> str:
    return "tool_calls" if step.calls else "stop"


def _envelope(kind: str) -> dict[str, Any]:
    return {"id": f"chatcmpl-{uuid.uuid4().hex}", "object": kind, "created": 1, "model": "scripted"}
