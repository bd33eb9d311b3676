"""Requests and answers of OpenAI's chat completions API."""

from __future__ import annotations

import json
import time
import uuid
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

from ._parameters import NO_PROBABILITIES, OWN_TOOLS, REFUSED, Parameters, parse_body, parse_messages, read_shared
from ._requests import ChatRequest, error_parts

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping

    from ._requests import ChatAnswer

_TEXT = "answers are plain text"
_PARAMETERS = Parameters(
    frozenset(("messages", "model", "stream", "stream_options", "metadata")),
    {
        "max_tokens": "max_tokens",
        "max_completion_tokens": "max_tokens",
        "temperature": "temperature",
        "top_p": "top_p",
        "stop": "stop_sequences",
    },
    {
        **REFUSED,
        "functions": (OWN_TOOLS, ([],)),
        "function_call": (OWN_TOOLS, ("none", "auto")),
        "web_search_options": (OWN_TOOLS, ()),
        "response_format": (_TEXT, ({"type": "text"},)),
        "modalities": (_TEXT, (["text"],)),
        "audio": (_TEXT, ()),
        "n": ("there is one answer to a request", (1,)),
        "logprobs": (NO_PROBABILITIES, (False,)),
        "logit_bias": ("the model's words are not weighted", ({},)),
    },
)


def parse(body: bytes, headers: Mapping[str, str]) -> ChatRequest:
    """Parse a request.

    Raises:
        RequestError: the request is invalid, or needs what is not supported.
    """
    request = parse_body(body)
    options = request.get("stream_options")
    settings, ignored = _PARAMETERS.read(request)
    return ChatRequest(
        messages=parse_messages(request.get("messages"), "messages"),
        **read_shared(request, headers),
        include_usage=isinstance(options, dict) and options.get("include_usage") is True,
        settings=settings,
        ignored=ignored,
    )


def whole(request: ChatRequest, answer: ChatAnswer, model: str) -> dict[str, Any]:  # noqa: ARG001 - as in the other API
    """Return an answer as one object."""
    message = {"role": "assistant", "content": answer.text, "refusal": None}
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": answer.finish_reason}
    return {**_head("chat.completion", model), "choices": [choice], "usage": _usage(answer)}


async def events(
    request: ChatRequest, items: AsyncGenerator[str | ChatAnswer, None], model: str
) -> AsyncGenerator[str, None]:
    """Yield the events of an answer."""
    head = _head("chat.completion.chunk", model)

    def chunk(delta: dict[str, str], reason: str | None = None) -> str:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": reason}
        return _event({**head, "choices": [choice]} | ({"usage": None} if request.include_usage else {}))

    async with aclosing(items):
        yield chunk({"role": "assistant", "content": ""})
        last = None
        try:
            async for item in items:
                if isinstance(item, str):
                    yield chunk({"content": item})
                else:
                    last = item
        except Exception as error:  # noqa: BLE001 - the client gets every error as an event
            yield _event(error_parts(error)[1])
            return
        yield chunk({}, "stop" if last is None else last.finish_reason)
        if request.include_usage and last is not None:
            yield _event({**head, "choices": [], "usage": _usage(last)})
        yield "data: [DONE]\n\n"


def _event(value: Mapping[str, Any]) -> str:
    return f"data: {json.dumps(value)}\n\n"


def _usage(answer: ChatAnswer) -> dict[str, int]:
    return {
        "prompt_tokens": answer.input_tokens,
        "completion_tokens": answer.output_tokens,
        "total_tokens": answer.total_tokens,
    }


def _head(kind: str, model: str) -> dict[str, Any]:
    return {"id": f"chatcmpl-{uuid.uuid4().hex}", "object": kind, "created": int(time.time()), "model": model}
