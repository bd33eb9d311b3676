"""Refuse requests that a server of Prowess should not answer: of other sites, or without the token.

Any page in a browser can send requests to this machine. So a request must name the server as its host, with its port,
and must not come from another origin: another scheme, host or port.
"""

from __future__ import annotations

import hmac
import ipaddress
import json
import re

from prowess._internal.text import quoted
from prowess.errors import ConfigError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection, Mapping
    from typing import Any

_DEFAULT_PORTS = {"http": 80, "https": 443}
_is_host = re.compile(r"(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(:[0-9]{1,5})?").fullmatch
_SINGLE_HEADERS = (b"host", b"origin", b"sec-fetch-site", b"authorization")
"""A program in front of the server may have checked the other one."""
_ERRORS = {400: "invalid_request_error", 401: "authentication_error", 403: "permission_error"}


class RequestGuard:
    """An ASGI application that passes on the requests that may reach another one.

    Args:
        app: the other application.
        token: what clients must send as bearer token; `None` requires none.
        loopback: whether the server is for this machine only. Then a request must name the address to which it came, or
            `localhost`, as its host. Otherwise it may name any host, since a proxy can have any name.
        open_paths: paths that need no token.

    Raises:
        ConfigError: the token is empty.
    """

    def __init__(
        self,
        app: Callable[..., Awaitable[None]],
        *,
        token: str | None,
        loopback: bool,
        open_paths: Collection[str] = (),
    ) -> None:
        if token is not None and not token.strip():
            raise ConfigError("the token is empty", hint="choose a long one, or pass none")
        self._app, self._token, self._loopback, self._open_paths = app, token, loopback, open_paths

    async def __call__(self, scope: Mapping[str, Any], receive: Any, send: Any) -> None:
        if scope["type"] == "websocket":  # no server of ours has one
            await send({"type": "websocket.close", "code": 1008})
        elif scope["type"] != "http" or (refusal := self._refusal(scope)) is None:
            await self._app(scope, receive, send)
        else:
            status, message = refusal
            code = "invalid_api_key" if status == 401 else None
            error = {"message": message, "type": _ERRORS[status], "param": None, "code": code}
            body = json.dumps({"error": error}).encode()
            headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
            headers += [(b"www-authenticate", b"Bearer")] if status == 401 else []
            await send({"type": "http.response.start", "status": status, "headers": headers})
            await send({"type": "http.response.body", "body": body})

    def _refusal(self, scope: Mapping[str, Any]) -> tuple[int, str] | None:
        """Return the status and the message for a request that is refused."""
        headers: dict[bytes, str] = {}
        for name, value in scope["headers"]:
            if name in headers:
                return 400, f"the header `{name.decode()}` is given twice"
            if name in _SINGLE_HEADERS:
                headers[name] = value.decode("latin-1")
        host, own = headers.get(b"host", "").lower(), _own_hosts(scope)
        if self._loopback and host not in own:
            # A foreign name that resolves to this machine (DNS rebinding): the page is foreign too.
            return 403, f"wrong host {quoted(host)}; {f'use `{own[0]}`' if own else 'this server is for one machine'}"
        if host and not _is_host(host):
            return 403, f"wrong host {quoted(host)}; use the address of the server"
        # A proxy may have received the request with TLS.
        schemes = (scope.get("scheme", "http"),) if self._loopback else ("http", "https")
        origins = [f"{each}://{host.removesuffix(f':{_DEFAULT_PORTS.get(each)}')}" for each in schemes if host]
        is_own_page = headers.get(b"sec-fetch-site") in (None, "same-origin", "none")
        if not is_own_page or headers.get(b"origin") not in (None, *origins):
            return 403, "requests from pages of other sites are not allowed"
        if self._token is not None and scope["path"] not in self._open_paths:
            kind, _, key = headers.get(b"authorization", "").partition(" ")
            if kind.lower() != "bearer" or not hmac.compare_digest(
                key.strip(" ").encode("latin-1"), self._token.encode()
            ):
                return 401, "invalid API key or token; send it as `Authorization: Bearer KEY`"
        return None


def is_loopback(address: str) -> bool:
    """Return whether only this machine can connect to an address."""
    ip = _parse_address(address)
    return ip is not None and ip.is_loopback


def _own_hosts(scope: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the hosts that a request to this machine may name; none if it came to another address."""
    address, port = scope.get("server") or ("", None)
    if address != "localhost" and not is_loopback(address):
        return ()
    ip, default = _parse_address(address), _DEFAULT_PORTS.get(scope.get("scheme", "http"))
    names = (f"[{ip}]" if ip is not None and ip.version == 6 else str(ip or address), "localhost")
    # A browser leaves out the port that its scheme has by default, and no other one.
    with_port = tuple(f"{name}:{port or default}" for name in names)
    return (*with_port, *names) if port in (None, default) else with_port


def _parse_address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        ip = ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return None
    return (ip.ipv4_mapped if ip.version == 6 else None) or ip
