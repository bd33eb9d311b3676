"""Clients of `prowess mcp serve --http`: both eras of the protocol, many clients, and clients that break HTTP."""

from __future__ import annotations

import asyncio
import json
import socket
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from http.client import HTTPConnection
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import pytest

from prowess import LiveCatalog
from prowess.mcp import http_app, server
from support.growth import END, ends
from support.mcp_clients import INITIALIZE, Served, modern, post, serve
from support.skills import skill
from support.slow_clients import connect as connect_to, with_port

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.slow
MIB = 1024 * 1024
BEGIN = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": INITIALIZE}
HEAD = (
    "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
    "Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2026-07-28\r\nMcp-Method: skills/list\r\n"
)


def make_project(top: Path) -> Path:
    folder = skill(top / "project/.agents/skills/pages", body="Count twice.").parent
    (folder / "big.txt").write_text("x" * 8 * MIB)
    return top / "project"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return make_project(tmp_path)


@contextmanager
def served(project: Path, *options: str) -> Iterator[Served]:
    with serve(project, "--http", "127.0.0.1:0", *options) as one:
        yield one
        assert one.process.poll() is None, "the server ended"


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """One server for tests that it survives."""
    with served(make_project(tmp_path_factory.mktemp("shared"))) as one:
        yield one


def listed(address: str) -> list[str]:
    """Return the skills that a client of the newer era gets."""
    message, headers = modern("skills/list")
    status, _, answer = post(address, message, **headers)
    assert status == 200, answer
    return [entry["uri"] for entry in answer["result"]["skills"]]


def whole_request() -> bytes:
    body = json.dumps(modern("skills/list")[0]).encode()
    return f"{HEAD}Content-Length: {len(body)}\r\n\r\n".encode() + body


def connect(one: Served) -> socket.socket:
    return connect_to(int(one.address.rpartition(":")[2]))


def test_clients_of_both_eras_are_served(project: Path) -> None:
    """The older one in a session, the newer one request by request."""
    with served(project) as one:
        status, headers, answer = post(one.address, BEGIN)
        assert (status, answer["result"]["serverInfo"]["name"]) == (200, "prowess")
        session = {"Mcp-Session-Id": headers["mcp-session-id"], "MCP-Protocol-Version": "2025-06-18"}
        assert post(one.address, {"jsonrpc": "2.0", "method": "notifications/initialized"}, **session)[0] == 202
        _, _, answer = post(one.address, {"jsonrpc": "2.0", "id": 2, "method": "skills/list"}, **session)
        assert [entry["uri"] for entry in answer["result"]["skills"]] == ["skill://pages/SKILL.md"]
        assert listed(one.address) == ["skill://pages/SKILL.md"]


def test_changes_are_announced_on_the_stream_of_a_listener(project: Path) -> None:
    """An event stream, which begins with the acknowledgement."""
    with served(project) as one, closing(connect(one)) as client:
        message, _ = modern("subscriptions/listen", 9, notifications={"resourcesListChanged": True})
        body = json.dumps(message).encode()
        head = HEAD.replace("skills/list", "subscriptions/listen")
        client.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
        lines = client.makefile("rb")
        events = (json.loads(line[6:]) for line in lines if line.startswith(b"data: {"))
        assert next(events)["method"] == "notifications/subscriptions/acknowledged"
        skill(project / ".agents/skills/new")
        assert next(events)["method"] == "notifications/resources/list_changed"


@pytest.mark.parametrize("extra", [{"Origin": "https://evil.example"}, {"Host": "evil.example"}])
def test_pages_of_other_sites_are_refused(shared: Served, extra: dict[str, str]) -> None:
    """Also after their name was pointed to this machine."""
    message, headers = modern("skills/list")
    assert post(shared.address, message, **headers, **extra)[0] == 403
    assert post(shared.address, BEGIN, **extra)[0] == 403
    own = {"Origin": f"http://{shared.address}"}
    assert post(shared.address, message, **headers, **own)[0] == 200


@pytest.mark.parametrize("body", [b"{", b"[]", b"null", b"\xff", b"[" * 100_000, b'{"jsonrpc": "2.0", "id": {}}', b""])
def test_an_invalid_message_is_a_bad_request(shared: Served, body: bytes) -> None:
    """In both eras; the server goes on."""
    for headers in ({}, modern("skills/list")[1]):
        status, _, answer = post(shared.address, body, **headers)
        assert (status, "error" in answer) == (400, True)
    assert listed(shared.address) == ["skill://pages/SKILL.md"]


