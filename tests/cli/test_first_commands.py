"""What a new user types first says who sees which skill, and who loses it, in whatever folder it is typed."""

from __future__ import annotations

import shlex
import shutil
import sys
from pathlib import Path

import pytest

from prowess.cli import main
from support.skills import skill

EXAMPLES = Path(__file__).parents[2] / "examples/skills"
AGENT_FOLDERS = {
    "claude-code": ".claude/skills",
    "codex": ".codex/skills",
    "gemini-cli": ".gemini/skills",
    "qwen-code": ".qwen/skills",
    "opencode": ".opencode/skills",
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Create an empty repository and an empty home, and go there; no agent is installed, as in CI."""
    folder = tmp_path.resolve() / "repository"
    (folder / ".git/objects").mkdir(parents=True)
    (folder / ".git/refs").mkdir()
    (folder / ".git/HEAD").write_text("ref: refs/heads/main\n")
    (tmp_path / "home").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PATH", "")
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.delenv("PROWESS_SKILL_DIR", raising=False)
    monkeypatch.chdir(folder)
    return folder


def typed(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    """Return the exit code, and all that is printed."""
    code = main([*arguments])
    return code, "".join(capsys.readouterr())


def screen(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> str:
    with monkeypatch.context() as patch:
        patch.setattr(sys.stdout, "isatty", lambda: True)
        return typed(capsys)[1]


def test_in_a_repository_of_published_skills(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """With `skills/` at its top, where no agent looks."""
    shutil.copytree(EXAMPLES, folder / "skills")
    count = len([*EXAMPLES.glob("*/SKILL.md")])
    assert f"All {count} of your skills are invisible to all 10 agents." in screen(monkeypatch, capsys)
    code, shown = typed(capsys, "check")
    assert code == 0
    assert f"skills: {count} skills invisible to all 10 agents, which do not search this folder" in shown
    assert f"{count} skills checked" in shown
    assert "10 of 10 agents lose skills: " in shown
    code, shown = typed(capsys, "list")
    assert (code, f"{count} skills" in shown, "`prowess inventory`" in shown) == (0, True, True)
    code, shown = typed(capsys, "why", "csv-profile")
    assert (code, "0 of 10 agents see it" in shown) == (0, True)
    assert "prowess mount skills/csv-profile --project --host claude-code" in shown
    code, shown = typed(capsys, "inventory")
    assert (code, f"{count} skills" in shown) == (0, True)


def test_in_a_project_with_the_folders_of_five_agents(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each agent sees its own skill; opencode and Copilot read the folder of Claude Code too."""
    for host, place in AGENT_FOLDERS.items():
        skill(folder / place / f"for-{host}")
    assert "All 5 of your skills are invisible to Cline." in screen(monkeypatch, capsys)
    code, shown = typed(capsys, "check")
    last = shown.splitlines()[-1]
    assert code == 0
    for host in AGENT_FOLDERS:
        assert f"{host} {3 if host == 'opencode' else 4}" in last
    code, shown = typed(capsys, "list")
    assert (code, "5 skills" in shown) == (0, True)
    for host in AGENT_FOLDERS:
        code, shown = typed(capsys, "why", f"for-{host}")
        seen = "3 of 10 agents see it" if host == "claude-code" else "1 of 10 agents sees it"
        assert (code, seen in shown) == (0, True), shown


def test_in_an_empty_home(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing is found, and each command says so and what to type next."""
    monkeypatch.chdir(folder.parent / "home")
    assert "No agent finds a skill from here." in screen(monkeypatch, capsys)
    for command, expected in (("check", 1), ("list", 0), ("inventory", 1)):
        code, shown = typed(capsys, command)
        assert code == expected, command
        assert "prowess new" in shown, command
    code, shown = typed(capsys, "why", "pdf")
    assert (code, "no skill is called `pdf`" in shown) == (2, True)


def test_in_ci_where_no_agent_is_installed(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The observed agents are asked, and the output says so."""
    skill(folder / ".agents/skills/release", description="Use when: a release is due")
    for command in (("check",), ("list",), ("why", "release")):
        code, shown = typed(capsys, *command)
        assert code == 0
        assert "no agent found on this machine; showing the agents whose rules were observed" in shown
    code, shown = typed(capsys, "check", "--strict")
    assert (code, "invisible to cline, copilot, kimi-code, mistral-vibe, pi" in shown) == (1, True)


def test_with_one_agent_and_skills_in_the_home(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A user's own skills count wherever the command is typed."""
    skill(folder.parent / "home/.claude/skills/notes")
    monkeypatch.chdir("/")
    assert "Claude Code" in screen(monkeypatch, capsys)
    code, shown = typed(capsys, "why", "notes")
    assert (code, "1 of 1 agent sees it" in shown) == (0, True)


def test_the_commands_that_check_prints_fix_all_losses(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Typed as they are printed, one after the other: no agent loses a skill, and check finds nothing to do."""
    for host, place in AGENT_FOLDERS.items():
        for number in range(10):
            skill(folder / place / f"s{number}-{host.partition('-')[0].replace('claude', 'cc')}")
    shutil.copytree(EXAMPLES, folder / "skills")
    skill(folder / "odd place/it's/notes", description="Use when: notes are taken")
    commands = [line.strip() for line in typed(capsys, "check")[1].splitlines() if line.startswith("    prowess ")]
    assert len(commands) >= 10
    for command in commands:
        words = shlex.split(command, comments=True)
        while words:
            end = words.index("&&") if "&&" in words else len(words)
            name, *arguments = words[:end]
            code, shown = typed(capsys, *arguments)
            assert (name, code) == ("prowess", 0), (command, shown)
            words = words[end + 1 :]
    shown = typed(capsys, "check")[1]
    assert "none of 10 agents loses a skill" in shown, shown
