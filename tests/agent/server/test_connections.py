"""Slow, greedy and ambiguous clients of the endpoint do not disturb others."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import httpx2
import pytest
import yaml

from prowess.agent.server._connections import Limits, default_limits
from prowess.agent.server._conversations import ConversationStore
from prowess.agent.server._requests import ChatAnswer, ChatRequest
from support.chat_server import ChatServer
from support.growth import END, ends
from support.processes import wait_until
from support.slow_clients import HEAD, Client, chat_request, connect, talk_beside_slow_clients

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterator

TOP = Path(__file__).parents[3]
SHORT = Limits(head_seconds=0.5, body_seconds=0.5, idle_seconds=0.3, write_seconds=0.5, close_seconds=0.3)
SLOW_CLIENTS = int(os.environ.get("PROWESS_SLOW_CLIENTS", "20"))
"""`make endurance` has 100, beside as many conversations of 20 turns."""


@pytest.fixture
def chat() -> Iterator[ChatServer]:
    with ChatServer(limits=SHORT) as server:
        yield server


@pytest.fixture(scope="module")
def shared_chat() -> Iterator[ChatServer]:
    """A server for requests that never reach its backend."""
    with ChatServer(limits=SHORT) as server:
        yield server


def read_all(client: socket.socket) -> bytes:
    """Read until the server closes the connection."""
    received = b""
    with suppress(ConnectionResetError):
        while part := client.recv(65536):
            received += part
    return received


def read_until(client: socket.socket, end: bytes) -> bytes:
    """Read until the server has sent this, in one part or several, or closes the connection."""
    received = b""
    while end not in received and (part := client.recv(65536)):
        received += part
    return received


def drip(client: socket.socket, data: bytes) -> bytes:
    """Send byte by byte until the server closes the connection; return its answer."""
    client.settimeout(0.05)
    received = b""
    for byte in data:
        try:
            client.sendall(bytes([byte]))
        except OSError:
            received += read_all(client)
            break
        try:
            part = client.recv(65536)
        except TimeoutError:
            continue
        except ConnectionResetError:
            break
        received += part
        if not part:
            break
    else:
        raise AssertionError("the server read everything")
    return received


def is_answered(chat: ChatServer) -> bool:
    url = f"{chat.url}/v1/chat/completions"
    body = {"messages": [{"role": "user", "content": "hello"}]}
    return httpx2.post(url, json=body, trust_env=False, timeout=END).status_code == 200


# ── time ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.slow
@pytest.mark.parametrize(
    ("before", "dripping", "part"),
    [
        ("", HEAD, "headers"),
        ("", HEAD + "X-Filler: " + "x" * 1000, "headers"),
        ("GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", HEAD, "headers"),
        (f"{HEAD}Content-Length: 1000\r\n\r\n", "x" * 1000, "body"),
        (f"{HEAD}Content-Length: 1000\r\nConnection: close\r\n\r\n", "x" * 1000, "body"),
        ("PUT / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1000\r\n\r\n", "x" * 1000, None),
    ],
    ids=["head", "long head", "second head", "body", "body of the last request", "body after its answer"],
)
def test_a_byte_now_and_then_does_not_extend_a_time_limit(
    chat: ChatServer, before: str, dripping: str, part: str | None
) -> None:
    """The limit is for the whole head and for the whole body."""
    with connect(chat.port) as client:
        client.sendall(before.encode())
        answer = drip(client, dripping.encode())
    if part is not None:
        assert b"HTTP/1.1 408 " in answer
        assert f"the {part} of the request did not arrive within 0.5 seconds".encode() in answer
    assert chat.echo.requests == []
    assert is_answered(chat)


@pytest.mark.slow
@pytest.mark.parametrize("before", [b"", b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"], ids=["new", "used"])
def test_an_idle_connection_is_closed(chat: ChatServer, before: bytes) -> None:
    """Without an answer that would count as that of the next request."""
    with ends(), connect(chat.port) as client:
        client.sendall(before)
        assert read_all(client).count(b"HTTP/1.1") == (1 if before else 0)


@pytest.mark.slow
@pytest.mark.parametrize("stream", [False, True])
def test_a_client_that_does_not_read_is_dropped(chat: ChatServer, stream: bool) -> None:
    """However small its part of the answer is that does not fit into the buffers of the system."""
    with Client() as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.settimeout(END)
        client.connect(("127.0.0.1", chat.port))
        with suppress(OSError):
            for _ in range(100):
                client.sendall(chat_request("x" * 900_000, stream=stream))
        wait_until(lambda: chat.connections == 0)
    assert is_answered(chat)


# ── numbers ──────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.slow
def test_connections_that_send_nothing_make_room_for_a_request() -> None:
    """Long before their time limits."""
    with ChatServer(limits=Limits(connections=8, grace_seconds=0.05)) as chat, ExitStack() as stack:
        for number in range(40):
            client = stack.enter_context(connect(chat.port))
            if number % 2:
                client.sendall(HEAD.encode())
            if number % 8 == 0:
                assert is_answered(chat)
        assert is_answered(chat)
        assert chat.connections <= 8


@pytest.mark.slow
def test_a_connection_that_waits_for_an_answer_does_not_make_room() -> None:
    """The new one waits until one of them ends."""
    with ChatServer(limits=Limits(connections=2, grace_seconds=0.05)) as chat, ExitStack() as stack:
        waiting = [stack.enter_context(connect(chat.port)) for _ in range(2)]
        for client in waiting:
            client.sendall(chat_request("wait"))
        wait_until(lambda: len(chat.echo.requests) == 2)
        client = stack.enter_context(connect(chat.port))
        client.sendall(chat_request("hello"))
        chat.wait_for_looks()
        assert chat.connections == 2
        waiting[0].close()
        chat.echo.wait_for_outcome("cancelled")
        assert b"parrot: hello" in read_until(client, b"parrot: hello")
        assert chat.connections <= 2


@pytest.mark.slow
def test_a_new_connection_has_time_to_send_its_request() -> None:
    """However many others are opened meanwhile."""
    with ChatServer(limits=Limits(connections=8, grace_seconds=5)) as chat, ExitStack() as stack:
        client, *_ = [stack.enter_context(connect(chat.port)) for _ in range(20)]
        wait_until(lambda: chat.connections == 8)
        chat.wait_for_looks()
        assert chat.connections == 8
        client.sendall(chat_request("hello"))
        assert b"parrot: hello" in read_until(client, b"parrot: hello")


@pytest.mark.slow
@pytest.mark.parametrize("stream", [False, True])
def test_too_many_runs_at_once_are_refused_with_a_time_to_try_again(stream: bool) -> None:
    body = {"messages": [{"role": "user", "content": "hello"}], "stream": stream}
    with ChatServer(limits=Limits(runs=1)) as chat:
        with connect(chat.port) as client:
            client.sendall(chat_request("wait later", stream=True))
            while b"first" not in client.recv(65536):
                pass
            answer = httpx2.post(f"{chat.url}/v1/chat/completions", json=body, trust_env=False, timeout=END)
            assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
            assert answer.json()["error"]["code"] == "busy"
        chat.echo.wait_for_outcome("cancelled")
        assert is_answered(chat)


SERVE = """
import resource, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell lets processes in the background ignore it
resource.setrlimit(resource.RLIMIT_NOFILE, (int(sys.argv[1]), resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
sys.path.insert(0, "tests")
from support.chat_server import EchoAnswerer
from prowess.agent.server import serve, _connections, _server
if sys.argv[2] == "unbounded":
    _server.default_limits = lambda: _connections.Limits(connections=10_000)
try:
    serve(EchoAnswerer(), port=0, ready=lambda url: print(url, flush=True))
except KeyboardInterrupt:
    sys.exit(130)
"""


@pytest.mark.slow
@pytest.mark.parametrize(("descriptors", "bound"), [("256", "bounded"), ("64", "unbounded")])
def test_a_process_with_few_file_descriptors_answers_beside_more_connections(descriptors: str, bound: str) -> None:
    """Also if something else uses its descriptors up; and an interrupt ends it at once, with nothing on stderr."""
    with (
        subprocess.Popen(
            [sys.executable, "-c", SERVE, descriptors, bound],
            cwd=TOP,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as process,
        ExitStack() as stack,
    ):
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        port = int(url.rpartition(":")[2].partition("/")[0])
        clients = []
        for number in range(400 if bound == "bounded" else 150):
            clients.append(stack.enter_context(connect(port)))
            with suppress(OSError):
                clients[-1].sendall(("", HEAD, f"{HEAD}Content-Length: 9\r\n\r\n")[number % 3].encode())
        body = {"messages": [{"role": "user", "content": "hello"}]}
        for _ in range(5):
            answer = httpx2.post(f"{url}/chat/completions", json=body, trust_env=False, timeout=END)
            assert answer.status_code == 200
        with ends():
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=END)
    assert (process.returncode, out, err) == (130, "", "")


def test_the_limit_of_connections_leaves_file_descriptors_free(monkeypatch: pytest.MonkeyPatch) -> None:
    resource = pytest.importorskip("resource")
    for soft, connections in ((256, 144), (1024, 512), (resource.RLIM_INFINITY, 512), (20, 8)):
        monkeypatch.setattr(resource, "getrlimit", lambda _, soft=soft: (soft, soft))
        assert default_limits().connections == connections


# ── ambiguous requests ───────────────────────────────────────────────────────────────────────────────────────────────

BODY = json.dumps({"messages": [{"role": "user", "content": "hello"}]}).encode()
LENGTH = f"Content-Length: {len(BODY)}\r\n"
CHUNKED = b"%x\r\n%s\r\n0\r\n\r\n" % (len(BODY), BODY)
REFUSED = [
    *yaml.safe_load(Path(__file__).with_name("refused.yaml").read_text(encoding="utf-8"))["heads"],
    ("a very long length", f"{{HEAD}}Content-Length: {'9' * 5000}\r\n\r\n", 400),
    ("bare line feeds", HEAD.replace("\r\n", "\n") + "\n", 400),
    ("many headers", "{HEAD}" + "A: 1\r\n" * 101 + "{LENGTH}\r\n", 431),
    ("a large header", "{HEAD}A: " + "x" * 17_000 + "\r\n{LENGTH}\r\n", 431),
    ("a large header without an end", "{HEAD}A: " + "x" * 17_000, 431),
    ("a long path", HEAD.replace("/v1", "/" + "x" * 17_000) + "{LENGTH}\r\n", 431),
]


@pytest.mark.slow
@pytest.mark.parametrize(("head", "status"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED])
def test_a_request_that_can_be_read_in_two_ways_is_refused(shared_chat: ChatServer, head: str, status: int) -> None:
    """And the connection is closed: nothing after it is read as a request."""
    head = head.replace("{HEAD}", HEAD).replace("{LENGTH}", LENGTH)
    with connect(shared_chat.port) as client:
        body = CHUNKED if "chunked" in head.lower() else BODY
        client.sendall(head.encode() + body + chat_request("hidden"))
        answer = read_all(client)
    start, _, content = answer.partition(b"\r\n\r\n")
    assert start.startswith(f"HTTP/1.1 {status} ".encode())
    assert answer.count(b"HTTP/1.1") == 1
    assert json.loads(content)["error"]["type"] == "invalid_request_error"
    assert shared_chat.echo.requests == []


@pytest.mark.parametrize("method", ["BREW", "x" * 3000, "CONNECT", "OPTIONS", "TRACE", "HEAD"])
def test_an_unknown_method_is_refused_with_a_short_answer(shared_chat: ChatServer, method: str) -> None:
    with connect(shared_chat.port) as client:
        client.sendall(f"{HEAD.replace('POST', method)}Connection: close\r\n\r\n".encode())
        answer = read_all(client)
    assert answer.startswith(b"HTTP/1.1 405 ")
    assert len(answer) < 1000


@pytest.mark.parametrize("upgrade", ["websocket", "h2c"])
def test_a_request_to_change_the_protocol_is_answered_in_this_one(chat: ChatServer, upgrade: str) -> None:
    """So that the limits of the connection stay in force."""
    request = chat_request("hello").replace(
        b"Content-Length", f"Connection: Upgrade\r\nUpgrade: {upgrade}\r\nContent-Length".encode()
    )
    with connect(chat.port) as client:
        client.sendall(request)
        assert b"parrot: hello" in read_all(client)


@pytest.mark.slow
def test_requests_sent_at_once_are_answered_in_order(chat: ChatServer) -> None:
    with connect(chat.port) as client:
        client.sendall(b"".join(chat_request(f"number {number}") for number in range(20)))
        answer = read_all(client)
    places = [answer.index(f'"parrot: number {number}"'.encode()) for number in range(20)]
    assert places == sorted(places)


@pytest.mark.slow
def test_requests_sent_without_waiting_for_answers_are_limited(chat: ChatServer) -> None:
    """Each is looked for in everything that was received."""
    with connect(chat.port) as client:
        with suppress(OSError):
            client.sendall(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n" * 5000)
        # A connection that is closed with unread requests is reset, and the reset may overtake some answers.
        assert 1 <= read_all(client).count(b"HTTP/1.1 200 ") <= 110
    request = b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n"
    with connect(chat.port) as client:
        client.sendall((request + b"\r\n") * 89 + request + b"Connection: close\r\n\r\n")
        assert read_all(client).count(b"HTTP/1.1 200 ") == 90


def test_a_client_that_waits_for_permission_gets_it_once_its_headers_are_valid(chat: ChatServer) -> None:
    """`Expect: 100-continue`; a body that would be too large is never asked for."""
    with connect(chat.port) as client:
        client.sendall(f"{HEAD}Expect: 100-continue\r\n{LENGTH}\r\n".encode())
        assert client.recv(65536).startswith(b"HTTP/1.1 100 ")
        client.sendall(BODY)
        assert client.recv(65536).startswith(b"HTTP/1.1 200 ")
    with connect(chat.port) as client:
        client.sendall(f"{HEAD}Expect: 100-continue\r\nContent-Length: 1000001\r\n\r\n".encode())
        assert read_all(client).startswith(b"HTTP/1.1 413 ")


# ── all at once ──────────────────────────────────────────────────────────────────────────────────────────────────────


class Memory:
    """Answers with everything that was said in the conversation."""

    names = ("memory",)

    def __init__(self) -> None:
        self.store: ConversationStore[list[str]] = ConversationStore()

    async def stream(self, request: ChatRequest, model: str) -> AsyncGenerator[str | ChatAnswer, None]:  # noqa: ARG002
        text = request.messages[-1].text
        with self.store.checkout(request) as known:
            said = [*(known or []), text]
            answer = ChatAnswer(text=" ".join(said) if len(text) < 100 else "x" * 500_000)
            self.store.save(request, answer, said)
        yield answer


@pytest.mark.slow
def test_conversations_beside_slow_clients_are_answered_and_not_mixed() -> None:
    """Ten of five turns beside twenty slow clients; `make endurance` has 100 of 20 turns beside 100."""
    whole = SLOW_CLIENTS > 20
    # Conversations on a busy machine need longer than the slow clients of other tests.
    short = Limits(head_seconds=10, body_seconds=10, idle_seconds=0.3, write_seconds=10, close_seconds=0.3)
    with ChatServer(Memory(), limits=default_limits() if whole else short) as chat, ends():
        talk_beside_slow_clients(
            chat.port,
            slow=SLOW_CLIENTS,
            conversations=SLOW_CLIENTS if whole else 10,
            turns=20 if whole else 5,
            expected=lambda number, turn: " ".join(f"mark {number}.{at}" for at in range(1, turn + 1)),
        )
