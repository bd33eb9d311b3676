"""Serve scripted models on the loopback address, as OpenAI's chat completions.

Requests are read into one form; answers are written whole or as a stream. Each conversation has a base URL of its own,
so that its requests are known without trust in what they contain.
"""

from __future__ import annotations

import json
import re
import threading
import uuid
from collections import deque
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

from prowess._internal.frozen import EMPTY, Frozen

from ._scripted_model import Call, Step

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from types import TracebackType
    from typing import Self

    Answer = Step | Callable[["ModelRequest"], Step]

_SYSTEM_ROLES = ("system", "developer")
_USAGE = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}
_SHOWN_CHARACTERS = 700
"""Of a message or a schema in `ModelRequest.describe`."""


class ModelMessage(Frozen):
    """A message that a model is sent."""

    role: str
    """`system`, `user`, `assistant` or `tool`."""
    text: str
    calls: tuple[Call, ...] = ()
    """The tools that an earlier answer called."""


class ModelTool(Frozen):
    """A tool that a model is offered."""

    name: str
    description: str = ""
    parameters: Mapping[str, Any] = EMPTY
    """JSON Schema of its arguments."""

    @property
    def text(self) -> str:
        """All of it, as the model reads it."""
        return f"{self.name}: {self.description}\n{json.dumps(self.parameters, ensure_ascii=False)}"


class ModelRequest(Frozen):
    """What a model is sent at once."""

    messages: tuple[ModelMessage, ...]
    tools: tuple[ModelTool, ...] = ()
    stream: bool = False
    counts_usage: bool = False
    """Whether the last part of a stream contains the tokens."""

    @property
    def system(self) -> str:
        """The texts of all system messages."""
        return "\n\n".join(message.text for message in self.messages if message.role == "system")

    @property
    def text(self) -> str:
        """The texts of all messages, in order."""
        return "\n\n".join(message.text for message in self.messages)

    @property
    def tool_names(self) -> tuple[str, ...]:
        """The names of the tools."""
        return tuple(tool.name for tool in self.tools)

    @property
    def whole(self) -> str:
        """All texts in order: the tools, then the messages."""
        return "\n\n".join([*(tool.text for tool in self.tools), self.text])

    def front(self, text: str) -> str:
        """Return what is sent before a text: the tools, then the messages up to the one with the text."""
        parts = [tool.text for tool in self.tools]
        for message in self.messages:
            before, found, _ = message.text.partition(text)
            parts.append(before)
            if found:
                break
        return "\n\n".join(parts)

    def describe(self) -> str:
        """Return it for a person, with long texts shortened."""
        lines = [f"tools: {', '.join(self.tool_names) or 'none'}"]
        for message in self.messages:
            calls = [f"calls {call.tool}({json.dumps(dict(call.arguments))})" for call in message.calls]
            lines.append(f"{message.role}: {_shorten(' '.join([message.text, *calls]).strip())}")
        return "\n".join(lines)


def _shorten(text: str) -> str:
    if len(text) <= _SHOWN_CHARACTERS:
        return text
    return f"{text[:_SHOWN_CHARACTERS]} ... [{len(text) - _SHOWN_CHARACTERS:,} characters more]"


# ── requests ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def read_request(body: bytes) -> ModelRequest:
    """Return a request in one form.

    Raises:
        ValueError: it is not a request for a chat completion, or OpenAI would refuse it.
    """
    try:
        value = json.loads(body)
    except RecursionError:
        raise ValueError("the body is nested too deeply") from None
    if not isinstance(value, Mapping) or not isinstance(value.get("messages"), list):
        raise ValueError("the body is not a JSON object with `messages`")  # noqa: TRY004 - of a client's bytes
    _check_calls(value["messages"])
    options, tools = value.get("stream_options"), value.get("tools")
    return ModelRequest(
        messages=tuple(_read_message(item) for item in value["messages"]),
        tools=tuple(map(_read_tool, tools)) if isinstance(tools, list) else (),
        stream=value.get("stream") is True,
        counts_usage=isinstance(options, Mapping) and options.get("include_usage") is True,
    )


