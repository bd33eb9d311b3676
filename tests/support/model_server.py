"""Run a model server on the loopback address that answers with one word and records the requests.

It implements as much of four APIs as their clients need for one short conversation: Anthropic's Messages, OpenAI's
Responses and chat completions, and Google's Gemini API. In the first two it can request a command before it answers.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler
from itertools import chain, count
from typing import TYPE_CHECKING, Any

from support.loopback import LoopbackServer

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

ANSWER = "Done."
MODELS = ("gpt-5", "local")
"""What it says that it has, if it is asked; it answers as any model."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Request:
    """A request of a client."""

    method: str
    path: str
    headers: dict[str, str]
    """Names in lower case."""
    body: bytes

    def json(self) -> Any:
        """Return the body as JSON; `None` if it is something else."""
        try:
            return json.loads(self.body)
        except ValueError:
            return None

    def text(self) -> str:
        """Return all of it, as it was sent and with the escapes of JSON resolved."""
        sent = [f"{self.method} {self.path}", *(f"{name}: {value}" for name, value in self.headers.items())]
        return "\n".join([*sent, self.body.decode("utf-8", "replace"), *texts(self.json())])


def texts(value: Any) -> list[str]:
    """Return the strings of a JSON value in order, keys included."""
    if isinstance(value, dict):
        return [text for key, item in value.items() for text in (key, *texts(item))]
    if isinstance(value, list):
        return [text for item in value for text in texts(item)]
    return [value] if isinstance(value, str) else []


def said(payload: dict[str, Any]) -> list[str | None]:
    """Return the texts of the user in a request, in order, with `None` at the place of each result of a tool."""
    found: list[str | None] = []
    for item in payload.get("messages") or payload.get("input") or payload.get("contents") or ():
        kind, content = str(item.get("type")), item.get("content") or item.get("parts") or ""
        if item.get("role") == "tool" or kind.endswith("_call_output"):
            found.append(None)
        elif item.get("role") == "user" or kind == "agent_message":
            parts = content if isinstance(content, list) else [{"text": content}]
            found += (
                None
                if part.get("type") == "tool_result" or "functionResponse" in part
                else part.get("text") or part.get("encrypted_content", "")
                for part in parts
            )
    return found


_RESULTS = ('"tool_result"', '"function_call_output"', '"functionResponse"', '"role": "tool"')
"""What a request has once for each result of a tool."""


def _count_results(payload: dict[str, Any]) -> int:
    """Return the number of results of tools in a request."""
    text = json.dumps(payload)
    return sum(text.count(mark) for mark in _RESULTS)


def _tool_names(tools: list[Any], space: str = "") -> list[str]:
    """Return the names of tools in a request; that of Codex's name spaces is in front, in a line of its own."""
    names = []
    for tool in tools:
        inner = [*tool.get("functionDeclarations", ()), *(tool.get("tools") or ())]
        inner += [tool["function"]] if "function" in tool else []
        names += _tool_names(inner, f"{tool['name']}\n" if tool.get("type") == "namespace" else "")
        if "name" in tool and not inner:
            names.append(space + tool["name"])
    return names


