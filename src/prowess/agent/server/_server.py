"""Serve a chat backend over HTTP with OpenAI's API.

`POST /v1/chat/completions`, with streaming, `GET /v1/models` and `GET /healthz`. A request must be JSON, which a page
cannot send to another site without permission.
"""

from __future__ import annotations

import errno
import ipaddress
import socket
import time
from typing import TYPE_CHECKING

from prowess._internal.text import PATH_LIMIT, describe_os_error, quoted
from prowess.adapters import missing_extra
from prowess.errors import ConfigError

from ._requests import RequestError, parse_chat_request

try:
    from starlette.applications import Starlette
    from starlette.exceptions import HTTPException
    from starlette.requests import ClientDisconnect, Request
    from starlette.responses import JSONResponse, Response
    from starlette.routing import Route

    from ._accepting import BoundedServer, default_limits
    from ._guard import RequestGuard
    from ._responses import error_response, full_response, model_not_found_error, streaming_response
    from ._runs import BoundedBackend
except ImportError as error:
    raise ImportError(missing_extra("starlette and uvicorn", "agent", "this endpoint")) from error

if TYPE_CHECKING:
    from collections.abc import Callable

    import uvicorn
    from starlette.types import ASGIApp

    from ._connections import Limits
    from ._requests import ChatBackend

__all__ = ["listen", "make_app", "make_server", "serve"]

MAX_BODY_BYTES = 1_000_000
"""The most bytes of a request."""
_CLIENT_CLOSED_REQUEST = 499
"""nginx's status for a client that disconnected."""


def make_app(backend: ChatBackend, *, port: int, token: str | None = None, loopback: bool = True) -> ASGIApp:
    """Make the ASGI application.

    Args:
        backend: answers the requests.
        port: the port that the server listens on.
        token: the key that clients must send; `None` requires no key.
        loopback: whether it listens on the loopback address only; then requests must name that as their host.
    """
    start_time = int(time.time())

    def describe_model(name: str) -> dict[str, object]:
        return {"id": name, "object": "model", "created": start_time, "owned_by": "prowess"}

    async def healthz(_: Request) -> Response:
        return JSONResponse({"status": "ok"})

    async def models(_: Request) -> Response:
        return JSONResponse({"object": "list", "data": [describe_model(name) for name in backend.names]})

    async def model(request: Request) -> Response:
        name = request.path_params["name"]
        if name not in backend.names:
            return error_response(model_not_found_error(name, backend))
        return JSONResponse(describe_model(name))

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
        except Exception as error:  # noqa: BLE001 - the client gets every error as a response
            return error_response(error)

    routes = [
        Route("/healthz", healthz),
        Route("/v1/models", models),
        Route("/v1/models/{name:path}", model),
        Route("/v1/chat/completions", completions, methods=["POST"]),
    ]
    app = Starlette(routes=routes, exception_handlers={HTTPException: _http_error_response})
    return RequestGuard(app, token=token, port=port, loopback=loopback)


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
    host, port = listener.getsockname()[:2]
    limits = limits or default_limits()
    loopback = ipaddress.ip_address(str(host).partition("%")[0]).is_loopback
    app = make_app(BoundedBackend(backend, limits.runs), port=port, token=token, loopback=loopback)
    return BoundedServer(app, limits)


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


async def _http_error_response(request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 500
    path = quoted(request.url.path, PATH_LIMIT)
    message = f"unknown path {path}" if status == 404 else f"{path} does not support {quoted(request.method)}"
    return error_response(RequestError(message, status=status))
