"""Seven real clients were asked what they see in twenty-three trees; Prowess answers the same, cell by cell."""

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
"""Clients without a list of their own: what they do not show to the model cannot be told from what they do not know."""


def disagreement(client: str, cell: dict[str, Any] | None, entries: list[Entry]) -> str | None:
    """Say how an entry differs from what the client answered; the rules of comparison are the survey's own."""
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
    """Each SKILL.md of a tree has the state, name and length of description that the client gave it."""
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


@pytest.mark.parametrize(
    ("client", "tree"),
    [pytest.param(client, tree, id=f"{client}-{tree}") for client, cells in MORE["clients"].items() for tree in cells],
)
def test_more_trees_are_answered_as_the_client_did(client: str, tree: str, tmp_path: Path) -> None:
    """Roots, walks, fences, YAML, names, descriptions, fields, collisions, budgets: one matter a tree; and mixtures."""
    built = build_tree(MORE["trees"][tree], tmp_path, ANSWERS["project"][client], ANSWERS["user"][client])
    catalog = discover(built.cwd, host=client, home=built.home, env={})
    by_file: dict[str, list[Entry]] = {}
    for entry in catalog.skills:
        by_file.setdefault(os.path.realpath(entry.path), []).append(entry)
    cells = MORE["clients"][client][tree]
    aside = MORE["aside"][client].get(tree, ())
    wrong = {}
    for variant, path in built.skills.items():
        problem = disagreement(client, cells.get(variant), by_file.get(os.path.realpath(path), []))
        if problem and variant not in aside:
            wrong[variant] = problem
    assert wrong == {}


def test_the_further_trees_are_many() -> None:
    """Some sixty trees; what is known to differ is a small part of them."""
    assert len(MORE["trees"]) >= 60
    cells = sum(
        len(MORE["trees"][tree]["skills"]) for client_answers in MORE["clients"].values() for tree in client_answers
    )
    aside = sum(len(variants) for trees in MORE["aside"].values() for variants in trees.values())
    assert cells > 10_000
    assert aside < cells // 100


def test_the_survey_is_whole() -> None:
    """Seven clients, twenty-three trees each: one lost from the data would make the tests above vacuous."""
    assert len(TREES) == 23
    assert len(ANSWERS["clients"]) == 7
    assert all(set(cells) == set(TREES) for cells in ANSWERS["clients"].values())
    seen = sum(len(cells) for client in ANSWERS["clients"].values() for cells in client.values())
    assert seen > 2000 - 7 * 150
