"""Defer signals, or turn them into exceptions."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from threading import Thread

import pytest

from prowess._internal.signals import deferred_signals, signals_as_exception


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


def test_sigterm_raises_system_exit_with_its_exit_code() -> None:
    """So `finally` blocks run; afterwards the handler is the system's again."""
    with pytest.raises(SystemExit) as error, signals_as_exception():
        send(signal.SIGTERM)
    assert error.value.code == 128 + signal.SIGTERM
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


def test_a_signal_raises_the_exception_that_is_given() -> None:
    with pytest.raises(KeyboardInterrupt), signals_as_exception(("SIGHUP",), lambda _: KeyboardInterrupt()) as arrived:
        send(signal.SIGHUP)
    assert arrived == [signal.SIGHUP]


def test_only_the_first_signal_raises_on_request() -> None:
    """A second Ctrl-C does not interrupt the cleanup after the first."""
    cleaned = False
    with signals_as_exception(("SIGINT", "SIGTERM"), first_only=True) as arrived:
        with pytest.raises(SystemExit):
            send(signal.SIGTERM)
        send(signal.SIGINT, signal.SIGTERM)
        cleaned = True
    assert (cleaned, arrived) == (True, [signal.SIGTERM, signal.SIGINT, signal.SIGTERM])


@pytest.mark.parametrize("handler", [signal.SIG_IGN, lambda *_: None], ids=["ignored", "handled"])
def test_a_signal_with_another_handler_is_left_alone(handler: object) -> None:
    before = signal.signal(signal.SIGHUP, handler)  # type: ignore[arg-type]
    try:
        with signals_as_exception() as arrived:
            send(signal.SIGHUP)
            assert signal.getsignal(signal.SIGHUP) is handler
        assert arrived == []
    finally:
        signal.signal(signal.SIGHUP, before)


def test_a_system_without_a_signal_is_no_error() -> None:
    with signals_as_exception(("SIGNOTHING", "SIGTERM")):
        assert signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL


def test_another_thread_has_no_signals_to_turn_into_exceptions() -> None:
    done: list[int] = []

    def work() -> None:
        with signals_as_exception():
            done.append(1)

    thread = Thread(target=work)
    thread.start()
    thread.join()
    assert done == [1]
