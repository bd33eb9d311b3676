"""Start `prowess mcp serve`, and speak to it in bytes: over pipes and over HTTP."""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import threading
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import TYPE_CHECKING, Any

from support.growth import END

if TYPE_CHECKING:
    from collections.abc import Iterator

INITIALIZE = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
MODERN = {
    "_meta": {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }
}
_END = object()


class Served:
    """A server in a child process, and the only client on its pipes."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process, self._number = process, 0
        self._lines: queue.Queue[Any] = queue.Queue()
        self.notifications: list[dict[str, Any]] = []
        self.address = ""
        """Host and port, if it serves HTTP."""

    def read_answers(self) -> None:
        """Read standard output from now on."""
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._lines.put(json.loads(line))
        self._lines.put(_END)

    def write(self, data: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def send(self, method: str, params: dict[str, Any] | None = None, **fields: Any) -> None:
        message = {"jsonrpc": "2.0", "method": method, "params": params or {}, **fields}
        self.write(json.dumps(message).encode() + b"\n")

    def receive(self, within: float = END) -> Any:
        """Return the next message; `None` at the end."""
        message = self._lines.get(timeout=within)
        return None if message is _END else message

    def ask(self, method: str, params: dict[str, Any] | None = None, within: float = END) -> Any:
        """Return the result of a request, or its error; notifications before it are kept."""
        self._number += 1
        self.send(method, params, id=self._number)
        while (answer := self.receive(within)).get("id") != self._number:
            self.notifications.append(answer)
        return answer.get("result") or answer["error"]

    def initialize(self) -> Any:
        """Begin as a client of the older era."""
        start = self.ask("initialize", INITIALIZE)
        self.send("notifications/initialized")
        return start

    def close(self) -> None:
        """Send nothing any more."""
        assert self.process.stdin is not None
        self.process.stdin.close()

    def memory(self) -> int:
        """Return the bytes of memory that it uses now."""
        return self._status("VmRSS")

    def peak_memory(self) -> int:
        """Return the most bytes of memory that it used."""
        return self._status("VmHWM")

    def _status(self, name: str) -> int:
        text = Path(f"/proc/{self.process.pid}/status").read_text()
        return next(int(line.split()[1]) * 1024 for line in text.splitlines() if line.startswith(f"{name}:"))

    def complaints(self) -> str:
        """Return what it wrote to standard error; it must have ended."""
        assert self.process.stderr is not None
        return self.process.stderr.read().decode()


@contextmanager
def serve(project: Path, *options: str, reads: bool = True, **variables: str) -> Iterator[Served]:
    """Yield a server of the skills of a project; `reads` tells whether its answers are read at once."""
    env = {**os.environ, "HOME": str(project.parent), "PROWESS_NO_CACHE": "1", **variables}
    command = [sys.executable, "-m", "prowess", "mcp", "serve", str(project), *options]
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, env=env, **pipes) as process:
        served = Served(process)
        try:
            if reads:
                served.read_answers()
            if "--http" in options:
                assert process.stderr is not None
                while "listening on http://" not in (line := process.stderr.readline().decode()):
                    assert line, "the server ended"
                served.address = line.strip().rpartition("listening on http://")[2].removesuffix("/mcp")
            yield served
        finally:
            process.kill()


def post(address: str, message: Any, **headers: str) -> tuple[int, dict[str, str], Any]:
    """Return the status, the headers and the message of an answer; from a stream, its first message."""
    body = message if isinstance(message, bytes) else json.dumps(message).encode()
    connection = HTTPConnection(address)
    accepted = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    try:
        connection.request("POST", "/mcp", body, {**accepted, **headers})
        answer = connection.getresponse()
        text = answer.read().decode()
        found = {name.lower(): value for name, value in answer.getheaders()}
    finally:
        connection.close()
    if found.get("content-type", "").startswith("text/event-stream"):
        text = next((line[6:] for line in text.splitlines() if line.startswith("data: {")), "")
    try:
        return answer.status, found, json.loads(text) if text else None
    except ValueError:
        return answer.status, found, text


def modern(method: str, number: int = 1, name: str = "", **params: Any) -> tuple[dict[str, Any], dict[str, str]]:
    """Return a request of the newer era and its headers."""
    message = {"jsonrpc": "2.0", "id": number, "method": method, "params": {**MODERN, **params}}
    headers = {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": method, **({"Mcp-Name": name} if name else {})}
    return message, headers
