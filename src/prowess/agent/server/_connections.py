"""Limit the connections of the endpoint: their number, the time that they wait for a client, and what they may send.

At the limit, the connection that has kept the server waiting longest makes room. Each phase of a request has one time
limit as a whole; a byte now and then does not extend it. So clients that send their requests at once are answered
whatever the others do.

Heads are stricter than HTTP/1.1: no body in chunks, no header twice that decides something, no line that continues the
last one, no line that ends without a carriage return. So no request can hide in another one (request smuggling).
"""

from __future__ import annotations

import asyncio
import errno
import json
import re
import select
from contextlib import suppress
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from prowess._internal.frozen import Frozen

from ._requests import RequestError, error_parts

if TYPE_CHECKING:
    import socket

    from starlette.types import ASGIApp
    from uvicorn.server import ServerState

MAX_HEAD_BYTES = 16_384
"""The most bytes of the request line and all headers."""
_MAX_HEADERS = 100
_SINGLE_HEADERS = frozenset(
    (b"authorization", b"content-length", b"content-type", b"expect", b"host", b"origin", b"transfer-encoding")
) | {b"sec-fetch-site", b"x-conversation-id", b"idempotency-key", b"api-key", b"x-api-key"}
_find_bad_byte = re.compile(rb"(?<!\r)\n|\r(?!\n|\Z)|[\0-\x08\x0b\x0c\x0e-\x1f\x7f]").search


class StrictConnection(h11.Connection):
    """A server's side of a connection."""

    def __init__(self) -> None:
        super().__init__(h11.SERVER, max_incomplete_event_size=MAX_HEAD_BYTES)
        self.error: RequestError | None = None
        """Why the last head was refused."""

    def next_event(self) -> type[h11.NEED_DATA | h11.PAUSED] | h11.Event:
        """Return the next event; check a head before it is parsed.

        Raises:
            h11.RemoteProtocolError: the head is refused, or what was received is not HTTP.
        """
        if self.their_state is h11.IDLE:
            head, end, _ = self.trailing_data[0].partition(b"\r\n\r\n")
            self.error = _head_error(head, complete=bool(end))
            if self.error is not None:
                raise h11.RemoteProtocolError(str(self.error), error_status_hint=self.error.status)
        return super().next_event()


def _head_error(head: bytes, *, complete: bool) -> RequestError | None:
    """Return what is wrong with a head, or with the part of it that was received."""
    if len(head) > MAX_HEAD_BYTES:
        return RequestError(f"the headers are larger than {MAX_HEAD_BYTES} bytes", status=431)
    if _find_bad_byte(head):
        return RequestError("the headers contain a control character, or a line that does not end with CR LF")
    request_line, *lines = head.split(b"\r\n")
    if len(lines) > _MAX_HEADERS:
        return RequestError(f"more than {_MAX_HEADERS} headers", status=431)
    if any(line[:1] in (b" ", b"\t") for line in lines):
        return RequestError("a header continues on the next line")
    if not complete:
        return None
    if not request_line.endswith((b" HTTP/1.1", b" HTTP/1.0")):
        return RequestError("invalid HTTP request")
    names = [line.partition(b":")[0].strip().lower() for line in lines]
    for name in _SINGLE_HEADERS:
        if names.count(name) > 1:
            return RequestError(f"the header `{name.decode()}` is given twice")
    if b"transfer-encoding" in names:
        if b"content-length" in names:
            return RequestError("`Content-Length` and `Transfer-Encoding` exclude each other")
        return RequestError("send the body with `Content-Length`, not in chunks", status=411)
    return None


_MAX_PIPELINED = 100
"""Requests that a client may send on one connection, one after the other, without waiting for an answer."""


class Limits(Frozen):
    """The limits of a server; times in seconds."""

    head_seconds: float = 10
    """From the first byte of a request, or from the start of the connection, to the end of its headers."""
    body_seconds: float = 30
    """From the end of the headers to the end of the body."""
    idle_seconds: float = 15
    """From an answer to the next request; longer than common clients keep a connection that they may use again."""
    write_seconds: float = 30
    """Until the client has read what was sent to it."""
    close_seconds: float = 5
    """Until a connection that is being closed is gone, and for the rest of a body after its answer."""
    grace_seconds: float = 0.5
    """How long a connection may wait before it makes room for another one."""
    connections: int = 512
    unread_bytes: int = 128 * 1024 * 1024
    """Of answers that clients have not read yet, all together."""
    runs: int = 256
    """Requests that the backend answers at the same time."""


