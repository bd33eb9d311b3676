"""Send HTTP requests and download files, within limits and a deadline, to allowed addresses only.

Connect to a server of HTTP: to an address that the rules of the network allow, and never beyond a deadline.

The name of the host is looked up once, and the connection goes to an address that was checked. Proxies of the
environment are not used.

Write what a server sends to a file, hash it on the way, and continue where a connection broke.

    plain HTTP          only addresses of this machine
    private addresses   only of the host that the user wrote
    redirects           to the same origin; if the caller allows it to another public host, then without credentials
    repeated            429, 502, 503, 504 and dropped connections; a download continues where it stopped
    compression         is not asked for, and never undone

Credentials come from the caller, for the origin alone. No message contains a query, since that may be a secret.
"""

from __future__ import annotations

import http.client
import io
import os
import re
import socket
import ssl
import time
from contextlib import closing, suppress
from functools import cache
from urllib.parse import urljoin, urlsplit

from prowess._internal.frozen import Frozen
from prowess._internal.fs import write_all
from prowess._internal.text import PATH_LIMIT, describe_os_error, quoted, without_secrets
from prowess.errors import InstallError

from ._rules import MAX_ADDRESSES, NetworkRules, canonical_host, look_up_host

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from http.client import HTTPResponse
    from typing import BinaryIO, Self

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


BLOCK = 1 << 18
"""Bytes that are read at a time."""


class DroppedError(Exception):
    """The server could not be reached, or the connection broke; the message is the reason."""


class Download:
    """A file that is being downloaded, perhaps in several answers."""

    def __init__(self, fd: int, limit: int, *, immutable: bool) -> None:
        self._fd, self._limit, self._immutable = fd, limit, immutable
        self._etag: str | None = None
        self._restart()

    def _restart(self) -> None:
        import hashlib

        self._hash, self.size = hashlib.sha256(), 0
        os.ftruncate(self._fd, 0)
        os.lseek(self._fd, 0, os.SEEK_SET)

    def sha256(self) -> str:
        return self._hash.hexdigest()

    def headers(self) -> dict[str, str]:
        """Return the headers that ask for the rest of the file."""
        if self.size == 0 or (self._etag is None and not self._immutable):
            return {}
        check = {} if self._etag is None else {"If-Range": self._etag}
        return {"Range": f"bytes={self.size}-", **check}

    def read(self, url: HttpUrl, answer: HTTPResponse, headers: Mapping[str, str]) -> None:
        """Write the body of an answer to the file.

        Raises:
            InstallError: it is larger than the limit, or the server continues with another part of the file.
            DroppedError: it is not complete.
        """
        begin = f"bytes {self.size}-"
        if answer.status == 206 and (self.size == 0 or not headers.get("content-range", "").startswith(begin)):
            raise failed(url, "it sent a part of the file that was not asked for")
        if answer.status == 200:
            self._restart()
            etag = headers.get("etag", "")
            self._etag = etag if etag.startswith('"') else None  # a weak one does not tell bytes apart
        left = answer.length
        if left is not None and self.size + left > self._limit:
            raise too_large(url, self._limit)
        while block := answer.read(BLOCK):
            self.size += len(block)
            left = None if left is None else left - len(block)
            if self.size > self._limit:
                raise too_large(url, self._limit)
            self._hash.update(block)
            self._write(block)
        if left:
            raise DroppedError("the connection was closed in the middle of its answer")

    def _write(self, block: bytes) -> None:
        try:
            write_all(self._fd, block)
        except OSError as error:
            reason = describe_os_error(error)
            raise InstallError(f"cannot write a download: {reason}", hint="make room on the disk") from None


def too_large(url: HttpUrl, limit: int) -> InstallError:
    """Return the error for an answer of more than so many bytes."""
    return failed(url, f"it sent more than {limit:,} bytes")


