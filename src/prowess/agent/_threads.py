"""Run blocking calls in threads that nothing waits for.

`asyncio.to_thread` would keep Ctrl-C, and a run that has reached its time limit, waiting for as long as a tool takes.
Here nothing waits for a cancelled call: its command is stopped, it starts no other one, and its thread ends later.
"""

from __future__ import annotations

import asyncio
import contextvars
import functools
import threading
from contextlib import suppress
from time import monotonic
from typing import TYPE_CHECKING, Any, TypeVar

from prowess.sandbox import CommandScope

if TYPE_CHECKING:
    from collections.abc import Callable

_RUNNING_THREADS: set[threading.Thread] = set()

T = TypeVar("T")


async def run_in_thread(call: Callable[..., T], **arguments: Any) -> T:
    """Run a call in a new thread and return its result, or raise its exception."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[T] = loop.create_future()
    scope = CommandScope()

    def set_result(result: T) -> None:
        if not done.done():
            done.set_result(result)

    def set_exception(error: BaseException) -> None:
        if not done.done():
            done.set_exception(error)

    def work() -> None:
        try:
            with scope:
                result = call(**arguments)
        except StopIteration:  # a future does not accept it
            finish = functools.partial(set_exception, RuntimeError("the call raised StopIteration"))
        except BaseException as error:  # noqa: BLE001 - it is raised where the call is awaited
            finish = functools.partial(set_exception, error)
        else:
            finish = functools.partial(set_result, result)
        with suppress(RuntimeError):  # the loop is closed: the call was cancelled
            loop.call_soon_threadsafe(finish)
        _RUNNING_THREADS.discard(thread)

    run = contextvars.copy_context().run
    thread = threading.Thread(target=run, args=(work,), name="prowess-call", daemon=True)
    _RUNNING_THREADS.add(thread)
    thread.start()
    try:
        return await done
    except asyncio.CancelledError:
        scope.stop()
        raise


def wait_for_threads(seconds: float = 2.0) -> None:
    """Wait until the threads of cancelled calls have cleaned up, but at most this long."""
    end = monotonic() + seconds
    for thread in tuple(_RUNNING_THREADS):
        thread.join(max(0.0, end - monotonic()))
