"""Serve skills over HTTP: only to clients on this machine, or to those that send a token."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcp.server.transport_security import TransportSecuritySettings

from prowess._internal.bearer import has_bearer_token

if TYPE_CHECKING:
    from mcp.server.lowlevel import Server
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

MAX_BODY_BYTES = 1024 * 1024
"""Bytes of a request; those of skills are short."""
_MAX_SESSIONS = 1024
"""Sessions of clients of the older era; see `BoundedSessions`."""
_LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
_UNAUTHORIZED = b'{"error": "send the header `Authorization: Bearer TOKEN`"}'


def http_app(server: Server[Any], *, token: str | None = None, loopback: bool = True) -> ASGIApp:
    """Return an ASGI application that answers at `/mcp` (streamable HTTP).

    Args:
        server: what `prowess.mcp.server` returned.
        token: what clients must send as a bearer token; `None` requires none.
        loopback: whether it serves only this machine: then requests must name that as their host and origin.
    """
    security = TransportSecuritySettings(enable_dns_rebinding_protection=False)
    if loopback:
        hosts = [f"{host}{port}" for host in _LOOPBACK for port in ("", ":*")]
        security = TransportSecuritySettings(allowed_hosts=hosts, allowed_origins=[f"http://{host}" for host in hosts])
    inner = server.streamable_http_app(
        max_request_body_size=MAX_BODY_BYTES, max_sessions=_MAX_SESSIONS, transport_security=security
    )
    app = BoundedSessions(inner, _MAX_SESSIONS)
    return app if token is None else _with_token(app, token)


def _with_token(app: ASGIApp, token: str) -> ASGIApp:
    async def check(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and not has_bearer_token(scope["headers"], token):
            headers = [(b"content-type", b"application/json"), (b"www-authenticate", b"Bearer")]
            await send({"type": "http.response.start", "status": 401, "headers": headers})
            await send({"type": "http.response.body", "body": _UNAUTHORIZED})
            return
        await app(scope, receive, send)

    return check


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
        kept = [(name, value) for name, value in scope["headers"] if name in (b"host", b"origin")]

        messages: list[dict[str, Any]] = [{"type": "http.request", "body": b"", "more_body": False}]

        async def receive() -> dict[str, Any]:
            return messages.pop() if messages else {"type": "http.disconnect"}

        async def send(_: Message) -> None:
            pass

        await self._app({**scope, "method": "DELETE", "headers": [*kept, (_HEADER, session)]}, receive, send)
