"""Refuse requests from other sites, for other hosts, or without the key.

Any page in a browser can send requests to this machine. So a request must name this server as its host, with its port,
and must not come from another origin: another scheme, host or port.
"""

from __future__ import annotations

import ipaddress
import re
from typing import TYPE_CHECKING

from starlette.datastructures import Headers

from prowess._internal.bearer import has_bearer_token
from prowess._internal.text import quoted

from ._requests import RequestError
from ._responses import error_response

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

__all__ = ["RequestGuard"]

_AUTHORITY = r"(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(?::([0-9]{1,5}))?"
_parse_host = re.compile(_AUTHORITY).fullmatch
_parse_origin = re.compile(f"(https?)://{_AUTHORITY}").fullmatch
_DEFAULT_PORTS = {"http": 80, "https": 443}
_OTHER_SITES = ("cross-site", "same-site")
"""Values of `Sec-Fetch-Site` for pages of other origins; another port of this machine is the same site."""


class RequestGuard:
    """Passes on the requests that may reach an application.

    Args:
        inner: the application.
        token: the key that clients must send; `None` requires no key.
        port: the port that the server listens on.
        loopback: whether it listens on the loopback address only; then requests must name that as their host.
    """

    def __init__(self, inner: ASGIApp, *, token: str | None, port: int, loopback: bool) -> None:
        self._inner, self._token, self._port, self._loopback = inner, token, port, loopback

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        error = self._rejection(Headers(scope=scope), scope["path"])
        await (self._inner if error is None else error_response(error))(scope, receive, send)

    def _rejection(self, headers: Headers, path: str) -> RequestError | None:
        host, origin = headers.get("host", ""), headers.get("origin")
        if not self._is_own_host(host):
            # A foreign name that resolves to this machine (DNS rebinding): the page is foreign too.
            hint = f"use `http://127.0.0.1:{self._port}/v1`" if self._loopback else "use the address of the server"
            return RequestError(f"wrong host {quoted(host)}; {hint}", status=403)
        if headers.get("sec-fetch-site") in _OTHER_SITES or (
            origin is not None and not self._is_own_origin(origin, host)
        ):
            return RequestError("requests from pages of other sites are not allowed", status=403)
        if self._token is not None and path != "/healthz" and not has_bearer_token(headers.raw, self._token):
            return RequestError("invalid API key", status=401, code="invalid_api_key")
        return None

    def _is_own_host(self, text: str) -> bool:
        host = _parse_host(text)
        if not self._loopback:
            return host is not None or not text
        # A browser leaves out port 80 only, so a host without a port does not come from a page of another port.
        return host is not None and _is_loopback_host(host[1]) and host[2] in (None, str(self._port))

    def _is_own_origin(self, text: str, host_text: str) -> bool:
        origin, host = _parse_origin(text.lower()), _parse_host(host_text.lower())
        if origin is None or host is None or origin[2].rstrip(".") != host[1].rstrip("."):
            return False
        default = _DEFAULT_PORTS[origin[1]]
        if self._loopback:
            return origin[1] == "http" and int(origin[3] or default) == self._port
        return int(origin[3] or default) == int(host[2] or default)


def _is_loopback_host(host: str) -> bool:
    name = host.lower().rstrip(".").strip("[]")
    if name == "localhost":
        return True
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False
