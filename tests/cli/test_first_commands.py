"""The commands that `prowess check` prints fix what it reports; `cases/cli/first-commands.md` has the other ones."""

from __future__ import annotations

import shlex
import shutil
from pathlib import Path

import pytest

from prowess.cli import main
from support.skills import skill
from support.trees import write_repository

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
    write_repository(folder / ".git")
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
    assert "8 of 10 agents see all of 56 skills" in shown, shown
    assert "mistral-vibe and pi see 0: 56 not trusted" in shown, shown
