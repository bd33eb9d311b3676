"""Run calls that may block forever in threads, and wait for them until a deadline.

The threads do not keep the process from ending: a call that never returns is left behind.
"""

from __future__ import annotations

import queue
import threading
import time
from collections import deque

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import TypeVar

    _T = TypeVar("_T")

__all__ = ["run_calls"]


def run_calls(calls: Iterable[Callable[[], _T]], seconds: float, at_once: int = 1) -> Iterator[_T]:
    """Run calls, some at the same time, and yield their results in any order.

    Args:
        calls: to run.
        seconds: for all of them together.
        at_once: how many run at the same time.

    Raises:
        TimeoutError: they did not return in time.
        Exception: what the first call raised that failed; no further call begins.
    """
    waiting = deque(calls)
    count, deadline = len(waiting), time.monotonic() + seconds
    results: queue.SimpleQueue[tuple[_T | None, Exception | None]] = queue.SimpleQueue()
    free = threading.Semaphore(2 * at_once)  # results that were not taken yet need memory

    def work() -> None:
        while free.acquire():
            try:
                call = waiting.popleft()
            except IndexError:
                free.release()
                return
            try:
                results.put((call(), None))
            except Exception as error:  # noqa: BLE001 - raised where the results are read
                results.put((None, error))

    threads = [threading.Thread(target=work, daemon=True) for _ in range(min(at_once, count))]
    for thread in threads:
        thread.start()
    try:
        for _ in range(count):
            try:
                result, error = results.get(timeout=max(0.0, deadline - time.monotonic()))
            except queue.Empty:
                raise TimeoutError from None
            free.release()
            if error is not None:
                raise error
            yield result  # type: ignore[misc]
        for thread in threads:
            thread.join()
    finally:
        waiting.clear()
        free.release(at_once)
