"""`prowess` alone, with any skills; `cases/cli/overview.md` shows the screen."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, NoReturn

import pytest

from mutations import WAIT, counted
from prowess.cli import main
from support.growth import counted_calls
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


def test_the_screen_is_cached_and_never_stale(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A skill in a folder that no agent reads changes it too."""
    monkeypatch.setenv("PROWESS_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv("PROWESS_NO_CACHE", raising=False)
    skill(project / ".agents/skills/pdf")
    time.sleep(WAIT)
    with counted() as counts:
        first = screen(monkeypatch, capsys)
        assert "1 skill, 2 agents" in first[1]
        assert (counts["hits"], screen(monkeypatch, capsys), counts["hits"]) == (0, first, 1)
        skill(project / "skills/other")
        later = screen(monkeypatch, capsys)
        assert "2 skills, 2 agents" in later[1]
        assert later[2] == "(1 is in a folder that no agent reads)"


def test_a_cached_screen_costs_no_more_than_three_lists(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Counted in calls of functions."""
    monkeypatch.setenv("PROWESS_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv("PROWESS_NO_CACHE", raising=False)
    for number in range(200):
        skill(project / f".agents/skills/s{number}")
    time.sleep(WAIT)
    calls = {}
    for arguments in ([], ["list"]):
        with counted() as counts:
            assert [main(arguments), main(arguments)] == [0, 0]
            with counted_calls() as counter:
                assert main(arguments) == 0
            assert counts["hits"] == 2
        calls[len(arguments)] = counter.count
    capsys.readouterr()
    assert calls[0] <= 3 * calls[1]


def test_a_progress_line_appears_before_anything_is_read(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    skill(project / ".agents/skills/pdf")
    shown: list[str] = []

    def search(*_: object, **__: object) -> NoReturn:
        shown.append(capsys.readouterr().err)
        raise KeyboardInterrupt

    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setattr("prowess.cli._first_screen.find_repository_skills", search)
    assert main([]) == 130
    assert shown == ["\r\x1b[Kreading skills"]
