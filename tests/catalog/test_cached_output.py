"""What commands print with a cache is, byte for byte, what they print without, whatever was there and whatever changes.

`make mutations` makes ten thousand changes; here are some hundred.
"""

from __future__ import annotations

import json
import sys
import time
from itertools import count
from typing import TYPE_CHECKING

import pytest

from mutations import KINDS, WAIT, batch, cached, counted, difference, folders_of, uncached
from prowess.hosts import host_names, load_host
from support.trees import build_tree, extra_trees, load_trees
from test_golden import CASES, golden_bytes

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

TREES = {**load_trees(), **extra_trees()["trees"]}
HOSTS = host_names()
_EACH = 6
"""A tree is put where each sixth host looks, and each host meets each sixth tree."""


def commands(host: str, cwd: Path, home: Path) -> Iterator[list[str]]:
    """Give every command line that looks at skills, with names that are there."""
    where = ["--host", host, "--cwd", str(cwd), "--home", str(home)]
    yield ["list", "--json", *where]
    yield ["prompt", *where]
    yield ["check", "--json", *where]
    skills = json.loads(uncached(["list", "--json", *where], {}).out)["skills"]
    for name in {skill["name"] for skill in skills[:: max(len(skills) // 2, 1)] if not skill["name"].startswith("-")}:
        yield ["why", name, *where]


def compare(lines: Sequence[list[str]], cache: Path) -> float:
    """Run command lines without a cache, with a new one and again; return how many were then answered from it."""
    number = count()
    warm = 0
    time.sleep(WAIT)
    with counted() as counts:
        for line in lines:
            folder = str(cache / str(next(number)))
            right = uncached(line, {})
            assert right.code in (0, 1), line
            cold = cached(line, {}, folder)
            assert cold == right, f"{line}\n{difference(right, cold)}"
            before = counts["recalled"]
            again = cached(line, {}, folder)
            assert again == right, f"{line}\n{difference(right, again)}"
            warm += counts["recalled"] > before
    return warm / len([line for line in lines if line[0] != "check"])


@pytest.mark.parametrize("host", HOSTS)
def test_the_golden_corpus_prints_the_same_from_the_cache(host: str, tmp_path: Path) -> None:
    """All its files, as skills of one project: without a cache, with a new one, with an answer from it."""
    project, user = folders_of(load_host(host))
    for number, name in enumerate(sorted(CASES)):
        folder = tmp_path / (f"home/{user}" if number % 7 == 0 else f"repo/{project}") / name
        folder.mkdir(parents=True)
        (folder / "SKILL.md").write_bytes(golden_bytes(name))
    assert compare([*commands(host, tmp_path / "repo", tmp_path / "home")], tmp_path / "cache") == 1


@pytest.mark.parametrize("host", HOSTS)
def test_the_observed_trees_print_the_same_from_the_cache(host: str, tmp_path: Path) -> None:
    """Links, collisions, settings, nested folders: what clients were asked about."""
    project, user = folders_of(load_host(host))
    lines: list[list[str]] = []
    for name in list(TREES)[HOSTS.index(host) % _EACH :: _EACH]:
        built = build_tree(TREES[name], tmp_path / name, project, user)
        lines += commands(host, built.cwd, built.home)
    assert len(lines) >= 45
    assert compare(lines, tmp_path / "cache") > 0.9


@pytest.mark.skipif(sys.platform == "win32", reason="links and permissions")
def test_no_change_goes_unseen() -> None:
    """Some hundred random changes, each looked at by three hosts that have an answer from before."""
    seed = time.time_ns() % 1_000_000
    print(f"seed {seed}: python tests/mutations.py --seed {seed} --changes 300")
    counts = batch(seed, 0, 15)
    assert counts["changes"] >= 300
    assert counts["recalled"] > counts["not recalled"]
    assert counts["kept"] > counts["changes"] / 2
    assert sum(counts[kind] > 0 for kind in KINDS) > len(KINDS) * 0.9
