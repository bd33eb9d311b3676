"""The skill `prowess` that `prowess init --skill` writes: it is a good skill, and its commands exist."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING

import pytest

from prowess.checks import check_file
from prowess.cli import main
from prowess.cli._commands import COMMANDS
from prowess.cli.skills.init import own_skill
from prowess.findings import Severity
from prowess.skill import parse
from support.skills import skill

if TYPE_CHECKING:
    from pathlib import Path

SPANS = sorted(set(re.findall(r"`(prowess [^`]+)`", own_skill())))
VALUES = {
    "NAME": "pdf",
    "PATH": ".agents/skills/pdf",
    "SOURCE": "./other",
    "CODE": "link-missing",
    "MODEL": "none",
    "main": "HEAD",
}
NOT_RUN = {"prowess eval PATH --model MODEL", "prowess trust"}
"""Commands that need a model, or that the skill names as ones not to run."""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with a skill, and another one to install."""
    import subprocess

    top = tmp_path / "project"
    skill(top / ".agents/skills/pdf", description="Fills PDF forms. Use when a form is to be filled.")
    skill(top / "other/csv", description="Reads tables. Use when a table is to be read.")
    (tmp_path / "home/.codex").mkdir(parents=True)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.chdir(top)
    for args in (["init", "-q"], ["add", "-A"], ["-c", "user.name=a", "-c", "user.email=a", "commit", "-qm", "x"]):
        subprocess.run(["git", *args], check=True)
    return top


@pytest.mark.parametrize("command", SPANS)
def test_its_commands_are_right(command: str, project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """None of them is a wrong use, and none asks or changes anything but what it says."""
    del project
    assert command.split()[1] in COMMANDS
    if command in NOT_RUN:
        return
    words = [VALUES.get(word, word) for word in shlex.split(command)[1:]]
    code = main(words)
    out, err = capsys.readouterr()
    assert code in (0, 1, 5), f"{command}: {err}"
    assert "Traceback" not in out + err


def test_it_names_the_commands_for_both_questions() -> None:
    assert {command.split()[1] for command in SPANS} >= {"why", "check", "eval", "add", "update", "inventory", "search"}


def test_it_is_a_good_skill(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["init", "--skill"]) == 0
    path = project / ".agents/skills/prowess/SKILL.md"
    assert path.read_text(encoding="utf-8") == own_skill()
    assert "created the skill `prowess`" in capsys.readouterr().err
    assert [item for item in check_file(str(path)) if item.severity is not Severity.INFO] == []
    assert len(own_skill().splitlines()) < 100
    assert parse(own_skill()).name == "prowess"


def test_it_is_not_overwritten(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Neither by the same version nor by another one."""
    assert main(["init", "--skill"]) == 0
    capsys.readouterr()
    assert main(["init", "--skill"]) == 0
    assert "exists already; nothing changed\n" in capsys.readouterr().err
    path = project / ".agents/skills/prowess/SKILL.md"
    path.write_text(own_skill() + "Mine.\n", encoding="utf-8")
    assert main(["init", "--skill"]) == 0
    assert "another version of the skill `prowess` exists already" in capsys.readouterr().err
    assert path.read_text(encoding="utf-8").endswith("Mine.\n")
