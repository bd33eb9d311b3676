"""a call that blocks -> its result, awaited

Nobody has to wait for the end of a call that was given up: its thread ends with the process. `asyncio.to_thread` would
keep Ctrl-C, and a run whose time is up, waiting for as long as a tool may take.
"""

from __future__ import annotations

import asyncio
import contextvars
import threading
from contextlib import suppress
from time import monotonic
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["run_in_thread", "wait_for_threads"]

_RUNNING_THREADS: set[threading.Thread] = set()

T = TypeVar("T")


async def run_in_thread(call: Callable[..., T], **arguments: Any) -> T:
    """Run a call in a thread of its own and return what it does, or raise what it raises."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[T] = loop.create_future()

    def tell(result: T | None, error: BaseException | None) -> None:
        if done.done():
            return
        if error is not None:
            done.set_exception(error)
        else:
            done.set_result(result)  # type: ignore[arg-type]

    def work() -> None:
        result: T | None = None
        error: BaseException | None = None
        try:
            result = call(**arguments)
        except StopIteration:  # which no future takes
            error = RuntimeError("the call has raised StopIteration")
        except BaseException as problem:  # noqa: BLE001 - whoever awaits it gets it
            error = problem
        with suppress(RuntimeError):  # the loop is closed, and nobody awaits it any more
            loop.call_soon_threadsafe(tell, result, error)
        _RUNNING_THREADS.discard(thread)

    run = contextvars.copy_context().run
    thread = threading.Thread(target=run, args=(work,), name="prowess-aside", daemon=True)
    _RUNNING_THREADS.add(thread)
    thread.start()
    return await done


def wait_for_threads(seconds: float = 2.0) -> None:
    """Wait for calls that were given up, so that they put away what they made; but no longer than this."""
    until = monotonic() + seconds
    for thread in tuple(_RUNNING_THREADS):
        thread.join(max(0.0, until - monotonic()))
