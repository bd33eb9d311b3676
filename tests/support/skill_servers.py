"""A server of skills over MCP that follows the rules, or breaks one of them.

As a program it talks over its standard input and output: `python skill_servers.py WHAT`. `serve(WHAT)` is the same over
HTTP, in this process.
"""

from __future__ import annotations

import base64
import hashlib
import json
import sys
import threading
import time
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

EXTENSION = "io.modelcontextprotocol/skills"
MARKDOWN = b"---\nname: pdf\ndescription: Reads PDF files.\nversion: 1.10\n---\nRead them aloud.\n"
FILES = {
    "skill://pdf/SKILL.md": MARKDOWN,
    "skill://pdf/references/a%20b.md": b"See page 3.\r\n",
    "skill://pdf/scripts/run.py": b"print('it runs')\n",
    "skill://pdf/photo.bin": b"\xff\x00\xfe",
}


def digest(data: bytes) -> str:
    """Return the digest of a file as a server lists it."""
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


ENTRY: dict[str, Any] = {
    "uri": "skill://pdf/SKILL.md",
    "frontmatter": {"name": "pdf", "description": "Reads PDF files.", "version": 1.1},
    "resources": [{"uri": uri, "digest": digest(data), "size": len(data)} for uri, data in FILES.items()],
}


