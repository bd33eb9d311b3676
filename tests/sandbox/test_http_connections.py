"""Connections to servers of HTTP go to an address that was checked, and end at their deadline."""

from __future__ import annotations

import socketserver
import time

import pytest

from prowess.net import HasCredentialsError, HostRefusedError, NetworkRules, connect_http, parse_http_url
from support.growth import ends
from support.loopback import LoopbackServer

LOOPBACK = NetworkRules(named=("127.0.0.1",))


class Drip(socketserver.BaseRequestHandler):
    """Send a byte of the head now and then, without an end."""

    def handle(self) -> None:
        self.request.recv(1000)
        self.request.sendall(b"HTTP/1.1 200 OK\r\nX: ")
        while True:
            time.sleep(0.02)
            self.request.sendall(b"x")


def test_a_server_that_sends_a_byte_now_and_then_does_not_outlive_the_deadline() -> None:
    start = time.monotonic()
    with LoopbackServer(Drip) as server, ends():
        connection = connect_http(parse_http_url(server.url), LOOPBACK, start + 600)
        connection.set_deadline(start + 0.2)
        connection.request("GET", "/")
        with pytest.raises(TimeoutError):
            connection.getresponse()
        connection.close()


def test_a_url_is_split_into_what_a_request_needs() -> None:
    url = parse_http_url("https://Example.COM.:8443/a/b?c=secret#d")
    assert (url.origin, url.target) == (("https", "example.com", 8443), "/a/b?c=secret")
    assert url.shown == "https://Example.COM.:8443/a/b"
    assert parse_http_url("http://[::1]").origin == ("http", "::1", 80)


@pytest.mark.parametrize("text", ["", "ftp://a", "https://", "//a", "https://a b", "https://a\\b", "https://a:x", "é"])
def test_other_urls_are_invalid(text: str) -> None:
    with pytest.raises(ValueError, match=r"URL|url|host|long|[Pp]ort"):
        parse_http_url(text)


def test_a_password_in_a_url_is_refused() -> None:
    with pytest.raises(HasCredentialsError):
        parse_http_url("https://me:secret@example.com/")


def test_a_host_that_the_rules_refuse_is_not_connected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("socket.create_connection", lambda *_, **__: pytest.fail("connected"))
    with pytest.raises(HostRefusedError, match=r"`127\.0\.0\.1`"):
        connect_http(parse_http_url("http://127.0.0.1"), NetworkRules(), time.monotonic() + 5)
