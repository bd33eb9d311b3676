"""Limit how many requests a backend answers at the same time."""

from __future__ import annotations

from contextlib import aclosing, contextmanager
from typing import TYPE_CHECKING

from ._requests import RequestError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterator, Sequence

    from ._requests import ChatAnswer, ChatBackend, Message

__all__ = ["BoundedBackend", "busy_error"]


def busy_error() -> RequestError:
    """Return the error for a request while there are too many others."""
    return RequestError("the server is busy; try again later", status=503, code="busy")


class BoundedBackend:
    """Passes requests on to a backend, but not too many at once.

    Args:
        inner: the backend.
        limit: the most requests at once; further ones are refused.
    """

    def __init__(self, inner: ChatBackend, limit: int) -> None:
        self._inner, self._limit, self._running = inner, limit, 0

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the models."""
        return self._inner.names

    @contextmanager
    def _run(self) -> Iterator[None]:
        """Count a run.

        Raises:
            RequestError: there are too many.
        """
        if self._running >= self._limit:
            raise busy_error()
        self._running += 1
        try:
            yield
        finally:
            self._running -= 1

    async def answer(
        self, messages: Sequence[Message], *, model: str, conversation: str | None, client: str, request_key: str | None
    ) -> ChatAnswer:
        """Answer the last message.

        Raises:
            RequestError: there are too many runs, or the backend refuses the request.
        """
        with self._run():
            return await self._inner.answer(
                messages, model=model, conversation=conversation, client=client, request_key=request_key
            )

    async def stream(
        self, messages: Sequence[Message], *, model: str, conversation: str | None, client: str, request_key: str | None
    ) -> AsyncGenerator[str | ChatAnswer, None]:
        """Answer the last message: yield parts of the text as they arrive, then the whole answer.

        Raises:
            RequestError: there are too many runs, or the backend refuses the request.
        """
        items = self._inner.stream(
            messages, model=model, conversation=conversation, client=client, request_key=request_key
        )
        with self._run():
            async with aclosing(items):
                async for item in items:
                    yield item
