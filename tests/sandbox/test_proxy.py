"""The proxy of a command: what it connects to, what it passes on, and what it says."""

from __future__ import annotations

import socket
import threading
import time
from contextlib import contextmanager
from socketserver import BaseRequestHandler
from typing import TYPE_CHECKING, Any

import pytest

from prowess.net import NetworkRules
from prowess.sandbox import _proxy as proxy
from support.growth import END
from support.loopback import LoopbackServer

if TYPE_CHECKING:
    from collections.abc import Iterator

OPEN = NetworkRules(allow_private=True)


class Recorder(BaseRequestHandler):
    """Answers each connection after its head, and records what came before its end."""

    received: list[bytes]

    def handle(self) -> None:
        data = b""
        self.request.settimeout(END)
        while b"\r\n\r\n" not in data:
            data += self.request.recv(65536)
        size = int(data.lower().partition(b"content-length: ")[2].partition(b"\r")[0] or 0)
        while len(data.partition(b"\r\n\r\n")[2]) < size:
            data += self.request.recv(65536)
        self.received.append(data)
        self.request.sendall(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nanswer")


class Echo(BaseRequestHandler):
    """Sends back what it receives."""

    def handle(self) -> None:
        while data := self.request.recv(65536):
            self.request.sendall(data)


@pytest.fixture
def site() -> Iterator[LoopbackServer]:
    handler = type("Handler", (Recorder,), {"received": []})
    with LoopbackServer(handler) as server:
        yield server


@contextmanager
def connection(rules: NetworkRules = OPEN) -> Iterator[socket.socket]:
    """Yield a connection to a proxy; at its end the proxy has finished it."""
    ours, theirs = socket.socketpair()
    errors: list[BaseException] = []

    def work() -> None:
        try:
            with theirs:
                proxy._serve_client(theirs, rules, lambda _: None)
        except OSError:
            pass
        except BaseException as error:  # noqa: BLE001 - for the test
            errors.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    ours.settimeout(END)
    try:
        yield ours
    finally:
        ours.close()
        thread.join(END)
    assert errors == []
    assert not thread.is_alive()


def read_all(client: socket.socket) -> bytes:
    """Return everything up to the end of a connection."""
    data = b""
    while part := client.recv(65536):
        data += part
    return data


def ask(request: bytes, rules: NetworkRules = OPEN) -> bytes:
    """Send a request and return the response."""
    with connection(rules) as client:
        client.sendall(request)
        return read_all(client)


def test_a_request_reaches_its_server(site: LoopbackServer) -> None:
    """The server's response is passed on as it is."""
    where = f"127.0.0.1:{site.port}".encode()
    answer = ask(b"POST http://%s/a?b HTTP/1.1\r\nHost: %s\r\nContent-Length: 4\r\n\r\nbody" % (where, where))
    assert answer == b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nanswer"
    assert site.RequestHandlerClass.received == [  # type: ignore[attr-defined]
        b"POST /a?b HTTP/1.1\r\nHost: %s\r\nContent-Length: 4\r\nConnection: close\r\n\r\nbody" % where
    ]


def test_a_body_may_arrive_later(site: LoopbackServer) -> None:
    """And in parts."""
    with connection() as client:
        client.sendall(b"POST http://127.0.0.1:%d/ HTTP/1.1\r\nContent-Length: 200000\r\n\r\n" % site.port)
        for _ in range(4):
            time.sleep(0.01)
            client.sendall(b"x" * 50_000)
        assert read_all(client).endswith(b"answer")
    assert site.RequestHandlerClass.received[0].endswith(b"\r\n\r\n" + b"x" * 200_000)  # type: ignore[attr-defined]


def test_a_tunnel_passes_bytes_both_ways() -> None:
    """Also those that follow the request at once, and after one side has finished."""
    data = bytes(range(256)) * 8000
    with LoopbackServer(Echo) as server, connection() as client:
        client.sendall(b"CONNECT 127.0.0.1:%d HTTP/1.1\r\n\r\nearly" % server.port)

        def send() -> None:
            client.sendall(data)
            client.shutdown(socket.SHUT_WR)

        thread = threading.Thread(target=send)
        thread.start()
        answer = read_all(client)
        thread.join()
    assert answer == b"HTTP/1.1 200 Connection established\r\n\r\nearly" + data


@pytest.mark.parametrize("method", ["CONNECT {0}:{1}", "GET http://{0}:{1}/"])
@pytest.mark.parametrize(
    ("rules", "host", "reason", "hint"),
    [
        (NetworkRules(), "127.0.0.1", "an address of this machine or its network", "allow_private: true"),
        (NetworkRules(named=("127.0.0.2",)), "127.0.0.1", "an address of this machine", "allow_private: true"),
        (NetworkRules(), "localhost", "an address of this machine or its network", "allow_private: true"),
        (NetworkRules(allowed=(("example.com",),)), "127.0.0.1", "not an allowed host: allowed are example.com", ""),
        (NetworkRules(blocked=("127.0.0.1",), allow_private=True), "127.0.0.1", "a blocked host", ""),
        (OPEN, "169.254.169.254", "link-local address", "naming it in `security.allowed_hosts`"),
        (OPEN, "127.1", "neither a name nor a standard IP address", ""),
        (OPEN, "0x7f.1", "neither a name nor a standard IP address", ""),
    ],
)
def test_a_refusal_says_why(
    rules: NetworkRules, host: str, reason: str, hint: str, method: str, site: LoopbackServer
) -> None:
    """In the first line too, since many programs show nothing else of it."""
    answer = ask(f"{method.format(host, site.port)} HTTP/1.1\r\n\r\n".encode(), rules).decode()
    first, _, rest = answer.partition("\r\n")
    assert first.startswith("HTTP/1.1 403 Refused by Prowess: ")
    assert reason in first
    assert reason in rest
    assert hint in rest
    assert site.RequestHandlerClass.received == []  # type: ignore[attr-defined]


@pytest.mark.parametrize("gap", [0.0, 0.05])
def test_a_connection_carries_one_request(gap: float, site: LoopbackServer) -> None:
    """A second one would not be checked, so it reaches nothing."""
    first = b"POST http://127.0.0.1:%d/ HTTP/1.1\r\nContent-Length: 2\r\n\r\nab" % site.port
    with connection() as client:
        client.sendall(first)
        time.sleep(gap)
        try:
            client.sendall(b"GET http://127.0.0.1:%d/second HTTP/1.1\r\nHost: other.example\r\n\r\n" % site.port)
            read_all(client)
        except OSError:
            pass
    assert not [data for data in site.RequestHandlerClass.received if b"second" in data]  # type: ignore[attr-defined]


def test_a_slow_or_endless_head_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proxy, "_HEAD_TIMEOUT", 0.1)
    assert b"did not arrive in time" in ask(b"GET http://example.com/ HTTP/1.1\r\n")
    assert b"is longer than 65,536 bytes" in ask(b"GET http://example.com/ HTTP/1.1\r\nA: " + b"a" * 66_000)
    with connection() as client:
        client.sendall(b"GET")
        client.shutdown(socket.SHUT_WR)
        assert read_all(client) == b""


