"""signals -> the same signals, once nothing is half done

A signal may come between any two steps, and an exception raised there leaves what the step before has begun. So while
files are changed SIGINT, SIGTERM and SIGHUP are only noted. `answer` is called where all can be taken back: there a
signal does what it would have done at once.
"""

from __future__ import annotations

from contextlib import contextmanager

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

__all__ = ["deferred_signals"]

_SIGNAL_NAMES = ("SIGINT", "SIGTERM", "SIGHUP")


@contextmanager
def deferred_signals() -> Iterator[Callable[[], None]]:
    """Hold signals back; what is still to be answered in the end is raised then.

    Yields:
        answer: raises what the handlers of signals raise that came meanwhile. Where one would end the process, it is
            SystemExit, and the process is ended as soon as signals are held back no longer.
    """
    import signal

    before: dict[int, Any] = {}
    noted: list[int] = []

    def note(number: int, _: object) -> None:
        noted.append(number)

    def answer() -> None:
        for number in [*noted]:
            if before[number] is signal.SIG_DFL:
                raise SystemExit(128 + number)
            noted.remove(number)
            before[number](number, None)

    try:
        for number in (getattr(signal, name) for name in _SIGNAL_NAMES if hasattr(signal, name)):
            handler = signal.getsignal(number)
            if handler is signal.SIG_DFL or callable(handler):  # not where it is ignored, or none of Python's
                before[number] = handler
                signal.signal(number, note)
    except ValueError:
        before.clear()  # only the main thread gets signals
    try:
        yield answer
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)
        for one in noted:
            signal.raise_signal(one)
