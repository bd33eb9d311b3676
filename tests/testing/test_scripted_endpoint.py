"""The server of scripted models: what it answers and records, and clients that break the rules."""

from __future__ import annotations

import http.client
import json
import socket
import threading
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest

from prowess.testing import Call, Step
from prowess.testing._scripted_endpoint import FINAL_ANSWER, ScriptedConversation, ScriptedEndpoint, read_request
from support.growth import END

if TYPE_CHECKING:
    from collections.abc import Iterator

HELLO: dict[str, Any] = {"model": "any", "messages": [{"role": "user", "content": "Hello"}]}
CALL = Step(calls=(Call(tool="now", arguments={"zone": "é"}), Call(tool="list")))


@pytest.fixture
def endpoint() -> Iterator[ScriptedEndpoint]:
    with ScriptedEndpoint() as endpoint:
        yield endpoint


def post(model: ScriptedConversation, body: Any, path: str = "/chat/completions") -> tuple[int, str]:
    """Return the status and the body of the answer."""
    url = urlsplit(model.url)
    connection = http.client.HTTPConnection(url.netloc, timeout=END)
    try:
        connection.request("POST", url.path + path, body if isinstance(body, bytes) else json.dumps(body).encode())
        response = connection.getresponse()
        return response.status, response.read().decode()
    finally:
        connection.close()


def send_raw(model: ScriptedConversation, data: bytes, *, read: bool = True) -> bytes:
    """Send bytes and return what comes back until the server closes the connection."""
    url = urlsplit(model.url)
    with socket.create_connection((url.hostname, url.port), timeout=END) as connection:
        connection.sendall(data)
        answer = b""
        while read and (part := connection.recv(65536)):
            answer += part
        return answer


def still_answers(model: ScriptedConversation) -> bool:
    return FINAL_ANSWER in post(model, HELLO)[1]


def test_steps_are_answers_in_order_then_the_default(endpoint: ScriptedEndpoint) -> None:
    model = endpoint.conversation()
    model.expect(CALL, lambda request: Step(say=request.messages[-1].text.upper()))
    message = json.loads(post(model, HELLO)[1])["choices"][0]
    assert message["finish_reason"] == "tool_calls"
    functions = [call["function"] for call in message["message"]["tool_calls"]]
    assert functions == [{"name": "now", "arguments": '{"zone": "\\u00e9"}'}, {"name": "list", "arguments": "{}"}]
    assert len({call["id"] for call in message["message"]["tool_calls"]}) == 2
    texts = [json.loads(post(model, HELLO)[1])["choices"][0]["message"]["content"] for _ in range(3)]
    assert texts == ["HELLO", FINAL_ANSWER, FINAL_ANSWER]
    assert model.steps_left == 0


def events(text: str) -> list[Any]:
    lines = [line.removeprefix("data: ") for line in text.splitlines() if line]
    assert lines[-1] == "[DONE]"
    return [json.loads(line) for line in lines[:-1]]


def test_a_stream_has_the_same_answer_in_parts(endpoint: ScriptedEndpoint) -> None:
    model = endpoint.conversation()
    model.expect(Step(say=" Two  words\n"), CALL)
    parts = events(post(model, {**HELLO, "stream": True})[1])
    deltas = [part["choices"][0]["delta"] for part in parts]
    assert "".join(delta.get("content", "") for delta in deltas) == " Two  words\n"
    assert (parts[-1]["choices"][0]["finish_reason"], "usage" in parts[-1]) == ("stop", False)
    parts = events(post(model, {**HELLO, "stream": True, "stream_options": {"include_usage": True}})[1])
    assert parts[-1]["choices"] == []
    assert parts[-1]["usage"]["total_tokens"] == 110
    arguments = {0: "", 1: ""}
    for part in parts[:-1]:
        for call in part["choices"][0]["delta"].get("tool_calls", ()):
            arguments[call["index"]] += call["function"]["arguments"]
    assert {index: json.loads(text) for index, text in arguments.items()} == {0: {"zone": "é"}, 1: {}}


def test_conversations_have_their_own_requests(endpoint: ScriptedEndpoint) -> None:
    first, second = endpoint.conversation(), endpoint.conversation()
    post(first, HELLO)
    post(second, {**HELLO, "messages": [{"role": "user", "content": "Bye"}]})
    assert [request.text for request in first.requests] == ["Hello"]
    assert [request.text for request in second.requests] == ["Bye"]


