"""A machine on which skills are installed from a folder or a repository."""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING, Any

from prowess.cli import main
from support.skills import skill

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


class Machine:
    """A source with skills, a project, a home, and the output of commands."""

    def __init__(self, top: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.source, self.project, self.home = top / "source", top / "project", top / "home"
        self.capsys = capsys
        (self.project / ".git").mkdir(parents=True)
        self.home.mkdir()

    def run(self, *arguments: str, code: int = 0) -> tuple[str, str]:
        """Run a command in the project, and return what it printed."""
        found = main([*arguments, "--cwd", str(self.project), "--home", str(self.home)])
        out, err = self.capsys.readouterr()
        assert found == code, out + err
        return out, err

    def json(self, *arguments: str) -> Any:
        return json.loads(self.run(*arguments, "--json")[0])

    def installed(self, folder: str = ".agents/skills") -> list[str]:
        top = self.project / folder
        return sorted(path.name for path in top.iterdir()) if top.is_dir() else []

    @property
    def lock(self) -> Path:
        return self.project / "skills-lock.json"


def make_machine(top: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Machine:
    """Make a machine with Codex, whose source has two skills, `csv` and `pdf`."""
    monkeypatch.setenv("PROWESS_DATA_DIR", str(top / "data"))
    made = Machine(top, capsys)
    (made.home / ".codex").mkdir()
    for name in ("csv", "pdf"):
        skill(made.source / "skills" / name)
    (made.source / "skills/pdf/scripts").mkdir()
    (made.source / "skills/pdf/scripts/run.sh").write_text("echo\n")
    (made.source / "skills/pdf/scripts/run.sh").chmod(0o755)
    return made


def repository(machine: Machine) -> str:
    """Commit the source, and return it as the URL of a repository."""
    for arguments in (["init", "-q", "-b", "main"], ["add", "-A"], ["commit", "-qm", "x"]):
        identity = ["-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "commit.gpgsign=false"]
        subprocess.run(["git", *identity, *arguments], cwd=machine.source, check=True, capture_output=True)
    return f"git+file://{machine.source}"
