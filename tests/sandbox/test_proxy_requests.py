"""What the proxy of a command accepts as a request, and what a server gets of it."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, strategies as st

from prowess.sandbox._proxy_requests import ProxyError, parse_head
from support.rows import rows


def head(first: str, *headers: str) -> bytes:
    return "\r\n".join((first, *headers)).encode("latin-1")


@pytest.mark.parametrize(("target", "host", "port"), rows(__file__, "a_tunnel_names_a_host_and_a_port"))
def test_a_tunnel_names_a_host_and_a_port(target: str, host: str, port: int) -> None:
    """Whether the host is allowed is decided later."""
    request = parse_head(head(f"CONNECT {target} HTTP/1.1", "Host: other.example", "Proxy-Authorization: Basic x"))
    assert (request.host.replace("127.0.0.1", "7f00:1"), request.port, request.head) == (host, port, b"")
    assert request.body_size is None


def test_a_server_gets_a_head_that_is_written_anew() -> None:
    """Without what is for the proxy, and with the host that was checked."""
    request = parse_head(
        head(
            "POST HTTP://Example.com:8080?q=1 HTTP/1.1",
            "host: EXAMPLE.com:8080",
            "Connection: keep-alive, X-Secret",
            "X-Secret: 1",
            "Proxy-Connection: keep-alive",
            "Proxy-Authorization: Basic x",
            "Keep-Alive: timeout=5",
            "TE: trailers",
            "Upgrade: websocket",
            "Content-Length:  3 ",
            "Accept:  */* ",
        )
    )
    assert (request.host, request.port, request.body_size) == ("example.com", 8080, 3)
    assert request.head == (
        b"POST /?q=1 HTTP/1.1\r\nHost: example.com:8080\r\naccept: */*\r\n"
        b"Content-Length: 3\r\nConnection: close\r\n\r\n"
    )
    bare = parse_head(head("GET http://[::1] HTTP/1.0"))
    assert bare.head == b"GET / HTTP/1.0\r\nHost: [::1]\r\nConnection: close\r\n\r\n"
    assert bare.body_size == 0


def test_connection_cannot_drop_the_length_of_a_body() -> None:
    """The server would read the body as a second request."""
    request = parse_head(
        head("POST http://a.example/ HTTP/1.1", "Connection: Content-Length, Host", "Content-Length: 9")
    )
    assert b"\r\nContent-Length: 9\r\n" in request.head
    assert b"\r\nHost: a.example\r\n" in request.head


@pytest.mark.parametrize(
    "lines",
    [
        *rows(__file__, "an_invalid_or_ambiguous_request_is_refused"),
        ["GET http://a.example/ HTTP/1.1", "A: \0"],
        ["\x16\x03\x01\x02\x00"],
    ],
)
def test_an_invalid_or_ambiguous_request_is_refused(lines: list[str]) -> None:
    """A server must not read another host, or a second request, out of what was checked."""
    with pytest.raises(ProxyError) as caught:
        parse_head(head(*lines))
    assert caught.value.status == 400


@pytest.mark.parametrize("value", ["chunked", "Chunked, identity", "identity", "xchunked", "\x0bchunked"])
def test_a_body_without_a_length_is_refused(value: str) -> None:
    """Two parties could disagree about its end."""
    with pytest.raises(ProxyError):
        parse_head(head("POST http://a.example/ HTTP/1.1", f"Transfer-Encoding: {value}", "Content-Length: 3"))


PARTS = [
    *(
        "GET ",
        "POST ",
        "CONNECT ",
        "http://",
        "https://",
        "a.example",
        "b.example",
        "127.0.0.1",
        "[::1]",
        ":80",
        "/",
        "?",
    ),
    *("@", "#", "\\", " ", " HTTP/1.1", "\r\n", "\n", "\r", "\0", "\t", ":", ",", "\xe9", "\x0b", "\x85", "x"),
    *("Host: a.example", "Content-Length: 5", "Connection: ", "Transfer-Encoding: chunked", "Proxy-A: b"),
]
match_sent_head = re.compile(
    rb"[A-Z-]+ /[^ \r\n]* HTTP/1\.[01]\r\n(Host: [^ \r\n@/\\]+\r\n)([!-9;-~]+: [^\r\n]*\r\n)*"
    rb"(Content-Length: [0-9]+\r\n)?Connection: close\r\n\r\n"
).fullmatch


@pytest.mark.slow
@given(
    st.lists(st.sampled_from(PARTS), max_size=12).map("".join),
    st.lists(st.sampled_from(PARTS), max_size=12).map("".join),
)
def test_what_a_server_gets_has_one_host_and_one_length(target: str, headers: str) -> None:
    """In whatever order the parts of a request come."""
    for first in (target, f"GET http://a.example/{target} HTTP/1.1", f"POST http://{target} HTTP/1.1\r\n{headers}"):
        try:
            request = parse_head(f"{first}\r\n{headers}".rstrip("\r\n").encode("latin-1"))
        except ProxyError:
            continue
        if request.head:
            sent = request.head.lower()
            assert match_sent_head(request.head), request.head
            assert sent.count(b"\r\nhost:") == 1
            assert sent.count(b"\r\ncontent-length:") <= 1
            assert b"\r\ntransfer-encoding:" not in sent
