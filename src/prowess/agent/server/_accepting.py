"""Limit how many connections there are.

At the limit, the connection that has kept the server waiting longest makes room. So clients that send their requests at
once are answered whatever the others do.
"""

from __future__ import annotations

import asyncio
import errno
from contextlib import suppress
from typing import TYPE_CHECKING

import uvicorn

from ._connections import Connection, Limits

if TYPE_CHECKING:
    import socket

    from starlette.types import ASGIApp

__all__ = ["BoundedServer", "default_limits"]

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
