"""Prowess sees the same skills as the real clients in all the trees that they were asked about, cell by cell."""

from __future__ import annotations

import json
import os
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from clients._answers import load_answers, recorded_clients
from clients._cells import prowess_differs
from clients._trees import HERE, all_trees

TREES = all_trees()
ANSWERS: dict[str, Any] = {client: load_answers(client) for client in recorded_clients()}
EXCEPTIONS: dict[str, Any] = json.loads((HERE / "more.json").read_text("utf-8"))["exceptions"]
PLACE = next((place for place in ("/dev/shm", "/tmp") if os.access(place, os.W_OK)), None)
"""The folder for trees, in memory where one is: a disk takes ten times as long to make and remove their folders."""
PREFIX = "obs-" if PLACE == "/dev/shm" else "observe-"
FIRST = json.loads((HERE / "trees.json").read_text("utf-8"))
"""The trees that a quick run asks about too."""


@pytest.mark.parametrize(
    ("client", "tree"),
    [
        pytest.param(client, tree, id=f"{client}-{tree}", marks=() if tree in FIRST else pytest.mark.slow)
        for client, answers in ANSWERS.items()
        for tree in answers["trees"]
    ],
)
def test_every_cell_is_the_clients_own_answer(client: str, tree: str) -> None:
    """Each SKILL.md of a tree has the client's state, name and length of description.

    The length of its paths counts in a client's budget, so they are as long as those that the observer made.
    """
    answers = ANSWERS[client]
    with TemporaryDirectory(prefix=PREFIX, dir=PLACE) as folder:
        place = Path(folder).resolve() / "tree"
        built = TREES[tree].build(place, client, answers["project"], answers["user"])
        wrong = prowess_differs(built, client, answers["trees"][tree])
    known = EXCEPTIONS.get(client, {}).get(tree, ())
    assert {variant: problem for variant, problem in wrong.items() if variant not in known} == {}


def test_each_client_was_asked_about_most_trees() -> None:
    """The test above would pass without the data."""
    asked = [cells for answers in ANSWERS.values() for cells in answers["trees"].values()]
    assert len(ANSWERS) >= 7
    assert len(TREES) >= 90
    assert len(asked) > 500
    assert sum(map(len, asked)) > 7_000


def test_the_known_differences_become_fewer() -> None:
    exceptions = sum(len(variants) for trees in EXCEPTIONS.values() for variants in trees.values())
    assert exceptions <= 83
