"""The endpoint with OpenAI's API, over real connections."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx2
import pytest
import yaml

from prowess.agent.server import listen
from prowess.agent.server._parameters import parse_body
from prowess.agent.server._requests import Message, RequestError
from prowess.errors import ConfigError
from support.chat_server import ChatServer
from support.growth import END
from support.rows import rows

if TYPE_CHECKING:
    from collections.abc import Iterator

HELLO = [{"role": "user", "content": "hello"}]


@pytest.fixture
def chat() -> Iterator[ChatServer]:
    with ChatServer() as server:
        yield server


@pytest.fixture(scope="module")
def shared_chat() -> Iterator[ChatServer]:
    """A server that many tests share."""
    with ChatServer() as server:
        yield server


def post(chat: ChatServer, body: Any, *, path: str = "/v1/chat/completions", **headers: str) -> httpx2.Response:
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    given = {"content-type": "application/json"} | {name.replace("_", "-"): value for name, value in headers.items()}
    return httpx2.post(chat.url + path, content=content, headers=given, trust_env=False, timeout=END)


def get(chat: ChatServer, path: str, **headers: str) -> httpx2.Response:
    return httpx2.get(chat.url + path, headers=headers, trust_env=False, timeout=END)


def events(response: httpx2.Response) -> list[Any]:
    """Return the events of a stream; each is JSON except for the last."""
    assert response.headers["content-type"] == "text/event-stream; charset=utf-8"
    blocks = response.text.split("\n\n")
    assert blocks.pop() == ""
    return [
        json.loads(data) if data != "[DONE]" else data for data in (block.removeprefix("data: ") for block in blocks)
    ]


def test_an_answer_is_one_object_in_openais_format(chat: ChatServer) -> None:
    answer = post(chat, {"model": "parrot", "messages": HELLO, "temperature": 1})
    text = answer.json()
    assert (answer.status_code, answer.headers.get("prowess-ignored")) == (200, None)
    assert text.pop("id").startswith("chatcmpl-")
    assert isinstance(text.pop("created"), int)
    message = {"role": "assistant", "content": "parrot: hello", "refusal": None}
    assert text == {
        "object": "chat.completion",
        "model": "parrot",
        "choices": [{"index": 0, "message": message, "logprobs": None, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5},
    }


@pytest.mark.parametrize("stream", [False, True])
def test_settings_are_passed_on_and_what_has_no_effect_is_named(chat: ChatServer, stream: bool) -> None:
    """In the head of the answer; what is `null`, or what is done in any case, has not to be named."""
    given = {"max_tokens": 9, "max_completion_tokens": 8, "temperature": 0.5, "top_p": 1, "stop": "END"}
    same: dict[str, Any] = {
        "n": 1,
        "tools": [],
        "tool_choice": "auto",
        "response_format": {"type": "text"},
        "logprobs": False,
    }
    harmless = {"seed": 1, "user": "ann", "Ü\r\nx: y\ud800": 1, "reasoning_effort": None}
    answer = post(chat, {"messages": HELLO, "stream": stream, **given, **same, **harmless})
    assert (answer.status_code, answer.headers["prowess-ignored"]) == (200, "seed, user, %C3%9C%0D%0Ax%3A%20y%3F")
    ((request, _),) = chat.echo.requests
    assert request.settings == {"max_tokens": 8, "temperature": 0.5, "top_p": 1, "stop_sequences": ["END"]}


def test_a_key_that_is_given_twice_is_found_without_comparing_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """A body may have a hundred thousand keys, and nothing else is answered while it is read."""
    compared = 0

    class Key(str):
        __hash__ = str.__hash__

        def __eq__(self, other: object) -> bool:
            nonlocal compared
            compared += 1
            return str.__eq__(self, other)

    pairs = [(Key(at), 1) for at in range(2000)]
    pairs.append((Key(1999), 2))
    monkeypatch.setattr("json.loads", lambda *_, object_pairs_hook, **__: object_pairs_hook(pairs))
    with pytest.raises(RequestError, match="the body has the key `1999` twice in one object"):
        parse_body(b"")
    assert compared < 20_000


def test_a_header_names_twenty_parameters_at_most(chat: ChatServer) -> None:
    names = [f"{at:02}{'x' * 100}" for at in range(1000)]
    answer = post(chat, {"messages": HELLO, **dict.fromkeys(names, 1)})
    assert answer.headers["prowess-ignored"].split(", ") == [*(name[:64] for name in names[:20]), "..."]


def test_a_response_is_one_object_in_openais_format(chat: ChatServer) -> None:
    body: dict[str, Any] = {"model": "parrot", "input": "hello", "instructions": "be brief"}
    body["metadata"] = {"a": "b", "c": ["\ud800"]}
    body |= {"max_output_tokens": 9, "text": {"format": {"type": "text"}, "verbosity": "low"}, "store": True}
    answer = post(chat, body, path="/v1/responses")
    text = answer.json()
    assert (answer.status_code, answer.headers["prowess-ignored"]) == (200, "store, text.verbosity")
    assert text.pop("id").startswith("resp_")
    assert isinstance(text.pop("created_at"), int)
    ((message,), usage) = text.pop("output"), text.pop("usage")
    assert message.pop("id").startswith("msg_")
    assert message == {
        "type": "message",
        "status": "completed",
        "role": "assistant",
        "content": [{"type": "output_text", "text": "parrot: hello", "annotations": [], "logprobs": []}],
    }
    assert (usage["input_tokens"], usage["output_tokens"], usage["total_tokens"]) == (3, 2, 5)
    given = {"instructions": "be brief", "metadata": {"a": "b"}, "max_output_tokens": 9, "model": "parrot"}
    assert {name: text[name] for name in given} == given
    assert (text["object"], text["status"], text["error"], text["store"]) == ("response", "completed", None, False)
    ((request, _),) = chat.echo.requests
    assert request.messages == (Message(role="system", text="be brief"), Message(role="user", text="hello"))
    assert request.settings == {"max_tokens": 9}


def test_the_conversation_of_a_response_is_an_id(chat: ChatServer) -> None:
    """As in the other API, or in `conversation`."""
    items = [{"role": "user", "content": [{"type": "input_text", "text": "hello"}]}]
    ids: list[dict[str, Any]] = [{"conversation": "c"}, {"conversation": {"id": "c"}}]
    for given in (*ids, {"metadata": {"conversation_id": "c"}}):
        assert post(chat, {"input": items, **given}, path="/v1/responses").json()["conversation"] == {"id": "c"}
    assert [request.conversation for request, _ in chat.echo.requests] == ["c"] * 3


@pytest.mark.parametrize(
    ("body", "param"), [*rows(__file__, "responses_that_are_refused"), ({"instructions": "\ud800"}, "instructions")]
)
@pytest.mark.parametrize("stream", [False, True])
def test_responses_that_are_refused(
    shared_chat: ChatServer, body: dict[str, Any], param: str | None, stream: bool
) -> None:
    answer = post(shared_chat, {"input": "hello", "stream": stream, **body}, path="/v1/responses")
    assert (answer.status_code, answer.json()["error"]["param"]) == (400, param)


def test_a_stream_has_parts_a_finish_reason_usage_and_an_end(chat: ChatServer) -> None:
    """All with the same ID."""
    body = {"model": "parrot", "messages": HELLO, "stream": True, "stream_options": {"include_usage": True}}
    *chunks, done = events(post(chat, body))
    assert done == "[DONE]"
    assert len({chunk["id"] for chunk in chunks}) == 1
    assert {(chunk["object"], chunk["model"]) for chunk in chunks} == {("chat.completion.chunk", "parrot")}
    assert [chunk["choices"][0]["delta"] for chunk in chunks[:-1]] == [
        {"role": "assistant", "content": ""},
        {"content": "parrot: "},
        {"content": "hello "},
        {},
    ]
    assert [chunk["choices"][0]["finish_reason"] for chunk in chunks[:-1]] == [None, None, None, "stop"]
    assert (chunks[-1]["choices"], chunks[-1]["usage"]["total_tokens"]) == ([], 5)


def test_usage_is_streamed_only_on_request(chat: ChatServer) -> None:
    """Some clients fail on a chunk without choices."""
    chunks = events(post(chat, {"model": "parrot", "messages": HELLO, "stream": True}))
    assert all(chunk == "[DONE]" or (chunk["choices"] and "usage" not in chunk) for chunk in chunks)


def test_messages_with_every_role_and_with_parts_are_read(chat: ChatServer) -> None:
    """`developer` means `system`."""
    parts = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    post(
        chat,
        {
            "messages": [
                {"role": "developer", "content": "be brief"},
                {"role": "user", "content": "one", "name": "x"},
                {"role": "assistant", "content": None, "tool_calls": []},
                {"role": "tool", "content": "two", "tool_call_id": "1"},
                {"role": "user", "content": parts},
            ]
        },
    )
    ((request, model),) = chat.echo.requests
    assert request.messages == (
        Message(role="system", text="be brief"),
        Message(role="user", text="one"),
        Message(role="assistant", text=""),
        Message(role="tool", text="two"),
        Message(role="user", text="a\nb"),
    )
    assert (model, request.conversation) == ("parrot", None)


def test_the_conversation_id_comes_from_a_header_or_metadata_not_from_user(chat: ChatServer) -> None:
    """One user may have many conversations at the same time."""
    post(chat, {"messages": HELLO, "metadata": {"conversation_id": "m"}})
    post(chat, {"messages": HELLO, "metadata": {"conversation_id": "m"}}, x_conversation_id="h")
    post(chat, {"messages": HELLO, "user": "ann", "metadata": {"x": "y"}})
    assert [request.conversation for request, _ in chat.echo.requests] == ["m", "h", None]


PAGE = yaml.safe_load(Path(__file__).with_name("refused.yaml").read_text(encoding="utf-8"))
NOT_JSON = {"message": "the body is not valid JSON", "type": "invalid_request_error", "param": None, "code": None}
TWICE = "the body has the key `messages` twice in one object"
TOO_LARGE = {**NOT_JSON, "message": "the request is larger than 1000000 bytes"}
BAD: list[tuple[str, Any, int, object]] = [
    *PAGE["bodies"],
    *((name, body, 400, NOT_JSON) for name, body in (("open", b"{"), ("latin-1", b'"\xff"'), ("deep", b"[" * 200_000))),
    *((name, body, 400, NOT_JSON) for name, body in (("NaN", b'{"messages": NaN}'), ("UTF-16", "{}".encode("utf-16")))),
    ("twice", b'{"messages": [], "messages": []}', 400, {**NOT_JSON, "message": TWICE}),
    ("large", {"messages": [{"role": "user", "content": "x" * 1_000_000}]}, 413, TOO_LARGE),
]


@pytest.mark.slow
@pytest.mark.parametrize(("body", "status", "error"), [row[1:] for row in BAD], ids=[row[0] for row in BAD])
@pytest.mark.parametrize("stream", [False, True])
def test_an_invalid_request_gets_an_error_in_openais_format(
    shared_chat: ChatServer, body: Any, status: int, error: object, stream: bool
) -> None:
    """With the same status for streams; the next request is answered."""
    if isinstance(body, dict):
        body = {"stream": stream, **body}
    answer = post(shared_chat, body)
    assert (answer.status_code, answer.json()) == (status, {"error": error})
    assert post(shared_chat, {"messages": HELLO}).status_code == 200


def test_an_error_after_the_first_part_ends_the_stream(chat: ChatServer) -> None:
    """Without the event that marks a complete answer."""
    *_, last = events(post(chat, {"messages": [{"role": "user", "content": "fail later"}], "stream": True}))
    assert last["error"]["message"] == "the server broke off"


def test_models_and_health_are_served(chat: ChatServer) -> None:
    """The name of a model may contain a slash."""
    listed = get(chat, "/v1/models").json()
    assert (listed["object"], [row["id"] for row in listed["data"]]) == ("list", ["parrot", "org/other"])
    assert get(chat, "/v1/models/org/other").json()["id"] == "org/other"
    assert get(chat, "/v1/models/none").status_code == 404
    assert get(chat, "/health").json() == get(chat, "/healthz").json() == {"status": "ok"}


@pytest.mark.parametrize(
    ("path", "status"), [("/", 404), ("/v1/embeddings", 404), ("/v1/chat/completions", 405), ("/docs", 404)]
)
def test_an_unknown_path_or_method_gets_an_error_in_openais_format(chat: ChatServer, path: str, status: int) -> None:
    """Clients print `message`."""
    answer = get(chat, path)
    assert (answer.status_code, answer.json()["error"]["type"]) == (status, "invalid_request_error")


KEYS = [
    ({}, "no key"),
    ({"authorization": "Bearer one"}, "one"),
    ({"authorization": "bearer  one"}, "one"),
    ({"authorization": "Bearer ONE"}, "another"),
    ({"authorization": "one"}, "no scheme"),
    ({"authorization": "ONE"}, "no scheme, another"),
    ({"authorization": "Basic one"}, "another scheme"),
    ({"api_key": "one"}, "another header"),
    ({"x_api_key": "one"}, "a third header"),
]


@pytest.mark.slow
def test_clients_with_different_keys_are_different_clients(chat: ChatServer) -> None:
    """Even if no key is required; and a backend gets a digest, not the key."""
    for headers, _ in KEYS:
        assert post(chat, {"messages": HELLO}, **headers, x_conversation_id="same").status_code == 200
    names: dict[str, str] = {}
    for (request, _), (_, name) in zip(chat.echo.requests, KEYS, strict=True):
        assert names.setdefault(request.client, name) == name
        assert len(request.client) == 64
    assert sorted(names.values()) == sorted({name for _, name in KEYS})


@pytest.mark.parametrize(("headers", "status"), rows(__file__, "a_page_of_another_site_is_refused"))
def test_a_page_of_another_site_is_refused(chat: ChatServer, headers: dict[str, str], status: int) -> None:
    """Even a form, which browsers send without a preflight request."""
    answer = post(chat, {"messages": HELLO}, **headers)
    assert (answer.status_code, chat.echo.requests) == (status, [])


@pytest.mark.slow
def test_a_configured_key_is_required() -> None:
    """Except by `/health`."""
    with ChatServer(token="right") as chat:  # noqa: S106 - of this test
        for headers in (
            {},
            {"authorization": "Bearer wrong"},
            {"authorization": "right"},
            {"authorization": "Basic right"},
        ):
            answer = post(chat, {"messages": HELLO}, **headers)
            assert (answer.status_code, answer.json()["error"]["code"]) == (401, "invalid_api_key")
            assert answer.headers["www-authenticate"] == "Bearer"
        assert get(chat, "/v1/models").status_code == 401
        assert get(chat, "/health").status_code == 200
        assert post(chat, {"messages": HELLO}, authorization="Bearer right").status_code == 200


@pytest.mark.parametrize(("text", "stream"), [("wait", False), ("wait", True), ("wait later", True)])
def test_a_disconnect_cancels_the_request(chat: ChatServer, text: str, stream: bool) -> None:
    """Before the first part and after it."""
    body = json.dumps({"messages": [{"role": "user", "content": text}], "stream": stream}).encode()
    head = f"POST /v1/chat/completions HTTP/1.1\r\nHost: {chat.url[7:]}\r\nContent-Type: application/json"
    with socket.create_connection(("127.0.0.1", chat.port)) as client:
        client.sendall(f"{head}\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body)
        if text == "wait later":
            while b"first" not in client.recv(65536):
                pass
        else:
            client.settimeout(0.3)
            with pytest.raises(TimeoutError):
                client.recv(1)
    chat.echo.wait_for_outcome("cancelled")


def test_a_port_in_use_is_an_error_with_a_hint() -> None:
    with listen("127.0.0.1", 0) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(ConfigError) as caught:
            listen("127.0.0.1", port)
    assert str(caught.value) == f"port {port} is in use"
    assert (
        caught.value.hint
        == "use another with `--port`, or a free one with `--port 0`; or stop the program that uses it"
    )


@pytest.mark.parametrize(
    ("host", "port"), [("no-such-host.invalid", 1), ("127.0.0.1", 99999), ("192.0.2.1", 0), ("\ud800", 1)]
)
def test_an_invalid_address_is_a_configuration_error(host: str, port: int) -> None:
    with pytest.raises(ConfigError, match=r"^(cannot listen on `|invalid port 99999$)"):
        listen(host, port)


@pytest.mark.slow
def test_an_interrupt_ends_the_process_without_a_traceback() -> None:
    """Even while a client waits for an answer."""
    code = """
import sys
sys.path.insert(0, "tests")
from support.chat_server import EchoAnswerer
from prowess.agent.server import serve
try:
    serve(EchoAnswerer(), port=0, ready=lambda url: print(url, flush=True))
except KeyboardInterrupt:
    sys.exit(130)
"""
    top = Path(__file__).parents[3]
    with subprocess.Popen(
        [sys.executable, "-c", code], cwd=top, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        body = json.dumps({"messages": [{"role": "user", "content": "wait later"}], "stream": True}).encode()
        headers = {"content-type": "application/json"}
        with httpx2.stream("POST", f"{url}/chat/completions", content=body, headers=headers, trust_env=False) as answer:
            assert "content" in next(answer.iter_text())
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=END)
    assert (process.returncode, out, err) == (130, "", "")
