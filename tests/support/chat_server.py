"""A chat endpoint on the loopback address, with a backend that echoes."""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING

from prowess.agent.server import listen, make_server
from prowess.agent.server._requests import ChatAnswer, ChatRequest, RequestError
from prowess.errors import ProwessError
from support.growth import END
from support.processes import wait_until

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from types import TracebackType
    from typing import Self

    from prowess.agent.server._connections import Limits
    from prowess.agent.server._requests import ChatBackend


class EchoAnswerer:
    """Answers with the last message; `wait`, `fail`, `break` and `busy` are commands."""

    names = ("parrot", "org/other")

    def __init__(self) -> None:
        self.requests: list[tuple[ChatRequest, str]] = []
        """Each with the name of the model."""
        self.outcomes: list[str] = []
        """`answered` or `cancelled`, for each answer that was started."""

    async def _answer(self, request: ChatRequest, model: str) -> ChatAnswer:
        text = request.messages[-1].text
        self.requests.append((request, model))
        try:
            await asyncio.sleep(60 if text == "wait" else 0.01)
        except asyncio.CancelledError:
            self.outcomes.append("cancelled")
            raise
        if text == "fail":
            raise ProwessError("there is no key", hint="set `OPENAI_API_KEY`")
        if text == "break":
            raise KeyError("\x1b[31mx")
        if text == "busy":
            raise RequestError("too much at once", status=429)
        self.outcomes.append("answered")
        return ChatAnswer(text=f"{model}: {text}", input_tokens=3, output_tokens=2)

    async def stream(self, request: ChatRequest, model: str) -> AsyncGenerator[str | ChatAnswer, None]:
        text = request.messages[-1].text
        try:
            if text == "wait later":
                yield "first"
                await asyncio.sleep(60)
            if text == "fail later":
                yield "first"
                raise ProwessError("the server broke off")
            answer = await self._answer(request, model)
            for word in answer.text.split(" "):
                yield f"{word} "
                await asyncio.sleep(0)
            yield answer
        except (asyncio.CancelledError, GeneratorExit):
            self.outcomes.append("cancelled")
            raise

    def wait_for_outcome(self, outcome: str) -> None:
        """Wait until an answer ends like this."""
        wait_until(lambda: outcome in self.outcomes)


class ChatServer:
    """`with ChatServer() as chat:` serves a backend at `chat.url`; the default one echoes."""

    def __init__(
        self, backend: ChatBackend | None = None, *, token: str | None = None, limits: Limits | None = None
    ) -> None:
        self.echo = EchoAnswerer()
        self._socket = listen("127.0.0.1", 0)
        self.port = self._socket.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self._server = make_server(backend or self.echo, self._socket, token=token, limits=limits)
        self.looks_without_room = 0
        """How often the server found no connection that can make room for another one."""
        self._make_room, self._server._make_room = self._server._make_room, self._look_for_room  # type: ignore[attr-defined]
        self._thread = threading.Thread(target=self._server.run, kwargs={"sockets": [self._socket]}, daemon=True)

    def _look_for_room(self, now: float) -> bool:
        has_room = bool(self._make_room(now))
        self.looks_without_room += not has_room
        return has_room

    def wait_for_looks(self, count: int = 5) -> None:
        """Wait until the server has looked for room so often without success."""
        before = self.looks_without_room
        wait_until(lambda: self.looks_without_room >= before + count)

    @property
    def connections(self) -> int:
        """The number of open connections."""
        return len(self._server.server_state.connections)

    def __enter__(self) -> Self:
        self._thread.start()
        wait_until(lambda: self._server.started)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.should_exit = True
        self._thread.join(END)
        self._socket.close()
