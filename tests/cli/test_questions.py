"""Questions on a terminal: what was typed before one is shown is not its answer."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from prowess.cli import main
from support.role_folder import TOP, Terminal
from support.skills import skill

if TYPE_CHECKING:
    from pathlib import Path


class Project:
    """A project with an untrusted skill, an installed one that has a newer version, and one that is not installed."""

    def __init__(self, top: Path) -> None:
        self.top = top
        for name in ("home", "project/.agents/skills/pdf", "source/csv", "source/new"):
            (top / name).mkdir(parents=True)
        skill(top / "project/.agents/skills/pdf")
        skill(top / "source/csv")
        skill(top / "source/new")
        (top / "source/csv/run.sh").write_text("#!/bin/sh\n")
        self.env = {"HOME": str(top / "home"), "PATH": os.environ["PATH"], "PYTHONPATH": str(TOP / "src")}
        self.env |= {"LANG": "C.UTF-8", "PROWESS_NO_CACHE": "1"}

    def files(self) -> dict[str, bytes]:
        """Return what a command changes after a yes: the project and the trust record, not the store."""
        folders = (self.top / "project", self.top / "home/.config")
        paths = [path for folder in folders for path in folder.rglob("*") if path.is_file()]
        return {str(path): path.read_bytes() for path in paths}

    def start(self, *arguments: str, **options: Any) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "prowess", *arguments]
        return subprocess.Popen(command, cwd=self.top / "project", env=self.env, **options)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    project = Project(tmp_path)
    monkeypatch.chdir(tmp_path / "project")
    for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "PROWESS_CONFIG_DIR", "PROWESS_DATA_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert main(["add", "../source/csv", "--yes"]) == 0
    (tmp_path / "source/csv/run.sh").write_text("#!/bin/sh\necho new\n")
    return project


@pytest.mark.parametrize("ahead", ["y\n", "yes\ny\ny\n", "y"])
@pytest.mark.parametrize("command", ["trust pdf", "add ../source/new", "update", "remove csv"])
def test_what_was_typed_ahead_is_no_answer(project: Project, command: str, ahead: str) -> None:
    """Also a `y` without its line end; the answer that is typed when the question is shown counts."""
    before = project.files()
    for answer, code in (("\n", 1), ("y\n", 0)):
        terminal = Terminal(project, *command.split())
        terminal.type(ahead)
        terminal.read_until("[y/N]")
        terminal.type(answer)
        assert terminal.wait() == code
        terminal.close()
        assert (project.files() != before) == (code == 0)
