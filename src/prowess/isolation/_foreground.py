"""a command in the foreground -> its exit code, and nothing of it left

The command has the terminal, as if it had been started without us. Signals that reach only us are passed on; those
that a terminal sends reach it anyway. On Linux what it leaves running in the background ends with it.
"""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from time import monotonic, sleep

from prowess._internal.processes import is_subreaper, set_subreaper

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from subprocess import Popen
    from types import FrameType
    from typing import Any, Self

__all__ = ["Foreground"]

TERM_TIMEOUT = 10.0
"""Seconds the command has to end in after it was asked to."""
LEFTOVER_TIMEOUT = 0.5
"""Seconds that what it left running has to end in."""
_FORWARDED_SIGNALS = ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT")
_TERMINAL_SIGNALS = ("SIGINT", "SIGQUIT")
"""Signals that a terminal sends to all that runs in it."""


class Foreground:
    """Watches over one command; signals are kept from this process from the beginning to the end.

    Attributes:
        last_signal: the last signal that came, None before the first.
    """

    def __init__(self) -> None:
        self.last_signal: int | None = None
        self._child: Popen[Any] | None = None
        self._previous_handlers: dict[int, Any] = {}

    def __enter__(self) -> Self:
        for name in _FORWARDED_SIGNALS:
            number = getattr(signal, name, None)
            if number is not None and signal.getsignal(number) is not signal.SIG_IGN:
                self._previous_handlers[number] = signal.signal(number, self._on_signal)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._previous_handlers.items():
            signal.signal(number, handler)

    def _on_signal(self, number: int, _frame: FrameType | None) -> None:
        self.last_signal = number
        if self._child is not None and not (signal.Signals(number).name in _TERMINAL_SIGNALS and _is_from_terminal()):
            self._forward_signal(number)

    def _forward_signal(self, number: int) -> None:
        if self._child is not None:
            with suppress(OSError):
                self._child.send_signal(number)
        if number != signal.SIGINT and hasattr(signal, "setitimer"):
            signal.signal(signal.SIGALRM, self._kill_child)
            signal.setitimer(signal.ITIMER_REAL, TERM_TIMEOUT)

    def _kill_child(self, _number: int, _frame: FrameType | None) -> None:
        if self._child is not None:
            with suppress(OSError):
                self._child.kill()

    def run(self, start: Callable[[], Popen[Any]]) -> int:
        """Start a command and wait for it.

        Returns:
            Its exit code; 128 and the signal's number where one ended it, or came before it was started.
        """
        came = self.last_signal
        if came is not None:
            return 128 + came
        others = _children()
        adopting = is_subreaper()
        set_subreaper(enabled=True)
        try:
            self._child = start()
            if self.last_signal is not None:  # it came in between, when the command may not have been one yet
                self._forward_signal(self.last_signal)
            code = self._child.wait()
            self._child = None
            if hasattr(signal, "setitimer"):
                signal.setitimer(signal.ITIMER_REAL, 0)
            _end_children_except(others)
        finally:
            set_subreaper(enabled=adopting)
        return code if code >= 0 else 128 - code


def _is_from_terminal() -> bool:
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


def _end_children_except(others: set[int]) -> None:
    """End what the command left running: all that came to this process, and then what comes from it."""
    begun = monotonic()
    asked: set[int] = set()
    while (rest := _live_children(others)) and monotonic() < begun + 4 * LEFTOVER_TIMEOUT:
        late = monotonic() > begun + LEFTOVER_TIMEOUT
        for pid in rest if late else rest - asked:
            with suppress(OSError):
                os.kill(pid, signal.SIGKILL if late else signal.SIGTERM)
        asked |= rest
        sleep(0.01)


def _live_children(others: set[int]) -> set[int]:
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
