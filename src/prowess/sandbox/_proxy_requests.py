r"""Parse the head of a request to the proxy, as strictly as the strictest server would.

request = CONNECT " " host ":" port " HTTP/1." minor CRLF headers CRLF
        | method " http://" host [":" port] [path] " HTTP/1." minor CRLF headers CRLF body

One connection carries one request. Its body has the length that its head says, and the head that the server gets is
written anew, so that the server cannot read two requests where the proxy has checked one.
"""

from __future__ import annotations

import re

from prowess._internal.frozen import Frozen
from prowess.net import canonical_host

_AUTHORITY = rb"(?P<host>\[[0-9A-Fa-f:.]{2,45}\]|[A-Za-z0-9_.-]{1,255})"
_match_request_line = re.compile(rb"([A-Z][A-Z-]{0,30}) ([!-~\x80-\xff]+) (HTTP/1\.[01])").fullmatch
_match_tunnel = re.compile(_AUTHORITY + rb":(?P<port>[0-9]{1,5})").fullmatch
_match_url = re.compile(rb"(?i:http)://" + _AUTHORITY + rb"(:(?P<port>[0-9]{1,5}))?(?P<path>([/?][^#]*)?)").fullmatch
_match_host_header = re.compile(_AUTHORITY + rb"(:(?P<port>[0-9]{1,5}))?").fullmatch
_match_header = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([\t\x20-\x7e\x80-\xff]*)").fullmatch
_match_length = re.compile(rb"[0-9]{1,15}").fullmatch
_HOP_HEADERS = frozenset((b"connection", b"keep-alive", b"te", b"trailer", b"upgrade", b"host", b"content-length"))
"""Headers for the proxy itself, and those that it writes anew; so are all that begin with `proxy-`."""
_FORM = "send `CONNECT HOST:PORT` or `GET http://HOST/PATH`"


class ProxyError(Exception):
    """The proxy does not serve a request.

    Args:
        status: of the response.
        message: for the command and the model.
        hint: what the user can do.
    """

    def __init__(self, status: int, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.status, self.hint = status, hint


class ProxyRequest(Frozen):
    """What a client wants."""

    host: str
    """As `canonical_host` returns it."""
    port: int
    head: bytes
    """The head for the server; empty for a tunnel."""
    body_size: int | None
    """Bytes; `None` for a tunnel, which has no end."""


def parse_head(head: bytes) -> ProxyRequest:
    """Parse the head of a request, without its last empty line.

    Raises:
        ProxyError: it is invalid, or has a form that the proxy does not serve.
    """
    first, *lines = head.split(b"\r\n")
    line = _match_request_line(first)
    if line is None:
        raise ProxyError(400, f"invalid request line; {_FORM}")
    method, target, version = line.groups()
    headers = [_parse_header(line) for line in lines]
    if method == b"CONNECT":
        authority = _match_tunnel(target)
        if authority is None:
            raise ProxyError(400, f"invalid address of a tunnel; {_FORM}")
        return ProxyRequest(host=_host(authority), port=_port(authority, 443), head=b"", body_size=None)
    url = _match_url(target)
    if url is None:
        raise ProxyError(400, f"this is a proxy: invalid URL; {_FORM}, without a user name")
    host, port = _host(url), _port(url, 80)
    for name, value in headers:
        if name == b"host":
            named = _match_host_header(value)
            if named is None or (_host(named), _port(named, 80)) != (host, port):
                raise ProxyError(400, "the header `Host` names another host than the URL")
    size = _body_size(headers)
    path = url["path"] if url["path"].startswith(b"/") else b"/" + url["path"]
    head = _write_head(b" ".join((method, path, version)), host, port, headers, size)
    return ProxyRequest(host=host, port=port, head=head, body_size=size or 0)


def _parse_header(line: bytes) -> tuple[bytes, bytes]:
    """Return the name, in lower case, and the value of a header.

    Raises:
        ProxyError: the line is invalid.
    """
    header = _match_header(line)
    if header is None:
        raise ProxyError(400, "invalid header")
    return header[1].lower(), header[2].rstrip(b" \t")


def _host(authority: re.Match[bytes]) -> str:
    return canonical_host(authority["host"].decode("ascii"))


def _port(authority: re.Match[bytes], default: int) -> int:
    """Return the port of an authority.

    Raises:
        ProxyError: it is out of range.
    """
    port = default if authority["port"] is None else int(authority["port"])
    if not 0 < port < 65536:
        raise ProxyError(400, f"invalid port: {port}")
    return port


def _body_size(headers: list[tuple[bytes, bytes]]) -> int | None:
    """Return the size of a body; `None` if the head gives no size.

    Raises:
        ProxyError: its size is unclear.
    """
    sizes = [value for name, value in headers if name == b"content-length"]
    if any(name == b"transfer-encoding" for name, _ in headers):
        raise ProxyError(411, "a body without `Content-Length` is not supported; use HTTPS, or send its length")
    if len(sizes) > 1 or not all(map(_match_length, sizes)):
        raise ProxyError(400, "invalid `Content-Length`")
    return int(sizes[0]) if sizes else None


def _write_head(first: bytes, host: str, port: int, headers: list[tuple[bytes, bytes]], size: int | None) -> bytes:
    """Return the head that the server gets."""
    dropped = {*_HOP_HEADERS, *_connection_options(headers)}
    authority = (f"[{host}]" if ":" in host else host) + ("" if port == 80 else f":{port}")
    lines = [first, b"Host: " + authority.encode()]
    lines += [b": ".join(header) for header in headers if header[0] not in dropped and header[0][:6] != b"proxy-"]
    if size is not None:
        lines.append(b"Content-Length: %d" % size)
    return b"\r\n".join((*lines, b"Connection: close", b"", b""))


def _connection_options(headers: list[tuple[bytes, bytes]]) -> list[bytes]:
    """Return the names of headers that are for the proxy because `Connection` lists them."""
    lists = [value for name, value in headers if name in (b"connection", b"proxy-connection")]
    return [option.strip().lower() for value in lists for option in value.split(b",")]
