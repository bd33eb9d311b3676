"""Every command says the same of a skill at an agent: the kind of each, and the totals of each kind."""

from __future__ import annotations

import json
import os
import re
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

from mutations import World, chosen, output
from prowess.visibility import KIND_WORDS, Kind
from support.skills import skill
from support.trees import write_repository

if TYPE_CHECKING:
    from pathlib import Path

    Kinds = dict[tuple[str, str], str]
    """By the agent and the path of SKILL.md without links: `inventory` does not name the links that agents follow."""

WORLDS = 24


def run(world: World, *arguments: str, hosts: bool = True) -> tuple[Any, str]:
    """Return what a command prints: the JSON, or the text on both streams."""
    chosen_hosts = [part for host in world.hosts for part in ("--host", host)] if hosts else []
    where = ["--cwd", str(world.top / world.cwd), "--home", str(world.top / "home")]
    result = output([*arguments, *chosen_hosts, *where], {**world.variables_now(), "PROWESS_NO_CACHE": "1"})
    assert result.code in (0, 1), result
    text = result.out.decode()
    return json.loads(text) if "--json" in arguments else text, result.words


def of_hosts(path: str, hosts: dict[str, Any]) -> Kinds:
    return {(host, os.path.realpath(path)): view["kind"] for host, view in hosts.items()}


def hosts_of(line: str) -> list[str]:
    """Return the agents that a line of totals is about, as in `a, b and c see 3: 1 rejected`."""
    names, _, _ = line.strip().partition(" see")
    return re.split(r", | and ", names)


def changed_world(tmp_path: Path, number: int) -> World:
    """Return a world after some changes: links, copies, other cases, settings, broken files."""
    world = World(f"kinds-{number}0", tmp_path)
    chance = Random(f"changes-{number}")  # noqa: S311 - not for secrets
    for _ in range(12):
        change = chosen(world, chance)
        if change is not None:
            world.change_to(change)
    for path in world.top.rglob("pyproject.toml"):
        path.unlink()  # with invalid settings, `check` says only that
    for path in sorted(world.top.rglob("SKILL.md"))[:1]:
        if number % 3 == 0 and path.is_file():
            path.rename(path.with_name("skill.md"))
    return world


@pytest.mark.parametrize("number", range(WORLDS))
def test_each_command_says_the_same_of_each_skill(tmp_path: Path, number: int) -> None:
    """`check` knows all skills: those that agents find, and those of the repository."""
    world = changed_world(tmp_path.resolve(), number)
    checked, _ = run(world, "check", "--json")
    right: Kinds = {}
    for path, hosts in checked["hosts"].items():
        right |= of_hosts(path, hosts)
    listed, _ = run(world, "list", "--json")
    found: Kinds = {
        (host, os.path.realpath(row["path"])): kind for row in listed["skills"] for host, kind in row["kinds"].items()
    }
    inventory, _ = run(world, "inventory", "--json", "--allow-empty")
    for row in inventory["skills"]:
        if not row["inside"]:
            found |= of_hosts(row["path"], row["hosts"])
    for host in world.hosts:
        alone, _ = run(world, "list", "--json", "--host", host, hosts=False)
        # A link to a skill is a second way to it, which the agent may refuse.
        entries = [entry for entry in alone["skills"] if not os.path.islink(entry["path"])]
        known = {(host, os.path.realpath(entry["path"])): entry["kind"] for entry in entries}
        found |= {key: kind for key, kind in known.items() if key in right}
    assert {key: right.get(key) for key in found} == found
    for name in {row["name"] for row in listed["skills"] if row["name"].isalpha()}:
        explained, _ = run(world, "why", name, "--json")
        for host, view in explained["hosts"].items():
            path = os.path.realpath(view["path"])
            assert (host, path, right[host, path]) == (host, path, view["kind"])


