"""MCP servers at a URL whose responses never end, or become large when they are decompressed."""

from __future__ import annotations

import contextlib
import gzip
import json
import threading
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

import pytest

from prowess.agent.tools import _mcp_toolset, _network
from prowess.errors import ConfigError
from support.growth import ends

from .test_mcp_tool import run

if TYPE_CHECKING:
    from collections.abc import Iterator

MIB = 1 << 20


class Hostile(BaseHTTPRequestHandler):
    """A server whose path says how it answers a call of its only tool, `t`."""

    protocol_version = "HTTP/1.1"
    sent = 0
    """Bytes of the last answer."""

    def log_message(self, *_: Any) -> None:
        """Say nothing."""

    def do_DELETE(self) -> None:
        self.send_error(405)

    def do_GET(self) -> None:
        if self.path != "/elsewhere":
            return self.send_error(405)
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        self.wfile.write(b"event: endpoint\ndata: http://127.0.0.2:1/\n\n")
        self.wfile.flush()
        self.rfile.read(1)  # until the client leaves
        return None

    def do_POST(self) -> None:
        message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        method, number = message["method"], message.get("id")
        if number is None:
            self.send_response(202)
            self.send_header("Content-Length", "0")
            return self.end_headers()
        if method == "tools/call" and self.path != "/plain":
            return self.answer_call(number)
        version = message.get("params", {}).get("protocolVersion")
        results = {
            "initialize": {
                "protocolVersion": version,
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "s", "version": "1"},
            },
            "tools/list": {"tools": [{"name": "t", "inputSchema": {"type": "object"}}]},
            "tools/call": {"content": [{"type": "text", "text": "fine"}]},
        }
        return self.answer({"jsonrpc": "2.0", "id": number, "result": results.get(method, {})})

    def answer(self, message: dict[str, Any], *, encoding: str = "") -> None:
        data = json.dumps(message).encode()
        data = gzip.compress(data) if encoding else data
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        if encoding:
            self.send_header("Content-Encoding", encoding)
        self.end_headers()
        self.wfile.write(data)

    def answer_call(self, number: int) -> None:
        if self.path == "/closed":
            self.close_connection = True
            return None
        if self.path == "/garbage":
            self.wfile.write(b"\x00\xff\r\n\r\n")
            self.close_connection = True
            return None
        if self.path == "/compressed":
            text = {"type": "text", "text": "x" * 8 * MIB}
            return self.answer({"jsonrpc": "2.0", "id": number, "result": {"content": [text]}}, encoding="gzip")
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream" if self.path == "/event" else "application/json")
        self.send_header("Connection", "close")
        self.end_headers()
        Hostile.sent = 0
        with contextlib.suppress(OSError):
            self.wfile.write(b"data: ")
            while Hostile.sent < 100 * MIB:
                self.wfile.write(bytes(65536))
                Hostile.sent += 65536
        self.close_connection = True
        return None


@pytest.fixture
def server() -> Iterator[str]:
    """The URL of a hostile server."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Hostile) as running:
        thread = threading.Thread(target=partial(running.serve_forever, 0.05))
        thread.start()
        yield f"http://127.0.0.1:{running.server_port}"
        running.shutdown()
        thread.join()


def call(url: str) -> list[str]:
    options = {"transport": "streamable-http", "url": url, "allow_private": True, "timeout_seconds": 20}
    return run(options, ("t", {}))[1]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["json", "event"])
def test_a_response_without_end_is_not_read(server: str, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_network, "MAX_MESSAGE_BYTES", MIB)
    (result,) = call(f"{server}/{kind}")
    assert result.startswith("error: ")
    assert Hostile.sent < 20 * MIB


@pytest.mark.slow
def test_a_compressed_response_is_refused(server: str) -> None:
    """It was not requested, and 1 MB of it can become 1 GB."""
    (result,) = call(f"{server}/compressed")
    assert "encoded as `gzip`, which was not requested" in result


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["closed", "garbage"])
def test_a_server_that_breaks_a_connection_does_not_end_the_run(server: str, kind: str) -> None:
    notes: list[str] = []
    options = {"transport": "streamable-http", "url": f"{server}/{kind}", "allow_private": True, "timeout_seconds": 20}
    results = run(options, ("t", {}), ("t", {}), notes=notes)[1]
    assert len(results) == 2
    assert all(result.startswith("error: ") for result in results)
    assert len(notes) == 1
    assert notes[0].startswith(f"the MCP server `{server}/{kind}` failed: ")


@pytest.mark.slow
def test_an_ordinary_server_answers(server: str) -> None:
    assert call(f"{server}/plain") == ["fine"]


@pytest.mark.slow
def test_a_server_that_never_finishes_starting_is_an_error(server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its endpoint is at another host, which the client waits for."""
    monkeypatch.setattr(_mcp_toolset, "MIN_START_SECONDS", 0.5)
    options = {"transport": "sse", "url": f"{server}/elsewhere", "allow_private": True, "timeout_seconds": 0.5}
    with ends(), pytest.raises(ConfigError, match="did not start"):
        run(options)
