"""Requests and answers of OpenAI's responses API. Responses are not kept under their IDs, but conversations are."""

from __future__ import annotations

import json
import time
import uuid
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

from prowess._internal.text import quoted

from ._parameters import REFUSED, Parameters, parse_body, parse_messages, read_shared, valid_unicode
from ._requests import ChatRequest, Message, RequestError, error_parts

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping

    from ._requests import ChatAnswer

_PARAMETERS = Parameters(
    frozenset(("input", "instructions", "model", "stream", "metadata", "conversation")),
    {"max_output_tokens": "max_tokens", "temperature": "temperature", "top_p": "top_p"},
    {
        **REFUSED,
        "text.format": ("answers are plain text", ({"type": "text"},)),
        "previous_response_id": ("send the earlier messages in `input`, or an ID of yours in `conversation`", ()),
        "background": ("an answer ends with its request", (False,)),
        "prompt": ("the role has its own prompt; send yours in `instructions`", ()),
    },
)
_REASONS = {"length": "max_output_tokens", "content_filter": "content_filter"}
"""Why an answer is incomplete, by its `finish_reason`."""


def parse(body: bytes, headers: Mapping[str, str]) -> ChatRequest:
    """Parse a request.

    Raises:
        RequestError: the request is invalid, or needs what is not supported.
    """
    request = parse_body(body)
    text = request.pop("text", {})
    if not isinstance(text, dict):
        raise RequestError("`text` must be an object", param="text")
    request |= {f"text.{name}": value for name, value in text.items() if value is not None}
    settings, ignored = _PARAMETERS.read(request)
    conversation = request.get("conversation")
    instructions, metadata = request.get("instructions"), request.get("metadata")
    if instructions is not None and not isinstance(instructions, str):
        raise RequestError("`instructions` must be a string", param="instructions")
    return ChatRequest(
        messages=_messages(request.get("input"), instructions),
        **read_shared(request, headers, conversation.get("id") if isinstance(conversation, dict) else conversation),
        settings=settings,
        ignored=ignored,
        repeated={"instructions": instructions, "metadata": _texts(metadata)},
    )


def _texts(metadata: Any) -> dict[str, str]:
    items = metadata.items() if isinstance(metadata, dict) else ()
    return {name: value for name, value in items if isinstance(value, str)}


def _messages(items: Any, instructions: str | None) -> tuple[Message, ...]:
    """Return the messages of a request.

    Raises:
        RequestError: an item is not a message, or invalid.
    """
    if isinstance(items, str):
        items = [{"role": "user", "content": items}]
    for index, item in enumerate(items if isinstance(items, list) else []):
        kind = item.get("type", "message") if isinstance(item, dict) else "message"
        if kind != "message":
            what = quoted(kind) if isinstance(kind, str) else "another type"
            where = f"input[{index}]"
            raise RequestError(f"`{where}` is of the type {what}; only messages are supported", param=where)
    messages = parse_messages(items, "input")
    if not instructions:
        return messages
    return (Message(role="system", text=valid_unicode(instructions, "instructions")), *messages)


def whole(request: ChatRequest, answer: ChatAnswer, model: str) -> dict[str, Any]:
    """Return an answer as one object."""
    return _finished(_response(request, model), _message_id(), answer.text, answer)


async def events(
    request: ChatRequest, items: AsyncGenerator[str | ChatAnswer, None], model: str
) -> AsyncGenerator[str, None]:
    """Yield the events of an answer; its whole text is that of its parts."""
    response, message_id, count = _response(request, model), _message_id(), 0
    place: dict[str, Any] = {"item_id": message_id, "output_index": 0, "content_index": 0}

    def event(kind: str, **fields: Any) -> str:
        nonlocal count
        data = json.dumps({"type": f"response.{kind}", **fields, "sequence_number": count})
        count += 1
        return f"event: response.{kind}\ndata: {data}\n\n"

    async with aclosing(items):
        yield event("created", response=response)
        yield event("in_progress", response=response)
        yield event("output_item.added", output_index=0, item=_message(message_id, "in_progress"))
        yield event("content_part.added", **place, part=_part(""))
        text, last = "", None
        try:
            async for item in items:
                if isinstance(item, str):
                    text += item
                    yield event("output_text.delta", **place, delta=item, logprobs=[])
                else:
                    last = item
        except Exception as error:  # noqa: BLE001 - the client gets every error as an event
            message = error_parts(error)[1]["error"]["message"]
            failed = {"status": "failed", "error": {"code": "server_error", "message": message}}
            yield event("failed", response={**response, **failed})
            return
        done = _finished(response, message_id, text, last)
        yield event("output_text.done", **place, text=text, logprobs=[])
        yield event("content_part.done", **place, part=_part(text))
        yield event("output_item.done", output_index=0, item=done["output"][0])
        yield event(done["status"], response=done)


def _response(request: ChatRequest, model: str) -> dict[str, Any]:
    settings = request.settings
    return {
        "id": f"resp_{uuid.uuid4().hex}",
        "object": "response",
        "created_at": int(time.time()),
        "status": "in_progress",
        "background": False,
        "conversation": None if request.conversation is None else {"id": request.conversation},
        "error": None,
        "incomplete_details": None,
        "max_output_tokens": settings.get("max_tokens"),
        "model": model,
        "output": [],
        "parallel_tool_calls": True,
        "previous_response_id": None,
        "store": False,
        "temperature": settings.get("temperature"),
        "text": {"format": {"type": "text"}},
        "tool_choice": "auto",
        "tools": [],
        "top_p": settings.get("top_p"),
        "truncation": "disabled",
        "usage": None,
        **request.repeated,
    }


def _finished(response: Mapping[str, Any], message_id: str, text: str, answer: ChatAnswer | None) -> dict[str, Any]:
    """Return a response that has ended."""
    reason = _REASONS.get("stop" if answer is None else answer.finish_reason)
    status = "completed" if reason is None else "incomplete"
    usage = answer and {
        "input_tokens": answer.input_tokens,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": answer.output_tokens,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": answer.total_tokens,
    }
    return {
        **response,
        "status": status,
        "incomplete_details": reason and {"reason": reason},
        "output": [_message(message_id, status, _part(text))],
        "usage": usage,
    }


def _message_id() -> str:
    return f"msg_{uuid.uuid4().hex}"


def _message(message_id: str, status: str, *parts: dict[str, Any]) -> dict[str, Any]:
    return {"id": message_id, "type": "message", "status": status, "role": "assistant", "content": [*parts]}


def _part(text: str) -> dict[str, Any]:
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}
