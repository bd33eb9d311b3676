"""Commands print the same with and without a cache, byte for byte, whatever exists and whatever changes.

`make mutations` makes ten thousand changes; these tests make a hundred, and `make long` some more.
"""

from __future__ import annotations

import json
import os
import sys
import time
from itertools import count
from typing import TYPE_CHECKING

import pytest

from mutations import KINDS, ROUNDS, WAIT, batch, cached, counted, difference, folders_of, uncached
from prowess.hosts import host_names, load_host
from support.files import write_file
from support.proofs import short_or_long
from support.trees import build_tree, extra_trees, load_trees
from test_golden import CASES, golden_bytes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

TREES = {**load_trees(), **extra_trees()["trees"]}
HOSTS = host_names()
_EACH = short_or_long(len(HOSTS), 1)
"""Each host is tested with one of so many trees and files of the golden corpus, so each of these with one host."""
_WORLDS = short_or_long(3, 15)


def commands(host: str, cwd: Path, home: Path) -> Iterator[list[str]]:
    """Yield every command line that reads skills, with names of skills that exist."""
    where = ["--host", host, "--cwd", str(cwd), "--home", str(home)]
    yield ["list", "--json", *where]
    yield ["prompt", *where]
    yield ["check", "--json", *where]
    skills = json.loads(uncached(["list", "--json", *where], {}).out)["skills"]
    for name in {skill["name"] for skill in skills[:: max(len(skills) // 2, 1)] if not skill["name"].startswith("-")}:
        yield ["why", name, *where]


def compare(lines: Sequence[list[str]], cache: Path) -> float:
    """Run command lines without a cache, with a new one and twice more; return the share answered from the cache."""
    number = count()
    warm = 0
    time.sleep(WAIT)
    with counted() as counts:
        for line in lines:
            folder = str(cache / str(next(number)))
            expected = uncached(line, {})
            assert expected.code in (0, 1), line
            cold = cached(line, {}, folder)
            assert cold == expected, f"{line}\n{difference(expected, cold)}"
            before = counts["hits"]
            for _ in range(2):  # the last one prints what the one before has stored
                again = cached(line, {}, folder)
                assert again == expected, f"{line}\n{difference(expected, again)}"
            warm += counts["hits"] > before
    return warm / len(lines)


@pytest.mark.slow
@pytest.mark.proof
@pytest.mark.parametrize("host", HOSTS)
def test_the_golden_corpus_prints_the_same_from_the_cache(host: str, tmp_path: Path) -> None:
    """Its files, as skills of one project: without a cache, with a new one, with a filled one."""
    project, user = folders_of(load_host(host))
    for number, name in enumerate(sorted(CASES)[HOSTS.index(host) % _EACH :: _EACH]):
        folder = tmp_path / (f"home/{user}" if number % 7 == 0 else f"repo/{project}") / name
        write_file(folder / "SKILL.md", golden_bytes(name))
    assert compare([*commands(host, tmp_path / "repo", tmp_path / "home")], tmp_path / "cache") == 1


@pytest.mark.slow
@pytest.mark.proof
@pytest.mark.parametrize("host", HOSTS)
def test_the_observed_trees_print_the_same_from_the_cache(host: str, tmp_path: Path) -> None:
    """Links, collisions, settings, nested folders: the trees that real clients were tested with."""
    project, user = folders_of(load_host(host))
    lines: list[list[str]] = []
    for name in list(TREES)[HOSTS.index(host) % _EACH :: _EACH]:
        built = build_tree(TREES[name], tmp_path / name, project, user)
        lines += commands(host, built.cwd, built.home)
    assert len(lines) >= 9
    assert compare(lines, tmp_path / "cache") > 0.9


def _ignore_in_project(repo: Path) -> None:
    rule = '[[tool.prowess.ignore]]\ncode = "link-missing"\nskill = "alpha"\nreason = "known"\n'
    (repo / "pyproject.toml").write_text(rule)


LINKED = ".agents/skills/alpha/references/notes.md"

CHANGES: dict[str, Callable[[Path], object]] = {
    "the file that a body links to": lambda repo: (repo / LINKED).write_text("Notes.\n"),
    "a link in its place": lambda repo: (repo / LINKED).symlink_to("nowhere"),
    "a rule of the project": _ignore_in_project,
    "what git ignores": lambda repo: (repo / ".git/info/exclude").write_text("docs\n"),
    "a skill elsewhere in the repository": lambda repo: (repo / "docs/delta/SKILL.md").write_text("Text.\n"),
    "a folder where a copy would be": lambda repo: (repo / ".agents/skills/gamma").mkdir(),
}
"""What only `check` depends on, by what changes."""


REASONS: dict[str, Callable[[Path], object]] = {
    "a file beside the skill, and so its digest": lambda repo: (repo / LINKED).write_text("Notes.\n"),
    "another skill of its name": lambda repo: write_file(repo / ".claude/skills/alpha/SKILL.md", skill_text("alpha")),
    "its description": lambda repo: write_file(repo / ".agents/skills/alpha/SKILL.md", skill_text("alpha", "New.")),
    "a folder where a copy would be": lambda repo: write_file(repo / ".claude/skills/alpha", ""),
    "a copy with another name": lambda repo: write_file(repo / ".claude/skills/copy/SKILL.md", skill_text("alpha")),
    "a setting of one agent": lambda repo: write_file(
        repo.parent / "home/.gemini/settings.json", '{"skills": {"disabled": ["alpha"]}}'
    ),
}
"""What an answer of `why` depends on, by what changes."""


def skill_text(name: str, description: str = "Reads forms.") -> str:
    return f"---\nname: {name}\ndescription: {description}\n---\nSee [this](references/notes.md).\n"


@pytest.mark.skipif(sys.platform == "win32", reason="there is no cache")
@pytest.mark.parametrize("change", REASONS)
@pytest.mark.parametrize("form", [[], ["--json"]], ids=["text", "json"])
def test_why_over_several_agents_is_repeated_when_what_it_depends_on_changes(
    form: list[str], change: str, tmp_path: Path
) -> None:
    """Until then its answer comes from the cache; another name is answered from the same catalogs."""
    repo, home = tmp_path / "repo", tmp_path / "home"
    for folder in (repo / ".git", repo / ".agents/skills/alpha/references", repo / ".claude/skills", home / ".gemini"):
        folder.mkdir(parents=True)
    for name in ("alpha", "beta"):
        write_file(repo / f".agents/skills/{name}/SKILL.md", skill_text(name))
    where = ["--host=claude-code", "--host=gemini-cli", *form, "--cwd", str(repo), "--home", str(home)]
    time.sleep(WAIT)
    with counted() as counts:
        before, again = (cached(["why", "alpha", *where], {}, str(tmp_path / "cache")) for _ in range(2))
        assert (counts["hits"], counts["stored"]) == (1, 4)
        assert again == before == uncached(["why", "alpha", *where], {})
        assert cached(["why", "beta", *where], {}, str(tmp_path / "cache")) == uncached(["why", "beta", *where], {})
        assert (counts["hits"], counts["stored"]) == (4, 5)
        REASONS[change](repo)
        after = cached(["why", "alpha", *where], {}, str(tmp_path / "cache"))
    assert after == uncached(["why", "alpha", *where], {})
    assert after != before


@pytest.mark.skipif(sys.platform == "win32", reason="there is no cache")
@pytest.mark.parametrize("hosts", [["codex"], ["codex", "copilot"]], ids=["one agent", "two agents"])
@pytest.mark.parametrize(
    ("reference", "form", "changed"),
    [
        ("docs/gamma", ["--json"], "docs/gamma/references/notes.md"),
        ("gamma", [], "docs/other/gamma/SKILL.md"),
        ("sha256:", ["--json"], ".agents/skills/alpha/references/notes.md"),
    ],
)
def test_why_never_repeats_what_it_looked_for_beside_the_catalogs(
    reference: str, form: list[str], changed: str, hosts: list[str], tmp_path: Path
) -> None:
    """A path or a name that no agent knows is looked up on the disk; a digest is that of all files."""
    repo, home = tmp_path / "repo", tmp_path / "home"
    (repo / ".git").mkdir(parents=True)
    home.mkdir()
    for folder, name in ((".agents/skills/alpha", "alpha"), ("docs/gamma", "gamma")):
        write_file(repo / folder / "SKILL.md", skill_text(name))
        write_file(repo / folder / "references/notes.md", "Notes.\n")
    where = [*(f"--host={host}" for host in hosts), *form, "--cwd", str(repo), "--home", str(home)]
    if reference == "sha256:":
        found = json.loads(uncached(["why", "alpha", *where], {}).out)["candidates"][0]["digest"]
        reference = found[: len(reference) + 12]
    time.sleep(WAIT)
    with counted():
        outputs = [cached(["why", reference, *where], {}, str(tmp_path / "cache")) for _ in range(2)]
        assert outputs == [uncached(["why", reference, *where], {})] * 2
        assert outputs[0].code == 0
        write_file(repo / changed, skill_text("gamma"))
        after = cached(["why", reference, *where], {}, str(tmp_path / "cache"))
    assert after == uncached(["why", reference, *where], {})
    assert after != outputs[0]


@pytest.mark.skipif(sys.platform == "win32", reason="there is no cache")
@pytest.mark.parametrize("change", CHANGES)
def test_a_check_is_repeated_when_what_it_depends_on_changes(change: str, tmp_path: Path) -> None:
    """Until then its text, notes and exit code come from the cache."""
    repo, home = tmp_path / "repo", tmp_path / "home"
    for folder in (".git/info", ".agents/skills/alpha/references", "docs/beta", "docs/delta"):
        (repo / folder).mkdir(parents=True)
    home.mkdir()
    for path, name in ((".agents/skills/alpha", "alpha"), ("docs/beta", "gamma")):
        text = f"---\nname: {name}\ndescription: Reads forms.\n---\nSee [this](references/notes.md).\n"
        (repo / path / "SKILL.md").write_text(text)
    (repo / "pyproject.toml").write_text('[[tool.prowess.ignore]]\ncode = "name-case"\nskill = "*"\nreason = "known"\n')
    line = ["check", "--strict", "--host", "codex", "--cwd", str(repo), "--home", str(home)]
    time.sleep(WAIT)
    with counted() as counts:
        before, again = (cached(line, {}, str(tmp_path / "cache")) for _ in range(2))
        assert counts["hits"] == 1
        assert again == before == uncached(line, {})
        assert (before.code, "matches no finding" in before.words) == (1, True)
        CHANGES[change](repo)
        after = cached(line, {}, str(tmp_path / "cache"))
        assert counts["hits"] == 1
    assert after == uncached(line, {})
    assert after != before


@pytest.mark.slow
@pytest.mark.proof
@pytest.mark.skipif(sys.platform == "win32", reason="links and permissions")
def test_every_random_change_is_noticed() -> None:
    """Sixty changes, each followed by commands for three hosts with cached results."""
    seed = int.from_bytes(os.urandom(4))
    print(f"seed {seed}: python tests/mutations.py --seed {seed} --changes {_WORLDS * ROUNDS}")
    counts = batch(seed, 0, _WORLDS)
    assert counts["changes"] >= _WORLDS * ROUNDS
    assert counts["hits"] > counts["misses"] / 3
    assert counts["stored"] > counts["changes"] / 2
    assert counts["outdated"] > 0  # about one of thirty is brought up to date; the others are made anew
    assert sum(counts[kind] > 0 for kind in KINDS) > len(KINDS) * 0.4


@pytest.mark.skipif(sys.platform == "win32", reason="links")
def test_a_table_shows_where_a_link_leads_that_no_agent_follows(tmp_path: Path) -> None:
    """The count of skills depends on it: a link to another skill that was found is no skill of its own."""
    repo, home = tmp_path / "repo", tmp_path / "home"
    home.mkdir()
    for place, name in ((".agents/skills/alpha", "alpha"), ("other/bravo", "bravo")):
        write_file(repo / place / "SKILL.md", f"---\nname: {name}\ndescription: Reads any form.\n---\nDo it.\n")
    (repo / ".agents/skills/delta").mkdir()
    (repo / ".agents/skills/delta/SKILL.md").symlink_to("../../../current/SKILL.md")
    line = ["list", "--host", "codex", "--host", "camel", "--cwd", str(repo), "--home", str(home)]
    with counted() as counts:
        for number, target in enumerate(("other/bravo", ".agents/skills/alpha")):
            (repo / "current").unlink(missing_ok=True)
            (repo / "current").symlink_to(target)
            time.sleep(WAIT)
            expected = uncached(line, {})
            assert f"\n{2 - number} skill" in expected.words
            assert [cached(line, {}, str(tmp_path / "cache")) for _ in range(2)] == [expected] * 2
    assert counts["hits"] == 2
