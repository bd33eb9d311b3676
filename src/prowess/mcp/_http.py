"""Serve skills over HTTP: only to clients on this machine, or to those that send a token."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcp.server.transport_security import TransportSecuritySettings

from prowess.errors import ConfigError
from prowess.net import RequestGuard

from ._server import ScriptServer

if TYPE_CHECKING:
    from mcp.server.lowlevel import Server
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

MAX_BODY_BYTES = 1024 * 1024
"""Bytes of a request; those of skills are short."""
_MAX_SESSIONS = 1024
"""Sessions of clients of the older era; see `BoundedSessions`."""


def http_app(server: Server[Any], *, token: str | None = None, loopback: bool = True) -> ASGIApp:
    """Return an ASGI application that answers at `/mcp` (streamable HTTP).

    Args:
        server: what `prowess.mcp.server` returned.
        token: what clients must send as a bearer token; `None` requires none, unless they can run scripts.
        loopback: whether it serves only this machine: then requests must name the loopback address and port to which
            they came, or `localhost`, as their host. Behind a proxy that has another name, it is false.

    Raises:
        ConfigError: the token is empty, or missing although clients can run scripts.
    """
    if token is None and isinstance(server, ScriptServer):
        message = "clients of this server can run scripts, so they need a token"
        raise ConfigError(message, hint="pass a long one to `http_app` as `token`, or serve without `scripts`")
    inner = server.streamable_http_app(
        max_request_body_size=MAX_BODY_BYTES,
        max_sessions=_MAX_SESSIONS,
        transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),  # the guard does more
    )
    return RequestGuard(BoundedSessions(inner, _MAX_SESSIONS), token=token, loopback=loopback)


_HEADER = b"mcp-session-id"


class BoundedSessions:
    """Passes requests on to an application that keeps sessions.

    Args:
        app: the application; it refuses more than `most` sessions itself.
        most: sessions at the same time.
    """

    def __init__(self, app: ASGIApp, most: int) -> None:
        self._app, self._most = app, most
        self._requests: dict[bytes, int] = {}
        """How many requests of each session are not answered; the session used last is the last one."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        session = next((value for name, value in scope["headers"] if name == _HEADER), None)
        if session in self._requests:
            self._requests[session] = self._requests.pop(session) + 1
        elif session is None and len(self._requests) >= self._most:
            await self._end_oldest(scope)

        async def note(message: Message) -> None:
            if message["type"] == "http.response.start":
                if session is None:
                    ids = [value for name, value in message["headers"] if name.lower() == _HEADER]
                    self._requests |= dict.fromkeys(ids, 0) if message["status"] < 400 else {}
                elif message["status"] == 404 or (scope["method"] == "DELETE" and message["status"] < 300):
                    self._requests.pop(session, None)
            await send(message)

        try:
            await self._app(scope, receive, note)
        finally:
            if session in self._requests:
                self._requests[session] -= 1

    async def _end_oldest(self, scope: Scope) -> None:
        """End the session that was used longest ago and has no open request, if there is one."""
        session = next((session for session, requests in self._requests.items() if not requests), None)
        if session is None:
            return
        del self._requests[session]
        messages: list[dict[str, Any]] = [{"type": "http.request", "body": b"", "more_body": False}]

        async def receive() -> dict[str, Any]:
            return messages.pop() if messages else {"type": "http.disconnect"}

        async def send(_: Message) -> None:
            pass

        await self._app({**scope, "method": "DELETE", "headers": [(_HEADER, session)]}, receive, send)
