"""conversations over HTTP, as OpenAI's API has them

`POST /v1/chat/completions`, with streaming, `GET /v1/models` and `GET /healthz`. Who answers is an `Answerer`. Any page
in a browser can send requests to this machine, so a request must name this machine as its host, come from no other
site, and be JSON, which a page may not send elsewhere unasked.
"""

from __future__ import annotations

import asyncio
import errno
import hmac
import ipaddress
import socket
import time
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from prowess._internal.text import quoted
from prowess.adapters import missing_extra
from prowess.errors import ConfigError

from ._requests import RequestError, parse_chat_request

try:
    import uvicorn
    from starlette.applications import Starlette
    from starlette.exceptions import HTTPException
    from starlette.requests import ClientDisconnect, Request
    from starlette.responses import JSONResponse, Response
    from starlette.routing import Route

    from ._responses import error_response, full_response, model_not_found_error, streaming_response
except ImportError as error:
    raise ImportError(missing_extra("starlette and uvicorn", "agent").replace("adapter", "endpoint")) from error

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.types import ASGIApp, Receive, Scope, Send

    from ._requests import ChatBackend

__all__ = ["make_app", "listen", "serve", "make_server"]

MAX_BODY_BYTES = 1_000_000
"""Bytes of a request."""
_MAX_BODY_SECONDS = 30.0
"""Within which a request must have come."""
_CLIENT_CLOSED_REQUEST = 499
"""The status of an answer that nobody waits for any more."""


def make_app(backend: ChatBackend, *, token: str | None = None, loopback: bool = True) -> ASGIApp:
    """Make the application.

    Args:
        backend: who answers.
        token: what a client must send as its key; None is no key.
        loopback: whether it listens on the loopback address only, so that no other host may be named.
    """

    async def healthz(_: Request) -> Response:
        return JSONResponse({"status": "ok"})

    async def models(_: Request) -> Response:
        rows = [{"id": name, "object": "model", "created": begun, "owned_by": "prowess"} for name in backend.names]
        return JSONResponse({"object": "list", "data": rows})

    async def model(request: Request) -> Response:
        name = request.path_params["name"]
        if name not in backend.names:
            return error_response(model_not_found_error(name, backend))
        return JSONResponse({"id": name, "object": "model", "created": begun, "owned_by": "prowess"})

    async def completions(request: Request) -> Response:
        try:
            chat = parse_chat_request(await _read_body(request), request.headers)
            name = chat.model or backend.names[0]
            if name not in backend.names:
                return error_response(model_not_found_error(name, backend))
            if chat.stream:
                return await streaming_response(request, backend, chat, name)
            return await full_response(request, backend, chat, name)
        except ClientDisconnect:
            return Response(status_code=_CLIENT_CLOSED_REQUEST)
        except Exception as problem:  # noqa: BLE001 - whatever fails, the client is told in words
            return error_response(problem)

    begun = int(time.time())
    routes = [
        Route("/healthz", healthz),
        Route("/v1/models", models),
        Route("/v1/models/{name:path}", model),
        Route("/v1/chat/completions", completions, methods=["POST"]),
    ]
    made = Starlette(routes=routes, exception_handlers={HTTPException: _http_error_response})
    return _RequestGuard(made, token=token, loopback=loopback)


def listen(host: str, port: int) -> socket.socket:
    """Take an address; port 0 is one that is free.

    Raises:
        ConfigError: it cannot be had.
    """
    if not 0 <= port < 65536:  # the system's own look-up takes what is left of larger ones
        raise ConfigError(f"{port} is no address of this machine: ports end at 65535")
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listener = socket.socket(family, kind, protocol)
    except (OSError, OverflowError, UnicodeError):
        raise ConfigError(f"{quoted(host)} with the port {port} is no address of this machine") from None
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(512)
    except OSError as error:
        listener.close()
        if error.errno == errno.EADDRINUSE:
            hint = "choose another with `--port`, or `--port 0` for one that is free; or end what listens there"
            raise ConfigError(f"port {port} is in use", hint=hint) from None
        if error.errno == errno.EACCES:
            raise ConfigError(f"port {port} is not yours to take", hint="choose one above 1023") from None
        raise ConfigError(f"{quoted(host)} is no address of this machine: {error.strerror}") from None
    return listener


