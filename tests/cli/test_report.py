"""`prowess report` to a stream; `cases/cli/report.md` has the rest."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from prowess._internal.installer import install_command
from prowess.cli import main
from support.skills import skill

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Create a project with two skills, of which Claude Code finds one, and go there."""
    project = tmp_path / "home/project"
    skill(project / ".agents/skills/pdf")
    skill(project / ".claude/skills/csv")
    (tmp_path / "home/.claude").mkdir()
    (tmp_path / "home/.codex").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PATH", "")
    monkeypatch.chdir(project)
    return project


def test_stdout_gets_the_same_bytes(project: Path) -> None:
    command = [sys.executable, "-m", "prowess", "report", "-o"]
    subprocess.run([*command, "skills.html"], check=True, capture_output=True)
    done = subprocess.run([*command, "-"], check=True, capture_output=True)
    assert (done.stdout, done.stderr) == ((project / "skills.html").read_bytes(), b"")


def test_a_reader_that_ends_early_is_no_bug(project: Path) -> None:
    command = [sys.executable, "-m", "prowess", "report", "--all", "-o", "-"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.read(15) == b"<!doctype html>"
        process.stdout.close()
        assert process.stderr.read() == b""


@pytest.mark.skipif(not os.path.exists("/dev/stdout"), reason="this system has no /dev/stdout")
def test_a_device_is_written_to(project: Path) -> None:
    """As it is by `-o >(COMMAND)` in a shell."""
    command = [sys.executable, "-m", "prowess", "report", "-o", "/dev/stdout"]
    done = subprocess.run(command, capture_output=True, check=True)
    assert done.stdout.endswith(b"</html>\n")
    assert done.stderr == b"wrote /dev/stdout: 2 skills, 2 agents\n"


def test_stdout_is_utf_8_in_any_locale(project: Path) -> None:
    skill(project / ".agents/skills/umlaut", description="Für Größen")
    command = [sys.executable, "-m", "prowess", "report", "-o", "-"]
    env = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0", "LC_ALL": "C"}
    done = subprocess.run(command, capture_output=True, check=True, env=env)
    assert "Für Größen" in done.stdout.decode()


def test_a_long_search_shows_its_progress(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """On a terminal only, and the line is removed."""
    for number in range(250):
        (project / f"{number}").mkdir()
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    assert main(["report", "-o", "x.html", "--color", "never"]) == 0
    assert capsys.readouterr().err.startswith("\r\x1b[Ksearching: 200 folders\r\x1b[Kwrote x.html: ")


def test_without_the_extra_the_error_says_what_to_install(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from prowess.report._page import template

    template.cache_clear()
    monkeypatch.setitem(sys.modules, "jinja2", None)
    assert main(["report", "-o", "x.html"]) == 2
    assert capsys.readouterr().err == (
        f"error: a report needs Jinja2: {install_command('report')}\n\nhint: type the command above, then try again\n"
    )
    assert not (project / "x.html").exists()


def test_the_name_of_the_file_cannot_control_the_terminal(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", "-o", "a\x1b[2J\n.html"]) == 0
    assert capsys.readouterr().err == "wrote a\\x1b[2J\\x0a.html: 2 skills, 2 agents\n"


def test_a_path_with_a_nul_byte_is_wrong_use(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """And nothing is written."""
    assert main(["report", "-o", "a\0b"]) == 2
    assert capsys.readouterr() == ("", "error: `-o`: this is not a path: a\\x00b\n\nhint: name a file\n")
    assert sorted(os.listdir(project)) == [".agents", ".claude"]
