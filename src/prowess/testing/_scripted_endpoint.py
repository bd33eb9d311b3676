"""Serve scripted models on the loopback address, as OpenAI's chat completions.

Each conversation has a base URL of its own, so that its requests are known without trust in what they contain.
"""

from __future__ import annotations

import json
import threading
from collections import deque
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

from ._chat_completions import ModelRequest, answer_chunks, read_request, whole_answer
from ._scripted_model import Step

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType
    from typing import Self

    Answer = Step | Callable[[ModelRequest], Step]

__all__ = ["FINAL_ANSWER", "ScriptedConversation", "ScriptedEndpoint"]

FINAL_ANSWER = "That is all."
"""What a model answers when its steps have ended."""
_MAX_BODY_BYTES = 64 * 1024 * 1024
_IDLE_SECONDS = 120


class ScriptedConversation:
    """The model of one conversation: it answers with the next step, and records what it was sent.

    Attributes:
        url: the base URL for a client of OpenAI's API.
        requests: what the model was sent, in order.
    """

    def __init__(self, url: str) -> None:
        self.url = url
        self.requests: list[ModelRequest] = []
        self._answers: deque[Answer] = deque()
        self._default: Answer = Step(say=FINAL_ANSWER)
        self._lock = threading.Lock()

    def expect(self, *answers: Answer, default: Answer | None = None) -> None:
        """Set the answers to the next requests, in place of those that are left.

        Args:
            answers: each a step, or a function that returns the step for a request. It may block.
            default: the answer to all later requests.
        """
        with self._lock:
            self._answers = deque(answers)
            self._default = Step(say=FINAL_ANSWER) if default is None else default

    @property
    def steps_left(self) -> int:
        """How many answers were not requested."""
        return len(self._answers)

    def answer(self, request: ModelRequest) -> Step:
        """Record a request, and return its answer.

        Raises:
            TypeError: a function returned something else than a step.
        """
        with self._lock:
            self.requests.append(request)
            answer = self._answers.popleft() if self._answers else self._default
        step = answer if isinstance(answer, Step) else answer(request)
        if not isinstance(step, Step):
            raise TypeError(f"its function returned {type(step).__name__}, not a step")
        return step


class ScriptedEndpoint(ThreadingHTTPServer):
    """`with ScriptedEndpoint() as endpoint:` listens on a free port of the loopback address."""

    daemon_threads = True
    request_queue_size = 128  # many clients may connect at once

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self._conversations: dict[str, ScriptedConversation] = {}

    def __enter__(self) -> Self:
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.shutdown()
        self.server_close()

    def conversation(self) -> ScriptedConversation:
        """Return a new conversation, with a URL of its own."""
        number = str(len(self._conversations) + 1)
        url = f"http://127.0.0.1:{self.server_address[1]}/c/{number}/v1"
        self._conversations[number] = ScriptedConversation(url)
        return self._conversations[number]

    def find(self, path: str) -> ScriptedConversation | None:
        """Return the conversation with the path of a request, which begins with `/c/NUMBER/`."""
        parts = path.split("/")
        return self._conversations.get(parts[2]) if parts[:2] == ["", "c"] and len(parts) > 2 else None

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore clients that close the connection early or send no HTTP."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # or each part of a stream waits for an acknowledgement
    timeout = _IDLE_SECONDS
    server: ScriptedEndpoint

    def do_GET(self) -> None:
        if self.path.partition("?")[0].endswith("/models"):
            model = {"id": "scripted", "object": "model", "created": 1, "owned_by": "prowess"}
            self._send_json({"object": "list", "data": [model]})
        else:
            self._send_error(404, f"nothing is at {self.path}")

    def do_POST(self) -> None:
        try:
            body = self._read_body()
        except ValueError as error:
            self.close_connection = True  # where the next request begins is unknown
            self._send_error(400, str(error))
            return
        path = self.path.partition("?")[0]
        conversation = self.server.find(path)
        if conversation is None or not path.endswith("/chat/completions"):
            self._send_error(404, f"only /chat/completions of a conversation is here, not {path}")
            return
        try:
            request = read_request(body)
        except ValueError as error:
            self._send_error(400, str(error))
            return
        try:
            step = conversation.answer(request)
        except Exception as error:  # noqa: BLE001 - of a function of a script; its author sees it as the answer
            self._send_error(500, f"the script failed: {error}")
            return
        if request.stream:
            self._send_stream(step, request)
        else:
            self._send_json(whole_answer(step))

    def _read_body(self) -> bytes:
        """Return the body of the request.

        Raises:
            ValueError: its length is invalid.
        """
        if self.headers.get("Transfer-Encoding", "").lower() == "chunked":
            return self._read_chunks()
        length = int(self.headers.get("Content-Length") or 0)
        if not 0 <= length <= _MAX_BODY_BYTES:
            raise ValueError("the body is too large")
        return self.rfile.read(length)

    def _read_chunks(self) -> bytes:
        body = b""
        while (size := int(self.rfile.readline(1024).partition(b";")[0], 16)) > 0:
            if len(body) + size > _MAX_BODY_BYTES:
                raise ValueError("the body is too large")
            body += self.rfile.read(size)
            self.rfile.readline(3)
        while self.rfile.readline(65536).strip():
            pass
        return body

    def _send_stream(self, step: Step, request: ModelRequest) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for text in (*map(json.dumps, answer_chunks(step, request)), "[DONE]"):
            data = f"data: {text}\n\n".encode()
            self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
        self.wfile.write(b"0\r\n\r\n")

    def _send_error(self, status: int, message: str) -> None:
        self._send_json({"error": {"message": message, "type": "invalid_request_error", "code": None}}, status)

    def _send_json(self, value: dict[str, Any], status: int = 200) -> None:
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Print nothing."""
