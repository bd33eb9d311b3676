from __future__ import annotations

import threading
import time
from functools import partial

import pytest

from prowess.install.bucket._blocking_calls import run_calls


def test_results_of_calls_at_the_same_time_are_all_there() -> None:
    both = threading.Barrier(2, timeout=5)

    def call(number: int) -> int:
        both.wait()
        return number

    assert sorted(run_calls([partial(call, number) for number in range(20)], 10, 2)) == [*range(20)]
    assert [*run_calls([], 10)] == []


def test_a_call_that_does_not_return_is_left_behind() -> None:
    began = time.monotonic()
    release = threading.Event()
    with pytest.raises(TimeoutError):
        [*run_calls([release.wait], 0.05)]
    assert time.monotonic() - began < 5
    release.set()


def test_no_call_begins_after_one_that_failed() -> None:
    begun: list[int] = []

    def fail() -> None:
        begun.append(1)
        raise LookupError("one")

    with pytest.raises(LookupError, match="one"):
        [*run_calls([fail] * 1000, 10)]
    assert len(begun) < 5
