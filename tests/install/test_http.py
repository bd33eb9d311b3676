"""A web server gives what it was asked for, within limits; everything else is an error, never a hang."""

from __future__ import annotations

import hashlib
import itertools
import os
import subprocess
import time
from typing import TYPE_CHECKING, Any

import pytest

from prowess.errors import InstallError
from prowess.net import _client as _http, look_up_host
from prowess.net._client import HttpSource, Response
from support.growth import ends
from support.raw_http import RawServer, Request, answer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

DATA = os.urandom(200_000)


@pytest.fixture(autouse=True)
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The pauses between attempts, which are not waited for."""
    pauses: list[float] = []
    monkeypatch.setattr(_http, "_pause", pauses.append)
    return pauses


def get(source: HttpSource, url: str = "/file", seconds: float = 10, **options: Any) -> Response:
    options = {"limit": 1 << 20, **options}
    return source.request("GET", url, deadline=time.monotonic() + seconds, **options)


def fetch(respond: Callable[[Request], Any], **options: Any) -> Response:
    with RawServer(respond) as server, HttpSource(server.url) as source:
        return get(source, **options)


@pytest.fixture
def file(tmp_path: Path) -> Iterator[int]:
    fd = os.open(tmp_path / "download", os.O_RDWR | os.O_CREAT | os.O_EXCL)
    yield fd
    os.close(fd)


def content(fd: int) -> bytes:
    return os.pread(fd, 1 << 24, 0)


# ── requests ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_an_answer_has_status_headers_and_body() -> None:
    response = fetch(lambda _: answer(b"hi", 404, WWW_Authenticate="Basic") + b"")
    assert (response.status, response.body, response.headers["www-authenticate"]) == (404, b"hi", "Basic")


def test_headers_of_one_name_are_joined() -> None:
    response = fetch(lambda _: b"HTTP/1.1 200 OK\r\nX-A: 1\r\nx-a: 2\r\nContent-Length: 0\r\n\r\n")
    assert response.headers["x-a"] == "1, 2"


def test_a_connection_is_kept_for_the_next_request() -> None:
    with RawServer(lambda _: answer(b"hi")) as server, HttpSource(server.url) as source:
        assert [get(source).body for _ in range(3)] == [b"hi"] * 3
        assert {request.connection for request in server.requests} == {1}


def test_a_kept_connection_that_was_closed_is_opened_again() -> None:
    """The server may close it at any time."""

    def respond(request: Request) -> Any:
        return (answer(b"hi"), RawServer.CLOSE)

    with RawServer(respond) as server, HttpSource(server.url) as source:
        assert [get(source).body for _ in range(3)] == [b"hi"] * 3


def test_an_etag_saves_the_body() -> None:
    def respond(request: Request) -> bytes:
        return answer(status=304) if request.headers.get("if-none-match") == '"1"' else answer(b"x", ETag='"1"')

    with RawServer(respond) as server, HttpSource(server.url) as source:
        etag = get(source).headers["etag"]
        assert get(source, headers={"If-None-Match": etag}).status == 304


def test_a_body_is_sent_from_bytes_and_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "body"
    path.write_bytes(DATA)
    with RawServer(lambda _: answer(status=201)) as server, HttpSource(server.url) as source, path.open("rb") as file:
        for body in (DATA, file, file):
            deadline = time.monotonic() + 10
            assert source.request("PUT", "/x", body=body, limit=0, deadline=deadline).status == 201
        assert [request.body == DATA for request in server.requests] == [True] * 3


def test_no_compressed_answer_is_asked_for_or_read() -> None:
    with RawServer(lambda _: answer(b"x", Content_Encoding="gzip")) as server, HttpSource(server.url) as source:
        with pytest.raises(InstallError, match="a compressed answer"):
            get(source)
        assert server.requests[0].headers["accept-encoding"] == "identity"


def test_a_download_is_what_the_server_sent_whatever_it_says_of_compression(file: int) -> None:
    """Some servers say `gzip` for a file that ends in `.gz`; its digest is that of the compressed bytes."""
    response = fetch(lambda _: answer(DATA, Content_Encoding="x-gzip"), into=file)
    assert content(file) == DATA
    assert response.sha256 == hashlib.sha256(DATA).hexdigest()


# ── limits ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def endless(_: Request) -> Iterator[bytes]:
    yield b"HTTP/1.1 200 OK\r\n\r\n"
    while True:
        yield b"x" * 65536


def endless_chunks(_: Request) -> Iterator[bytes]:
    yield b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    while True:
        yield b"1000\r\n" + b"x" * 4096 + b"\r\n"


def endless_trailer(_: Request) -> Iterator[bytes]:
    yield b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n"
    while True:
        yield b"X: " + b"x" * 60_000 + b"\r\n"


def endless_head(_: Request) -> Iterator[bytes]:
    yield b"HTTP/1.1 200 OK\r\n"
    for number in itertools.count():
        yield b"X-%d: %s\r\n" % (number, b"x" * 1000)


def endless_continue(_: Request) -> Iterator[bytes]:
    while True:
        yield b"HTTP/1.1 100 Continue\r\n\r\n" * 100


def drip(_: Request) -> Iterator[bytes]:
    yield b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n"
    while True:
        time.sleep(0.02)
        yield b"x"


@pytest.mark.parametrize(
    ("respond", "reason"),
    [
        (endless, "it sent more than 10,000 bytes"),
        (endless_chunks, "it sent more than 10,000 bytes"),
        (lambda _: answer(b"x" * 10_001), "it sent more than 10,000 bytes"),
        (lambda _: answer(content_length=10**15), "it sent more than 10,000 bytes"),
        (endless_head, "it does not speak HTTP"),
        (endless_trailer, "it does not speak HTTP"),
        (endless_continue, "it does not speak HTTP"),
        (lambda _: answer(WWW_Authenticate="Bearer " + "x" * 70_000), "it does not speak HTTP"),
        (lambda _: b"SSH-2.0-x\r\n", "it does not speak HTTP"),
        (lambda _: b"HTTP/1.1 abc\r\n\r\n", "it does not speak HTTP"),
        (drip, "it did not answer in time"),
        (lambda _: None, "it closed the connection without an answer"),
        (lambda _: (answer(b"abc", content_length=9), None), "the connection was closed in the middle of its answer"),
        (lambda _: answer(status=302, Location="/file"), "it redirects again and again"),
        (lambda _: answer(status=302, Location="ftp://x"), "it redirects to an invalid URL"),
        (lambda _: answer(status=302, Location="https://me:secret@x/"), "it redirects to an invalid URL"),
        (lambda _: answer(status=302, Location="https://example.com/"), "it redirects to another host, `example.com`"),
        (lambda _: answer(status=302, Location="http://127.0.0.1:1/"), "it redirects to another host, `127.0.0.1`"),
    ],
)
@pytest.mark.parametrize("to_file", [False, True])
def test_a_server_cannot_send_too_much_or_too_long(
    respond: Callable[[Request], Any], reason: str, to_file: bool, file: int
) -> None:
    with ends():
        seconds = 0.3 if respond is drip else 10
        with pytest.raises(InstallError, match=reason):
            fetch(respond, limit=10_000, seconds=seconds, into=file if to_file else None)


def test_an_error_has_the_beginning_of_a_long_body() -> None:
    assert len(fetch(lambda _: (answer(b"x" * 100_000, 500), None)).body) == 64 << 10


# ── attempts ─────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("status", [429, 502, 503, 504])
def test_a_busy_server_is_asked_again(status: int, pauses: list[float]) -> None:
    response = fetch(lambda request: answer(b"ok") if request.number == 4 else answer(status=status))
    assert response.body == b"ok"
    assert len(pauses) == 3
    assert pauses == sorted(pauses)


def test_a_server_that_stays_busy_gives_its_last_answer(pauses: list[float]) -> None:
    assert fetch(lambda _: answer(b"no", 503)).status == 503
    assert len(pauses) == 5


def test_a_mirror_that_drops_half_of_the_connections_works(file: int) -> None:
    respond = lambda request: answer(DATA) if request.number % 2 == 0 else None  # noqa: E731
    fetch(respond, into=file)
    assert content(file) == DATA


def test_the_server_says_when_to_ask_again(pauses: list[float]) -> None:
    fetch(lambda request: answer(status=503, Retry_After="7") if request.number == 1 else answer(b"ok"), seconds=60)
    assert 5 < pauses[0] < 10


@pytest.mark.parametrize("after", ["31", "99999999999", "never", "-1"])
def test_no_server_makes_anyone_wait_for_long(after: str, pauses: list[float]) -> None:
    fetch(lambda request: answer(status=503, Retry_After=after) if request.number == 1 else answer(b"ok"), seconds=60)
    assert sum(pauses) < 1


def test_what_may_have_been_done_is_not_sent_twice() -> None:
    with RawServer(lambda _: None) as server, HttpSource(server.url) as source:
        with pytest.raises(InstallError):
            source.request("POST", "/x", body=b"x", limit=0, deadline=time.monotonic() + 5)
        assert len(server.requests) == 1


# ── downloads that continue ──────────────────────────────────────────────────────────────────────────────────────────


def in_parts(request: Request, **headers: object) -> Any:
    """Send at most 70,000 bytes, then close the connection."""
    start = int(request.headers.get("range", "bytes=0-").removeprefix("bytes=").removesuffix("-"))
    part = DATA[start : start + 70_000]
    more = {"Content_Range": f"bytes {start}-{len(DATA) - 1}/{len(DATA)}"} if start else {}
    return answer(part, 206 if start else 200, content_length=len(DATA) - start, **more, **headers), None


def test_a_download_continues_where_it_broke(file: int) -> None:
    with RawServer(lambda request: in_parts(request, ETag='"1"')) as server, HttpSource(server.url) as source:
        response = get(source, into=file)
        ranges = [(request.headers.get("range"), request.headers.get("if-range")) for request in server.requests]
    assert content(file) == DATA
    assert (response.status, response.size, response.sha256) == (200, len(DATA), hashlib.sha256(DATA).hexdigest())
    assert ranges == [(None, None), ("bytes=70000-", '"1"'), ("bytes=140000-", '"1"')]


def test_an_immutable_file_continues_without_an_etag(file: int) -> None:
    fetch(in_parts, into=file, immutable=True)
    assert content(file) == DATA


@pytest.mark.parametrize("etag", [None, 'W/"1"'])
def test_a_file_that_may_change_begins_again(etag: str | None, file: int) -> None:
    """Two halves of different files are no file."""

    def respond(request: Request) -> Any:
        assert "range" not in request.headers
        return answer(DATA, ETag=etag) if request.number == 3 else (answer(b"old", content_length=9, ETag=etag), None)

    fetch(respond, into=file)
    assert content(file) == DATA


def test_a_file_that_changed_meanwhile_begins_again(file: int) -> None:
    def respond(request: Request) -> Any:
        return in_parts(request, ETag='"1"') if request.number == 1 else answer(DATA[::-1], ETag='"2"')

    response = fetch(respond, into=file)
    assert content(file) == DATA[::-1]
    assert response.sha256 == hashlib.sha256(DATA[::-1]).hexdigest()


def test_another_part_than_asked_for_is_an_error(file: int) -> None:
    with pytest.raises(InstallError, match="a part of the file that was not asked for"):
        fetch(lambda _: answer(b"x", 206, Content_Range="bytes 5-5/6"), into=file)


# ── other hosts ──────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_redirect_on_the_same_server_keeps_credentials() -> None:
    def respond(request: Request) -> bytes:
        return answer(b"ok") if request.target == "/b?c" else answer(status=307, Location="b?c")

    with RawServer(respond) as server, HttpSource(server.url) as source:
        assert get(source, "/a", headers={"Authorization": "secret"}).body == b"ok"
        assert [request.headers.get("authorization") for request in server.requests] == ["secret", "secret"]


def test_another_server_gets_no_credentials() -> None:
    with RawServer(lambda _: answer(b"ok")) as other:
        redirect = lambda _: answer(status=302, Location=f"{other.url}/b")  # noqa: E731
        with RawServer(redirect) as server, HttpSource(server.url) as source:
            sent = {"Authorization": "secret", "Cookie": "secret", "Accept": "a/b"}
            assert get(source, headers=sent, to_other_hosts=True).body == b"ok"
        assert "secret" not in str(other.requests)
        assert other.requests[0].headers["accept"] == "a/b"


@pytest.mark.parametrize(
    ("location", "reason"),
    [
        ("https://10.0.0.7/", "`10.0.0.7` is an address of this machine or its network"),
        ("https://169.254.169.254/latest", "a place of a cloud's credentials"),
        ("https://metadata.google.internal/", "a place of a cloud's credentials"),
        ("https://[::1]/", "`::1` is an address of this machine"),
        ("https://[::ffff:127.0.0.1]/", "is an address of this machine"),
        ("https://0x7f000001/", "neither a name nor a standard IP address"),
        ("https://localhost/", "`localhost` is an address of this machine"),
        ("http://example.com/", "without encryption"),
    ],
)
def test_no_redirect_leads_to_a_private_address(location: str, reason: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_http, "look_up_host", lambda host, _: (host,))
    with pytest.raises(InstallError) as caught:
        fetch(lambda _: answer(status=302, Location=location), to_other_hosts=True)
    assert reason in str(caught.value)


@pytest.mark.parametrize("addresses", [("10.0.0.7",), ("93.184.215.14", "10.0.0.7"), ("169.254.169.254",)])
def test_a_name_of_another_host_that_leads_to_a_private_address_is_refused(
    addresses: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    real = look_up_host
    look_up = lambda host, port: addresses if host == "cdn.example.com" else real(host, port)  # noqa: E731
    monkeypatch.setattr(_http, "look_up_host", look_up)
    with pytest.raises(InstallError, match="not allowed"):
        fetch(lambda _: answer(status=302, Location="https://cdn.example.com/x"), to_other_hosts=True)


def test_the_host_that_the_user_wrote_may_be_private(monkeypatch: pytest.MonkeyPatch) -> None:
    """A registry of a company has a name of the public DNS and an address of its network."""
    connected: list[object] = []

    def connect(address: object, **_: object) -> None:
        connected.append(address)
        raise ConnectionRefusedError("refused")

    monkeypatch.setattr(_http, "look_up_host", lambda *_: ("10.0.0.7",))
    monkeypatch.setattr("socket.create_connection", connect)
    with HttpSource("https://registry.example.com") as source, pytest.raises(InstallError, match="refused"):
        get(source)
    assert set(connected) == {("10.0.0.7", 443)}


@pytest.mark.parametrize("url", ["http://example.com", "http://10.0.0.7", "http://0.0.0.0", "ftp://a", "https://", "é"])
def test_a_url_of_another_machine_is_encrypted(url: str) -> None:
    with pytest.raises(InstallError):
        HttpSource(url)


def test_messages_contain_no_query_and_no_password() -> None:
    with pytest.raises(InstallError) as caught:
        fetch(lambda _: answer(status=302, Location="/x"), url="/file?token=secret")
    assert "secret" not in str(caught.value)
    with pytest.raises(InstallError) as caught:
        HttpSource("https://me:secret@example.com/")
    assert "secret" not in str(caught.value)


@pytest.mark.needs("openssl")
@pytest.mark.slow
def test_certificates_are_checked_with_those_of_a_variable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import ssl

    key, certificate = str(tmp_path / "key"), str(tmp_path / "certificate")
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days=2"]
    names = ["-keyout", key, "-out", certificate, "-subj", "/CN=test", "-addext", "subjectAltName=IP:127.0.0.1"]
    subprocess.run([*command, *names], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    with RawServer(lambda _: answer(b"ok")) as server:
        server.socket = context.wrap_socket(server.socket, server_side=True)
        url = server.url.replace("http:", "https:")
        with HttpSource(url) as source, pytest.raises(InstallError, match="cannot trust"):
            get(source)
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
        with HttpSource(url) as source:
            assert get(source).body == b"ok"
