"""Send answers and errors in OpenAI's format: as one object, or as a stream of events.

When a client disconnects, the work for it is cancelled.
"""

from __future__ import annotations

import asyncio
import json
import time
import uuid
from contextlib import aclosing
from typing import TYPE_CHECKING, Any, TypeVar

from starlette.requests import ClientDisconnect
from starlette.responses import JSONResponse, Response

from prowess._internal.text import neutral, quoted
from prowess.errors import ProwessError

from ._requests import RequestError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Coroutine

    from starlette.requests import Request
    from starlette.types import Receive, Scope, Send

    from ._requests import ChatAnswer, ChatBackend, ChatRequest

__all__ = ["error_response", "full_response", "model_not_found_error", "status_body_headers", "streaming_response"]

_T = TypeVar("_T")


async def _cancel_on_disconnect(receive: Receive, work: Coroutine[Any, Any, _T]) -> _T:
    """Await work, but cancel it if the client disconnects; its request must have been read before.

    Raises:
        ClientDisconnect: the client disconnected.
    """

    async def disconnected() -> None:
        while (await receive())["type"] != "http.disconnect":
            pass

    working, waiting = asyncio.ensure_future(work), asyncio.ensure_future(disconnected())
    try:
        await asyncio.wait((working, waiting), return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            raise ClientDisconnect
        return working.result()
    finally:
        for task in (working, waiting):
            task.cancel()
        await asyncio.gather(working, waiting, return_exceptions=True)


async def full_response(request: Request, backend: ChatBackend, chat: ChatRequest, name: str) -> Response:
    """Answer a request with one object."""
    work = backend.answer(
        chat.messages, model=name, conversation=chat.conversation, client=chat.client, request_key=chat.request_key
    )
    answer = await _cancel_on_disconnect(request.receive, work)
    message = {"role": "assistant", "content": answer.text, "refusal": None}
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": answer.finish_reason}
    head = {"id": _completion_id(), "object": "chat.completion", "created": int(time.time()), "model": name}
    return JSONResponse({**head, "choices": [choice], "usage": answer.usage()})


async def streaming_response(request: Request, backend: ChatBackend, chat: ChatRequest, name: str) -> Response:
    """Answer a request with a stream of events; an error before the first part still has its own status."""
    items = backend.stream(
        chat.messages, model=name, conversation=chat.conversation, client=chat.client, request_key=chat.request_key
    )
    try:
        first = await _cancel_on_disconnect(request.receive, _first_item(items))
    except BaseException:
        await items.aclose()
        raise
    return _EventStreamResponse(_chunks(items, first, name, usage=chat.include_usage))


async def _first_item(items: AsyncGenerator[str | ChatAnswer, None]) -> str | ChatAnswer | None:
    return await anext(items, None)


async def _chunks(
    items: AsyncGenerator[str | ChatAnswer, None], first: str | ChatAnswer | None, name: str, *, usage: bool
) -> AsyncGenerator[str, None]:
    """Yield the events of an answer in OpenAI's format."""
    head = {"id": _completion_id(), "object": "chat.completion.chunk", "created": int(time.time()), "model": name}

    def chunk(delta: dict[str, str], reason: str | None = None) -> str:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": reason}
        return json.dumps({**head, "choices": [choice]} | ({"usage": None} if usage else {}))

    async with aclosing(items):
        yield chunk({"role": "assistant", "content": ""})
        item, last = first, None
        try:
            while item is not None:
                if isinstance(item, str):
                    yield chunk({"content": item})
                else:
                    last = item
                item = await anext(items, None)
        except Exception as error:  # noqa: BLE001 - the client gets every error as an event
            yield json.dumps(status_body_headers(error)[1])
            return
        yield chunk({}, "stop" if last is None else last.finish_reason)
        if usage and last is not None:
            yield json.dumps({**head, "choices": [], "usage": last.usage()})
        yield "[DONE]"


class _EventStreamResponse(Response):
    """Sends events as they arrive, until the client disconnects."""

    media_type = "text/event-stream"

    def __init__(self, events: AsyncGenerator[str, None]) -> None:
        super().__init__(headers={"cache-control": "no-store", "x-accel-buffering": "no"})
        del self.headers["content-length"]
        self._events = events

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002
        try:
            await _cancel_on_disconnect(receive, self._send(send))
        except (ClientDisconnect, OSError):
            return

    async def _send(self, send: Send) -> None:
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        async with aclosing(self._events):
            async for event in self._events:
                await send({"type": "http.response.body", "body": f"data: {event}\n\n".encode(), "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})


def _completion_id() -> str:
    return f"chatcmpl-{uuid.uuid4().hex}"


def model_not_found_error(name: str, backend: ChatBackend) -> RequestError:
    """Return the error for an unknown model."""
    available = ", ".join(f"`{model}`" for model in backend.names)
    message = f"unknown model {quoted(name)}; available: {available}"
    return RequestError(message, status=404, param="model", code="model_not_found")


def status_body_headers(error: Exception) -> tuple[int, dict[str, Any], dict[str, str]]:
    """Return the HTTP status, the body and the headers for an error."""
    status, param, code = 500, None, None
    if isinstance(error, RequestError):
        status, message, param, code = error.status, str(error), error.param, error.code
    elif isinstance(error, ProwessError):
        message = f"{error} ({error.hint})" if error.hint else str(error)
    else:
        message = f"the agent failed: {type(error).__name__}: {neutral(str(error))[:300]}"
    kinds = {401: "authentication_error", 403: "permission_error"}
    kind = "server_error" if status >= 500 else kinds.get(status, "invalid_request_error")
    headers = {401: {"www-authenticate": "Bearer"}, 503: {"retry-after": "1"}}.get(status, {})
    return status, {"error": {"message": message, "type": kind, "param": param, "code": code}}, headers


def error_response(error: Exception) -> Response:
    """Return the response for an error."""
    status, body, headers = status_body_headers(error)
    return JSONResponse(body, status_code=status, headers=headers)
