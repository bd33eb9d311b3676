"""a command in the foreground -> its exit code, and nothing of it left

The command has the terminal, as if it had been started without us. Signals that reach only us are passed on; those
that a terminal sends reach it anyway. On Linux what it leaves running in the background ends with it.
"""

from __future__ import annotations

import os
import signal
import sys
from contextlib import suppress
from time import monotonic, sleep

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from subprocess import Popen
    from types import FrameType
    from typing import Any, Self

__all__ = ["Foreground"]

PATIENCE = 10.0
"""Seconds the command has to end in after it was asked to."""
GRACE = 0.5
"""Seconds that what it left running has to end in."""
_NAMES = ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT")
_TYPED = ("SIGINT", "SIGQUIT")
"""Signals that a terminal sends to all that runs in it."""
_SET_SUBREAPER, _GET_SUBREAPER = 36, 37
"""Of `prctl`."""


class Foreground:
    """Watches over one command; signals are kept from this process from the beginning to the end.

    Attributes:
        caught: the last signal that came, None before the first.
    """

    def __init__(self) -> None:
        self.caught: int | None = None
        self._child: Popen[Any] | None = None
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Self:
        for name in _NAMES:
            number = getattr(signal, name, None)
            if number is not None and signal.getsignal(number) is not signal.SIG_IGN:
                self._before[number] = signal.signal(number, self._caught)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _caught(self, number: int, _frame: FrameType | None) -> None:
        self.caught = number
        if self._child is not None and not (signal.Signals(number).name in _TYPED and _is_typed()):
            self._pass_on(number)

    def _pass_on(self, number: int) -> None:
        if self._child is not None:
            with suppress(OSError):
                self._child.send_signal(number)
        if number != signal.SIGINT and hasattr(signal, "setitimer"):
            signal.signal(signal.SIGALRM, self._late)
            signal.setitimer(signal.ITIMER_REAL, PATIENCE)

    def _late(self, _number: int, _frame: FrameType | None) -> None:
        if self._child is not None:
            with suppress(OSError):
                self._child.kill()

    def run(self, start: Callable[[], Popen[Any]]) -> int:
        """Start a command and wait for it.

        Returns:
            Its exit code; 128 and the signal's number where one ended it, or came before it was started.
        """
        came = self.caught
        if came is not None:
            return 128 + came
        others = _children()
        adopting = _adopts()
        _adopt(adopts=True)
        try:
            self._child = start()
            if self.caught is not None:  # it came in between, when the command may not have been one yet
                self._pass_on(self.caught)
            code = self._child.wait()
            self._child = None
            if hasattr(signal, "setitimer"):
                signal.setitimer(signal.ITIMER_REAL, 0)
            _end_all_but(others)
        finally:
            _adopt(adopts=adopting)
        return code if code >= 0 else 128 - code


def _is_typed() -> bool:
    """Say whether a signal has come from a terminal, and so to the command too."""
    try:
        fd = os.open("/dev/tty", os.O_RDONLY | os.O_NOCTTY)
    except OSError:
        return False
    try:
        return os.tcgetpgrp(fd) == os.getpgrp()
    except OSError:
        return False
    finally:
        os.close(fd)


def _adopt(*, adopts: bool) -> None:
    """Have what the command leaves running come to this process, where the system can do so."""
    if sys.platform == "linux":
        import ctypes

        with suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(_SET_SUBREAPER, int(adopts), 0, 0, 0)


def _adopts() -> bool:
    """Say whether it does so already."""
    if sys.platform == "linux":
        import ctypes

        with suppress(OSError, AttributeError):
            answer = ctypes.c_int(0)
            ctypes.CDLL(None).prctl(_GET_SUBREAPER, ctypes.byref(answer), 0, 0, 0)
            return bool(answer.value)
    return False


def _end_all_but(others: set[int]) -> None:
    """End what the command left running: all that came to this process, and then what comes from it."""
    begun = monotonic()
    asked: set[int] = set()
    while (rest := _running(others)) and monotonic() < begun + 4 * GRACE:
        late = monotonic() > begun + GRACE
        for pid in rest if late else rest - asked:
            with suppress(OSError):
                os.kill(pid, signal.SIGKILL if late else signal.SIGTERM)
        asked |= rest
        sleep(0.01)


def _running(others: set[int]) -> set[int]:
    """Return the children that are not others', once those that have ended are taken note of."""
    rest = _children() - others
    for pid in [*rest]:
        with suppress(ChildProcessError):
            if os.waitpid(pid, os.WNOHANG)[0]:
                rest.discard(pid)
                rest |= _children() - others - {pid}
    return rest


def _children() -> set[int]:
    """Return the processes that are this one's, on Linux."""
    found: set[int] = set()
    with suppress(OSError):
        for thread in os.listdir("/proc/self/task"):
            with suppress(OSError, ValueError), open(f"/proc/self/task/{thread}/children", encoding="ascii") as file:
                found.update(int(word) for word in file.read().split())
    return found
