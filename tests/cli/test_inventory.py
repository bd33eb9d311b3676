"""`prowess inventory`: every SKILL.md below a folder, and who sees it."""

from __future__ import annotations

import sys
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from prowess._internal.text import display_width
from prowess.find import find_repository_skills
from support.project_commands import json_in, run_in
from support.skills import skill
from support.trees import write_repository

if TYPE_CHECKING:
    from pathlib import Path

    from prowess.find import RepositorySkills


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository without skills, on a machine with Claude Code and Codex."""
    monkeypatch.delenv("PROWESS_SKILL_DIR", raising=False)
    monkeypatch.setenv("PATH", "")
    top = tmp_path / "project"
    write_repository(top / ".git")
    for name in (".claude", ".codex"):
        (tmp_path / "home" / name).mkdir(parents=True)
    return top


run = partial(run_in, "inventory")
data = partial(json_in, "inventory")


def test_a_file_that_disappears_during_the_search_is_left_out(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A link has then no longer the target that it was found with."""
    skill(project / "skills/a")
    skill(project.parent / "elsewhere/b")
    (project / "skills/b").mkdir()
    link = project / "skills/b/SKILL.md"
    link.symlink_to(project.parent / "elsewhere/b/SKILL.md")

    def find_and_remove(top: str, **options: Any) -> RepositorySkills:
        found = find_repository_skills(top, **options)
        link.unlink()
        return found

    monkeypatch.setattr("prowess.cli.skills.inventory.find_repository_skills", find_and_remove)
    found = data(project, "--host", "codex", capsys=capsys)
    assert [item["name"] for item in found["skills"] if item["path"] != str(link)] == ["a"]


def test_lines_fit_a_terminal(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With every agent, and several reasons."""
    for folder in (".claude/skills/a", ".agents/skills/b"):
        skill(project / folder, "Not A Name", "x" * 1100)
    assert run(project, "--all") == 0
    out = capsys.readouterr().out
    assert "claude-code" in out
    assert max(map(display_width, out.splitlines())) <= 80


def test_a_long_search_shows_its_progress(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """On a terminal only, and the line is removed."""
    for number in range(250):
        (project / f"{number}").mkdir()
    skill(project / "skills/a")
    run(project)
    assert "searching" not in capsys.readouterr().err
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    run(project, "--color", "never")
    err = capsys.readouterr().err
    assert err.startswith("\r\x1b[Ksearching: 200 folders\r\x1b[K")
