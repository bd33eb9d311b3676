"""Serve a chat backend over HTTP with OpenAI's API.

`POST /v1/chat/completions`, with streaming, `GET /v1/models` and `GET /healthz`. A request must be JSON, which a page
cannot send to another site without permission. When a client disconnects, the work for it is cancelled.
"""

from __future__ import annotations

import asyncio
import errno
import json
import socket
import time
import uuid
from contextlib import aclosing
from typing import TYPE_CHECKING, Any, TypeVar

from prowess._internal.installer import missing_extra
from prowess._internal.text import PATH_LIMIT, describe_os_error, quoted
from prowess.errors import ConfigError
from prowess.net import RequestGuard, is_loopback

from ._requests import ChatAnswer, RequestError, error_parts, parse_chat_request

try:
    from starlette.applications import Starlette
    from starlette.exceptions import HTTPException
    from starlette.requests import ClientDisconnect, Request
    from starlette.responses import JSONResponse, Response
    from starlette.routing import Route

    from ._connections import BoundedServer, default_limits
except ImportError as error:
    raise ImportError(missing_extra("starlette and uvicorn", "agent", "this endpoint")) from error

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable

    import uvicorn
    from starlette.types import Receive, Scope, Send

    from ._connections import Limits
    from ._requests import ChatBackend, ChatRequest

MAX_BODY_BYTES = 1_000_000
"""The most bytes of a request."""
_CLIENT_CLOSED_REQUEST = 499
"""nginx's status for a client that disconnected."""

_T = TypeVar("_T")


class _ChatApp:
    """The routes of the endpoint.

    Args:
        backend: answers the requests.
        runs: the most requests that it answers at once; further ones are refused.
    """

    def __init__(self, backend: ChatBackend, runs: int) -> None:
        self._backend, self._runs, self._running, self._start_time = backend, runs, 0, int(time.time())

    def routes(self) -> list[Route]:
        return [
            Route("/healthz", self._healthz),
            Route("/v1/models", self._models),
            Route("/v1/models/{name:path}", self._model),
            Route("/v1/chat/completions", self._completions, methods=["POST"]),
        ]

    async def _healthz(self, _: Request) -> Response:
        return JSONResponse({"status": "ok"})

    async def _models(self, _: Request) -> Response:
        return JSONResponse({"object": "list", "data": [self._describe_model(name) for name in self._backend.names]})

    async def _model(self, request: Request) -> Response:
        name = request.path_params["name"]
        if name not in self._backend.names:
            return _error_response(self._unknown_model(name))
        return JSONResponse(self._describe_model(name))

    def _describe_model(self, name: str) -> dict[str, object]:
        return {"id": name, "object": "model", "created": self._start_time, "owned_by": "prowess"}

    def _unknown_model(self, name: str) -> RequestError:
        available = ", ".join(f"`{model}`" for model in self._backend.names)
        message = f"unknown model {quoted(name)}; available: {available}"
        return RequestError(message, status=404, param="model", code="model_not_found")

    async def _completions(self, request: Request) -> Response:
        try:
            chat = parse_chat_request(await _read_body(request), request.headers)
            name = chat.model or self._backend.names[0]
            if name not in self._backend.names:
                return _error_response(self._unknown_model(name))
            items = self._run(chat, name)
            if chat.stream:
                return await _streaming_response(request, items, name, usage=chat.include_usage)
            return await _full_response(request, items, name)
        except ClientDisconnect:
            return Response(status_code=_CLIENT_CLOSED_REQUEST)
        except Exception as error:  # noqa: BLE001 - the client gets every error as a response
            return _error_response(error)

    async def _run(self, chat: ChatRequest, name: str) -> AsyncGenerator[str | ChatAnswer, None]:
        """Yield what the backend answers.

        Raises:
            RequestError: there are too many runs, or the backend refuses the request.
        """
        if self._running >= self._runs:
            raise RequestError("the server is busy; try again later", status=503, code="busy")
        self._running += 1
        try:
            async with aclosing(self._backend.stream(chat, name)) as items:
                async for item in items:
                    yield item
        finally:
            self._running -= 1


async def _read_body(request: Request) -> bytes:
    """Read the body of a request, which must have a JSON content type; the connection limits the time.

    Raises:
        RequestError: it is too large or has another type.
    """
    media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media_type != "application/json":
        raise RequestError("send the header `Content-Type: application/json`", status=415)
    too_large = RequestError(f"the request is larger than {MAX_BODY_BYTES} bytes", status=413)
    if int(request.headers.get("content-length", "0")) > MAX_BODY_BYTES:
        raise too_large
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > MAX_BODY_BYTES:
            raise too_large
    return bytes(body)


# ── answers ──────────────────────────────────────────────────────────────────────────────────────────────────────────


