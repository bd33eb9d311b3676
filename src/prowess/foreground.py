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
        if self._child is None or (signal.Signals(number).name in _TYPED and _is_typed()):
            return
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
        if self.caught is not None:
            return 128 + self.caught
        _adopt()
        child = start()
        self._child = child
        if self.caught is not None:  # it came in between
            self._caught(self.caught, None)
        code = child.wait()
        self._child = None
        if hasattr(signal, "setitimer"):
            signal.setitimer(signal.ITIMER_REAL, 0)
        _end_rest()
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


def _adopt() -> None:
    """Have what the command leaves running come to this process, where the system can do so."""
    if sys.platform == "linux":
        import ctypes

        with suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER


def _end_rest() -> None:
    """End what the command left running: all that came to this process, and then what comes from it."""
    if sys.platform != "linux":
        return
    begun = monotonic()
    while _reap() and monotonic() < begun + 4 * GRACE:
        number = signal.SIGTERM if monotonic() < begun + GRACE else signal.SIGKILL
        for pid in _children():
            with suppress(OSError):
                os.kill(pid, number)
        sleep(0.01)


def _reap() -> bool:
    """Take note of children that have ended, and say whether any is left."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        return False
    return True


def _children() -> list[int]:
    own = os.getpid()
    try:
        with open(f"/proc/{own}/task/{own}/children", encoding="ascii") as file:
            return [int(word) for word in file.read().split()]
    except (OSError, ValueError):
        return []
