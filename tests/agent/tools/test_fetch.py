"""Requests with limits, to real servers on the loopback address that misbehave."""

from __future__ import annotations

import gzip
import socket
import ssl
import subprocess
import threading
import time
import tracemalloc
from typing import TYPE_CHECKING, Any

import pytest

from prowess.agent.policy import RefusedError, ToolFailedError
from prowess.agent.tools._network import HttpResponse, NetworkAccess, fetch
from prowess.net import NetworkRules
from support.growth import END, ends
from support.programs import require
from support.rows import rows
from support.site_server import Request, Site, echo, redirect, reply

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

OPEN = NetworkAccess(rules=NetworkRules(allow_private=True))


def get(
    url: str, *, access: NetworkAccess = OPEN, timeout: float = 5, limit: int = 10_000, **more: Any
) -> HttpResponse:
    return fetch("GET", url, access=access, timeout=timeout, limit=limit, **more)


def test_a_response_has_status_headers_and_body() -> None:
    """The request has no more headers than it needs."""
    with Site({"/a": echo}) as site:
        answer = get(f"{site.url}/a?b=c", headers={"X-Key": "k"})
    assert (answer.status, answer.media_type, answer.url, answer.is_complete) == (
        200,
        "application/json",
        f"{site.url}/a?b=c",
        True,
    )
    assert site.requests[0].headers == {
        "host": f"127.0.0.1:{site.port}",
        "accept": "*/*",
        "accept-encoding": "gzip",
        "connection": "keep-alive",
        "user-agent": "Prowess",
        "x-key": "k",
    }


def test_a_private_address_is_refused_before_anything_is_sent() -> None:
    with Site({"*": echo}) as site, pytest.raises(RefusedError):
        get(site.url, access=NetworkAccess())
    assert site.requests == []


def resolve_names_to(monkeypatch: pytest.MonkeyPatch, *answers: str) -> list[str]:
    """Resolve names to these addresses, one after another and then the last; return the list of looked-up names."""
    looked_up: list[str] = []

    def fake_getaddrinfo(host: Any, port: Any, *_: Any, **__: Any) -> list[Any]:
        looked_up.append(str(host))
        address = answers[min(len(looked_up), len(answers)) - 1]
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port))]

    monkeypatch.setattr(socket, "getaddrinfo", fake_getaddrinfo)
    return looked_up


def test_the_connection_goes_to_the_checked_address_with_the_name_in_host(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The name is looked up once; a second look-up could give another address."""
    looked_up = resolve_names_to(monkeypatch, "127.0.0.1", "127.0.0.99")
    with Site({"*": echo}) as site:
        get(f"http://rebind.example:{site.port}/")
    assert looked_up == ["rebind.example"]
    assert site.requests[0].headers["host"] == f"rebind.example:{site.port}"


def test_a_redirect_to_a_private_address_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each redirect is checked like the first URL."""
    resolve_names_to(monkeypatch, "127.0.0.1")
    access = NetworkAccess(rules=NetworkRules(allow_private=True, allowed=(("start.example",),)))
    with (
        Site({"/in": redirect("http://169.254.169.254/latest/meta-data/"), "*": echo}) as site,
        pytest.raises(RefusedError),
    ):
        get(f"http://start.example:{site.port}/in", access=access)
    assert len(site.requests) == 1


@pytest.mark.parametrize("to", rows(__file__, "a_redirect_to_an_invalid_url_is_refused"))
def test_a_redirect_to_an_invalid_url_is_refused(to: str) -> None:
    with Site({"/": redirect(to)}) as site, pytest.raises(RefusedError):
        get(f"{site.url}/")


def test_at_most_five_redirects_are_followed() -> None:
    """So a loop ends."""
    pages: dict[str, Any] = {f"/{at}": redirect(f"/{at + 1}") for at in range(10)}
    with Site(pages) as site:
        with pytest.raises(ToolFailedError, match="redirects more than 5 times"):
            get(f"{site.url}/0")
        assert len(site.requests) == 6


def test_headers_are_not_sent_to_another_origin() -> None:
    """Another port is another origin; cookies are never sent."""
    with Site({"*": echo}) as other:
        there = redirect(f"http://127.0.0.1:{other.port}/x").replace(b"\r\n\r\n", b"\r\nset-cookie: a=b\r\n\r\n")
        with Site({"/": there, "/same": redirect("/end"), "*": echo}) as site:
            secret = {"Authorization": "Bearer s", "X-Api-Key": "s", "Cookie": "s=1"}
            answer = get(f"{site.url}/", headers=secret)
            assert answer.url == f"http://127.0.0.1:{other.port}/x"
            assert not {"authorization", "x-api-key", "cookie"} & other.requests[0].headers.keys()
            get(f"{site.url}/same", headers=secret)
            assert site.requests[-1].headers["authorization"] == "Bearer s"


def test_a_redirect_of_a_post_is_not_followed() -> None:
    with Site({"/": redirect("/other", "307 Temporary Redirect"), "*": echo}) as site:
        answer = fetch("POST", f"{site.url}/", access=OPEN, timeout=END, limit=100, content=b"x")
        assert (answer.status, answer.headers["location"], len(site.requests)) == (307, "/other", 1)


def test_proxies_from_the_environment_are_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """A proxy would look up names itself."""
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    with Site({"*": echo}) as site:
        assert get(site.url).status == 200


def test_at_most_limit_bytes_are_read() -> None:
    """Even from a server that never stops."""

    def flood(_: Request) -> Iterator[bytes]:
        yield b"HTTP/1.1 200 OK\r\n\r\n"
        while True:
            yield b"x" * 65536

    with Site({"*": flood}) as site:
        answer = get(site.url, limit=100_000)
    assert (len(answer.body), answer.is_complete) == (100_000, False)


@pytest.mark.slow
def test_decompression_stops_at_the_limit() -> None:
    """A gigabyte in a megabyte takes neither memory nor time."""
    bomb = gzip.compress(bytes(200_000_000), 9)
    with Site({"*": reply(bomb, content_encoding="gzip")}) as site:
        tracemalloc.start()
        try:
            answer = get(site.url, limit=1000)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
    assert (answer.body, answer.is_complete) == (bytes(1000), False)
    assert peak < 10_000_000


def test_a_gzip_response_is_decompressed() -> None:
    with Site({"*": reply(gzip.compress(b"hello" * 100), content_encoding="GZIP")}) as site:
        assert (answer := get(site.url)).body == b"hello" * 100
        assert answer.is_complete


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        *rows(__file__, "an_invalid_response_is_a_failed_tool_call"),
        ("\x00\xff\x00 nonsense\r\n\r\n", "the request failed"),
        ("HTTP/1.1 200 OK\r\n" + "x: y\r\n" * 100_000, "the request failed"),
    ],
)
def test_an_invalid_response_is_a_failed_tool_call(answer: str, words: str) -> None:
    with Site({"*": answer.encode("latin-1")}) as site, pytest.raises(ToolFailedError, match=words):
        get(site.url)