def test_a_request_is_read_into_one_form() -> None:
    request = read_request(
        json.dumps(
            {
                "messages": [
                    {"role": "system", "content": "Be brief."},
                    {
                        "role": "developer",
                        "content": [{"type": "text", "text": "Be"}, {"type": "text", "text": "kind."}],
                    },
                    {"role": "user", "content": "It is 5. When?"},
                    {
                        "role": "assistant",
                        "content": None,
                        "tool_calls": [{"id": "1", "function": {"name": "now", "arguments": '{"zone": 1}'}}],
                    },
                    {"role": "tool", "tool_call_id": "1", "content": "5"},
                ],
                "tools": [{"type": "function", "function": {"name": "now", "description": "Tells the time."}}],
            }
        ).encode()
    )
    assert request.system == "Be brief.\n\nBe\nkind."
    assert [message.role for message in request.messages] == ["system", "system", "user", "assistant", "tool"]
    assert request.messages[3].calls == (Call(tool="now", arguments={"zone": 1}),)
    assert request.tool_names == ("now",)
    assert request.front("When?") == "now: Tells the time.\n{}\n\nBe brief.\n\nBe\nkind.\n\nIt is 5. "
    assert request.front("not there") == request.whole
    assert request.describe().splitlines() == [
        "tools: now",
        "system: Be brief.",
        "system: Be",
        "kind.",
        "user: It is 5. When?",
        'assistant: calls now({"zone": 1})',
        "tool: 5",
    ]


GARBAGE = [
    b"",
    b"{",
    b"[]",
    b'{"messages": 1}',
    b'{"messages": ["x"]}',
    b'{"messages": [{"tool_calls": [1]}]}',
    b"[" * 100_000,
    b"\xff\xfe",
]


@pytest.mark.parametrize("body", GARBAGE)
def test_a_body_that_is_no_request_is_answered_with_400(body: bytes, endpoint: ScriptedEndpoint) -> None:
    model = endpoint.conversation()
    assert post(model, body)[0] == 400
    assert model.requests == []
    assert still_answers(model)


CALLS = {"role": "assistant", "tool_calls": [{"id": "1", "function": {"name": "now"}}]}
RESULT = {"role": "tool", "tool_call_id": "1", "content": "5"}


@pytest.mark.parametrize(
    "messages", [[CALLS], [CALLS, HELLO["messages"][0], RESULT], [RESULT], [CALLS, RESULT, RESULT], [CALLS, CALLS]]
)
def test_a_call_without_its_result_is_refused_as_openai_does(messages: list[Any], endpoint: ScriptedEndpoint) -> None:
    """A framework that stores half of a cancelled turn would fail with a real model."""
    model = endpoint.conversation()
    assert post(model, {"messages": messages})[0] == 400
    assert post(model, {"messages": [*HELLO["messages"], CALLS, RESULT, *HELLO["messages"]]})[0] == 200


ODD = [
    b'{"messages": [], "tools": 1}',
    b'{"messages": [], "tools": [1, {"function": {"parameters": 1}}]}',
    b'{"messages": [{"content": [1, {}, {"text": null}]}], "stream_options": 1}',
    b'{"messages": [{"tool_calls": [{"id": [], "function": {}}]}, {"role": "tool", "tool_call_id": []}], "stream": 1}',
    b'{"messages": [{"role": 1, "content": {"a": 1}, "tool_calls": 1}]}',
]


@pytest.mark.parametrize("body", ODD)
def test_a_request_with_odd_parts_is_answered(body: bytes, endpoint: ScriptedEndpoint) -> None:
    model = endpoint.conversation()
    assert post(model, body)[0] == 200
    assert len(model.requests) == 1


def test_other_paths_are_not_found(endpoint: ScriptedEndpoint) -> None:
    model = endpoint.conversation()
    assert post(model, HELLO, "/responses")[0] == 404
    model.url = model.url.replace("/c/1/", "/c/9/")
    assert post(model, HELLO)[0] == 404
    assert model.requests == []


