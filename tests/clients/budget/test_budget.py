"""The arithmetic of clients' budgets."""

from __future__ import annotations

from hypothesis import given, strategies as st

from prowess.clients.budget import cut_evenly, fit_in_order
from support import strategies  # noqa: F401 - its profile makes every run the same

COSTS = st.lists(st.tuples(st.integers(0, 50), st.integers(0, 50)), max_size=12)


def spent(full: list[int], least: list[int], shown: list[bool]) -> int:
    return sum(whole if keep else part for whole, part, keep in zip(full, least, shown, strict=True))


def test_the_first_entry_that_does_not_fit_ends_the_list() -> None:
    """Unless the client is greedy."""
    full, least = [10, 30, 5], [1, 1, 1]
    assert fit_in_order(full, least, 100) == [True, True, True]
    assert fit_in_order(full, least, 20) == [True, False, False]
    assert fit_in_order(full, least, 20, greedy=True) == [True, False, True]
    assert fit_in_order(full, least, 11) == [False, False, False]
    assert fit_in_order([], [], 0) == []


@given(COSTS, st.integers(0, 600), st.booleans())
def test_fitting_keeps_the_budget(costs: list[tuple[int, int]], room: int, greedy: bool) -> None:
    """If the names fit; unless greedy, the entries shown in full are the first ones."""
    least = [part for part, _ in costs]
    full = [part + more for part, more in costs]
    shown = fit_in_order(full, least, room, greedy=greedy)
    if sum(least) <= room:
        assert spent(full, least, shown) <= room
    if not greedy:
        assert shown == sorted(shown, reverse=True)


@given(COSTS, st.integers(0, 300), st.integers(0, 300))
def test_more_room_never_fits_fewer(costs: list[tuple[int, int]], room: int, more: int) -> None:
    """Every entry that fitted before still fits."""
    least = [part for part, _ in costs]
    full = [part + extra for part, extra in costs]
    before, after = fit_in_order(full, least, room), fit_in_order(full, least, room + more)
    assert all(now or not then for then, now in zip(before, after, strict=True))


def test_texts_are_cut_evenly() -> None:
    """One character each in turn; the room that one leaves goes to the others."""
    assert cut_evenly([10, 2, 10], lambda _, size: size, 12) == [5, 2, 5]
    assert cut_evenly([10, 2, 10], lambda _, size: size, 13) == [6, 2, 5]
    assert cut_evenly([3, 3], lambda _, size: size + 4, 7) is None
    assert cut_evenly([3, 3], lambda _, size: size + 4, 8) == [0, 0]
    assert cut_evenly([], lambda _, size: size, 0) == []


@given(st.lists(st.integers(0, 30), max_size=8), st.integers(0, 200), st.integers(1, 4))
def test_cutting_evenly_uses_all_of_the_budget(lengths: list[int], room: int, width: int) -> None:
    """No text exceeds its length, and none that could grow is left shorter."""

    def cost(_: int, size: int) -> int:
        return 2 + width * size

    kept = cut_evenly(lengths, cost, room)
    if kept is None:
        assert 2 * len(lengths) > room
        return
    total = sum(cost(0, size) for size in kept)
    assert total <= room
    assert all(size <= length for size, length in zip(kept, lengths, strict=True))
    if kept != lengths:
        assert total + width > room
    cut = [size for size, length in zip(kept, lengths, strict=True) if size < length]
    assert not cut or max(kept) - min(cut) <= 1
