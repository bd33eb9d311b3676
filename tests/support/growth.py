"""Check how long something takes without a limit in seconds: a busy or slow machine must not fail a test."""

from __future__ import annotations

import gc
import signal
import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar, cast

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

T = TypeVar("T")

END = 600
"""Seconds after which something hangs, on a machine as busy as it may be; what a test waits for takes a small part."""
FASTEST = 0.002
"""What takes less processor time than this is not compared, as it cannot be measured well."""
ROUNDS = 9
PERIOD = 2520
"""A multiple of all numbers up to ten."""


@contextmanager
def ends(seconds: float = END) -> Iterator[None]:
    """Fail if the block blocks or takes exponential time, by an alarm after `END`."""

    def fail(*_: object) -> NoReturn:
        raise AssertionError(f"it has not ended after {seconds} seconds")

    previous = signal.signal(signal.SIGALRM, fail)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)


class Calls:
    """How many functions were called."""

    count = 0


@contextmanager
def counted_calls() -> Iterator[Calls]:
    """Count the functions that the block calls, of Python or C; fail if it never ends."""
    calls = Calls()

    def profile(_: object, event: str, __: object) -> None:
        calls.count += event in ("call", "c_call")

    with ends():
        previous = sys.getprofile()
        sys.setprofile(profile)
        try:
            yield calls
        finally:
            sys.setprofile(previous)


@contextmanager
def calls_at_most(limit: int) -> Iterator[None]:
    """Fail if the block calls more functions than this, of Python or C, or never ends."""
    with counted_calls() as calls:
        yield
    assert calls.count <= limit, f"{calls.count:,} calls are more than {limit:,}"


def assert_linear(
    work: Callable[[Any], object],
    large: T,
    *,
    setup: Callable[[T], object] | None = None,
    clock: Callable[[], float] = time.process_time,
) -> None:
    """Fail if work on a text, list or number takes more than eight times as long as work on a quarter of it.

    Linear work takes four times as long, quadratic work sixteen times. What differs by chance is measured again.
    `setup` makes what the work gets, and is not measured. Another process than this needs another clock.
    """
    quarter = small(large)

    def seconds(value: T) -> float:
        given = value if setup is None else setup(value)
        before = clock()
        work(given)
        return clock() - before

    with ends(2 * END):
        seconds(quarter)  # imports modules, fills caches
        least = [float("inf"), float("inf")]
        collects = gc.isenabled()
        gc.disable()
        try:
            for _ in range(ROUNDS):
                least = [min(before, seconds(value)) for before, value in zip(least, (quarter, large), strict=True)]
                if least[1] < FASTEST or least[1] < 8 * least[0]:
                    return
        finally:
            if collects:
                gc.enable()
    raise AssertionError(f"a quarter takes {least[0]:.4f} s, all of it takes {least[1]:.4f} s: that is not linear")


def small(large: T) -> T:
    """Return a quarter of a number, or a text or list without its middle; what repeats within ten still does."""
    if isinstance(large, int):
        return cast("T", large // 4)
    text = cast("str", large)
    left_out = len(text) * 3 // 4
    if left_out > 10 * PERIOD:
        left_out -= left_out % PERIOD
    start = (len(text) - left_out) // 2
    return cast("T", text[:start] + text[start + left_out :])
