"""What checks that work is linear finds work that is not."""

from __future__ import annotations

import threading

import pytest

from support.growth import assert_linear, calls_at_most, ends, small


def quadratic(count: int) -> int:
    return sum(1 for one in range(count) for other in range(count) if one == other)


def test_quadratic_work_fails() -> None:
    with pytest.raises(AssertionError, match="that is not linear"):
        assert_linear(quadratic, 600)
    with pytest.raises(AssertionError, match="that is not linear"):
        assert_linear(lambda text: quadratic(len(text)), "a" * 600)


@pytest.mark.parametrize("large", [200_000, "x" * 200_000, b"x" * 200_000, [1] * 200_000], ids=type)
def test_linear_work_passes(large: object) -> None:
    assert_linear(sum, large, setup=lambda value: range(value if isinstance(value, int) else len(value)))  # type: ignore[arg-type]


def test_work_that_is_too_fast_to_measure_passes() -> None:
    assert_linear(quadratic, 8)


def test_calls_are_counted() -> None:
    with calls_at_most(1000):
        sum(map(abs, range(100)))
    with pytest.raises(AssertionError, match=r"[\d,]+ calls are more than 1,000"), calls_at_most(1000):
        sum(abs(number) for number in range(1000))


def test_what_never_ends_fails() -> None:
    with pytest.raises(AssertionError, match="it has not ended after"), ends(0.05):
        threading.Event().wait()


def test_a_quarter_has_the_beginning_and_the_end() -> None:
    assert (small(8), small("<aaaaaaaaaaaaaa>"), small([*range(8)])) == (2, "<aa>", [0, 7])