async def _cancel_on_disconnect(receive: Receive, work: Awaitable[_T]) -> _T:
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


async def _full_response(request: Request, items: AsyncGenerator[str | ChatAnswer, None], name: str) -> Response:
    """Answer a request with one object."""

    async def last_item() -> str | ChatAnswer | None:
        async with aclosing(items):
            last = None
            async for item in items:
                last = item
            return last

    answer = await _cancel_on_disconnect(request.receive, last_item())
    assert isinstance(answer, ChatAnswer)  # noqa: S101 - a backend yields it at the end
    message = {"role": "assistant", "content": answer.text, "refusal": None}
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": answer.finish_reason}
    return JSONResponse({**_head("chat.completion", name), "choices": [choice], "usage": answer.usage()})


async def _streaming_response(
    request: Request, items: AsyncGenerator[str | ChatAnswer, None], name: str, *, usage: bool
) -> Response:
    """Answer a request with a stream of events; an error before the first part still has its own status."""
    try:
        first = await _cancel_on_disconnect(request.receive, anext(items, None))
    except BaseException:
        await items.aclose()
        raise
    return _EventStreamResponse(_events(items, first, name, usage=usage))


async def _events(
    items: AsyncGenerator[str | ChatAnswer, None], first: str | ChatAnswer | None, name: str, *, usage: bool
) -> AsyncGenerator[str, None]:
    """Yield the events of an answer in OpenAI's format."""
    head = _head("chat.completion.chunk", name)

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
            yield json.dumps(error_parts(error)[1])
            return
        yield chunk({}, "stop" if last is None else last.finish_reason)
        if usage and last is not None:
            yield json.dumps({**head, "choices": [], "usage": last.usage()})
        yield "[DONE]"


def _head(kind: str, name: str) -> dict[str, Any]:
    return {"id": f"chatcmpl-{uuid.uuid4().hex}", "object": kind, "created": int(time.time()), "model": name}


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


def _error_response(error: Exception) -> Response:
    status, body, headers = error_parts(error)
    return JSONResponse(body, status_code=status, headers=headers)


async def _http_error_response(request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 500
    path = quoted(request.url.path, PATH_LIMIT)
    message = f"unknown path {path}" if status == 404 else f"{path} does not support {quoted(request.method)}"
    return _error_response(RequestError(message, status=status))


# ── listening ────────────────────────────────────────────────────────────────────────────────────────────────────────


def listen(host: str, port: int) -> socket.socket:
    """Listen on an address; port 0 chooses a free port.

    Raises:
        ConfigError: the address is invalid or in use.
    """
    if not 0 <= port < 65536:  # `getaddrinfo` would use the remainder of a larger number
        raise ConfigError(f"invalid port {port}", hint="use a port from 0 to 65535")
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listener = socket.socket(family, kind, protocol)
    except (OSError, OverflowError, UnicodeError):
        raise ConfigError(f"cannot listen on {quoted(host)}, port {port}: not an address of this machine") from None
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(512)
    except OSError as error:
        listener.close()
        if error.errno == errno.EADDRINUSE:
            hint = "use another with `--port`, or a free one with `--port 0`; or stop the program that uses it"
            raise ConfigError(f"port {port} is in use", hint=hint) from None
        if error.errno == errno.EACCES:
            raise ConfigError(f"no permission to use port {port}", hint="use a port above 1023") from None
        raise ConfigError(f"cannot listen on {quoted(host)}: {describe_os_error(error)}") from None
    return listener


def serve(
    backend: ChatBackend,
    *,
    host: str = "127.0.0.1",
    port: int = 8000,
    token: str | None = None,
    ready: Callable[[str], None] | None = None,
) -> None:
    """Serve until a signal ends the process.

    Args:
        backend: answers the requests.
        host: the address to listen on.
        port: the port; 0 chooses a free one.
        token: the key that clients must send; `None` requires no key.
        ready: called with the base URL once the server listens.

    Raises:
        ConfigError: the address is invalid or in use.
    """
    with listen(host, port) as listener:
        address, port = listener.getsockname()[:2]
        if ready is not None:
            ready(f"http://{f'[{address}]' if ':' in address else address}:{port}/v1")
        make_server(backend, listener, token=token).run(sockets=[listener])


def make_server(
    backend: ChatBackend, listener: socket.socket, *, token: str | None = None, limits: Limits | None = None
) -> uvicorn.Server:
    """Make the server for a listening socket; `run` starts it, `should_exit` stops it."""
    limits = limits or default_limits()
    routes = _ChatApp(backend, limits.runs).routes()
    app = Starlette(routes=routes, exception_handlers={HTTPException: _http_error_response})
    loopback = is_loopback(listener.getsockname()[0])
    return BoundedServer(RequestGuard(app, token=token, loopback=loopback, open_path="/healthz"), limits)