def serve(
    backend: ChatBackend,
    *,
    host: str = "127.0.0.1",
    port: int = 8000,
    token: str | None = None,
    ready: Callable[[str], None] | None = None,
) -> None:
    """Answer until the process is told to end.

    Args:
        backend: who answers.
        host: the address that is listened on.
        port: 0 is one that is free.
        token: what a client must send as its key; None is no key.
        ready: given the base URL for clients, once they may come.

    Raises:
        ConfigError: the address cannot be had.
    """
    with listen(host, port) as listener:
        at, port = listener.getsockname()[:2]
        if ready is not None:
            ready(f"http://{f'[{at}]' if ':' in at else at}:{port}/v1")
        make_server(backend, listener, token=token).run(sockets=[listener])


def make_server(backend: ChatBackend, listener: socket.socket, *, token: str | None = None) -> uvicorn.Server:
    """Make the server of an address that was taken; `run` runs it, `should_exit` ends it."""
    at = str(listener.getsockname()[0]).partition("%")[0]
    config = uvicorn.Config(
        make_app(backend, token=token, loopback=ipaddress.ip_address(at).is_loopback),
        log_level="critical",
        access_log=False,
        server_header=False,
        lifespan="off",
        proxy_headers=False,
        timeout_graceful_shutdown=2,
    )
    return uvicorn.Server(config)


class _RequestGuard:
    """Lets in who may ask."""

    def __init__(self, inner: ASGIApp, *, token: str | None, loopback: bool) -> None:
        self._inner, self._token, self._loopback = inner, token, loopback

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        problem = self._rejection(Request(scope))
        await (self._inner if problem is None else error_response(problem))(scope, receive, send)

    def _rejection(self, request: Request) -> RequestError | None:
        headers = request.headers
        host = _host_of_url(f"//{headers.get('host', '')}")
        if self._loopback and not _is_loopback_host(host):
            # A name of another's that means this machine: the page that asks is another's too.
            return RequestError(f"this endpoint is not {quoted(host)}; use `http://127.0.0.1:PORT/v1`", status=403)
        origin = headers.get("origin")
        if headers.get("sec-fetch-site") == "cross-site" or (origin is not None and _host_of_url(origin) != host):
            return RequestError("a page of another site may not ask here", status=403)
        if self._token is not None and request.url.path != "/healthz":
            kind, _, given = headers.get("authorization", "").partition(" ")
            if kind.lower() != "bearer" or not hmac.compare_digest(given.strip().encode(), self._token.encode()):
                return RequestError("the key is not right", status=401, code="invalid_api_key")
        return None


def _host_of_url(url: str) -> str:
    try:
        return (urlsplit(url).hostname or "").rstrip(".")
    except ValueError:
        return ""


def _is_loopback_host(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


async def _read_body(request: Request) -> bytes:
    """Read a request, which must be JSON by its type.

    Raises:
        RequestError: it is too large, too slow or of another type.
    """
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise RequestError("send the header `Content-Type: application/json`", status=415)
    body = bytearray()
    try:
        async with asyncio.timeout(_MAX_BODY_SECONDS):
            async for chunk in request.stream():
                body += chunk
                if len(body) > MAX_BODY_BYTES:
                    raise RequestError(f"the request is larger than {MAX_BODY_BYTES} bytes", status=413)
    except TimeoutError:
        raise RequestError(f"the request did not come within {_MAX_BODY_SECONDS:g} seconds", status=408) from None
    return bytes(body)


async def _http_error_response(request: Request, problem: Exception) -> Response:
    status = problem.status_code if isinstance(problem, HTTPException) else 500
    words = (
        f"there is no {quoted(request.url.path, 200)} here" if status == 404 else f"{request.method} is not for this"
    )
    return error_response(RequestError(words, status=status))
