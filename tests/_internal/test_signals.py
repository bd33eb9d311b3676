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


def test_a_deferred_signal_is_raised_at_the_end_of_the_block() -> None:
    """The previous handler is restored."""
    done: list[int] = []

    def work() -> None:
        with deferred_signals():
            send(signal.SIGINT)
            done.append(1)

    with pytest.raises(KeyboardInterrupt):
        work()
    assert done == [1]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_deferred_signal_is_delivered_once_on_request() -> None:
    done: list[int] = []

    def work() -> None:
        with deferred_signals() as deliver:
            deliver()
            send(signal.SIGINT)
            done.append(1)
            deliver()
            done.append(2)

    with pytest.raises(KeyboardInterrupt):
        work()
    assert done == [1]


def test_a_handler_that_does_not_raise_does_not_end_the_block() -> None:
    caught: list[int] = []
    before = signal.signal(signal.SIGTERM, lambda number, _: caught.append(number))
    try:
        with deferred_signals() as deliver:
            send(signal.SIGTERM)
            assert caught == []
            deliver()
            assert caught == [signal.SIGTERM]
            send(signal.SIGTERM)
        assert caught == [signal.SIGTERM, signal.SIGTERM]
    finally:
        signal.signal(signal.SIGTERM, before)


def test_an_ignored_signal_stays_ignored() -> None:
    """As under `nohup`."""
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with deferred_signals() as deliver:
            send(signal.SIGHUP)
            deliver()
            assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)


@pytest.mark.parametrize("delivered", [True, False])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_that_ends_the_process_does_so_after_the_cleanup(number: int, delivered: bool) -> None:
    """Its parent sees which signal ended it."""
    code = f"""
import os
from prowess._internal.signals import deferred_signals
with deferred_signals() as deliver:
    try:
        os.kill(os.getpid(), {int(number)})
        {"deliver()" if delivered else ""}
        print("on")
    finally:
        print("cleared", flush=True)
print("never")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (-number, "cleared\n" if delivered else "on\ncleared\n")


def test_nothing_is_deferred_in_another_thread() -> None:
    done: list[int] = []

    def work() -> None:
        with deferred_signals() as deliver:
            deliver()
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


def test_no_signal_becomes_an_exception_in_another_thread() -> None:
    done: list[int] = []

    def work() -> None:
        with signals_as_exception():
            done.append(1)

    thread = Thread(target=work)
    thread.start()
    thread.join()
    assert done == [1]
