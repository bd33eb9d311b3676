"""Serve a client over standard input and output, within limits.

The transport of the package `mcp` keeps a line of any length in memory, answers nothing to what is not JSON, reads on
while the client reads no answers, and forgets requests that are not answered yet when standard input ends.
"""

from __future__ import annotations

import asyncio
import os
import sys
from contextlib import contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Any

import anyio
from mcp.shared.message import SessionMessage
from mcp_types import INVALID_REQUEST, PARSE_ERROR, ErrorData, JSONRPCError, jsonrpc_message_adapter

from prowess._internal.threads import start_call

from ._raw_json import encode_answer

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
    from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
    from mcp.server.lowlevel import Server

MAX_MESSAGE_BYTES = 1024 * 1024
"""Bytes of a message; requests for skills are short."""
_CHUNK_BYTES = 64 * 1024
_MAX_PENDING = 64
"""Requests that are answered at the same time; more are not read until one of them is."""
_POLL_SECONDS = 0.005
_END_SECONDS = 10
"""How long requests are still answered, and answers written, after the last request."""
_TOO_LONG = JSONRPCError(
    jsonrpc="2.0",
    id=None,
    error=ErrorData(code=INVALID_REQUEST, message=f"a message is longer than {MAX_MESSAGE_BYTES:,} bytes"),
)
_NOT_A_MESSAGE = JSONRPCError(
    jsonrpc="2.0", id=None, error=ErrorData(code=PARSE_ERROR, message="a line is not a message of JSON-RPC 2.0")
)


async def serve_stdio(server: Server[Any]) -> None:
    """Serve until standard input ends, or nothing reads standard output any more.

    Meanwhile standard input is empty for everything else in this process, and its standard output is standard error.
    """
    with _own_streams() as (source, target):
        await _Transport(server, source, target).run()


@contextmanager
def _own_streams() -> Iterator[tuple[int, int]]:
    """Yield descriptors of standard input and output that nothing else writes to."""
    sys.stdout.flush()
    source, target = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    try:
        yield source, target
    finally:
        # They stay open: a thread may still read one. The process ends soon.
        os.dup2(source, 0)
        os.dup2(target, 1)


class _Transport:
    def __init__(self, server: Server[Any], source: int, target: int) -> None:
        self._server, self._source, self._target = server, source, target
        self._pending = 0
        self._outgoing, self._answers = anyio.create_memory_object_stream[SessionMessage](0)

    async def run(self) -> None:
        into, incoming = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        options = self._server.create_initialization_options()
        self._server.middleware.append(self._count)
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._write, self._answers, tasks.cancel_scope)
                tasks.start_soon(self._read, into, self._outgoing.clone())
                await self._server.run(incoming, self._outgoing, options)
                # A client that does not read its last answers is not waited for.
                tasks.cancel_scope.deadline = anyio.current_time() + _END_SECONDS
        except* anyio.BrokenResourceError:
            pass  # of the SDK (2.3): a message arrives when its session has ended, as after an interrupt
        finally:
            self._server.middleware.remove(self._count)
        if (task := asyncio.current_task()) is not None and task.cancelling():
            raise asyncio.CancelledError

    async def _count(self, ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
        """Count the requests that have no answer yet, except streams, which end when the client leaves."""
        if ctx.request_id is None or ctx.method == "subscriptions/listen":
            return await call_next(ctx)
        self._pending += 1
        try:
            return await call_next(ctx)
        finally:
            self._pending -= 1

    def _unanswered(self) -> int:
        return self._pending + self._outgoing.statistics().tasks_waiting_send

    async def _read(
        self, into: MemoryObjectSendStream[SessionMessage | Exception], errors: MemoryObjectSendStream[SessionMessage]
    ) -> None:
        async with into, errors:
            with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
                async for line in self._lines():
                    while self._unanswered() >= _MAX_PENDING:
                        await asyncio.sleep(_POLL_SECONDS)
                    if line is None:
                        await errors.send(SessionMessage(_TOO_LONG))
                        continue
                    try:
                        message = jsonrpc_message_adapter.validate_json(line, by_name=False)
                    except ValueError:
                        await errors.send(SessionMessage(_NOT_A_MESSAGE))
                        continue
                    await into.send(SessionMessage(message))
                await self._finish()

    async def _finish(self) -> None:
        """Wait until what was asked is answered: a client may close its side after its last request."""
        quiet, deadline = 0, anyio.current_time() + _END_SECONDS
        while quiet < 3 and anyio.current_time() < deadline:
            await asyncio.sleep(_POLL_SECONDS)
            quiet = 0 if self._unanswered() else quiet + 1

    async def _lines(self) -> AsyncIterator[bytes | None]:
        """Yield the lines of standard input that are not blank; `None` for one that is too long."""
        line, is_long = bytearray(), False
        while chunk := await start_call(partial(os.read, self._source, _CHUNK_BYTES))[1]:
            first, *more = chunk.split(b"\n")
            for part, ends in [(first, bool(more)), *((part, at < len(more) - 1) for at, part in enumerate(more))]:
                if not is_long:
                    line += part
                    is_long = len(line) > MAX_MESSAGE_BYTES
                if is_long:
                    line.clear()
                if ends:
                    if is_long:
                        yield None
                    elif line.strip():
                        yield bytes(line)
                    line.clear()
                    is_long = False
        if is_long:
            yield None
        elif line.strip():
            yield bytes(line)

    async def _write(self, answers: MemoryObjectReceiveStream[SessionMessage], scope: anyio.CancelScope) -> None:
        try:
            async with answers:
                async for answer in answers:
                    await start_call(partial(_write_all, self._target, encode_answer(answer.message)))[1]
        except OSError:  # the client is gone
            scope.cancel()


def _write_all(target: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(target, view) :]
