"""Defer signals while files change, and turn signals that end the process into exceptions.

A signal may arrive between any two steps, and an exception raised there would leave a change half done. So while files
change, SIGINT, SIGTERM and SIGHUP are only noted (`deferred_signals`). Elsewhere SIGTERM should unwind the process as
Ctrl-C does, so that `finally` blocks run (`signals_as_exception`).
"""

from __future__ import annotations

from contextlib import contextmanager

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any

_DEFERRED_SIGNALS = ("SIGINT", "SIGTERM", "SIGHUP")


def _exit_error(number: int) -> BaseException:
    return SystemExit(128 + number)


@contextmanager
def signals_as_exception(
    names: Sequence[str] = ("SIGTERM", "SIGHUP"),
    make_error: Callable[[int], BaseException] = _exit_error,
    *,
    first_only: bool = False,
) -> Iterator[list[int]]:
    """Raise an exception in the main thread when a signal arrives that would end the process, so that it cleans up.

    A signal that is ignored (`nohup`) or has another handler is left alone. Outside the main thread this does nothing.

    Args:
        names: the signals; those that this system does not have are left out.
        make_error: gets the number of the signal, and returns what is raised: by default `SystemExit(128 + number)`.
        first_only: only the first signal raises; later ones do not interrupt the cleanup.

    Yields:
        The signals that arrived so far.
    """
    import signal

    arrived: list[int] = []

    def handle(number: int, _frame: object) -> None:
        arrived.append(number)
        if len(arrived) == 1 or not first_only:
            raise make_error(number)

    previous: dict[int, Any] = {}
    try:
        for number in (getattr(signal, name) for name in names if hasattr(signal, name)):
            if signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler):
                previous[number] = signal.signal(number, handle)
    except ValueError:
        pass  # only the main thread may set handlers
    try:
        yield arrived
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


@contextmanager
def deferred_signals() -> Iterator[Callable[[], None]]:
    """Hold signals back until the end of the block, and raise them again there.

    Yields:
        deliver: a function that calls the handlers of the signals that arrived so far. If a signal would end the
            process, it raises SystemExit, and the signal ends the process at the end of the block.
    """
    import signal

    previous: dict[int, Any] = {}
    arrived: list[int] = []

    def note(number: int, _frame: object) -> None:
        arrived.append(number)

    def deliver() -> None:
        for number in [*arrived]:
            if previous[number] is signal.SIG_DFL:
                raise SystemExit(128 + number)
            arrived.remove(number)
            previous[number](number, None)

    try:
        for number in (getattr(signal, name) for name in _DEFERRED_SIGNALS if hasattr(signal, name)):
            handler = signal.getsignal(number)
            if handler is signal.SIG_DFL or callable(handler):  # neither ignored nor set by something else than Python
                previous[number] = handler
                signal.signal(number, note)
    except ValueError:
        previous.clear()  # only the main thread may set handlers
    try:
        yield deliver
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
        for number in arrived:
            signal.raise_signal(number)