@pytest.mark.parametrize("number", range(WORLDS))
def test_each_command_counts_the_same(tmp_path: Path, number: int) -> None:
    """Also in its text."""
    world = changed_world(tmp_path.resolve(), number)
    for command in (["check"], ["list"]):
        data, _ = run(world, *command, "--json")
        _, words = run(world, *command)
        for host, kinds in data["kinds"].items():
            others = [f"{count:,} {KIND_WORDS[Kind(kind)]}" for kind, count in kinds.items() if kind != Kind.SEEN]
            if others and data.get("skills", True):
                said = f" {kinds.get('seen', 0):,}: "
                (line,) = (line for line in words.splitlines() if said in line and host in hosts_of(line))
                assert sorted(line.partition(": ")[2].split(", ")) == sorted(others)
    for name in ("one", "two", "three", "four", "five", "six", "seven", "eight") if number % 2 else ():
        skill(world.top / world.cwd / "skills" / f"offered-{name}")
    checked, _ = run(world, "check", "--json")
    _, words = run(world, "check")
    for host, kinds in checked["kinds"].items():
        others = [f"{count:,} {KIND_WORDS[Kind(kind)]}" for kind, count in kinds.items() if kind != Kind.SEEN]
        counted = [line.partition(": ")[2].split(", ") for line in words.splitlines() if host in hosts_of(line)]
        is_offered = len(checked["offered"]) == len(checked["hosts"])
        assert not others or sorted(others) in map(sorted, counted) or (is_offered and not counted)
    reported, _ = run(world, "report", "--json", "-o", str(world.top / "page.html"))
    assert reported["kinds"] == checked["kinds"]


# ── mounted copies ───────────────────────────────────────────────────────────────────────────────────────────────────

AGENTS = ("claude-code", "cline", "codex")
FAULTS = {
    "a fault that some agents reject": ("Use when: a URL", "prowess check --fix .agents/skills/slug && {mount}"),
    "another text": ("Does something else. Use it.", "{mount}"),
    "a fault that every agent rejects": ("[broken", None),
}
"""The description that the source of a mounted copy gets, and the command that brings the copy up to date."""
MOUNT = "prowess mount .agents/skills/slug --project --host claude-code"


@pytest.mark.parametrize("fault", FAULTS)
def test_every_screen_says_the_same_of_an_old_mounted_copy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    """It is one skill; what an agent sees of it is the copy that it has."""
    project, home = tmp_path.resolve() / "project", tmp_path.resolve() / "home"
    write_repository(project / ".git")
    home.mkdir()
    monkeypatch.chdir(project)
    env = {"HOME": str(home), "PROWESS_NO_CACHE": "1"}

    def run(*arguments: str) -> tuple[Any, str]:
        result = output(arguments, env)
        assert result.code in (0, 1), result
        text = result.out.decode()
        return (json.loads(text) if "--json" in arguments else text), f"{text}{result.words}"

    run("new", "slug", "--dir", ".agents/skills", "--description", "Does it. Use it.")
    run(*MOUNT.split()[1:])
    source = project / ".agents/skills/slug/SKILL.md"
    description, command = FAULTS[fault]
    source.write_text(source.read_text().replace("Does it. Use it.", description))
    cure = None if command is None else command.format(mount=MOUNT)
    hosts = [part for host in AGENTS for part in ("--host", host)]

    checked, words = run("check", "--json", *hosts)
    kinds = {host: view["kind"] for host, view in checked["hosts"][str(source)].items()}
    assert kinds["claude-code"] == "seen"
    assert checked["hosts"][str(project / ".claude/skills/slug/SKILL.md")].keys() == kinds.keys()
    totals = {host: {kind: 1} for host, kind in kinds.items()}
    (found,) = (item for item in checked["findings"] if item["code"] == "copy-outdated")
    assert found["path"] == str(project / ".claude/skills/slug/SKILL.md")
    assert cure is None or found["hint"] == f"run `{cure}`"
    assert "--no-validate" not in found["hint"]
    listed, words = run("list", "--json", *hosts)
    assert [row["kinds"] for row in listed["skills"]] == [kinds, kinds]
    reported, _ = run("report", "--json", "-o", str(tmp_path / "page.html"), *hosts)
    inventory, _ = run("inventory", "--json", *hosts)
    assert [checked["kinds"], listed["kinds"], reported["kinds"], inventory["kinds"]] == [totals] * 4
    explained, _ = run("why", "slug", "--json", *hosts)
    assert {host: view["kind"] for host, view in explained["hosts"].items()} == kinds
    for host in AGENTS:
        alone, _ = run("list", "--json", "--host", host)
        assert [entry["kind"] for entry in alone["skills"]] == [kinds[host]]
    for arguments in (
        ["check", *hosts],
        ["list", *hosts],
        ["list", "--host", "claude-code"],
        ["why", "slug", *hosts],
        ["why", "slug", "--host", "claude-code"],
        ["search", "slug", "--host", "claude-code"],
    ):
        _, words = run(*arguments)
        assert (".claude/skills/slug" in words, "this copy is older than" in words) == (True, True), arguments
        assert cure is None or cure in words, arguments
        assert "--no-validate" not in words, arguments
        assert "name taken" not in words, arguments
    if cure is not None:
        for part in cure.split(" && "):
            run(*part.split()[1:])
        after, _ = run("check", "--json", *hosts)
        assert after["kinds"] == {host: {"seen": 1} for host in AGENTS}
        assert "copy-outdated" not in {item["code"] for item in after["findings"]}