class SkillServer:
    """Answers requests.

    Args:
        what: what it does wrong; `right` for nothing.
    """

    def __init__(self, what: str = "right") -> None:
        self.what = what
        self.entries: list[Any] = [ENTRY]
        self.files = dict(FILES)
        self.methods: list[str] = []
        """The methods and URIs of the requests."""
        self.headers: list[dict[str, str]] = []
        self.ttl_ms: Any = 0
        self.before_list: Callable[[], object] = lambda: None
        """Called before a list is sent."""

    def answer(self, message: dict[str, Any]) -> bytes | None:
        """Return what is sent for a message; `None` for nothing."""
        method, params = message.get("method", ""), message.get("params") or {}
        self.methods.append(f"{method} {params['uri']}" if "uri" in params else method)
        if "id" not in message:
            return None
        handler = getattr(self, "_" + method.replace("/", "_"), None)
        if self.what == "older" and method == "server/discover":
            handler = None
        if self.what == "discover-silence" and method == "server/discover":
            time.sleep(3)
        raw = self._raw_answer(message["id"]) if method == "skills/list" else None
        if raw is not None:
            return raw
        answer: dict[str, Any] = {"jsonrpc": "2.0", "id": message["id"]}
        try:
            answer["result"] = {"resultType": "complete", **(handler or self._unknown)(params)}
        except LookupError as error:
            answer["error"] = {"code": -32601 if handler is None else -32602, "message": str(error)}
        return json.dumps(answer).encode()

    def _raw_answer(self, number: int) -> bytes | None:
        """Return what is sent in place of a list of skills."""
        result = {"resultType": "complete", "skills": [ENTRY], "ttlMs": 0, "cacheScope": "private"}
        good = {"jsonrpc": "2.0", "id": number, "result": result}
        if self.what == "list-silence":
            time.sleep(3)
        return {
            "list-not-json": b"{not json}",
            "list-not-utf8": b'{"a": "\xff"}',
            "list-not-an-object": b"[1, 2]",
            "list-too-deep": b'{"a":' + b"[" * 100_000,
            "list-long-number": b'{"a":' + b"9" * 10_000 + b"}",
            "list-nan": b'{"a": NaN}',
            "list-other-id": json.dumps({**good, "id": number + 1}).encode(),
            "list-text-id": json.dumps({**good, "id": str(number)}).encode(),
            "list-true-id": json.dumps({**good, "id": True}).encode(),
            "list-null-id": json.dumps({**good, "id": None}).encode(),
            "list-unread": json.dumps(
                {"jsonrpc": "2.0", "id": None, "error": {"code": -32700, "message": "cannot read that"}}
            ).encode(),
            "list-no-result": json.dumps({"jsonrpc": "2.0", "id": number}).encode(),
            "list-bad-error": json.dumps({"jsonrpc": "2.0", "id": number, "error": "no"}).encode(),
            "list-error": json.dumps(
                {"jsonrpc": "2.0", "id": number, "error": {"code": -32603, "message": "no\x1b[2Jway\nok"}}
            ).encode(),
            "list-needs-input": json.dumps({**good, "result": {**result, "resultType": "input_required"}}).encode(),
            "list-not-a-list": json.dumps({**good, "result": {"skills": {"a": 1}}}).encode(),
            "list-huge": b'{"a":"' + b"x" * (33 << 20) + b'"}',
        }.get(self.what)

    def _unknown(self, _: Any) -> dict[str, Any]:
        raise LookupError("Method not found")

    def _server_discover(self, _: Any) -> dict[str, Any]:
        return {"supportedVersions": ["2026-07-28"], "capabilities": self._capabilities()}

    def _initialize(self, _: Any) -> dict[str, Any]:
        return {"protocolVersion": "2025-06-18", "capabilities": self._capabilities(), "serverInfo": {}}

    def _capabilities(self) -> Any:
        settings = {"directoryRead": True} if self.what.startswith("directory") else {}
        resources: dict[str, Any] = {} if self.what == "no-resources" else {"resources": {}}
        return {**resources, "extensions": {} if self.what == "no-extension" else {EXTENSION: settings}}

    def _skills_list(self, params: Any) -> dict[str, Any]:
        self.before_list()
        result: dict[str, Any] = {"skills": self.entries, "ttlMs": self.ttl_ms, "cacheScope": "private"}
        page = int(params.get("cursor", "0"))
        if self.what == "list-nothing":
            result["skills"] = []
        elif self.what == "cursor-loop":
            result["nextCursor"] = "1"
        elif self.what == "endless-pages":
            result.update(skills=[], nextCursor=str(page + 1))
        elif self.what == "endless-skills":
            start = page * 5000
            result["skills"] = [small_entry(number) for number in range(start, start + 5000)]
            result["nextCursor"] = str(page + 1)
        elif self.what == "bad-cursor":
            result["nextCursor"] = {"a": 1}
        elif self.what == "pages-then-error" and page:
            raise LookupError("no more today")
        elif self.what.startswith("pages") and page < len(self.entries):
            result["skills"] = [self.entries[page]]
            if page + 1 < len(self.entries):
                result["nextCursor"] = str(page + 1)
        return result

    def _skills_get(self, params: Any) -> dict[str, Any]:
        for entry in self.entries:
            if entry["uri"] == params["uri"] or self.what == "get-another":
                if self.what == "get-other-size":
                    entry = {**entry, "resources": [{**row, "size": row["size"] + 1} for row in entry["resources"]]}
                return {"skill": entry, "ttlMs": 0, "cacheScope": "private"}
        raise LookupError("no such skill")

    def _resources_directory_read(self, params: Any) -> dict[str, Any]:
        """Return one child on each page."""
        start = f"{params['uri']}/"
        children = sorted({start + uri[len(start) :].partition("/")[0] for uri in self.files if uri.startswith(start)})
        page = int(params.get("cursor", "0"))
        if not children or self.what == "directory-missing":
            raise LookupError("no such directory")
        if self.what == "directory-without-scripts" and start.endswith("scripts/"):
            children = [f"{start}other.py"]
        result: dict[str, Any] = {"resources": [{"uri": children[page]}], "ttlMs": 0, "cacheScope": "private"}
        if page + 1 < len(children) and self.what != "directory-first-page":
            result["nextCursor"] = "0" if self.what == "directory-loop" else str(page + 1)
        return {**result, "resources": {}} if self.what == "directory-invalid" else result

    def _resources_read(self, params: Any) -> dict[str, Any]:
        uri = params["uri"]
        if uri not in self.files:
            raise LookupError("no such resource")
        data = self.files[uri]
        if self.what == "changed":
            data = data[:-2] + b"!\n"
        elif self.what == "longer":
            data += b"more"
        elif self.what == "much-longer":
            data += b"x" * (4 << 20)
        elif self.what == "shorter":
            data = data[:-1]
        content: dict[str, Any] = {"uri": uri}
        try:
            content["text"] = data.decode()
        except UnicodeDecodeError:
            content["blob"] = base64.b64encode(data).decode()
        if self.what == "other-uri":
            content["uri"] = "skill://other/SKILL.md"
        elif self.what == "surrogate":
            content["text"] = "\ud800"
        elif self.what == "bad-base64":
            content = {"uri": uri, "blob": "%%%"}
        elif self.what == "no-content":
            content = {"uri": uri}
        contents: Any = [content, content] if self.what == "two-contents" else [content]
        return {"contents": {} if self.what == "not-contents" else contents}