class ModelServer(LoopbackServer):
    """`with ModelServer() as server:` listens at `server.url`."""

    def __init__(self) -> None:
        super().__init__(_Handler)
        self.command: str | None = None
        """The command that the model requests, once in a conversation."""
        self.tool: tuple[str, dict[str, Any]] | None = None
        """The end of the name of a tool and its arguments: called once in a conversation that has such a tool."""
        self.tools: tuple[tuple[str, dict[str, Any]], ...] = ()
        """The same for several tools, one after the other."""
        self.turns: dict[str, Sequence[tuple[str, Any]]] = {}
        """The same for each message of the user that contains a word. Arguments can be made of the request."""
        self.numbers = count(1)
        """Identifiers of answers and calls, where there are turns: no two conversations have the same."""
        self.answer = ANSWER
        self.answers: Callable[[Any], str] | None = None
        """The answer to a request for a chat completion, given the request."""
        self.calls: Callable[[Any], list[tuple[str, dict[str, Any]]]] | None = None
        """The tools that the model calls, each with its arguments, given a request for a chat completion."""
        self.requests: list[Request] = []


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: ModelServer

    def _answer(self) -> None:
        """Record the request, and answer it according to its path."""
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        headers = {name.lower(): value for name, value in self.headers.items()}
        request = Request(method=self.command, path=self.path, headers=headers, body=body)
        self.server.requests.append(request)
        path, _, query = self.path.partition("?")
        payload: dict[str, Any] = request.json() or {}
        if "upgrade" in headers:  # Codex tries a WebSocket first, and falls back to HTTP on this status
            self._send(b"", "text/plain", status=426)
        elif path.endswith("/count_tokens"):
            self._json({"input_tokens": 1})
        elif path.endswith(":countTokens"):
            self._json({"totalTokens": 1})
        elif path.endswith("/messages"):
            self._messages(payload)
        elif path.endswith("/responses"):
            self._responses(payload)
        elif path.endswith("/chat/completions"):
            self._chat(payload)
        elif path.endswith("/models"):
            models = [{"id": name, "object": "model", "created": 1, "owned_by": "tests"} for name in MODELS]
            self._json({"object": "list", "data": models})
        elif path.endswith((":generateContent", ":streamGenerateContent")):
            self._contents(payload, stream="alt=sse" in query)
        else:
            self._send(b"", "text/plain", status=404)

    do_GET = do_HEAD = do_POST = do_CONNECT = _answer  # noqa: N815 - names of the standard library

    def _messages(self, payload: dict[str, Any]) -> None:
        usage = {"input_tokens": 1, "output_tokens": 1}
        block: dict[str, Any] = {"type": "text", "text": ""}
        answer = self.server.answer
        complete, delta, reason = {**block, "text": answer}, {"type": "text_delta", "text": answer}, "end_turn"
        if self.server.command is not None and '"tool_result"' not in json.dumps(payload) and payload.get("tools"):
            arguments = {"command": self.server.command, "description": "Look around"}
            block = {"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {}}
            complete = {**block, "input": arguments}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(arguments)}
            reason = "tool_use"
        if call := self._tool_call(payload):
            block = {"type": "tool_use", "id": f"toolu_{self._number(payload)}", "name": call[0], "input": {}}
            complete = {**block, "input": call[1]}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(call[1])}
            reason = "tool_use"
        end = {"stop_reason": reason, "stop_sequence": None}
        number = self._number(payload) if self.server.turns else 1
        whole = {
            "id": f"msg_{number}",
            "type": "message",
            "role": "assistant",
            "model": payload["model"],
            "usage": usage,
        }
        if not payload.get("stream"):
            self._json({**whole, **end, "content": [complete]})
            return
        self._events(
            {"type": "message_start", "message": {**whole, "content": [], "stop_reason": None, "stop_sequence": None}},
            {"type": "content_block_start", "index": 0, "content_block": block},
            {"type": "content_block_delta", "index": 0, "delta": delta},
            {"type": "content_block_stop", "index": 0},
            {"type": "message_delta", "delta": end, "usage": usage},
            {"type": "message_stop"},
        )

    def _responses(self, payload: dict[str, Any]) -> None:
        content = [{"type": "output_text", "text": self.server.answer, "annotations": []}]
        item = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": content}
        if self.server.command is not None and '"function_call_output"' not in json.dumps(payload):
            arguments = json.dumps({"cmd": self.server.command})
            call = {"type": "function_call", "id": "fc_1", "call_id": "call_1", "status": "completed"}
            item = {**call, "name": "exec_command", "arguments": arguments}
        if found := self._tool_call(payload):
            number = self._number(payload)
            call = {"type": "function_call", "id": f"fc_{number}", "call_id": f"call_{number}", "status": "completed"}
            space, _, name = found[0].rpartition("\n")
            item = {**call, "name": name, "arguments": json.dumps(found[1]), **({"namespace": space} if space else {})}
            if isinstance(found[1], str):  # of a tool without a schema, such as the one that runs JavaScript
                item = {**call, "id": f"ctc_{number}", "type": "custom_tool_call", "name": name, "input": found[1]}
        usage = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
        whole = {"id": "resp_1", "object": "response", "model": payload["model"]}
        done = {**whole, "status": "completed", "output": [item], "usage": usage}
        if not payload.get("stream"):
            self._json(done)
            return
        self._events(
            {"type": "response.created", "response": {**whole, "status": "in_progress", "output": []}},
            {"type": "response.output_item.done", "output_index": 0, "item": item},
            {"type": "response.completed", "response": done},
        )

    def _chat(self, payload: dict[str, Any]) -> None:
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        whole = {"id": "chat_1", "created": 1, "model": payload.get("model")}
        answer = self.server.answer if self.server.answers is None else self.server.answers(payload)
        message: dict[str, Any] = {"role": "assistant", "content": answer}
        reason = "stop"
        calls = self.server.calls(payload) if self.server.calls is not None else []
        calls = [*calls, call] if (call := self._tool_call(payload)) else calls
        if calls:
            functions = [{"name": name, "arguments": json.dumps(arguments)} for name, arguments in calls]
            first = self._number(payload) if self.server.turns else 0
            items = [
                {"index": number, "id": f"call_{first + number}", "type": "function", "function": function}
                for number, function in enumerate(functions)
            ]
            message, reason = {"role": "assistant", "content": None, "tool_calls": items}, "tool_calls"
        if not payload.get("stream"):
            choice = {"index": 0, "message": message, "finish_reason": reason}
            self._json({**whole, "object": "chat.completion", "choices": [choice], "usage": usage})
            return
        whole["object"] = "chat.completion.chunk"
        self._events(
            {**whole, "choices": [{"index": 0, "delta": message, "finish_reason": None}]},
            {**whole, "choices": [{"index": 0, "delta": {}, "finish_reason": reason}], "usage": usage},
            end="data: [DONE]\n\n",
        )

    def _contents(self, payload: dict[str, Any], *, stream: bool) -> None:
        call = self._tool_call(payload)
        part = {"functionCall": {"name": call[0], "args": call[1]}} if call else {"text": self.server.answer}
        content = {"role": "model", "parts": [part]}
        usage = {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2}
        whole = {"candidates": [{"content": content, "finishReason": "STOP", "index": 0}], "usageMetadata": usage}
        if stream:
            self._events(whole)
        else:
            self._json(whole)

    def _tool_call(self, payload: dict[str, Any]) -> tuple[str, Any] | None:
        """Return the full name of the tool to call, and its arguments."""
        steps: Sequence[tuple[str, Any]] = self.server.tools or (
            (self.server.tool,) if self.server.tool is not None else ()
        )
        done = _count_results(payload)
        if self.server.turns:
            steps, done = self._turn(said(payload))
        if done >= len(steps):
            return None
        end, arguments = steps[done]
        if callable(arguments):
            arguments = arguments(payload)
        more = (
            item.get("tools") or [] for item in payload.get("input") or () if item.get("type") == "additional_tools"
        )
        tools = [*(payload.get("tools") or []), *chain.from_iterable(more)]
        names = (name for name in _tool_names(tools) if name.endswith(end))
        return next(((name, arguments) for name in names), None)

    def _number(self, payload: dict[str, Any]) -> int:
        return next(self.server.numbers) if self.server.turns else _count_results(payload) + 1

    def _turn(self, texts: list[str | None]) -> tuple[Sequence[tuple[str, Any]], int]:
        """Return the steps of the last message of the user that has some, and how many of them are done."""
        for place in range(len(texts) - 1, -1, -1):
            for word, steps in self.server.turns.items():
                if word in (texts[place] or ""):
                    return steps, texts[place:].count(None)
        return (), 0

    def _events(self, *events: dict[str, Any], end: str = "") -> None:
        named = [(f"event: {event['type']}\n" if "type" in event else "", json.dumps(event)) for event in events]
        text = "".join(f"{name}data: {data}\n\n" for name, data in named)
        self._send((text + end).encode(), "text/event-stream")

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
        """Print nothing."""
