"""Serve a chat backend over HTTP with OpenAI's APIs.

`POST /v1/chat/completions` and `POST /v1/responses`, with streaming, `GET /v1/models` and `GET /health`. A request must
be JSON, which a page cannot send to another site without permission. When a client disconnects, the work for it is
cancelled.
"""

from __future__ import annotations

import asyncio
import errno
import json
import socket
import time
from contextlib import aclosing
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from prowess._internal.frozen import EMPTY
from prowess._internal.installer import missing_extra
from prowess._internal.text import PATH_LIMIT, describe_os_error, quoted
from prowess.errors import ConfigError
from prowess.net import RequestGuard, is_loopback

from . import _chat_completions, _responses
from ._parameters import ignored_header
from ._requests import ChatAnswer, RequestError, error_parts

try:
    from starlette.applications import Starlette
    from starlette.exceptions import HTTPException
    from starlette.requests import ClientDisconnect, Request
    from starlette.responses import Response
    from starlette.routing import Route

    from ._connections import BoundedServer, default_limits
except ImportError as error:
    raise ImportError(missing_extra("starlette and uvicorn", "agent", "this endpoint")) from error

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping

    import uvicorn
    from starlette.types import Receive, Scope, Send

    from ._connections import Limits
    from ._requests import ChatBackend, ChatRequest

MAX_BODY_BYTES = 1_000_000
"""The most bytes of a request."""
_CLIENT_CLOSED_REQUEST = 499
"""nginx's status for a client that disconnected."""

_HEALTH_PATHS = ("/health", "/healthz")

_T = TypeVar("_T")


class _Api(Protocol):
    """One of OpenAI's APIs: how a request is read, and an answer written."""

    def parse(self, body: bytes, headers: Mapping[str, str]) -> ChatRequest: ...

    def whole(self, request: ChatRequest, answer: ChatAnswer, model: str) -> dict[str, Any]: ...

    def events(
        self, request: ChatRequest, items: AsyncGenerator[str | ChatAnswer, None], model: str
    ) -> AsyncGenerator[str, None]: ...


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
            *(Route(path, self._health) for path in _HEALTH_PATHS),
            Route("/v1/models", self._models),
            Route("/v1/models/{name:path}", self._model),
            Route("/v1/chat/completions", partial(self._answer, _chat_completions), methods=["POST"]),
            Route("/v1/responses", partial(self._answer, _responses), methods=["POST"]),
        ]

    async def _health(self, _: Request) -> Response:
        return _json_response({"status": "ok"})

    async def _models(self, _: Request) -> Response:
        return _json_response({"object": "list", "data": [self._describe_model(name) for name in self._backend.names]})

    async def _model(self, request: Request) -> Response:
        name = request.path_params["name"]
        if name not in self._backend.names:
            return _error_response(self._unknown_model(name))
        return _json_response(self._describe_model(name))

    def _describe_model(self, name: str) -> dict[str, object]:
        return {"id": name, "object": "model", "created": self._start_time, "owned_by": "prowess"}

    def _unknown_model(self, name: str) -> RequestError:
        available = ", ".join(f"`{model}`" for model in self._backend.names)
        message = f"unknown model {quoted(name)}; available: {available}"
        return RequestError(message, status=404, param="model", code="model_not_found")

    async def _answer(self, api: _Api, request: Request) -> Response:
        try:
            chat = api.parse(await _read_body(request), request.headers)
            name = chat.model or self._backend.names[0]
            if name not in self._backend.names:
                return _error_response(self._unknown_model(name))
            items, headers = self._run(chat, name), ignored_header(chat.ignored)
            if chat.stream:
                items = await _begun(request, items)
                return _EventStreamResponse(api.events(chat, items, name), headers)
            answer = await _last_item(request, items)
            return _json_response(api.whole(chat, answer, name), headers=headers)
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


async def _last_item(request: Request, items: AsyncGenerator[str | ChatAnswer, None]) -> ChatAnswer:
    """Return the whole answer."""

    async def read_all() -> str | ChatAnswer | None:
        async with aclosing(items):
            last = None
            async for item in items:
                last = item
            return last

    answer = await _cancel_on_disconnect(request.receive, read_all())
    assert isinstance(answer, ChatAnswer)  # noqa: S101 - a backend yields it at the end
    return answer


async def _begun(
    request: Request, items: AsyncGenerator[str | ChatAnswer, None]
) -> AsyncGenerator[str | ChatAnswer, None]:
    """Return the same items when the first one is there: an error before it still has its own status."""

    async def all_items() -> AsyncGenerator[str | ChatAnswer, None]:
        async with aclosing(items):
            first = await anext(items, None)
            yield ""  # begun, so that closing this closes the items
            if first is not None:
                yield first
            async for item in items:
                yield item

    begun = all_items()
    await _cancel_on_disconnect(request.receive, anext(begun))
    return begun


class _EventStreamResponse(Response):
    """Sends events as they arrive, until the client disconnects."""

    media_type = "text/event-stream"

    def __init__(self, events: AsyncGenerator[str, None], headers: Mapping[str, str]) -> None:
        super().__init__(headers={"cache-control": "no-store", "x-accel-buffering": "no", **headers})
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
                await send({"type": "http.response.body", "body": event.encode(), "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})


def _json_response(value: object, *, status: int = 200, headers: Mapping[str, str] = EMPTY) -> Response:
    # In ASCII, since a text of a model may not be Unicode.
    return Response(json.dumps(value), status, headers, "application/json")


def _error_response(error: Exception) -> Response:
    status, body, headers = error_parts(error)
    return _json_response(body, status=status, headers=headers)


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
    return BoundedServer(RequestGuard(app, token=token, loopback=loopback, open_paths=_HEALTH_PATHS), limits)
