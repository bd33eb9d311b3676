"""Make room for new sessions over HTTP, in which clients of the older era keep their state.

All clients of this machine have one address, and all others one token, so none can have a share of its own. Instead the
session that was used longest ago ends; its client gets a 404 for its next request and begins another one, as
the protocol demands. Without this, a client that never ends its sessions would keep all others out for half an hour.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

__all__ = ["BoundedSessions"]

_HEADER = b"mcp-session-id"


class BoundedSessions:
    """Passes requests on to an application that keeps sessions.

    Args:
        app: the application; it refuses more than `most` sessions itself.
        most: sessions at the same time.
    """

    def __init__(self, app: ASGIApp, most: int) -> None:
        self._app, self._most = app, most
        self._requests: dict[bytes, int] = {}
        """How many requests of each session are not answered; the session used last is the last one."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        session = next((value for name, value in scope["headers"] if name == _HEADER), None)
        if session in self._requests:
            self._requests[session] = self._requests.pop(session) + 1
        elif session is None and len(self._requests) >= self._most:
            await self._end_oldest(scope)

        async def note(message: Message) -> None:
            if message["type"] == "http.response.start":
                if session is None:
                    ids = [value for name, value in message["headers"] if name.lower() == _HEADER]
                    self._requests |= dict.fromkeys(ids, 0) if message["status"] < 400 else {}
                elif message["status"] == 404 or (scope["method"] == "DELETE" and message["status"] < 300):
                    self._requests.pop(session, None)
            await send(message)

        try:
            await self._app(scope, receive, note)
        finally:
            if session in self._requests:
                self._requests[session] -= 1

    async def _end_oldest(self, scope: Scope) -> None:
        """End the session that was used longest ago and has no open request, if there is one."""
        session = next((session for session, requests in self._requests.items() if not requests), None)
        if session is None:
            return
        del self._requests[session]
        kept = [(name, value) for name, value in scope["headers"] if name in (b"host", b"origin")]

        messages: list[dict[str, Any]] = [{"type": "http.request", "body": b"", "more_body": False}]

        async def receive() -> dict[str, Any]:
            return messages.pop() if messages else {"type": "http.disconnect"}

        async def send(_: Message) -> None:
            pass

        await self._app({**scope, "method": "DELETE", "headers": [*kept, (_HEADER, session)]}, receive, send)
