"""Serve skills over HTTP: only to clients on this machine, or to those that send a token."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcp.server.transport_security import TransportSecuritySettings

from prowess._internal.bearer import has_bearer_token

from ._sessions import BoundedSessions

if TYPE_CHECKING:
    from mcp.server.lowlevel import Server
    from starlette.types import ASGIApp, Receive, Scope, Send

__all__ = ["MAX_BODY_BYTES", "http_app"]

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