def test_the_list_of_models_names_one(endpoint: ScriptedEndpoint) -> None:
    model = endpoint.conversation()
    answer = send_raw(model, b"GET /c/1/v1/models HTTP/1.1\r\nConnection: close\r\n\r\n")
    assert b'"id": "scripted"' in answer
    assert send_raw(model, b"GET /c/1/v1/else HTTP/1.1\r\nConnection: close\r\n\r\n").startswith(b"HTTP/1.1 404")


def test_a_body_in_chunks_is_read(endpoint: ScriptedEndpoint) -> None:
    model, body = endpoint.conversation(), json.dumps(HELLO).encode()
    head = b"POST /c/1/v1/chat/completions HTTP/1.1\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n"
    chunks = b"".join(b"%x;x=1\r\n%s\r\n" % (len(part), part) for part in (body[:7], body[7:]))
    assert FINAL_ANSWER.encode() in send_raw(model, head + chunks + b"0\r\nTrailer: x\r\n\r\n")


BROKEN_HTTP = {
    "no HTTP": b"\x16\x03\x01\x02\x00\x01\r\n\r\n",
    "a negative length": b"POST /c/1/v1/chat/completions HTTP/1.1\r\nContent-Length: -5\r\n\r\n",
    "a length that is text": b"POST /c/1/v1/chat/completions HTTP/1.1\r\nContent-Length: x\r\n\r\n",
    "a huge length": b"POST /c/1/v1/chat/completions HTTP/1.1\r\nContent-Length: 99999999999\r\n\r\n",
    "a chunk of no size": b"POST /c/1/v1/chat/completions HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n",
    "a huge chunk": b"POST /c/1/v1/chat/completions HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nffffffffff\r\n",
}


@pytest.mark.parametrize("data", BROKEN_HTTP.values(), ids=BROKEN_HTTP)
def test_broken_http_ends_only_its_connection(data: bytes, endpoint: ScriptedEndpoint) -> None:
    model = endpoint.conversation()
    assert b" 400 " in send_raw(model, data)
    assert still_answers(model)


def test_a_client_that_hangs_up_disturbs_no_other(endpoint: ScriptedEndpoint) -> None:
    """While it sends, and while the model answers."""
    model, asked, release = endpoint.conversation(), threading.Event(), threading.Event()

    def think(_: object) -> Step:
        asked.set()
        release.wait(END)
        return Step(say="word " * 200_000)

    model.expect(think)
    send_raw(model, b"POST /c/1/v1/chat/completions HTTP/1.1\r\nContent-Length: 500\r\n\r\n{", read=False)
    body = json.dumps({**HELLO, "stream": True}).encode()
    head = b"POST /c/1/v1/chat/completions HTTP/1.1\r\nContent-Length: %d\r\n\r\n" % len(body)
    send_raw(model, head + body, read=False)
    assert asked.wait(END)
    release.set()
    assert still_answers(model)


def test_a_connection_is_used_again(endpoint: ScriptedEndpoint) -> None:
    model = endpoint.conversation()
    url = urlsplit(model.url)
    connection = http.client.HTTPConnection(url.netloc, timeout=END)
    bodies: tuple[object, ...] = (HELLO, {**HELLO, "stream": True}, [], HELLO)
    for body in bodies:
        connection.request("POST", f"{url.path}/chat/completions", json.dumps(body))
        used = connection.sock
        connection.getresponse().read()
        assert connection.sock is used
    connection.close()
    assert len(model.requests) == 3


def test_a_function_that_fails_is_an_error_of_the_server(endpoint: ScriptedEndpoint) -> None:
    model = endpoint.conversation()
    model.expect(lambda request: Step(say=request.messages[9].text))
    status, text = post(model, HELLO)
    assert status == 500
    assert "the script failed: tuple index out of range" in text
    assert still_answers(model)


@pytest.mark.parametrize("stream", [False, True])
def test_a_function_that_returns_no_step_is_an_error_of_the_server(endpoint: ScriptedEndpoint, stream: bool) -> None:
    """Its author would see only a closed connection."""
    model = endpoint.conversation()
    model.expect(lambda _: None)  # type: ignore[arg-type, return-value]
    status, text = post(model, {**HELLO, "stream": stream})
    assert status == 500
    assert "the script failed: its function returned NoneType, not a step" in text
    assert still_answers(model)