def failed(url: HttpUrl, reason: str) -> InstallError:
    """Return the error for a server that did not give what was asked for."""
    hint = "check the address, or try again later"
    return InstallError(f"cannot fetch {quoted(url.shown, PATH_LIMIT)}: {reason}", hint=hint)


_ATTEMPTS = 6
_FIRST_PAUSE = 0.1
"""Seconds before the second attempt; twice as long before each further one."""
_MAX_RETRY_AFTER = 30.0
_IDLE_SECONDS = 60.0
_RETRIED = (429, 502, 503, 504)
_REDIRECTS = (301, 302, 303, 307, 308)
_MAX_REDIRECTS = 5
_MAX_HEAD = 64 << 10
_MAX_ERROR_BODY = 64 << 10
_OVERHEAD = 8
"""Bytes that a server may send for each one that it can give: chunks of a few bytes each are allowed."""
_PRIVATE_HINT = "write the address of the server itself in the source if it is in your own network"
_KEPT_ELSEWHERE = ("accept", "accept-encoding", "range", "if-range", "user-agent")
"""The headers that another host gets."""
_pause = time.sleep


class Response(Frozen):
    """What a server answered."""

    status: int
    headers: Mapping[str, str]
    """By name in lower case; several of one name are joined with a comma."""
    body: bytes
    """Empty if it was written to a file; at most 64 KB if the status is an error."""
    size: int
    """Bytes of the body."""
    sha256: str | None = None
    """Of a body that was written to a file, in hexadecimal."""
    url: HttpUrl
    """Where it came from, after redirects."""


class _Request(Frozen):
    """A request, as `HttpSource.request` got it."""

    method: str
    headers: Mapping[str, str]
    body: bytes | BinaryIO | None
    limit: int
    deadline: float
    download: Download | None
    to_other_hosts: bool

    def headers_for(self, *, is_own: bool) -> dict[str, str]:
        """Return the headers for the server of the request, or for another."""
        headers = {name: text for name, text in self.headers.items() if is_own or name.lower() in _KEPT_ELSEWHERE}
        if self.download is not None:
            headers.update(self.download.headers())
        if self.body is not None:
            size = len(self.body) if isinstance(self.body, bytes) else os.fstat(self.body.fileno()).st_size
            headers["Content-Length"] = str(size)
        return headers


