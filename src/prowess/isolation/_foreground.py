"""Run a command on the terminal, return its exit code, and end everything that it leaves running.

The command has the terminal as if it had been started directly. Signals that only this process gets are forwarded to
it; signals from the terminal reach it anyway. On Linux its background processes are ended after it.
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

TERM_TIMEOUT = 10.0
"""Seconds after a signal until the command is killed."""
LEFTOVER_TIMEOUT = 0.5
"""Seconds after SIGTERM until background processes are killed."""
_LONGEST_CALL = 500
"""Milliseconds after which it is looked whether a signal arrived."""
_FORWARDED_SIGNALS = ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT")
_TERMINAL_SIGNALS = ("SIGINT", "SIGQUIT")
"""Signals that a terminal sends to all of its foreground processes."""


class Foreground:
    """Runs one command, and handles the signals of this process from the beginning to the end of the block.

    Attributes:
        last_signal: the last signal that arrived; `None` before the first.
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
            Its exit code; 128 plus the number of the signal that ended it, or that arrived before it was started.
        """
        number = self.last_signal
        if number is not None:
            return 128 + number
        other_children = _children()
        was_subreaper = is_subreaper()
        set_subreaper(enabled=True)
        try:
            self._child = start()
            if self.last_signal is not None:  # it arrived while the command was being started
                self._forward_signal(self.last_signal)
            code = _wait(self._child)
            self._child = None
            if hasattr(signal, "setitimer"):
                signal.setitimer(signal.ITIMER_REAL, 0)
            _end_children_except(other_children)
        finally:
            set_subreaper(enabled=was_subreaper)
        return code if code >= 0 else 128 - code


def _wait(child: Popen[Any]) -> int:
    """Wait for a process. No call blocks for long: a signal that arrives just before one is handled after it only."""
    import select

    try:
        fd = os.pidfd_open(child.pid)
    except (AttributeError, OSError):  # another system
        return child.wait()
    try:
        poll = select.poll()
        poll.register(fd, select.POLLIN)
        while not poll.poll(_LONGEST_CALL):
            pass
    finally:
        os.close(fd)
    return child.wait()


def _is_from_terminal() -> bool:
    """Return whether the terminal sent a signal, so that the command got it too."""
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
    """End the background processes of the command: those that became children of this process, and theirs in turn."""
    started = monotonic()
    terminated: set[int] = set()
    while (children := _live_children(others)) and monotonic() < started + 4 * LEFTOVER_TIMEOUT:
        kill = monotonic() > started + LEFTOVER_TIMEOUT
        for pid in children if kill else children - terminated:
            with suppress(OSError):
                os.kill(pid, signal.SIGKILL if kill else signal.SIGTERM)
        terminated |= children
        sleep(0.01)


def _live_children(others: set[int]) -> set[int]:
    """Reap the children that have ended, and return the rest, except others."""
    children = _children() - others
    for pid in [*children]:
        with suppress(ChildProcessError):
            if os.waitpid(pid, os.WNOHANG)[0]:
                children.discard(pid)
                children |= _children() - others - {pid}
    return children


def _children() -> set[int]:
    """Return the child processes of this process; on other systems than Linux none are known."""
    children: set[int] = set()
    with suppress(OSError):
        for thread in os.listdir("/proc/self/task"):
            with suppress(OSError, ValueError), open(f"/proc/self/task/{thread}/children", encoding="ascii") as file:
                children.update(int(word) for word in file.read().split())
    return children