def small_entry(number: int) -> dict[str, Any]:
    uri = f"skill://s{number}/SKILL.md"
    resource = {"uri": uri, "digest": f"sha256:{'0' * 64}", "size": 1}
    return {"uri": uri, "frontmatter": {"name": f"s{number}", "description": "x"}, "resources": [resource]}


@contextmanager
def serve(what: str = "right") -> Iterator[tuple[str, SkillServer]]:
    """Yield the URL of a server over HTTP and the server; it ends with the block."""
    source = SkillServer(what)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def log_message(self, *_: Any) -> None:
            pass

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            message = json.loads(body)
            source.headers.append({name.lower(): value for name, value in self.headers.items()})
            is_list = message.get("method") == "skills/list"
            if is_list and source.what.startswith("redirect "):
                _, number, location = source.what.split(" ")
                self.send_response(int(number))
                self.send_header("Location", location)
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
            data = source.answer(message)
            status, kind = (202, "text/plain") if data is None else (200, "application/json")
            if source.what == "older" and message.get("method") == "server/discover":
                status = 400
            if source.what in ("http-401", "http-404"):
                status, data, kind = int(source.what[5:]), b"", "text/plain"
            if is_list and source.what == "http-500":
                status, data, kind = 500, b"<h1>\x1b[2J</h1>", "text/html"
            if is_list and source.what == "http-html":
                data, kind = b"<h1>hello</h1>", "text/html"
            if is_list and source.what == "drip":
                self._drip()
                return
            if data is not None and source.what == "events":
                note = b'event: message\ndata: {"jsonrpc":"2.0","method":"notifications/message"}\n\n'
                data, kind = note + b": a comment\r\ndata: " + data + b"\r\n\r\n", "text/event-stream"
            if is_list and source.what == "events-without-answer":
                data, kind = b"data: {}\n\n", "text/event-stream"
            self.send_response(status)
            self.send_header("Content-Type", kind)
            if message.get("method") == "initialize":
                self.send_header("Mcp-Session-Id", "session-7")
            if is_list and source.what == "gzip":
                self.send_header("Content-Encoding", "gzip")
            self.send_header("Content-Length", str(len(data or b"")))
            self.end_headers()
            self.wfile.write(data or b"")

        def _drip(self) -> None:
            """Send a byte now and then, for ever."""
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", "1000000")
            self.end_headers()
            try:
                while True:
                    self.wfile.write(b" ")
                    self.wfile.flush()
                    time.sleep(0.05)
            except OSError:
                pass

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, *_: Any) -> None:
            """The client may close a connection at any time."""

    server = Server(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/mcp", source
    finally:
        server.shutdown()
        server.server_close()


def main(what: str) -> None:
    """Answer the lines of the standard input."""
    source, out = SkillServer(what), sys.stdout.buffer
    if what == "dies":
        sys.exit("cannot open the database\x1b[2J")
    if what == "banner":
        out.write(b"Welcome to the server!\n\n")
    for line in sys.stdin.buffer:
        message = json.loads(line)
        if what == "flood" and message["method"] == "skills/list":
            while True:
                out.write(b'{"jsonrpc":"2.0","method":"notifications/message","params":{"a":"%s"}}\n' % (b"x" * 500))
        if what == "asks":
            for number in range(3):
                out.write(b'{"jsonrpc":"2.0","id":%d,"method":"sampling/createMessage"}\n' % number)
                out.flush()
                assert b"Method not found" in sys.stdin.buffer.readline()
        if what == "asks-on" and message["method"] == "skills/list":
            out.write(b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n' * 1000)
        if what == "endless-line" and message["method"] == "skills/list":
            while True:
                out.write(b"{" + b"x" * 65536)
        if (data := source.answer(message)) is not None:
            early = what == "answers-early" and source.answer({**message, "id": 2, "method": "skills/list"})
            out.write(data + b"\n" + (early + b"\n" if early else b""))
        out.flush()


if __name__ == "__main__":
    main(sys.argv[1])
