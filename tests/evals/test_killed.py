"""Evaluations whose process is killed go on as if nothing had happened."""

from __future__ import annotations

import time
from random import Random
from typing import TYPE_CHECKING

import pytest

from support.proofs import short_or_long
from support.recorded_evals import AGENT, content, greet, prowess

if TYPE_CHECKING:
    from pathlib import Path

KILLS = short_or_long(2, 25)
"""For each seed."""


@pytest.mark.proof
@pytest.mark.slow
@pytest.mark.parametrize("seed", range(short_or_long(2, 8)))
def test_an_evaluation_that_is_killed_leaves_the_same_bytes(seed: int, tmp_path: Path) -> None:
    """At random times, again and again, until it ends; `make long` kills two hundred."""
    greet(tmp_path, short_or_long(3, 8))
    random = Random(seed)  # noqa: S311 - no secret
    words = ("./greet", "--via", AGENT, "--runs", "1", "--seed", str(seed))
    started = time.monotonic()
    whole = prowess(tmp_path, *words, "--out", "whole")
    assert whole.communicate() is not None
    assert whole.returncode == 0
    seconds = time.monotonic() - started
    expected = content(tmp_path / "whole")
    kills = number = 0
    while kills < KILLS:
        folder, number = tmp_path / f"run{number}", number + 1
        is_ended = False
        while not is_ended:
            has_begun = (folder / "local.json").exists()
            process = prowess(tmp_path, *(("--resume", folder.name) if has_begun else (*words, "--out", folder.name)))
            # Waiting for a moment, not for an event: where it is killed must be random.
            time.sleep(random.random() * seconds)
            process.kill()
            _, errors = process.communicate()
            is_ended = process.returncode == 0
            assert process.returncode in (0, -9), errors
            kills += not is_ended
        assert content(folder) == expected
