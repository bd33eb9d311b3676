"""Connect to a server of HTTP: to an address that the rules of the network allow, and never beyond a deadline.

The name of the host is looked up once, and the connection goes to an address that was checked. Proxies of the
environment are not used.
"""

from __future__ import annotations

import http.client
import io
import os
import re
import socket
import ssl
import time
from functools import cache
from urllib.parse import urlsplit

from prowess._internal.frozen import Frozen
from prowess._internal.text import quoted

from ._network_rules import MAX_ADDRESSES, canonical_host, look_up_host

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._network_rules import NetworkRules

__all__ = ["DeadlineConnection", "HasCredentialsError", "HostRefusedError", "HttpUrl", "connect_http", "parse_http_url"]

_TRUST_VARIABLES = ("SSL_CERT_FILE", "SSL_CERT_DIR")
_INVALID_CHARACTERS = re.compile(r"[^\x21-\x7e]|\\")
_MAX_URL = 8000
"""A URL that a store has signed is longer than one that a person types."""


class HttpUrl(Frozen):
    """A URL of HTTP, in its parts."""

    text: str
    """Without the fragment."""
    scheme: str
    host: str
    """As `canonical_host` returns it."""
    port: int
    target: str
    """Path and query, as a request has them."""

    @property
    def origin(self) -> tuple[str, str, int]:
        """What two URLs of one server have in common."""
        return self.scheme, self.host, self.port

    @property
    def shown(self) -> str:
        """The URL for a message: without the query, which may contain a secret."""
        return self.text.partition("?")[0]


class HostRefusedError(Exception):
    """A host may not be reached, or does not exist; the message is the reason."""

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.hint = hint


class HasCredentialsError(ValueError):
    """A URL has a user name or password."""


class _DeadlineReader(io.RawIOBase):
    """What a server sends, with the time that is left at each read."""

    def __init__(self, owner: _DeadlineSocket, sock: socket.socket) -> None:
        self._owner = owner
        self._inner = sock.makefile("rb", buffering=0)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        self._owner.set_timeout()
        count = int(self._inner.readinto(buffer) or 0)
        self._owner.count(count)
        return count

    def close(self) -> None:
        if not self.closed:
            self._inner.close()
        super().close()


class _DeadlineSocket:
    """A socket for `http.client` that never waits beyond a deadline, however slowly the server sends."""

    def __init__(self, sock: socket.socket, deadline: float) -> None:
        self._sock = sock
        self.deadline = deadline
        self.idle_seconds: float | None = None
        self.bytes_left: int | None = None

    def count(self, size: int) -> None:
        if self.bytes_left is not None:
            self.bytes_left -= size
            if self.bytes_left < 0:
                raise http.client.HTTPException("it is too large")

    def set_timeout(self) -> None:
        left = self.deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError("timed out")
        self._sock.settimeout(left if self.idle_seconds is None else min(left, self.idle_seconds))

    def makefile(self, _mode: str) -> io.BufferedReader:
        return io.BufferedReader(_DeadlineReader(self, self._sock))

    def sendall(self, data: bytes) -> None:
        self.set_timeout()
        self._sock.sendall(data)  # its timeout is for all of the data

    def close(self) -> None:
        self._sock.close()


class DeadlineConnection(http.client.HTTPConnection):
    """A connection that does not connect again, and whose every operation ends at a deadline with `TimeoutError`."""

    auto_open = 0

    def __init__(self, url: HttpUrl, sock: socket.socket, deadline: float) -> None:
        super().__init__(f"[{url.host}]" if ":" in url.host else url.host, url.port)
        self.default_port = 443 if url.scheme == "https" else 80  # what the header `Host` leaves out
        self._limited = _DeadlineSocket(sock, deadline)
        self.sock = self._limited

        self.was_used = False
        """Set by the caller after the first request."""

    def set_deadline(self, deadline: float, idle_seconds: float | None = None, head_limit: int | None = None) -> None:
        """Set the limits of a request.

        Args:
            deadline: when everything ends, on the clock `time.monotonic`.
            idle_seconds: how long one read may wait.
            head_limit: bytes that may come until `end_head`; more are an `http.client.HTTPException`.
        """
        limits = self._limited
        limits.deadline, limits.idle_seconds, limits.bytes_left = deadline, idle_seconds, head_limit

    def end_head(self, limit: int) -> None:
        """Begin with the body of the answer.

        Args:
            limit: bytes that may come with everything around the body, such as the sizes of its chunks.
        """
        self._limited.bytes_left = limit


def parse_http_url(text: str) -> HttpUrl:
    """Return a URL in its parts.

    Raises:
        HasCredentialsError: it has a user name or password.
        ValueError: it is not a URL of HTTP; the message is the reason.
    """
    if len(text) > _MAX_URL or _INVALID_CHARACTERS.search(text):
        raise ValueError("it is too long or has characters that a URL has not")
    parts = urlsplit(text)
    host = canonical_host(parts.hostname or "")
    if parts.scheme not in ("http", "https") or not host:
        raise ValueError("it does not begin with `https://` and a host")
    if parts.username is not None or parts.password is not None:
        raise HasCredentialsError("it has a user name or password")
    port = parts.port or (443 if parts.scheme == "https" else 80)
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    plain = parts._replace(fragment="").geturl()
    return HttpUrl(text=plain, scheme=parts.scheme, host=host, port=port, target=target)


def connect_http(url: HttpUrl, rules: NetworkRules, deadline: float) -> DeadlineConnection:
    """Connect to the server of a URL.

    Args:
        url: its scheme says whether TLS is used; certificates are those of the system, or of `SSL_CERT_FILE`.
        rules: which addresses may be reached.
        deadline: on the clock `time.monotonic`.

    Raises:
        HostRefusedError: the rules refuse the host or one of its addresses, or it does not exist.
        OSError: no address could be reached in time.
    """
    refusal = rules.refusal(url.host, url.port)
    addresses = () if refusal else look_up_host(url.host, url.port)
    refusal = refusal or rules.address_refusal(url.host, addresses)
    if refusal is not None:
        raise HostRefusedError(refusal.message, refusal.hint)
    problem: OSError | None = None
    for address in addresses[:MAX_ADDRESSES]:
        left = deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError("timed out")
        try:
            sock = socket.create_connection((address, url.port), timeout=left)
        except OSError as error:
            problem = error
            continue
        try:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if url.scheme == "https":
                sock = _tls_context(*map(os.environ.get, _TRUST_VARIABLES)).wrap_socket(sock, server_hostname=url.host)
        except OSError as error:
            sock.close()
            problem = error
            continue
        return DeadlineConnection(url, sock, deadline)
    raise problem or HostRefusedError(f"the host {quoted(url.host)} does not exist")


@cache
def _tls_context(*_trust: str | None) -> ssl.SSLContext:
    """Return the settings of TLS; OpenSSL reads the variables itself."""
    return ssl.create_default_context()
