"""Prowess sees the same skills as seven real clients in twenty-three trees, cell by cell."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest

from prowess.catalog import discover
from prowess.catalog._entry import State
from support.trees import build_tree, client_answers, extra_trees, load_trees

if TYPE_CHECKING:
    from pathlib import Path

    from prowess.catalog._entry import Entry

TREES = load_trees()
ANSWERS = client_answers()
MORE = extra_trees()
NO_LIST = ("qwen-code", "pi")
"""Clients without their own list: a skill that is not shown to the model may be unknown to them."""


def disagreement(client: str, cell: dict[str, Any] | None, entries: list[Entry]) -> str | None:
    """Return how an entry differs from the client's answer, by the rules of the survey."""
    shown = [entry for entry in entries if entry.state is State.ACTIVE]
    states = [str(entry.state) for entry in entries]
    if cell and cell.get("undefined"):
        return None if any("undefined" in (entry.reason or "") for entry in entries) else f"not undefined: {entries}"
    if cell is None:
        hidden = {"deferred", "shadowed", "rejected", "untrusted", *(["user-only"] if client in NO_LIST else [])}
        return None if set(states) <= hidden else f"the client does not know it; here {states}"
    if not cell["model"]:
        wanted = "disabled" if cell.get("enabled") is False else "user-only"
        return None if states == [wanted] else f"the client lists it as {wanted}; here {states} {entries}"
    if len(shown) != 1:
        return f"the client shows it to its model; here {states} {[entry.reason for entry in entries]}"
    entry = shown[0]
    if entry.name != cell["name"]:
        return f"the client calls it {cell['name']!r}; here {entry.name!r}"
    if entry.alias != cell.get("alias"):
        return f"the client's alias is {cell.get('alias')!r}; here {entry.alias!r}"
    length, wanted_length = len(entry.description.strip()), cell["shown_len"]
    levelled = client == "codex" and wanted_length < 500 and entry.rule == "budget"
    if abs(length - wanted_length) > (wanted_length // 10 if levelled else 0):
        return f"the client shows {wanted_length} characters; here {length}: {entry.description[:60]!r}"
    return None


@pytest.mark.parametrize("scenario", TREES)
@pytest.mark.parametrize("client", ANSWERS["clients"])
def test_every_cell_is_the_clients_own_answer(client: str, scenario: str, tmp_path: Path) -> None:
    """Each SKILL.md of a tree has the client's state, name and length of description."""
    tree = build_tree(TREES[scenario], tmp_path, ANSWERS["project"][client], ANSWERS["user"][client])
    catalog = discover(tree.cwd, host=client, home=tree.home, env={})
    by_file: dict[str, list[Entry]] = {}
    for entry in catalog.skills:
        by_file.setdefault(os.path.realpath(entry.path), []).append(entry)
    cells = ANSWERS["clients"][client][scenario]
    wrong = {}
    for variant, path in tree.skills.items():
        entries = by_file.get(os.path.realpath(path), [])
        if problem := disagreement(client, cells.get(variant), entries):
            wrong[variant] = problem
    assert wrong == {}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("client", "tree"),
    [pytest.param(client, tree, id=f"{client}-{tree}") for client, cells in MORE["clients"].items() for tree in cells],
)
def test_more_trees_are_answered_as_the_client_did(client: str, tree: str, tmp_path: Path) -> None:
    """Roots, walks, fences, YAML, names, descriptions, fields, collisions, budgets: a topic per tree, and mixtures."""
    built = build_tree(MORE["trees"][tree], tmp_path, ANSWERS["project"][client], ANSWERS["user"][client])
    catalog = discover(built.cwd, host=client, home=built.home, env={})
    by_file: dict[str, list[Entry]] = {}
    for entry in catalog.skills:
        by_file.setdefault(os.path.realpath(entry.path), []).append(entry)
    cells = MORE["clients"][client][tree]
    exceptions = MORE["exceptions"][client].get(tree, ())
    wrong = {}
    for variant, path in built.skills.items():
        problem = disagreement(client, cells.get(variant), by_file.get(os.path.realpath(path), []))
        if problem and variant not in exceptions:
            wrong[variant] = problem
    assert wrong == {}


def test_there_are_many_more_trees() -> None:
    """Some sixty; the known differences are less than one percent."""
    assert len(MORE["trees"]) >= 60
    cells = sum(
        len(MORE["trees"][tree]["skills"]) for client_answers in MORE["clients"].values() for tree in client_answers
    )
    exceptions = sum(len(variants) for trees in MORE["exceptions"].values() for variants in trees.values())
    assert cells > 10_000
    assert exceptions < cells // 100


def test_the_survey_is_complete() -> None:
    """Seven clients, twenty-three trees each: the tests above would pass without the data."""
    assert len(TREES) == 23
    assert len(ANSWERS["clients"]) == 7
    assert all(set(cells) == set(TREES) for cells in ANSWERS["clients"].values())
    seen = sum(len(cells) for client in ANSWERS["clients"].values() for cells in client.values())
    assert seen > 2000 - 7 * 150