def test_a_body_of_100_mb_is_refused_before_it_is_read(project: Path) -> None:
    """With 413, and without memory for it."""
    with served(project) as one, closing(connect(one)) as client:
        listed(one.address)
        before = one.peak_memory()
        client.sendall(f"{HEAD}Content-Length: {100 * MIB}\r\n\r\n".encode())
        try:
            for _ in range(100):
                client.sendall(b"x" * MIB)
        except OSError:
            pass
        else:
            assert b" 413 " in client.recv(100)
        assert one.peak_memory() - before < 8 * MIB
        assert listed(one.address) == ["skill://pages/SKILL.md"]


def test_a_body_in_chunks_is_refused(shared: Served) -> None:
    """Its length is not known, and it could be without end."""
    with closing(connect(shared)) as client:
        client.sendall(f"{HEAD}Transfer-Encoding: chunked\r\n\r\n".encode())
        assert client.recv(100).startswith(b"HTTP/1.1 411 ")


def test_a_client_that_closes_its_side_ends_its_connection_only(project: Path) -> None:
    """Before, in and after its request."""
    with served(project) as one:
        for sent in (b"", whole_request()[:30], whole_request()[:-5], whole_request()):
            with closing(connect(one)) as client:
                client.sendall(sent)
                client.shutdown(socket.SHUT_WR)
                while client.recv(65536):
                    pass
        assert listed(one.address) == ["skill://pages/SKILL.md"]


def test_other_clients_are_answered_beside_slow_ones(project: Path) -> None:
    """More of them than there may be connections."""
    with served(project) as one:
        slow = [connect(one) for _ in range(700)]
        for at, client in enumerate(slow):
            client.sendall((b"", whole_request()[:30], whole_request()[:-5])[at % 3])
        with ends():
            for _ in range(5):
                assert listed(one.address) == ["skill://pages/SKILL.md"]
        for client in slow:
            client.close()


def test_1000_clients_at_once_are_all_answered(project: Path) -> None:
    """Each with a connection of its own; memory stays flat from one round to the next."""
    with served(project) as one:
        host, _, port = one.address.rpartition(":")

        async def client(attempts: int = 5) -> bytes:
            # A connection whose request comes late may have made room for another one.
            reader, writer = await asyncio.open_connection(host, int(port))
            writer.write(with_port(whole_request(), int(port)).replace(b"Host:", b"Connection: close\r\nHost:"))
            try:
                answer = await reader.read()
            except ConnectionError:
                answer = b""
            finally:
                writer.close()
            return answer if answer or not attempts else await client(attempts - 1)

        async def round_of_clients() -> list[bytes]:
            return await asyncio.gather(*(client() for _ in range(1000)))

        sizes = []
        for _ in range(3):
            answers = asyncio.run(round_of_clients())
            assert {answer[:15] for answer in answers} == {b"HTTP/1.1 200 OK"}
            sizes.append(one.memory())
        # A leak grows in each round; a busy machine answers more clients at once in one of them.
        assert min(sizes[1] - sizes[0], sizes[2] - sizes[1]) < 8 * MIB


def test_sessions_of_the_older_era_have_room_for_1000_clients(project: Path) -> None:
    """One after the other; none is closed by its client."""
    with served(project) as one:
        assert {post(one.address, BEGIN)[0] for _ in range(1000)} == {200}
        assert one.memory() < 250 * MIB


