"""Run blocking calls of asynchronous code in threads that nothing waits for.

`asyncio.to_thread` keeps the end of the loop, and so Ctrl-C, waiting for as long as a call takes.
"""

from __future__ import annotations

import contextvars
import threading
from contextlib import suppress

TYPE_CHECKING = False
if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable
    from typing import TypeVar

    T = TypeVar("T")


def start_call(call: Callable[[], T]) -> tuple[threading.Thread, asyncio.Future[T]]:
    """Start a call in a new thread; return the thread, and the future of its result or its exception."""
    import asyncio  # any caller has loaded it

    loop = asyncio.get_running_loop()
    done: asyncio.Future[T] = loop.create_future()

    def settle(result: T | None, error: BaseException | None) -> None:
        if done.done():
            return
        if error is None:
            done.set_result(result)  # type: ignore[arg-type]
        elif isinstance(error, StopIteration):  # a future does not accept it
            done.set_exception(RuntimeError("the call raised StopIteration"))
        else:
            done.set_exception(error)

    def work() -> None:
        result = error = None
        try:
            result = call()
        except BaseException as problem:  # noqa: BLE001 - it is raised where the future is awaited
            error = problem
        with suppress(RuntimeError):  # the loop is closed: the call was cancelled
            loop.call_soon_threadsafe(settle, result, error)

    run = contextvars.copy_context().run
    thread = threading.Thread(target=run, args=(work,), name="prowess-call", daemon=True)
    thread.start()
    return thread, done