class Connection(H11Protocol):
    """A connection with a time limit for each phase: `head`, `body`, `discard`, `write`, `idle` and `closing`.

    In `discard` the client still sends a body that was answered already, for example with an error.
    The phase `answer` has no limit: the role limits how long its turns take.
    """

    def __init__(
        self, config: uvicorn.Config, server_state: ServerState, app_state: dict[str, Any], limits: Limits
    ) -> None:
        super().__init__(config, server_state, app_state)
        self.conn: StrictConnection = StrictConnection()
        self._limits = limits
        self.phase = ""
        self.waiting_since: float | None = None
        """When the connection began to wait for its client; `None` if its client waits for an answer."""
        self.dropped = False
        self._phase_key: tuple[str, object] = ("", None)
        self._timer: asyncio.TimerHandle | None = None
        self._answered = self._blocked = False
        self._pipelined = 0

    # ── events ───────────────────────────────────────────────────────────────────────────────────────────────────

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        # Anything that the client has not read counts as unread, not only what is above a limit.
        transport.set_write_buffer_limits(high=0)
        self._update_phase()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_timer()
        super().connection_lost(exc)
        self._unset_keepalive_if_required()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._update_phase()

    def on_response_complete(self) -> None:
        self._answered = True
        self._pipelined = self._pipelined + 1 if self.conn.trailing_data[0] else 0
        if self._pipelined > _MAX_PIPELINED:
            self.transport.close()
        super().on_response_complete()
        self._update_phase()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._blocked = True
        self._update_phase()
        self._drop_unread()

    def resume_writing(self) -> None:
        super().resume_writing()
        self._blocked = False
        self._update_phase()

    def send_400_response(self, msg: str) -> None:
        self._refuse(self.conn.error or RequestError(msg.rstrip(".").lower()))

    def shutdown(self) -> None:
        """Close the connection, after the answer if its client waits for one."""
        if self.phase == "answer":
            super().shutdown()
        else:
            self.drop()

    def _drop_unread(self) -> None:
        """Drop the connections that have kept answers in memory longest, until the rest is within the limit."""
        blocked = [one for one in self.connections if isinstance(one, Connection) and one.phase == "write"]
        unread = sum(one.transport.get_write_buffer_size() for one in blocked)
        for one in sorted(blocked, key=lambda one: one.waiting_since or 0):
            if unread <= self._limits.unread_bytes:
                return
            unread -= one.transport.get_write_buffer_size()
            one.drop()

    def drop(self) -> None:
        """Close the connection now, even if the client has not read everything."""
        self.dropped = True
        self._stop_timer()
        self.transport.abort()

    def has_input(self) -> bool:
        """Return whether the client has sent something that the server will read next, perhaps a whole request."""
        if self.phase not in ("head", "idle") or not hasattr(select, "poll"):  # Windows
            return False
        poll = select.poll()
        poll.register(self.transport.get_extra_info("socket").fileno(), select.POLLIN)
        return bool(poll.poll(0))

    # ── phases ───────────────────────────────────────────────────────────────────────────────────────────────────

    def _current_phase(self) -> str:
        if self.transport.is_closing():
            return "closing"
        if self._blocked:
            return "write"
        if self.conn.their_state is h11.SEND_BODY:
            return "body" if self.conn.our_state in (h11.SEND_RESPONSE, h11.SEND_BODY) else "discard"
        if self.conn.their_state is h11.IDLE:
            return "idle" if self._answered and not self.conn.trailing_data[0] else "head"
        return "answer"

    def _update_phase(self) -> None:
        """Start the time limit of the current phase, unless it is running: more bytes do not extend it."""
        phase = self._current_phase()
        if self.dropped or (phase, self.cycle) == self._phase_key:
            return
        self._stop_timer()
        self.phase, self._phase_key = phase, (phase, self.cycle)
        self.waiting_since = None if phase == "answer" else self.loop.time()
        if phase != "answer":
            seconds = {
                "head": self._limits.head_seconds,
                "body": self._limits.body_seconds,
                "write": self._limits.write_seconds,
                "idle": self._limits.idle_seconds,
                "discard": self._limits.close_seconds,
                "closing": self._limits.close_seconds,
            }[phase]
            self._timer = self.loop.call_later(seconds, self._end_phase)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _end_phase(self) -> None:
        """End a connection whose client was too slow."""
        if self.phase in ("write", "closing"):
            self.drop()
        elif self.phase == "idle" or (self.phase == "head" and not self.conn.trailing_data[0]):
            self.transport.close()
            self._update_phase()
        else:
            part = "headers" if self.phase == "head" else "body"
            seconds = self._limits.head_seconds if self.phase == "head" else self._limits.body_seconds
            self._refuse(
                RequestError(f"the {part} of the request did not arrive within {seconds:g} seconds", status=408)
            )

    def _refuse(self, error: RequestError) -> None:
        """Answer with an error, unless an answer has begun, and close the connection."""
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            status, content, more = error_parts(error)
            body = json.dumps(content).encode()
            headers = {"content-type": "application/json", "content-length": str(len(body)), "connection": "close"}
            parts = (
                h11.Response(status_code=status, headers=[*(headers | more).items()], reason=HTTPStatus(status).phrase),
                h11.Data(data=body),
                h11.EndOfMessage(),
            )
            answer = b""
            # A response to HEAD has no body.
            with suppress(h11.LocalProtocolError):
                for part in parts:
                    answer += self.conn.send(part) or b""
            # In one write: a client that goes on sending reads nothing more once the connection is reset.
            self.transport.write(answer)
        self.transport.close()
        self._update_phase()