def test_many_clients_read_files_at_the_same_time(project: Path) -> None:
    """Each over one connection; all files are whole, and memory stays flat from one round to the next."""
    folder = project / ".agents/skills/pages"
    for number in range(20):
        (folder / f"{number}.txt").write_text(f"{number}\n" * 2_000)
    with served(project) as one:
        wrong: list[str] = []

        def client(first: int) -> None:
            connection = HTTPConnection(one.address, timeout=END)
            for at in range(first, first + 20):
                uri = f"skill://pages/{at % 20}.txt"
                message, headers = modern("resources/read", name=uri, uri=uri)
                headers |= {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
                connection.request("POST", "/mcp", json.dumps(message), headers)
                answer = json.loads(connection.getresponse().read())
                if answer.get("result", {}).get("contents", [{}])[0].get("text") != f"{at % 20}\n" * 2_000:
                    wrong.append(uri)
            connection.close()

        sizes = []
        for _ in range(3):
            with ThreadPoolExecutor(20) as clients:
                list(clients.map(client, range(20)))
            sizes.append(one.memory())
        assert wrong == []
        assert sizes[2] - sizes[0] < 8 * MIB


def test_a_client_that_ends_no_session_keeps_no_other_one_out(project: Path) -> None:
    """The session that was used longest ago makes room, and its client must begin another one."""

    async def call(app: Any, message: Any, method: str = "POST", **headers: str) -> tuple[int, str]:
        fields = {
            "host": "127.0.0.1",
            "content-type": "application/json",
            "accept": "application/json, text/event-stream",
        }
        fields |= {name.replace("_", "-"): value for name, value in headers.items()}
        scope = {"type": "http", "method": method, "path": "/mcp", "query_string": b"", "http_version": "1.1"}
        scope |= {"headers": [(name.encode(), value.encode()) for name, value in fields.items()]}
        started: list[Any] = []
        messages = [{"type": "http.request", "body": json.dumps(message).encode(), "more_body": False}]

        async def receive() -> Any:
            if not messages:
                await asyncio.Event().wait()
            return messages.pop()

        async def send(event: Any) -> None:
            started.extend([event] if event["type"] == "http.response.start" else [])

        await app({**scope, "scheme": "http", "server": ("127.0.0.1", 80)}, receive, send)
        found = {name.decode().lower(): value.decode() for name, value in started[0]["headers"]}
        return started[0]["status"], found.get("mcp-session-id", "")

    async def open_sessions() -> None:
        with LiveCatalog(project, home=str(project.parent)) as catalog, patch("prowess.mcp._http._MAX_SESSIONS", 3):
            skills = server(catalog)
            app = http_app(skills)
            async with skills.session_manager.run():
                first, second, third = [(await call(app, BEGIN))[1] for _ in range(3)]
                ping = {"jsonrpc": "2.0", "method": "notifications/initialized"}
                assert (await call(app, ping, mcp_session_id=first))[0] == 202
                assert (await call(app, BEGIN))[0] == 200
                statuses = [(await call(app, ping, mcp_session_id=one))[0] for one in (first, second, third)]
                assert statuses == [202, 404, 202]
                assert (await call(app, None, "DELETE", mcp_session_id=first))[0] == 200
                assert (await call(app, BEGIN))[0] == 200
                assert (await call(app, ping, mcp_session_id=third))[0] == 202

    asyncio.run(open_sessions())


def test_unread_answers_take_little_memory(project: Path) -> None:
    """The connections that have kept them longest are closed."""
    message, headers = modern("resources/read", name="skill://pages/big.txt", uri="skill://pages/big.txt")
    body = json.dumps(message).encode()
    fields = "".join(f"{name}: {value}\r\n" for name, value in headers.items() if name != "MCP-Protocol-Version")
    request = HEAD.replace("Mcp-Method: skills/list\r\n", fields) + f"Content-Length: {len(body)}\r\n\r\n"
    with served(project) as one, ExitStack() as clients:
        for _ in range(160):
            clients.enter_context(closing(connect(one))).sendall(request.encode() + body)
        for _ in range(3):  # files are read in turn, so the other answers were made before
            assert listed(one.address) == ["skill://pages/SKILL.md"]
        # 128 MiB wait for clients, and a few answers are being made; 160 times 8 MiB would be 1,280 MiB.
        assert one.peak_memory() < 900 * MIB


@pytest.mark.parametrize(
    "path", ["/../../etc/passwd", "/mcp/../../etc/passwd", "/%2e%2e/etc/passwd", "//etc/passwd", "/", "*", "/mcp%00"]
)
def test_only_one_path_is_served(shared: Served, path: str) -> None:
    """No file has an address of HTTP."""
    with closing(connect(shared)) as client:
        client.sendall(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n".encode())
        assert client.recv(100).startswith((b"HTTP/1.1 404 ", b"HTTP/1.1 400 "))