def _check_calls(messages: Sequence[Any]) -> None:
    """Check that the results of tool calls follow them, as OpenAI does.

    Raises:
        ValueError: a result or a call is missing.
    """
    pending: list[object] = []
    for item in messages:
        message: Mapping[str, Any] = item if isinstance(item, Mapping) else {}
        if message.get("role") == "tool":
            if message.get("tool_call_id") not in pending:
                raise ValueError("a message with the role `tool` does not follow its tool call")
            pending.remove(message.get("tool_call_id"))
            continue
        if pending:
            raise ValueError("messages with the role `tool` are missing after an assistant message with `tool_calls`")
        calls = message.get("tool_calls")
        pending = [call.get("id") for call in calls if isinstance(call, Mapping)] if isinstance(calls, list) else []
    if pending:
        raise ValueError("messages with the role `tool` are missing after an assistant message with `tool_calls`")


def _read_message(item: Any) -> ModelMessage:
    if not isinstance(item, Mapping):
        raise ValueError("a message is not a JSON object")  # noqa: TRY004
    role, calls = str(item.get("role")), item.get("tool_calls")
    return ModelMessage(
        role="system" if role in _SYSTEM_ROLES else role,
        text=_read_content(item.get("content")),
        calls=tuple(_read_call(call) for call in calls) if isinstance(calls, list) else (),
    )


def _read_content(content: Any) -> str:
    """Return the text of a content, which is text or a list of parts."""
    if isinstance(content, list):
        return "\n".join(str(part.get("text", "")) if isinstance(part, Mapping) else str(part) for part in content)
    return "" if content is None else str(content)


def _read_call(item: Any) -> Call:
    function = item.get("function") if isinstance(item, Mapping) else None
    if not isinstance(function, Mapping):
        raise ValueError("a tool call has no `function`")  # noqa: TRY004
    try:
        arguments = json.loads(function.get("arguments") or "{}")
    except (TypeError, ValueError):
        arguments = None
    return Call(tool=str(function.get("name")), arguments=arguments if isinstance(arguments, Mapping) else {})


def _read_tool(item: Any) -> ModelTool:
    function = item.get("function") if isinstance(item, Mapping) else None
    form: Mapping[str, Any] = function if isinstance(function, Mapping) else {}
    parameters = form.get("parameters")
    return ModelTool(
        name=str(form.get("name")),
        description=str(form.get("description") or ""),
        parameters=parameters if isinstance(parameters, Mapping) else {},
    )


# ── answers ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def whole_answer(step: Step) -> dict[str, Any]:
    """Return the answer to a request that asks for no stream."""
    message: dict[str, Any] = {"role": "assistant", "content": step.say or None}
    if step.calls:
        message["tool_calls"] = _call_items(step.calls)
    choice = {"index": 0, "message": message, "finish_reason": _finish_reason(step), "logprobs": None}
    return {**_envelope("chat.completion"), "choices": [choice], "usage": _USAGE}


def answer_chunks(step: Step, request: ModelRequest) -> Iterator[dict[str, Any]]:
    """Yield the parts of a stream: a text by words, and each call in two parts."""
    envelope = _envelope("chat.completion.chunk")

    def chunk(delta: dict[str, Any], finish_reason: str | None = None) -> dict[str, Any]:
        return {**envelope, "choices": [{"index": 0, "delta": delta, "finish_reason": finish_reason}]}

    yield chunk({"role": "assistant", "content": ""})
    for part in re.findall(r"\s*\S+|\s+$", step.say):
        yield chunk({"content": part})
    for call in _call_items(step.calls):
        function = call["function"]
        yield chunk({"tool_calls": [{**call, "function": {**function, "arguments": function["arguments"][:4]}}]})
        yield chunk({"tool_calls": [{"index": call["index"], "function": {"arguments": function["arguments"][4:]}}]})
    yield chunk({}, _finish_reason(step))
    if request.counts_usage:
        yield {**envelope, "choices": [], "usage": _USAGE}


def _call_items(calls: Sequence[Call]) -> list[dict[str, Any]]:
    return [
        {
            "index": index,
            "id": f"call_{uuid.uuid4().hex}",
            "type": "function",
            "function": {"name": call.tool, "arguments": json.dumps(dict(call.arguments))},
        }
        for index, call in enumerate(calls)
    ]


def _finish_reason(step: Step) -> str:
    return "tool_calls" if step.calls else "stop"


def _envelope(kind: str) -> dict[str, Any]:
    return {"id": f"chatcmpl-{uuid.uuid4().hex}", "object": kind, "created": 1, "model": "scripted"}


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