class HttpSource:
    """A web server. Use it in one thread at a time, and close it at the end; a connection is kept for the next request.

    Args:
        url: of the server, or of anything on it.
        named: the host that the user wrote, if it is not that of the URL: others have no private addresses.

    Raises:
        InstallError: the URL is invalid, or not encrypted.
    """

    def __init__(self, url: str, *, named: str | None = None) -> None:
        self.url = server_url(url)
        self._named = self.url.host if named is None else named
        self._connections: dict[tuple[str, str, int], DeadlineConnection] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        while self._connections:
            _, connection = self._connections.popitem()
            with suppress(OSError):
                connection.close()

    def request(
        self,
        method: str,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        body: bytes | BinaryIO | None = None,
        limit: int,
        deadline: float,
        into: int | None = None,
        immutable: bool = False,
        to_other_hosts: bool = False,
    ) -> Response:
        """Send a request and return what the server answers, whatever its status.

        Args:
            method: such as `GET`.
            url: a path on this server, or a URL of the same origin.
            headers: further headers; credentials are among them, and go to this origin alone.
            body: what is sent; a file is sent from its beginning.
            limit: bytes of the answer's body at most.
            deadline: when it must be complete, on the clock `time.monotonic`.
            into: a file open for writing, empty: gets the body of a 200, in place of `Response.body`.
            immutable: whether the URL always has the same bytes, so that a download may continue without an `ETag`.
            to_other_hosts: whether redirects may lead to another public host.

        Raises:
            InstallError: there was no complete answer in time, it is larger than the limit, or it breaks a rule.
        """
        first = self._resolve(self.url, url, to_other_hosts=False)
        request = _Request(
            method=method,
            headers={"Accept-Encoding": "identity", "User-Agent": "prowess", **(headers or {})},
            body=body,
            limit=limit,
            deadline=deadline,
            download=None if into is None else Download(into, limit, immutable=immutable),
            to_other_hosts=to_other_hosts and method in ("GET", "HEAD"),
        )
        pause = _FIRST_PAUSE
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                response = self._follow(first, request)
            except DroppedError as error:
                if attempt == _ATTEMPTS or method == "POST" or time.monotonic() + pause >= deadline:
                    raise failed(first, str(error)) from None
                wait = pause
            else:
                if response.status not in _RETRIED or attempt == _ATTEMPTS:
                    return response
                wait = max(pause, _retry_after(response))
                if wait > _MAX_RETRY_AFTER or time.monotonic() + wait >= deadline:
                    return response
            _pause(wait * (0.75 + os.urandom(1)[0] / 512))  # not all clients at the same moment
            pause *= 2
        raise AssertionError("unreachable")

    def _follow(self, url: HttpUrl, request: _Request) -> Response:
        """Send a request, and again to where it is redirected."""
        for _ in range(_MAX_REDIRECTS + 1):
            try:
                with closing(self._send(url, request)) as answer:
                    location = answer.getheader("Location")
                    if answer.status not in _REDIRECTS or location is None:
                        return self._read(url, answer, request)
            except (OSError, http.client.HTTPException, ValueError) as error:
                self._drop(url)
                raise _dropped(url, error, request.deadline) from None
            except BaseException:
                self._drop(url)
                raise
            self._drop(url)
            if request.method not in ("GET", "HEAD") and answer.status not in (307, 308):
                raise failed(url, f"it redirects with the status {answer.status}, which drops the request")
            url = self._resolve(url, location, to_other_hosts=request.to_other_hosts)
        raise failed(url, "it redirects again and again")

    def _resolve(self, base: HttpUrl, location: str, *, to_other_hosts: bool) -> HttpUrl:
        """Return the URL that a reference leads to, if it may.

        Raises:
            InstallError: it is invalid, or on another server.
        """
        try:
            target = parse_http_url(urljoin(base.text, location))
        except ValueError:
            raise failed(base, "it redirects to an invalid URL") from None
        if target.origin != self.url.origin:
            if not to_other_hosts:
                raise failed(base, f"it redirects to another host, {quoted(target.host)}, which is refused")
            if target.scheme != "https" and not (target.host == self.url.host and self.url.scheme == "http"):
                raise failed(base, f"it redirects to {quoted(target.host)} without encryption, which is refused")
        return target

    def _connection(self, url: HttpUrl, deadline: float) -> DeadlineConnection:
        kept = self._connections.get(url.origin)
        if kept is not None:
            return kept
        is_named = url.host == self._named
        named = (url.host,) if is_named else ()
        rules = NetworkRules(named=named, allow_private=is_named, private_hint=_PRIVATE_HINT)
        try:
            connection = self._connections[url.origin] = connect_http(url, rules, deadline)
        except HostRefusedError as error:
            raise InstallError(f"cannot reach {quoted(url.shown, PATH_LIMIT)}: {error}", hint=error.hint) from None
        return connection

    def _send(self, url: HttpUrl, request: _Request) -> http.client.HTTPResponse:
        connection = self._connection(url, request.deadline)
        was_kept, connection.was_used = connection.was_used, True
        connection.set_deadline(request.deadline, _IDLE_SECONDS, _MAX_HEAD)
        headers = request.headers_for(is_own=url.origin == self.url.origin)
        if request.body is not None and not isinstance(request.body, bytes):
            request.body.seek(0)
        try:
            try:
                connection.request(request.method, url.target, request.body, headers)
            except (BrokenPipeError, ConnectionResetError):
                if was_kept:
                    raise  # otherwise the server may have answered before it read everything
            return connection.getresponse()
        except ConnectionError:
            if not was_kept:
                raise
        self._drop(url)  # a connection that was kept may have been closed meanwhile
        return self._send(url, request)

    def _read(self, url: HttpUrl, answer: http.client.HTTPResponse, request: _Request) -> Response:
        """Read the body of an answer, and keep the connection if all of it was read."""
        headers: dict[str, str] = {}
        for name, text in answer.headers.items():
            name = name.lower()
            headers[name] = f"{headers[name]}, {text}" if name in headers else text
        body_limit = request.limit if answer.status < 400 else _MAX_ERROR_BODY
        self._connections[url.origin].end_head(_OVERHEAD * (body_limit + BLOCK))
        declared, download = answer.length, request.download
        into_file = download is not None and answer.status in (200, 206)
        if not into_file and answer.status < 400 and headers.get("content-encoding", "identity").lower() != "identity":
            raise failed(url, "it sent a compressed answer, which was not asked for")
        if download is not None and into_file:
            download.read(url, answer, headers)
            body, size, sha256 = b"", download.size, download.sha256()
        else:
            body = _read_body(url, answer, request.limit if answer.status < 400 else None)
            if declared is not None and len(body) < declared and answer.status < 400:
                raise DroppedError("the connection was closed in the middle of its answer")
            size, sha256 = len(body), None
        if answer.will_close or not answer.isclosed():
            self._drop(url)
        status = 200 if into_file else answer.status
        return Response(status=status, headers=headers, body=body, size=size, sha256=sha256, url=url)

    def _drop(self, url: HttpUrl) -> None:
        connection = self._connections.pop(url.origin, None)
        if connection is not None:
            with suppress(OSError):
                connection.close()


