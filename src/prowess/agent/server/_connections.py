"""Limit how long a connection may wait for its client.

Each phase of a request has one time limit as a whole; a byte now and then does not extend it.
"""

from __future__ import annotations

import json
import select
from contextlib import suppress
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from prowess._internal.frozen import Frozen

from ._heads import StrictConnection
from ._requests import RequestError
from ._responses import status_body_headers

if TYPE_CHECKING:
    import asyncio

    import uvicorn
    from uvicorn.server import ServerState

__all__ = ["Connection", "Limits"]

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
