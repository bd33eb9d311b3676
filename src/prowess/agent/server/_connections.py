"""Limit how long a connection may wait, and how many connections there are.

Each phase of a request has one time limit as a whole; a byte now and then does not extend it. At the limit of
connections, the one that has kept the server waiting longest makes room, so that clients that send their requests at
once are answered whatever the others do.
"""

from __future__ import annotations

import asyncio
import errno
import json
from contextlib import suppress
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from prowess._internal.frozen import Frozen

from ._heads import StrictConnection
from ._requests import RequestError
from ._responses import status_body_headers
from ._runs import busy_error

if TYPE_CHECKING:
    import socket

    from starlette.types import ASGIApp
    from uvicorn.server import ServerState

__all__ = ["BoundedServer", "Limits", "default_limits"]

_QUEUE_LENGTH = 512
"""Connections that the system accepts before the server does."""
_ACCEPTED_AT_ONCE = 8
"""Connections that the server accepts before it counts them; each needs a file descriptor."""
_RESERVED_DESCRIPTORS = 64
"""File descriptors for everything else: tools, files, models."""
_ACCEPTED_BEFORE_COUNTED = 4 * _ACCEPTED_AT_ONCE
"""Connections that the loop may have accepted before the server knows of the first of them."""
_MIN_CONNECTIONS = 8
_REDUCED_SECONDS = 60
"""How long there are fewer connections after file descriptors ran out."""
_NO_DESCRIPTORS = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)


class Limits(Frozen):
    """The limits of a server; times in seconds."""

    head_seconds: float = 10
    """From the first byte of a request, or from the start of the connection, to the end of its headers."""
    body_seconds: float = 30
    """From the end of the headers to the end of the body."""
    idle_seconds: float = 5
    """From an answer to the next request."""
    write_seconds: float = 30
    """Until the client has read what was sent to it."""
    close_seconds: float = 5
    """Until a connection that is being closed is gone, and for the rest of a body after its answer."""
    connections: int = 512
    runs: int = 256
    """Requests that the backend answers at the same time."""


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


class _Config(uvicorn.Config):
    def __init__(self, app: ASGIApp, limits: Limits) -> None:
        super().__init__(
            app,
            http=_Connection,
            ws="none",
            loop="asyncio",
            backlog=_ACCEPTED_AT_ONCE,
            log_level="critical",
            access_log=False,
            server_header=False,
            lifespan="off",
            proxy_headers=False,
            timeout_keep_alive=86_400,  # the connections have their own limits
            timeout_graceful_shutdown=2,
        )
        self.limits = limits
        self.max_connections = limits.connections
        """Less than the limit if file descriptors ran out."""


class BoundedServer(uvicorn.Server):
    """A server for an application, within limits."""

    def __init__(self, app: ASGIApp, limits: Limits) -> None:
        self._config = _Config(app, limits)
        super().__init__(self._config)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start to accept connections."""
        await super().startup(sockets)
        for listener in sockets or []:
            listener.listen(_QUEUE_LENGTH)
        asyncio.get_running_loop().set_exception_handler(self._handle_loop_error)

    def _handle_loop_error(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        error = context.get("exception")
        if isinstance(error, OSError) and error.errno in _NO_DESCRIPTORS:
            self._reduce_connections(loop)
        else:
            loop.default_exception_handler(context)

    def _reduce_connections(self, loop: asyncio.AbstractEventLoop) -> None:
        """Have fewer connections for a while, so that file descriptors do not run out again at once."""
        most = len(_live_connections(self.server_state)) - _ACCEPTED_BEFORE_COUNTED
        self._config.max_connections = max(most, _MIN_CONNECTIONS)
        _make_room(self.server_state, self._config.max_connections)
        loop.call_later(_REDUCED_SECONDS, self._allow_all_connections)

    def _allow_all_connections(self) -> None:
        self._config.max_connections = self._config.limits.connections


def _live_connections(state: ServerState) -> list[_Connection]:
    return [one for one in state.connections if isinstance(one, _Connection) and not one.dropped]


def _make_room(state: ServerState, limit: int, *, keep: _Connection | None = None) -> bool:
    """Drop the connections that have waited longest; idle ones after an answer are dropped last.

    Returns:
        Whether there are no more than the limit now.
    """
    live = _live_connections(state)
    if len(live) <= limit:
        return True
    waiting = [one for one in live if one.waiting_since is not None and one is not keep]
    waiting.sort(key=lambda one: (one.phase == "idle", one.waiting_since))
    excess = len(live) - limit
    for one in waiting[:excess]:
        one.drop()
    return len(waiting) >= excess


class _Connection(H11Protocol):
    """A connection with a time limit for each phase: `head`, `body`, `discard`, `write`, `idle` and `closing`.

    In `discard` the client still sends a body that was answered already, for example with an error.
    The phase `answer` has no limit: the role limits how long its turns take.
    """

    def __init__(
        self,
        config: _Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self.conn: StrictConnection = StrictConnection()
        self._limits, self._bounds = config.limits, config
        self.phase, self.waiting_since, self.dropped = "", None, False
        self._phase_key: tuple[str, object] = ("", None)
        self._timer: asyncio.TimerHandle | None = None
        self._answered = self._blocked = False

    phase: str
    waiting_since: float | None
    """When the connection began to wait for its client; `None` if its client waits for an answer."""

    # ── events ───────────────────────────────────────────────────────────────────────────────────────────────────

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        # Anything that the client has not read counts as unread, not only what is above a limit.
        transport.set_write_buffer_limits(high=0)
        self._update_phase()
        if not _make_room(self.server_state, self._bounds.max_connections, keep=self):
            self._refuse(busy_error())

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_timer()
        super().connection_lost(exc)
        self._unset_keepalive_if_required()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._update_phase()

    def on_response_complete(self) -> None:
        self._answered = True
        super().on_response_complete()
        self._update_phase()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._blocked = True
        self._update_phase()

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

    def drop(self) -> None:
        """Close the connection now, even if the client has not read everything."""
        self.dropped = True
        self._stop_timer()
        self.transport.abort()

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
            status, content, more = status_body_headers(error)
            body = json.dumps(content).encode()
            headers = {"content-type": "application/json", "content-length": str(len(body)), "connection": "close"}
            parts = (
                h11.Response(status_code=status, headers=[*(headers | more).items()], reason=HTTPStatus(status).phrase),
                h11.Data(data=body),
                h11.EndOfMessage(),
            )
            # A response to HEAD has no body.
            with suppress(h11.LocalProtocolError):
                for part in parts:
                    self.transport.write(self.conn.send(part) or b"")
        self.transport.close()
        self._update_phase()
