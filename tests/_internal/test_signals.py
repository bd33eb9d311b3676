"""Signals while something is half done: later, and as if they had come then."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from threading import Thread

import pytest

from prowess._internal.signals import deferred_signals


def send(*numbers: int) -> None:
    for number in numbers:
        os.kill(os.getpid(), number)


def test_a_signal_is_raised_in_the_end() -> None:
    """What is between is done first, and Python's own handler is there again."""
    done: list[int] = []

    def work() -> None:
        with deferred_signals():
            send(signal.SIGINT)
            done.append(1)

    with pytest.raises(KeyboardInterrupt):
        work()
    assert done == [1]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_signal_is_answered_where_that_is_asked_for() -> None:
    """Once."""
    done: list[int] = []

    def work() -> None:
        with deferred_signals() as answer:
            answer()
            send(signal.SIGINT)
            done.append(1)
            answer()
            done.append(2)

    with pytest.raises(KeyboardInterrupt):
        work()
    assert done == [1]


def test_a_handler_that_raises_nothing_ends_nothing() -> None:
    """It is called, and the work goes on."""
    caught: list[int] = []
    before = signal.signal(signal.SIGTERM, lambda number, _: caught.append(number))
    try:
        with deferred_signals() as answer:
            send(signal.SIGTERM)
            assert caught == []
            answer()
            assert caught == [signal.SIGTERM]
            send(signal.SIGTERM)
        assert caught == [signal.SIGTERM, signal.SIGTERM]
    finally:
        signal.signal(signal.SIGTERM, before)


def test_what_is_ignored_stays_ignored() -> None:
    """As below `nohup`."""
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with deferred_signals() as answer:
            send(signal.SIGHUP)
            answer()
            assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)


@pytest.mark.parametrize("asked", [True, False])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_that_ends_the_process_does_so_after_clearing_up(number: int, asked: bool) -> None:
    """And whoever started it sees by which it ended."""
    code = f"""
import os
from prowess._internal.signals import deferred_signals
with deferred_signals() as answer:
    try:
        os.kill(os.getpid(), {int(number)})
        {"answer()" if asked else ""}
        print("on")
    finally:
        print("cleared", flush=True)
print("never")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (-number, "cleared\n" if asked else "on\ncleared\n")


def test_another_thread_has_no_signals_to_hold() -> None:
    """There it does nothing."""
    done: list[int] = []

    def work() -> None:
        with deferred_signals() as answer:
            answer()
            done.append(1)

    thread = Thread(target=work)
    thread.start()
    thread.join()
    assert done == [1]