@pytest.mark.parametrize(
    "start",
    [
        b"",
        b"HTTP/1.1 200 OK\r\nx: ",
        b"HTTP/1.1 200 OK\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n",
    ],
    ids=["status", "headers", "body", "chunks"],
)
def test_a_slow_server_cannot_extend_the_time_limit(start: bytes) -> None:
    """Not by sending a byte now and then, in any part of the response."""

    def drip(_: Request) -> Iterator[bytes]:
        yield start
        while True:
            time.sleep(0.05)
            yield b"1" if b"chunked" not in start else b"1\r\nx\r\n"

    with (
        ends(),
        Site({"*": drip}) as site,
        pytest.raises(ToolFailedError, match=r"no complete response within 0\.5 seconds"),
    ):
        get(site.url, timeout=0.5)


def test_a_slow_look_up_cannot_extend_the_time_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cancelling it does not wait for it."""
    end = threading.Event()

    def hang(*_: Any, **__: Any) -> list[Any]:
        end.wait(600)
        return []

    monkeypatch.setattr(socket, "getaddrinfo", hang)
    with ends(), pytest.raises(ToolFailedError, match="no complete response"):
        get("http://slow.example/", timeout=0.3)
    end.set()


def test_a_refused_connection_is_a_failed_tool_call() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        with pytest.raises(ToolFailedError, match="the request failed"):
            get(f"http://127.0.0.1:{taken.getsockname()[1]}/")


@pytest.mark.parametrize(
    ("kind", "body", "text"),
    [
        ("text/plain; charset=latin-1", b"caf\xe9", "café"),
        ('text/plain; charset="utf-16"', "café".encode("utf-16"), "café"),
        ("text/plain", b"\xef\xbb\xbfcaf\xc3\xa9", "café"),
        ("text/plain; charset=nonsense", b"caf\xc3\xa9", "café"),
        ("text/plain; charset=unicode_escape", rb"\x41", r"\x41"),
        ("text/plain; charset=hex", b"41", "41"),
        ("text/plain; charset=a\0b", b"41", "41"),
        ("", b"\xff\xfe\xff", "�"),
    ],
)
def test_text_is_decoded_in_its_character_set(kind: str, body: bytes, text: str) -> None:
    """An unknown character set is no error."""
    import httpx2

    answer = HttpResponse(
        status=200, reason="", url="", headers=httpx2.Headers({"content-type": kind}), body=body, is_complete=True
    )
    assert answer.text() == text


@pytest.fixture(scope="module")
def tls(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A certificate for `names.example` and its key."""
    require("openssl")
    folder = tmp_path_factory.mktemp("tls")
    cert, key = folder / "cert.pem", folder / "key.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
         "-subj", "/CN=names.example", "-addext", "subjectAltName=DNS:names.example",
         "-keyout", str(key), "-out", str(cert)],
        check=True, capture_output=True,
    )  # fmt: skip
    return cert, key


def test_tls_checks_the_name_rather_than_the_address(tls: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """A certificate for another name is rejected, even at the same address."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*tls)
    resolve_names_to(monkeypatch, "127.0.0.1")
    monkeypatch.setenv("SSL_CERT_FILE", str(tls[0]))
    with Site({"*": echo}, context=context) as site:
        assert get(f"https://names.example:{site.port}/").status == 200
        with pytest.raises(ToolFailedError, match="the request failed"):
            get(f"https://other.example:{site.port}/")
    assert site.tls_names == ["names.example", "other.example"]


def test_a_redirect_from_https_to_http_is_refused_with_headers(
    tls: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without headers it is allowed."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*tls)
    resolve_names_to(monkeypatch, "127.0.0.1")
    monkeypatch.setenv("SSL_CERT_FILE", str(tls[0]))
    with Site({"*": echo}) as plain, Site({"*": redirect(f"{plain.url}/")}, context=context) as site:
        with pytest.raises(RefusedError, match="not encrypted"):
            get(f"https://names.example:{site.port}/", headers={"Authorization": "s"})
        assert plain.requests == []
        assert get(f"https://names.example:{site.port}/").status == 200
