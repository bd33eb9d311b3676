"""A server of OpenAI's chat completions on the loopback address, with scripted answers.

An answer is a text, a list of tool calls `(tool, arguments)`, the HTTP status of an error, or a constant below.
The last answer is repeated.
"""

from __future__ import annotations

import json
import threading
import time
from http.server import BaseHTTPRequestHandler
from typing import TYPE_CHECKING, Any

from support.loopback import LoopbackServer

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    Answer = str | int | list[tuple[str, Mapping[str, Any] | str]]

HALF = "\0half"
"""Close the connection in the middle of a stream."""
NOTHING = "\0nothing"
"""Close the connection without an answer."""
HANG = "\0hang"
"""Send nothing for a minute."""
GARBAGE = "\0garbage"
"""Send HTML instead of JSON."""
SLOW = "\0slow"
"""Stream a word every 50 ms."""
TRUNCATED = "\0cut"
"""End the stream in the middle, correctly as far as HTTP is concerned."""
UNCOUNTED = "\0uncounted"
"""Leave out the token usage."""
USAGE = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}


class ModelServer(LoopbackServer):
    """`with ModelServer("Hello.") as server:` listens at `server.url`."""

    def __init__(self, *answers: Answer) -> None:
        super().__init__(_Handler)
        self.url += "/v1"
        self.model = f"openai:local@{self.url}"
        self.answers = list(answers)
        self.requests: list[dict[str, Any]] = []
        self.keys: list[str] = []
        self.request_received, self.answer_begun = threading.Event(), threading.Event()
        self.client_disconnected = threading.Event()
        """It is set if a client closes the connection in the middle of an answer."""
        self.lock = threading.Lock()

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ARG002
        """Note that a client closed the connection."""
        self.client_disconnected.set()

    def counts(self, text: str) -> list[int]:
        """Return how often each request contains a text."""
        return [whole(request).count(text) for request in self.requests]

    def next_answer(self, request: dict[str, Any]) -> Answer:
        """Record a request and return its answer."""
        with self.lock:
            self.requests.append(request)
            return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]


def texts(message: Mapping[str, Any]) -> list[str]:
    """Return the texts of a message of a request."""
    content = message.get("content") or ""
    return [content] if isinstance(content, str) else [part["text"] for part in content]


def whole(request: Mapping[str, Any]) -> str:
    """Return all the text of the messages of a request."""
    return "\n".join(text for message in request["messages"] for text in texts(message))


def results(request: Mapping[str, Any]) -> list[str]:
    """Return the results of tools in a request."""
    return ["".join(texts(message)) for message in request["messages"] if message["role"] == "tool"]


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: ModelServer

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)))
        self.server.keys.append(self.headers.get("Authorization", "").removeprefix("Bearer "))
        answer = self.server.next_answer(request)
        self.server.request_received.set()
        if isinstance(answer, int):
            words = {401: "Incorrect API key provided", 429: "You exceeded your quota", 500: "The server had an error"}
            self._send({"error": {"message": words.get(answer, "No."), "type": "x", "code": "y"}}, status=answer)
        elif answer == NOTHING:
            self.close_connection = True
        elif answer == HANG:
            time.sleep(600)
        elif answer == GARBAGE:
            self._send("<html>It works!</html>", kind="text/html")
        elif request.get("stream"):
            self._stream(answer)
        else:
            message = {"role": "assistant", **_content(answer)}
            choice = {"index": 0, "message": message, "finish_reason": _finish_reason(answer)}
            self._send({**_envelope("chat.completion"), "choices": [choice], "usage": USAGE})

    def _stream(self, answer: Any) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for delta in _deltas(answer):
            self._event({"choices": [{"index": 0, "delta": delta, "finish_reason": None}]})
            self.server.answer_begun.set()
            if answer == HALF:
                self.close_connection = True
                return
            if answer == TRUNCATED:
                self.wfile.write(b"0\r\n\r\n")
                return
            if answer == SLOW:
                time.sleep(0.05)
        self._event({"choices": [{"index": 0, "delta": {}, "finish_reason": _finish_reason(answer)}]})
        if answer != UNCOUNTED:
            self._event({"choices": [], "usage": USAGE})
        self._chunk(b"data: [DONE]\n\n")
        self.wfile.write(b"0\r\n\r\n")

    def _event(self, value: dict[str, Any]) -> None:
        self._chunk(f"data: {json.dumps({**_envelope('chat.completion.chunk'), **value})}\n\n".encode())

    def _chunk(self, data: bytes) -> None:
        self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
        self.wfile.flush()

    def _send(self, value: Any, *, kind: str = "application/json", status: int = 200) -> None:
        body = (value if isinstance(value, str) else json.dumps(value)).encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        # OpenAI's client waits this long before it tries again.
        self.send_header("retry-after-ms", "1")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Print nothing."""


def _envelope(kind: str) -> dict[str, Any]:
    return {"id": "chatcmpl-1", "object": kind, "created": 1, "model": "local"}


def _finish_reason(answer: Any) -> str:
    return "tool_calls" if isinstance(answer, list) else "stop"


def _calls(answer: Any) -> list[dict[str, Any]]:
    return [
        {
            "index": at,
            "id": f"call_{at}_{time.monotonic_ns()}",
            "type": "function",
            "function": {"name": tool, "arguments": given if isinstance(given, str) else json.dumps(given)},
        }
        for at, (tool, given) in enumerate(answer)
    ]


def _content(answer: Any) -> dict[str, Any]:
    return {"content": None, "tool_calls": _calls(answer)} if isinstance(answer, list) else {"content": answer}


def _deltas(answer: Any) -> Iterator[dict[str, Any]]:
    yield {"role": "assistant", "content": ""}
    if isinstance(answer, list):
        for call in _calls(answer):
            whole = call["function"]["arguments"]
            yield {"tool_calls": [{**call, "function": {**call["function"], "arguments": whole[:4]}}]}
            yield {"tool_calls": [{"index": call["index"], "function": {"arguments": whole[4:]}}]}
    else:
        words = ["word"] * 400 if answer == SLOW else answer.split(" ")
        yield from ({"content": word if at == 0 else f" {word}"} for at, word in enumerate(words))
