"""Served conversations lose no turn and repeat no turn while the processes that serve them are killed."""

from __future__ import annotations

import pytest

from durability import run


@pytest.mark.slow
@pytest.mark.needs("postgres")
def test_killed_processes_lose_no_turn_and_repeat_none(request: pytest.FixtureRequest) -> None:
    """Ten conversations of five turns over three processes; `make endurance` has 100 of 20 over four."""
    url = request.getfixturevalue("postgres_server").new_database()
    outcome = run(url, conversations=10, turns=5, processes=3, interval=0.5, pause=0.2)
    assert outcome.problems == []
    assert outcome.kills >= 2
