"""`prowess` alone: one screen on a terminal, the help page in a pipe."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from prowess.cli import main
from support.skills import skill

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Create a repository and a home with two agents, and go there, on a terminal."""
    project = tmp_path.resolve() / "project"
    (project / ".git").mkdir(parents=True)
    for name in (".codex", ".copilot"):
        (tmp_path / "home" / name).mkdir(parents=True)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PATH", "")
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.delenv("PROWESS_SKILL_DIR", raising=False)
    monkeypatch.chdir(project)
    return project


def screen(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> list[str]:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    assert main([]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    return out.splitlines()


def test_it_says_how_many_skills_which_agents_and_how_many_each_loses(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    skill(project / ".agents/skills/pdf")
    skill(project / ".agents/skills/release", description="Use when: it is due")
    lines = screen(monkeypatch, capsys)
    assert lines[0] == "1 of your 2 skills is invisible to GitHub Copilot CLI."
    assert lines[1].startswith("2 skills, 2 agents, in ")
    rows = {line[:18].strip(): line[18:].split(maxsplit=2) for line in lines if line.startswith(("GitHub", "OpenAI"))}
    assert rows == {"GitHub Copilot CLI": ["1", "1", "1 rejected"], "OpenAI Codex": ["2", "0"]}
    assert [line.split("  ")[1] for line in lines if line.startswith("  prowess")] == [
        "prowess check",
        "prowess list",
        "prowess why release",
    ]


def test_it_fits_one_screen_of_80_columns(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """With more agents than fit, and long and hostile names."""
    for number in range(40):
        skill(project / f".claude/skills/{'long-' * 9}{number}")
    skill(project / ".agents/skills/odd", '"a\\x1b[2J; rm -rf ~"')
    for name in (".claude", ".gemini", ".qwen", ".pi", ".config/opencode", ".config/goose", ".cursor", ".letta"):
        (project.parent / "home" / name).mkdir(parents=True)
    lines = screen(monkeypatch, capsys)
    assert len(lines) < 24
    assert max(map(len, lines)) <= 80
    assert not any("\x1b" in line for line in lines)


def test_the_three_commands_run(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """With losses, without losses, and without skills."""
    import shlex

    for step in ("nothing", "seen", "lost"):
        if step == "seen":
            skill(project / ".agents/skills/pdf")
        if step == "lost":
            skill(project / ".claude/skills/odd name", "odd name")
        lines = [line for line in screen(monkeypatch, capsys) if line.startswith("  prowess ")]
        assert len(lines) == 3
        monkeypatch.setattr(sys.stdout, "isatty", lambda: False)
        for line in lines:
            _, *arguments = shlex.split(line.strip().split("  ")[0])
            # An inventory of nothing, and a check of nothing, are failures, not wrong use.
            assert main([*arguments, "--help"] if step == "nothing" else arguments) in (0, 1), line
        capsys.readouterr()


def test_the_command_that_shows_a_skill_finds_one_that_prowess_does_not_search_for(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (project.parent / "home/.codex").rename(project.parent / "home/.unused")
    skill(project / ".github/skills/pdf")
    lines = screen(monkeypatch, capsys)
    assert lines[0] == "1 agent sees your skill."
    (line,) = (line for line in lines if line.startswith("  prowess show"))
    assert main(line.split()[1:3]) == 0
    assert ".github/skills/pdf" in capsys.readouterr().out


def test_a_long_command_does_not_move_what_the_others_mean_to_lines_of_their_own(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    skill(project / f".agents/skills/{'long-' * 6}name")
    lines = screen(monkeypatch, capsys)
    assert "  prowess list   each skill at each agent" in lines
    assert "  prowess check  problems in these skills, and how to fix them" in lines
    assert "      one skill: its fields, files, sizes and tokens" in lines


def test_a_skill_that_all_agents_lose_is_not_put_down_to_the_first_of_them(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    skill(project / "skills/pdf")
    assert screen(monkeypatch, capsys)[0] == "Your skill is invisible to all 2 agents."


def test_skills_of_a_repository_that_no_agent_searches_count(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    skill(project / "skills/pdf")
    lines = screen(monkeypatch, capsys)
    assert lines[1].startswith("1 skill, 2 agents, in ")
    assert sum("1 in other folders" in line for line in lines) == 2


def test_without_an_agent_it_says_which_ones_are_shown(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HOME", str(project.parent / "empty"))
    skill(project / ".agents/skills/pdf")
    lines = screen(monkeypatch, capsys)
    assert lines[1].startswith("1 skill, 10 agents, in ")
    assert lines[2].startswith("(no agent found on this machine")


def test_in_a_pipe_it_is_the_help_page(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    assert "usage: prowess COMMAND" in capsys.readouterr().out