def server_url(text: str) -> HttpUrl:
    """Return a URL in its parts.

    Raises:
        InstallError: it is invalid, or not encrypted although it leads to another machine.
    """
    import ipaddress

    try:
        url = parse_http_url(text)
    except ValueError as error:
        hint = "write one such as `https://example.com`"
        raise InstallError(f"invalid URL {quoted(without_secrets(text), PATH_LIMIT)}: {error}", hint=hint) from None
    is_own = url.host == "localhost"
    with suppress(ValueError):
        is_own = is_own or ipaddress.ip_address(url.host).is_loopback
    if url.scheme == "http" and not is_own:
        hint = "use `https://`; `http://` is for this machine only"
        raise InstallError(f"the URL {quoted(url.shown, PATH_LIMIT)} is not encrypted", hint=hint)
    return url


def _read_body(url: HttpUrl, answer: http.client.HTTPResponse, limit: int | None) -> bytes:
    """Return the body; without a limit its beginning."""
    if limit is None:
        return answer.read(_MAX_ERROR_BODY)
    if answer.length is not None and answer.length > limit:
        raise too_large(url, limit)
    blocks, size = [], 0
    while block := answer.read(min(BLOCK, limit + 1 - size)):
        blocks.append(block)
        size += len(block)
        if size > limit:
            raise too_large(url, limit)
    return b"".join(blocks)


def _retry_after(response: Response) -> float:
    text = response.headers.get("retry-after", "")
    return float(text) if text.isascii() and text.isdigit() and len(text) < 10 else 0.0


def _dropped(url: HttpUrl, error: Exception, deadline: float) -> Exception:
    if time.monotonic() >= deadline:
        return failed(url, "it did not answer in time")
    if isinstance(error, http.client.RemoteDisconnected):
        return DroppedError("it closed the connection without an answer")
    if isinstance(error, ssl.SSLCertVerificationError):
        hint = "`SSL_CERT_FILE` names the file of further certificates"
        return InstallError(f"cannot trust {quoted(url.shown, PATH_LIMIT)}: {error.verify_message}", hint=hint)
    if isinstance(error, OSError):
        return DroppedError(describe_os_error(error))
    if isinstance(error, http.client.IncompleteRead):
        return DroppedError("the connection was closed in the middle of its answer")
    return failed(url, "it does not speak HTTP")
