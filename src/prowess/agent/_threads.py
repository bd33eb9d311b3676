"""Run the calls of tools in threads that nothing waits for.

Ctrl-C, and a run that has reached its time limit, do not wait for as long as a tool takes: the command of a cancelled
call is stopped, it starts no other one, and its thread ends later.
"""

from __future__ import annotations

from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Any, TypeVar

from prowess._internal.threads import start_call
from prowess.sandbox import CommandScope

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable

_RUNNING_THREADS: set[threading.Thread] = set()

T = TypeVar("T")


async def run_in_thread(call: Callable[..., T], **arguments: Any) -> T:
    """Run a call in a new thread and return its result, or raise its exception."""
    with CommandScope():
        thread, done = start_call(partial(call, **arguments))
        _RUNNING_THREADS.difference_update([other for other in _RUNNING_THREADS if not other.is_alive()])
        _RUNNING_THREADS.add(thread)
        return await done


def wait_for_threads(seconds: float = 2.0) -> None:
    """Wait until the threads of cancelled calls have cleaned up, but at most this long."""
    end = monotonic() + seconds
    for thread in tuple(_RUNNING_THREADS):
        thread.join(max(0.0, end - monotonic()))
