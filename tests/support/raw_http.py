"""A server of HTTP that sends exactly the bytes of a test."""

from __future__ import annotations

import socketserver
from typing import TYPE_CHECKING, NamedTuple

from support.loopback import LoopbackServer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["RawServer", "Request", "answer"]


class Request(NamedTuple):
    """A request that the server got."""

    method: str
    target: str
    headers: dict[str, str]
    body: bytes
    number: int
    """Of the request, from 1."""
    connection: int
    """Of the connection, from 1."""


def answer(body: bytes = b"", status: int = 200, **headers: object) -> bytes:
    """Return an answer as it is sent; `content_length=None` leaves that header out."""
    given = {"content_length": len(body), **headers}
    lines = [f"{name.replace('_', '-')}: {text}" for name, text in given.items() if text is not None]
    return "\r\n".join([f"HTTP/1.1 {status} X", *lines, "", ""]).encode() + body


class RawServer(LoopbackServer):
    """Sends what a function returns for each request; after `None` or a part that ends with `CLOSE` it closes.

    Args:
        respond: gets a request, and returns or yields the bytes to send.
    """

    CLOSE = object()

    def __init__(self, respond: Callable[[Request], bytes | Iterator[bytes] | tuple[bytes, object] | None]) -> None:
        self.requests: list[Request] = []
        self.connections = 0
        server = self

        class Handler(socketserver.StreamRequestHandler):
            def handle(self) -> None:
                server.connections += 1
                connection = server.connections
                while line := self.rfile.readline():
                    method, target, _ = line.decode().split(" ", 2)
                    headers = {}
                    while (line := self.rfile.readline().strip()) != b"":
                        name, _, text = line.decode().partition(":")
                        headers[name.lower()] = text.strip()
                    body = self.rfile.read(int(headers.get("content-length", "0")))
                    request = Request(method, target, headers, body, len(server.requests) + 1, connection)
                    server.requests.append(request)
                    sent = respond(request)
                    if sent is None:
                        return
                    if isinstance(sent, bytes):
                        self.wfile.write(sent)
                        continue
                    for part in sent:
                        if not isinstance(part, bytes):
                            return
                        self.wfile.write(part)

        super().__init__(Handler)
