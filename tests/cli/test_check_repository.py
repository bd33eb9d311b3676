"""`prowess check` without a path: every skill of the repository, wherever it is."""

from __future__ import annotations

import json
import os
from functools import partial
from typing import TYPE_CHECKING

import pytest

from support.project_commands import run_in
from support.skills import skill

if TYPE_CHECKING:
    from pathlib import Path

PLACES = (
    ".agents/skills/a",
    ".claude/skills/b",
    ".github/skills/c",
    "packages/x/.claude/skills/d",
    "packages/x/skills/e",
    "plugins/p/skills/f",
    "skills/g",
    "tests/fixtures/h",
    "vendored/market/i",
)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository, on a machine with Codex."""
    monkeypatch.delenv("PROWESS_SKILL_DIR", raising=False)
    monkeypatch.setenv("PATH", "")
    (tmp_path / "home/.codex").mkdir(parents=True)
    top = tmp_path / "project"
    (top / ".git").mkdir(parents=True)
    return top


run = partial(run_in, "check")


@pytest.fixture
def repository(project: Path) -> Path:
    """A repository with a skill in each kind of place, and some that are not its own."""
    for folder in (*PLACES, "node_modules/x", "dist/skills/y"):
        skill(project / folder)
    (project / ".gitignore").write_text("dist\n")
    manifests: dict[str, object] = {
        "plugins/p/.claude-plugin/plugin.json": {"name": "p"},
        ".claude-plugin/marketplace.json": {"plugins": [{"name": "m", "source": "./vendored/market"}]},
    }
    for path, value in manifests.items():
        (project / path).parent.mkdir(parents=True, exist_ok=True)
        (project / path).write_text(json.dumps(value))
    return project


def checked(cwd: Path, home: Path, capsys: pytest.CaptureFixture[str]) -> list[str]:
    """Return the folders of the skills that were checked, relative to the working directory."""
    from prowess.cli import main

    assert main(["check", "--json", "--cwd", str(cwd), "--home", str(home)]) == 0
    value = json.loads(capsys.readouterr().out)
    assert value["counts"]["skills"] == len(value["hosts"])
    return sorted(os.path.relpath(os.path.dirname(path), cwd) for path in value["hosts"])


def test_every_skill_is_checked_wherever_it_is(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What git ignores and `node_modules` are not the repository's."""
    assert checked(repository, repository.parent / "home", capsys) == sorted(PLACES)


def test_below_the_top_the_tree_counts_and_what_agents_see(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The skills of folders above are seen from there too, those of folders beside it are not."""
    found = checked(repository / "packages/x", repository.parent / "home", capsys)
    assert {".claude/skills/d", "skills/e", "../../.agents/skills/a"} <= set(found)
    assert not any("plugins" in folder or "fixtures" in folder for folder in found)


def test_in_a_home_only_what_agents_see_is_checked_and_fixed(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The repositories below it belong to others."""
    home = project.parent / "home"
    monkeypatch.setenv("HOME", str(home))
    skill(home / ".agents/skills/mine", description="Use when: it is mine")
    other = skill(home / "clones/other/skills/theirs", description="Use when: it is theirs")
    text = other.read_text()
    assert checked(home, home, capsys) == [".agents/skills/mine"]
    assert run_in("check", home, "--fix", "--allow-empty") == 0
    assert other.read_text() == text


def test_a_finding_of_any_place_fails(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Also of a skill that no agent sees."""
    (repository / "plugins/p/skills/f/SKILL.md").write_text("no front matter")
    assert run(repository) == 1
    assert "plugins/p/skills/f/SKILL.md:1:1: error: " in capsys.readouterr().out


@pytest.mark.parametrize(
    "arguments", [(), ("--host", "codex"), ("--host", "infer"), ("--policy", "spec"), ("--quiet",)]
)
@pytest.mark.parametrize("file", [None, "skills/a/skill.md", "dist/skills/a/SKILL.md"])
def test_without_skills_the_exit_code_is_1(
    project: Path, arguments: tuple[str, ...], file: str | None, capsys: pytest.CaptureFixture[str]
) -> None:
    """Also if there are findings, such as a file with another spelling, or an agent that is switched off."""
    (project / ".gitignore").write_text("dist\n")
    if file is not None:
        (project / file).parent.mkdir(parents=True)
        (project / file).write_text("---\nname: a\ndescription: A.\n---\nDo it.\n")
    assert run(project, *arguments) == 1
    assert ("no skills found" in capsys.readouterr().err) is ("--quiet" not in arguments)
    assert run(project, *arguments, "--format", "json") == 1
    assert json.loads(capsys.readouterr().out)["counts"]["skills"] == 0
    assert run(project, *arguments, "--allow-empty") == 0
