"""`prowess report`: one page of HTML, written in one step."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from prowess.cli import main
from prowess.hosts import host_names, observed_hosts
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


def test_the_page_is_written_and_stderr_says_so(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", "-o", "skills.html"]) == 0
    assert capsys.readouterr() == ("", "wrote skills.html: 2 skills, 2 agents\n")
    page = (project / "skills.html").read_text(encoding="utf-8")
    assert "<h1>1 of your 2 skills is invisible to Claude Code</h1>" in page
    assert "prowess mount .agents/skills/pdf --project --host claude-code" in page
    assert "2 skills for ~/project, as 2 agents see them." in page
    assert str(project) not in page
    assert sorted(os.listdir(project)) == [".agents", ".claude", "skills.html"]


def test_json_is_about_the_file(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", "--output", "skills.html", "--json"]) == 0
    out, err = capsys.readouterr()
    file = project / "skills.html"
    assert json.loads(out) == {
        "path": str(file),
        "bytes": file.stat().st_size,
        "skills": 2,
        "hosts": ["claude-code", "codex"],
    }
    assert err == ""


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


def test_the_agents_can_be_chosen(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def hosts(*options: str) -> list[str]:
        assert main(["report", "-o", "x.html", "--json", *options]) == 0
        chosen: list[str] = json.loads(capsys.readouterr().out)["hosts"]
        return chosen

    assert hosts("--host", "pi", "--host", "codex", "--host", "pi") == ["pi", "codex"]
    assert hosts("--all") == [name for name in host_names() if name != "prowess"]
    assert hosts("--home", str(project.parent.parent)) == [name for name in host_names() if name in observed_hosts()]


def test_skills_of_a_repository_that_no_agent_searches_are_in_it(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    skill(project / "skills/published")
    assert main(["report", "-o", "x.html", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["skills"] == 3
    page = (project / "x.html").read_text(encoding="utf-8")
    assert "<h1>2 of your 3 skills are invisible to Claude Code</h1>" in page
    assert "prowess mount skills/published --project --host codex" in page


def test_a_long_search_shows_its_progress(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """On a terminal only, and the line is removed."""
    for number in range(250):
        (project / f"{number}").mkdir()
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    assert main(["report", "-o", "x.html", "--color", "never"]) == 0
    assert capsys.readouterr().err.startswith("\r\x1b[Ksearching: 200 folders\r\x1b[Kwrote x.html: ")


def test_an_empty_project_has_a_page_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["report", "-o", "x.html", "--home", str(tmp_path), "--host", "codex"]) == 0
    assert "<h1>No skills found</h1>" in (tmp_path / "x.html").read_text(encoding="utf-8")
    assert capsys.readouterr().err == "wrote x.html: 0 skills, 1 agent\n"


def test_a_link_stays_and_its_file_is_replaced(project: Path) -> None:
    (project / "old.html").write_text("x" * 1_000_000)
    (project / "link.html").symlink_to("old.html")
    assert main(["report", "-o", "link.html"]) == 0
    assert (project / "link.html").is_symlink()
    assert (project / "old.html").read_text(encoding="utf-8").startswith("<!doctype html>")
    assert (project / "old.html").stat().st_size < 500_000


def test_the_new_file_has_the_permissions_of_other_new_files(project: Path) -> None:
    (project / "other").touch()
    assert main(["report", "-o", "x.html"]) == 0
    assert (project / "x.html").stat().st_mode == (project / "other").stat().st_mode


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "missing argument: -o/--output\n\nhint: run `prowess report --help` for its options"),
        (["-o", "no/x.html"], "`-o`: no such folder: {}/no\n\nhint: create it first"),
        (["-o", "."], "`-o`: this is a folder: .\n\nhint: name a file"),
        (["-o", ""], "`-o`: this is a folder: \n\nhint: name a file"),
        (["-o", "a\0b"], "`-o`: this is not a path: a\\x00b\n\nhint: name a file"),
        (
            ["-o", "-", "--json"],
            "`--json` needs a file: with `-o -`, stdout is the page\n\nhint: use `-o skills.html --json`",
        ),
        (["-o", "x.html", "--host", "cdx"], "unknown host `cdx`\n\nhint: did you mean `codex`?"),
        (["-o", "x.html", "--cwd", "no"], "`--cwd` is not a folder: no\n\nhint: check the path"),
    ],
)
def test_wrong_use_is_an_error(
    project: Path, arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """And nothing is written."""
    assert main(["report", *arguments]) == 2
    assert capsys.readouterr() == ("", f"error: {message.format(project)}\n")
    assert sorted(os.listdir(project)) == [".agents", ".claude"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no FIFOs")
def test_a_fifo_without_a_reader_does_not_block(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    os.mkfifo(project / "fifo")
    assert main(["report", "-o", "fifo"]) == 2
    message = "error: cannot write the report: fifo: no such device or address\n\nhint: name another file\n"
    assert capsys.readouterr() == ("", message)


def test_without_the_extra_the_error_says_what_to_install(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from prowess.report._page import _template

    _template.cache_clear()
    monkeypatch.setitem(sys.modules, "jinja2", None)
    assert main(["report", "-o", "x.html"]) == 2
    assert capsys.readouterr().err == (
        "error: a report needs Jinja2: pip install 'prowess[report]'\n\n"
        "hint: install the extra with the `pip` command above, then try again\n"
    )
    assert not (project / "x.html").exists()


def test_the_name_of_the_file_cannot_control_the_terminal(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", "-o", "a\x1b[2J\n.html"]) == 0
    assert capsys.readouterr().err == "wrote a\\x1b[2J\\x0a.html: 2 skills, 2 agents\n"
