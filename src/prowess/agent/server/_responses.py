"""an answer -> what OpenAI's clients read: one object, or events as it comes

What goes wrong is an object too, with the status it has. A client that goes away ends what was done for it.
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

__all__ = ["error_response", "model_not_found_error", "streaming_response", "cancel_on_disconnect", "full_response"]

_T = TypeVar("_T")


async def cancel_on_disconnect(receive: Receive, work: Coroutine[Any, Any, _T]) -> _T:
    """Do something as long as the client waits for it; its request must have been read.

    Raises:
        ClientDisconnect: it went.
    """

    async def gone() -> None:
        while (await receive())["type"] != "http.disconnect":
            pass

    doing, leaving = asyncio.ensure_future(work), asyncio.ensure_future(gone())
    try:
        await asyncio.wait((doing, leaving), return_when=asyncio.FIRST_COMPLETED)
        if not doing.done():
            raise ClientDisconnect
        return doing.result()
    finally:
        for task in (doing, leaving):
            task.cancel()
        await asyncio.gather(doing, leaving, return_exceptions=True)


async def full_response(request: Request, backend: ChatBackend, chat: ChatRequest, name: str) -> Response:
    """Answer at once."""
    work = backend.answer(chat.messages, model=name, conversation=chat.conversation)
    answer = await cancel_on_disconnect(request.receive, work)
    message = {"role": "assistant", "content": answer.text, "refusal": None}
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": answer.finish_reason}
    head = {"id": _completion_id(), "object": "chat.completion", "created": int(time.time()), "model": name}
    return JSONResponse({**head, "choices": [choice], "usage": answer.usage()})


async def streaming_response(request: Request, backend: ChatBackend, chat: ChatRequest, name: str) -> Response:
    """Begin to answer: what goes wrong before the first word still has a status of its own."""
    items = backend.stream(chat.messages, model=name, conversation=chat.conversation)
    try:
        first = await cancel_on_disconnect(request.receive, _first_item(items))
    except BaseException:
        await items.aclose()
        raise
    return _EventStreamResponse(_chunks(items, first, name, usage=chat.include_usage))


async def _first_item(items: AsyncGenerator[str | ChatAnswer, None]) -> str | ChatAnswer | None:
    return await anext(items, None)


async def _chunks(
    items: AsyncGenerator[str | ChatAnswer, None], first: str | ChatAnswer | None, name: str, *, usage: bool
) -> AsyncGenerator[str, None]:
    """Return the events of an answer, as OpenAI's clients read them."""
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
        except Exception as problem:  # noqa: BLE001 - whatever fails, the client is told in words
            yield json.dumps(_status_and_body(problem)[1])
            return
        yield chunk({}, "stop" if last is None else last.finish_reason)
        if usage and last is not None:
            yield json.dumps({**head, "choices": [], "usage": last.usage()})
        yield "[DONE]"


class _EventStreamResponse(Response):
    """Sends events as they come; a client that goes ends what makes them."""

    media_type = "text/event-stream"

    def __init__(self, events: AsyncGenerator[str, None]) -> None:
        super().__init__(headers={"cache-control": "no-store", "x-accel-buffering": "no"})
        del self.headers["content-length"]
        self._events = events

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002
        try:
            await cancel_on_disconnect(receive, self._send(send))
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
    """Return the error for a model that is not there."""
    there = ", ".join(f"`{one}`" for one in backend.names)
    words = f"there is no model {quoted(name)}; there is {there}"
    return RequestError(words, status=404, param="model", code="model_not_found")


def _status_and_body(problem: Exception) -> tuple[int, dict[str, Any]]:
    """Return the status and the body that tell what went wrong."""
    if isinstance(problem, RequestError):
        status, words, param, code = problem.status, str(problem), problem.param, problem.code
    else:
        told = f"{problem} ({problem.hint})" if isinstance(problem, ProwessError) and problem.hint else str(problem)
        known = isinstance(problem, ProwessError)
        words = told if known else f"the agent failed: {type(problem).__name__}: {neutral(told)[:300]}"
        status, param, code = 500, None, None
    kinds = {401: "authentication_error", 403: "permission_error"}
    kind = "server_error" if status >= 500 else kinds.get(status, "invalid_request_error")
    return status, {"error": {"message": words, "type": kind, "param": param, "code": code}}


def error_response(problem: Exception) -> Response:
    """Return the answer that tells what went wrong."""
    status, body = _status_and_body(problem)
    return JSONResponse(body, status_code=status, headers={"www-authenticate": "Bearer"} if status == 401 else None)
