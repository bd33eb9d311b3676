"""Clients that send or read one byte now and then, and conversations beside them."""

from __future__ import annotations

import asyncio
import json
import socket
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import httpx2

from support.growth import END

if TYPE_CHECKING:
    from collections.abc import Callable

HEAD = "POST /v1/chat/completions HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
KINDS = ("connected", "head", "body", "unread", "idle")
"""Sends nothing; sends its headers or its body byte by byte; never reads the answers; sends nothing after an answer."""


class Client(socket.socket):
    """A socket whose requests name the server with its port, as they must."""

    def sendall(self, data: Any, flags: int = 0) -> None:
        """Send bytes."""
        super().sendall(with_port(data, self.getpeername()[1]), flags)


def with_port(data: bytes, port: int) -> bytes:
    """Return requests in which the host has a port."""
    return data.replace(b"\r\nHost: 127.0.0.1\r\n", f"\r\nHost: 127.0.0.1:{port}\r\n".encode())


def connect(port: int) -> Client:
    """Return a connection to a server on this machine."""
    client = Client()
    client.settimeout(END)
    client.connect(("127.0.0.1", port))
    return client


def chat_request(text: str, **more: Any) -> bytes:
    """Return the bytes of a request."""
    body = json.dumps({"messages": [{"role": "user", "content": text}], **more}).encode()
    return f"{HEAD}Content-Length: {len(body)}\r\n\r\n".encode() + body


async def slow_client(port: int, kind: str, counts: dict[str, int], pause: float = 0.2) -> None:
    """Be slow forever; connect again when the server closes the connection."""
    loop = asyncio.get_running_loop()
    while True:
        with socket.socket() as client, suppress(OSError):
            client.setblocking(False)
            if kind == "unread":
                client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            await loop.sock_connect(client, ("127.0.0.1", port))
            counts[kind] = counts.get(kind, 0) + 1
            if kind == "unread":
                for _ in range(100):
                    await loop.sock_sendall(client, with_port(chat_request("x" * 200_000), port))
                continue
            if kind == "idle":
                await loop.sock_sendall(client, f"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode())
            if kind == "body":
                await loop.sock_sendall(client, with_port(f"{HEAD}Content-Length: 900000\r\n\r\n".encode(), port))
            for byte in HEAD.encode() * 100:
                if kind in ("head", "body"):
                    await loop.sock_sendall(client, bytes([byte]))
                with suppress(TimeoutError):
                    async with asyncio.timeout(pause):
                        if not await loop.sock_recv(client, 65536):
                            break
        await asyncio.sleep(0.01)


async def _conversation(client: httpx2.AsyncClient, number: int, turns: int) -> list[str]:
    answers = []
    for turn in range(1, turns + 1):
        body: dict[str, Any] = {"messages": [{"role": "user", "content": f"mark {number}.{turn}"}]}
        response = await client.post(
            "/v1/chat/completions", json=body, headers={"x-conversation-id": f"conversation {number}"}
        )
        assert response.status_code == 200, response.text
        answers.append(response.json()["choices"][0]["message"]["content"])
    return answers


def talk_beside_slow_clients(
    port: int, *, slow: int, conversations: int, turns: int, expected: Callable[[int, int], str]
) -> None:
    """Have conversations at the same time beside slow clients, and check each answer.

    Args:
        port: the server's.
        slow: the number of slow clients.
        conversations: the number of conversations.
        turns: of each conversation.
        expected: returns the answer for the number of a conversation and the number of a turn.
    """

    async def main() -> tuple[list[list[str]], float, dict[str, int]]:
        counts: dict[str, int] = {}
        tasks = [asyncio.create_task(slow_client(port, KINDS[at % len(KINDS)], counts)) for at in range(slow)]
        while sum(counts.values()) < slow:
            await asyncio.sleep(0.01)
        started = time.monotonic()
        # A connection that is used again may be closed as idle at that moment, which a client must repeat.
        limits = httpx2.Limits(max_connections=None, max_keepalive_connections=0)
        base = f"http://127.0.0.1:{port}"
        async with httpx2.AsyncClient(base_url=base, trust_env=False, timeout=END, limits=limits) as client:
            answers = await asyncio.gather(*(_conversation(client, at, turns) for at in range(conversations)))
        seconds = time.monotonic() - started
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        return answers, seconds, counts

    answers, seconds, counts = asyncio.run(main())
    assert answers == [[expected(number, turn) for turn in range(1, turns + 1)] for number in range(conversations)]
    shown = f"{conversations} conversations of {turns} turns beside {slow} slow clients in {seconds:.1f} s"
    print(f"{shown}; their connections: {counts}")