_RESERVED_DESCRIPTORS = 64
"""File descriptors for everything else: tools, files, models."""
_NO_DESCRIPTORS = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)
_FEWER_CONNECTIONS = 8
"""How many to have less when file descriptors ran out."""
_REDUCED_SECONDS = 60
"""How long there are fewer connections after that."""
_MIN_CONNECTIONS = 8
_PAUSE_SECONDS = 0.02
"""Between two searches for a connection that can make room."""


def default_limits() -> Limits:
    """Return the limits for this process, which may have few file descriptors."""
    try:
        import resource
    except ImportError:  # Windows
        return Limits()
    soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    most = Limits().connections
    connections = most if soft == resource.RLIM_INFINITY else min(most, (soft - _RESERVED_DESCRIPTORS) * 3 // 4)
    connections = max(connections, _MIN_CONNECTIONS)
    return Limits(connections=connections, runs=min(Limits().runs, connections * 3 // 4))


class BoundedServer(uvicorn.Server):
    """A server for an application, within limits.

    It accepts a connection only if there is room; until then, connections wait in the queue of the system.

    Args:
        app: the application.
        limits: those of its connections.
        lifespan: whether the application gets the events of its start and its end.
    """

    def __init__(self, app: ASGIApp, limits: Limits, *, lifespan: bool = False) -> None:
        config = uvicorn.Config(
            app,
            http="h11",
            ws="none",
            loop="asyncio",
            log_level="critical",
            access_log=False,
            server_header=False,
            lifespan="on" if lifespan else "off",
            proxy_headers=False,
            timeout_keep_alive=86_400,  # the connections have their own limits
            timeout_graceful_shutdown=2,
        )
        super().__init__(config)
        self._limits, self._max_connections = limits, limits.connections
        self._accepting: list[asyncio.Task[None]] = []

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start to accept connections."""
        await super().startup(sockets=[])
        for listener in sockets or []:
            listener.setblocking(False)
            self._accepting.append(asyncio.create_task(self._accept(listener)))

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop accepting connections, and close those that there are."""
        for task in self._accepting:
            task.cancel()
        await asyncio.gather(*self._accepting, return_exceptions=True)
        await super().shutdown(sockets)

    async def _accept(self, listener: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        while True:
            while not self._make_room(loop.time()):
                await asyncio.sleep(_PAUSE_SECONDS)
            try:
                client, _ = await loop.sock_accept(listener)
            except OSError as error:
                if error.errno in _NO_DESCRIPTORS:
                    self._reduce_connections(loop)
                await asyncio.sleep(_PAUSE_SECONDS)
                continue
            with suppress(OSError):
                await loop.connect_accepted_socket(self._make_connection, client)

    def _make_connection(self) -> Connection:
        return Connection(self.config, self.server_state, self.lifespan.state, self._limits)

    def _make_room(self, now: float) -> bool:
        """Return whether there is room for a connection; if not, drop one that has waited long enough.

        Those that have waited longest are dropped first; idle ones after an answer last.
        """
        live = [one for one in self.server_state.connections if isinstance(one, Connection) and not one.dropped]
        excess = len(live) - self._max_connections + 1
        if excess <= 0:
            return True
        waiting = [(one.phase == "idle", one.waiting_since, one) for one in live if one.waiting_since is not None]
        for _, since, one in sorted(waiting, key=lambda row: row[:2]):
            if now - since >= self._limits.grace_seconds and not one.has_input():
                one.drop()
                excess -= 1
                if not excess:
                    return True
        return False

    def _reduce_connections(self, loop: asyncio.AbstractEventLoop) -> None:
        """Have fewer connections for a while, so that file descriptors do not run out again at once."""
        most = len(self.server_state.connections) - _FEWER_CONNECTIONS
        self._max_connections = max(min(most, self._max_connections), _MIN_CONNECTIONS)
        loop.call_later(_REDUCED_SECONDS, self._allow_all_connections)

    def _allow_all_connections(self) -> None:
        self._max_connections = self._limits.connections
