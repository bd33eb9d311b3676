"""Mounted copies of installed skills follow them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from prowess.cli import main
from support.skills import skill
from support.trees import write_repository

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Create a project with an installed skill and its mounted copy, and go there."""
    project = tmp_path.resolve() / "project"
    write_repository(project / ".git")
    monkeypatch.setenv("HOME", str(tmp_path.resolve()))
    monkeypatch.setenv("PROWESS_DATA_DIR", str(tmp_path.resolve() / "data"))
    monkeypatch.chdir(project)
    skill(project / "vendor/pdf")
    prowess("add", "./vendor", "--yes", "--host", "codex")
    prowess("mount", ".agents/skills/pdf", "--project", "--host", "claude-code")
    return project


def prowess(*arguments: str) -> None:
    assert main([*arguments]) == 0, arguments


def below(folder: Path) -> set[str]:
    paths = (path.relative_to(folder) for path in folder.rglob("*"))
    return {path.as_posix() for path in paths if path.parts[0] not in (".git", "vendor")}


def change(project: Path) -> None:
    skill(project / "vendor/pdf", description="Another.")


@pytest.mark.parametrize("name", ["pdf", "tables"])
def test_an_update_changes_mounted_copies_too(project: Path, name: str) -> None:
    """Under the name that they were mounted with."""
    if name != "pdf":
        prowess("mount", "--remove", "--project", "--host", "claude-code")
        prowess("mount", f"{name}=.agents/skills/pdf", "--project", "--host", "claude-code")
    change(project)
    prowess("update", "--yes")
    assert "Another." in (project / ".claude/skills" / name / "SKILL.md").read_text()
    if name == "pdf":
        prowess("verify")


def test_a_removed_skill_leaves_no_mounted_copy(project: Path) -> None:
    """Nor the record of mounts, nor the folders that were made for it."""
    prowess("mount", "tables=.agents/skills/pdf", "--project", "--host", "camel")
    prowess("remove", "pdf", "--yes")
    assert below(project) == set()


@pytest.mark.parametrize("command", ["update", "remove"])
def test_a_copy_that_was_changed_by_hand_stays_as_it_is(project: Path, command: str) -> None:
    file = project / ".claude/skills/pdf/SKILL.md"
    file.write_text(f"{file.read_text()}Mine.\n")
    mine = file.read_text()
    change(project)
    prowess(command, *(["pdf"] if command == "remove" else []), "--yes")
    assert file.read_text() == mine


def test_a_mounted_copy_becomes_one_of_the_lock(project: Path) -> None:
    """`add --host` for the agent that it was mounted for."""
    prowess("add", "./vendor", "pdf", "--yes", "--host", "claude-code")
    prowess("verify")
    assert not (project / ".claude/.prowess-skills.json").exists()
    change(project)
    prowess("update", "--yes")
    prowess("verify")
    prowess("remove", "pdf", "--yes")
    assert below(project) == set()


@pytest.mark.parametrize("record", ["", "[]", "\0", '{"version": 1, "made": [], "skills": [{"name": "../../x"}]}'])
def test_a_record_that_is_invalid_counts_for_nothing(project: Path, record: str) -> None:
    (project / ".claude/.prowess-skills.json").write_text(record)
    prowess("remove", "pdf", "--yes")
    assert (project / ".claude/skills/pdf/SKILL.md").exists()


def test_a_record_removes_no_skill_that_is_no_copy(project: Path) -> None:
    """Anyone may have written it: the digest of the copy decides."""
    own = skill(project / ".claude/skills/own")
    file = project / ".claude/.prowess-skills.json"
    record = json.loads(file.read_text())
    record["skills"].append({**record["skills"][0], "name": "own"})
    file.write_text(json.dumps(record))
    prowess("remove", "pdf", "--yes")
    assert own.exists()