@pytest.mark.parametrize("name", ["skill.md", "Skill.md"])
@pytest.mark.parametrize("agents", [("claude-code",), ("codex",), ("claude-code", "codex", "pi")])
@pytest.mark.parametrize("folder", ["project/.agents/skills", "project/skills", "home/.agents/skills"])
def test_every_screen_counts_a_skill_with_a_wrong_file_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: str, agents: tuple[str, ...], name: str
) -> None:
    """Also where the agent does not search its folder, and the repair of the name changes no total."""
    project, home = tmp_path.resolve() / "project", tmp_path.resolve() / "home"
    write_repository(project / ".git")
    monkeypatch.chdir(project)
    skill(project / ".claude/skills/right")
    file = skill(tmp_path.resolve() / folder / "foo")
    file.rename(file.with_name(name))
    if folder.startswith("home/") and agents == ("claude-code",):
        pytest.skip("the agent finds nothing there, and nothing else is asked")
    env = {"HOME": str(home), "PROWESS_NO_CACHE": "1"}
    hosts = [part for host in agents for part in ("--host", host)]

    def run(*arguments: str) -> tuple[Any, str]:
        result = output([*arguments, *hosts], env)
        assert result.code in (0, 1), result
        text = result.out.decode()
        return (json.loads(text) if "--json" in arguments else text), f"{text}{result.words}"

    checked, _ = run("check", "--json")
    kinds = {host: view["kind"] for host, view in checked["hosts"][str(file.with_name(name))].items()}
    if "pi" in agents and folder != "project/skills":  # it loads such files, where it trusts the folder
        assert kinds.pop("pi") in ("seen", "untrusted")
    assert {*kinds.values()} == {"file-name"}
    totals = {host: sum(counts.values()) for host, counts in checked["kinds"].items()}
    assert totals == dict.fromkeys(agents, 2)
    reported, _ = run("report", "--json", "-o", str(tmp_path / "page.html"))
    answers = [reported["kinds"]]
    if folder != "project/skills" and len(agents) > 1:  # `list` has only what an agent finds
        answers.append(run("list", "--json")[0]["kinds"])
    if folder != "home/.agents/skills":  # `inventory` has only what is below the folder
        answers.append(run("inventory", "--json")[0]["kinds"])
    assert answers == [checked["kinds"]] * len(answers)
    explained, _ = run("why", "foo", "--json")
    assert {host: explained["hosts"][host]["kind"] for host in kinds} == kinds
    run("check", "--fix", str(file.parent))
    after, _ = run("check", "--json")
    assert {host: sum(counts.values()) for host, counts in after["kinds"].items()} == totals
    assert str(file) in after["hosts"]