@pytest.mark.parametrize(
    "data", [b"\x16\x03\x01\x02\x00\x01\r\n\r\n", b"\0" * 100 + b"\r\n\r\n", b"\r\n\r\n", b"SSH-2.0-x\r\n\r\n"]
)
def test_garbage_gets_an_error(data: bytes) -> None:
    assert ask(data).startswith(b"HTTP/1.1 400 Bad Request by Prowess: ")


def test_an_unreachable_host_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    answer = ask(b"CONNECT 127.0.0.1:%d HTTP/1.1\r\n\r\n" % port)
    assert b"502 Bad Gateway by Prowess: no connection to `127.0.0.1`, port %d: Connection refused" % port in answer
    resolve_to(monkeypatch)
    assert b"502 Bad Gateway by Prowess: host not found: `x.example`" in ask(b"CONNECT x.example:1 HTTP/1.1\r\n\r\n")


def resolve_to(monkeypatch: pytest.MonkeyPatch, *answers: tuple[str, ...]) -> list[str]:
    """Resolve names to one answer after the other; return the list of addresses that are connected to."""
    left, connected = list(answers), list[str]()

    def fake_getaddrinfo(host: str, port: int, **_: Any) -> list[Any]:
        if not left:
            raise socket.gaierror(-2, "no")
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)) for address in left.pop(0)]

    def fake_connect(address: tuple[str, int], _: float) -> socket.socket:
        connected.append(address[0])
        raise ConnectionRefusedError(111, "refused")

    monkeypatch.setattr(socket, "getaddrinfo", fake_getaddrinfo)
    monkeypatch.setattr(socket, "create_connection", fake_connect)
    return connected


def test_a_name_is_looked_up_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A name that leads elsewhere a moment later gains nothing (DNS rebinding)."""
    connected = resolve_to(monkeypatch, ("8.8.8.8", "1.1.1.1", "8.8.8.8"), ("127.0.0.1",))
    ask(b"CONNECT rebind.example:443 HTTP/1.1\r\n\r\n", NetworkRules())
    assert connected == ["8.8.8.8", "1.1.1.1"]


@pytest.mark.parametrize("address", ["127.0.0.1", "10.0.0.1", "169.254.169.254", "::1", "::ffff:10.0.0.1"])
def test_one_closed_address_closes_a_name(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Even if the role lists the name: its owner decides where it leads."""
    connected = resolve_to(monkeypatch, ("8.8.8.8", address))
    rules = NetworkRules(allowed=(("rebind.example",),), named=("rebind.example",))
    assert ask(b"CONNECT rebind.example:443 HTTP/1.1\r\n\r\n", rules).startswith(b"HTTP/1.1 403 ")
    assert connected == []
