"""A model on the loopback address: it says one word to whoever asks, and keeps what it was asked.

It speaks as much of three APIs as their clients need to begin a conversation and to end it: Anthropic's Messages,
OpenAI's Responses, Google's Gemini API. In the first two it can have a command run before it says its word.
"""

from __future__ import annotations

import json
import threading
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self

ANSWER = "Done."


@dataclass(frozen=True, kw_only=True, slots=True)
class Request:
    """What a client sent."""

    method: str
    path: str
    headers: dict[str, str]
    """Names in lower case."""
    body: bytes

    def json(self) -> Any:
        """The body, or None if it is no JSON."""
        try:
            return json.loads(self.body)
        except ValueError:
            return None

    def text(self) -> str:
        """All of it, once as it came and once with the escapes of JSON resolved."""
        sent = [f"{self.method} {self.path}", *(f"{name}: {value}" for name, value in self.headers.items())]
        return "\n".join([*sent, self.body.decode("utf-8", "replace"), *texts(self.json())])


def texts(value: Any) -> list[str]:
    """The strings of a JSON value, its keys too, in their order."""
    if isinstance(value, dict):
        return [text for key, item in value.items() for text in (key, *texts(item))]
    if isinstance(value, list):
        return [text for item in value for text in texts(item)]
    return [value] if isinstance(value, str) else []


class ModelServer(ThreadingHTTPServer):
    """`with ModelServer() as server:` listens at `server.url`."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.url = f"http://127.0.0.1:{self.server_port}"
        self.command: str | None = None
        """What the client is told to run, once in a conversation."""
        self.requests: list[Request] = []

    def __enter__(self) -> Self:
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.shutdown()
        self.server_close()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hangs up has ended, and that is all."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: ModelServer

    def _answer(self) -> None:
        """Keep the request, then answer it by its path."""
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        headers = {name.lower(): value for name, value in self.headers.items()}
        request = Request(method=self.command, path=self.path, headers=headers, body=body)
        self.server.requests.append(request)
        path, _, query = self.path.partition("?")
        asked: dict[str, Any] = request.json() or {}
        if "upgrade" in headers:  # Codex tries a WebSocket first, and takes this status for "ask by HTTP"
            self._send(b"", "text/plain", status=426)
        elif path.endswith("/count_tokens"):
            self._json({"input_tokens": 1})
        elif path.endswith(":countTokens"):
            self._json({"totalTokens": 1})
        elif path.endswith("/messages"):
            self._messages(asked)
        elif path.endswith("/responses"):
            self._responses(asked)
        elif path.endswith((":generateContent", ":streamGenerateContent")):
            self._contents(stream="alt=sse" in query)
        else:
            self._send(b"", "text/plain", status=404)

    do_GET = do_HEAD = do_POST = do_CONNECT = _answer  # noqa: N815 - so the standard library wants it

    def _messages(self, asked: dict[str, Any]) -> None:
        usage = {"input_tokens": 1, "output_tokens": 1}
        begun: dict[str, Any] = {"type": "text", "text": ""}
        said, delta, reason = {**begun, "text": ANSWER}, {"type": "text_delta", "text": ANSWER}, "end_turn"
        if self.server.command is not None and '"tool_result"' not in json.dumps(asked) and asked.get("tools"):
            arguments = {"command": self.server.command, "description": "Look around"}
            begun = {"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {}}
            said = {**begun, "input": arguments}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(arguments)}
            reason = "tool_use"
        end = {"stop_reason": reason, "stop_sequence": None}
        whole = {"id": "msg_1", "type": "message", "role": "assistant", "model": asked["model"], "usage": usage}
        if not asked.get("stream"):
            self._json({**whole, **end, "content": [said]})
            return
        self._events(
            {"type": "message_start", "message": {**whole, "content": [], "stop_reason": None, "stop_sequence": None}},
            {"type": "content_block_start", "index": 0, "content_block": begun},
            {"type": "content_block_delta", "index": 0, "delta": delta},
            {"type": "content_block_stop", "index": 0},
            {"type": "message_delta", "delta": end, "usage": usage},
            {"type": "message_stop"},
        )

    def _responses(self, asked: dict[str, Any]) -> None:
        content = [{"type": "output_text", "text": ANSWER, "annotations": []}]
        item = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": content}
        if self.server.command is not None and '"function_call_output"' not in json.dumps(asked):
            arguments = json.dumps({"cmd": self.server.command})
            call = {"type": "function_call", "id": "fc_1", "call_id": "call_1", "status": "completed"}
            item = {**call, "name": "exec_command", "arguments": arguments}
        usage = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
        whole = {"id": "resp_1", "object": "response", "model": asked["model"]}
        done = {**whole, "status": "completed", "output": [item], "usage": usage}
        if not asked.get("stream"):
            self._json(done)
            return
        self._events(
            {"type": "response.created", "response": {**whole, "status": "in_progress", "output": []}},
            {"type": "response.output_item.done", "output_index": 0, "item": item},
            {"type": "response.completed", "response": done},
        )

    def _contents(self, *, stream: bool) -> None:
        content = {"role": "model", "parts": [{"text": ANSWER}]}
        usage = {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2}
        whole = {"candidates": [{"content": content, "finishReason": "STOP", "index": 0}], "usageMetadata": usage}
        if stream:
            self._events(whole)
        else:
            self._json(whole)

    def _events(self, *events: dict[str, Any]) -> None:
        named = [(f"event: {event['type']}\n" if "type" in event else "", json.dumps(event)) for event in events]
        self._send("".join(f"{name}data: {data}\n\n" for name, data in named).encode(), "text/event-stream")

    def _json(self, value: dict[str, Any]) -> None:
        self._send(json.dumps(value).encode(), "application/json")

    def _send(self, body: bytes, kind: str, status: int = 200) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Nothing is printed."""
