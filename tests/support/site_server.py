"""HTTP servers on the loopback address that send exactly the bytes a test gives."""

from __future__ import annotations

import json
import socketserver
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from support.loopback import LoopbackServer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    Reply = bytes | Iterable[bytes]


@dataclass(frozen=True, kw_only=True, slots=True)
class Request:
    """A request as the server received it."""

    method: str
    target: str
    headers: dict[str, str]
    """Names in lower case."""
    body: bytes


def reply(
    body: bytes | str = b"", *, status: str = "200 OK", kind: str = "text/plain; charset=utf-8", **headers: str
) -> bytes:
    """Return an answer; write `_` for `-` in the names of headers."""
    data = body.encode() if isinstance(body, str) else body
    lines = [f"HTTP/1.1 {status}", f"content-length: {len(data)}", "connection: close"]
    lines += [f"content-type: {kind}"] if kind else []
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode() + data


def redirect(to: str, status: str = "302 Found") -> bytes:
    return reply(status=status, location=to)


class Site(LoopbackServer):
    """`with Site({"/path": answer}) as site:`; an answer is bytes, or a function from a request to bytes."""

    def __init__(self, pages: Mapping[str, bytes | Callable[[Request], Reply]], *, context: Any = None) -> None:
        super().__init__(_Handler)
        self.pages, self.context = pages, context
        self.requests: list[Request] = []
        self.tls_names: list[str | None] = []
        """The server names (SNI) that TLS clients asked for."""
        if context is not None:
            context.sni_callback = lambda _socket, name, _context: self.tls_names.append(name)


class _Handler(socketserver.StreamRequestHandler):
    server: Site

    def setup(self) -> None:
        if self.server.context is not None:
            self.request = self.server.context.wrap_socket(self.request, server_side=True)
        super().setup()

    def finish(self) -> None:
        super().finish()
        self.request.close()

    def handle(self) -> None:
        method, target, _ = self.rfile.readline(65536).decode("latin-1").split(" ", 2)
        headers = {}
        while line := self.rfile.readline(65536).decode("latin-1").strip():
            name, _, value = line.partition(":")
            headers[name.lower()] = value.strip()
        body = self.rfile.read(int(headers.get("content-length", 0)))
        request = Request(method=method, target=target, headers=headers, body=body)
        self.server.requests.append(request)
        page = self.server.pages.get(
            target.partition("?")[0], self.server.pages.get("*", reply(status="404 Not Found"))
        )
        answer = page(request) if callable(page) else page
        for part in [answer] if isinstance(answer, bytes) else answer:
            self.wfile.write(part)
            self.wfile.flush()


def echo(request: Request) -> bytes:
    """Return the request as JSON."""
    fields = {
        "method": request.method,
        "target": request.target,
        "body": request.body.decode(),
        "headers": request.headers,
    }
    return reply(json.dumps(fields), kind="application/json")
