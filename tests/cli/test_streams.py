"""What commands write to stdout and stderr: any encoding will do, and no skill touches the terminal."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from prowess.hosts import host_names
from support.project_commands import run_in
from support.skills import skill

if TYPE_CHECKING:
    from pathlib import Path

FOREIGN = "größe-日本"
COMMANDS: dict[str, list[str]] = {
    "list": ["list", "--host", "prowess"],
    "list-of-an-agent": ["list", "--host", "codex"],
    "why": ["why", FOREIGN, "--host", "pi"],
    "prompt": ["prompt"],
    "search": ["search", "日本", os.fsdecode(b"\xff")],
}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with a skill whose name and description few encodings have."""
    top = tmp_path / "project"
    (top / ".git").mkdir(parents=True)
    (tmp_path / "home").mkdir()
    skill(top / ".agents/skills" / FOREIGN, description="Misst 日本 → ü. " * 20)
    return top


def run(project: Path, arguments: list[str], stdout: int = subprocess.PIPE, **env: str) -> tuple[int, bytes, bytes]:
    """Return the exit code, stdout and stderr of a process."""
    command = [sys.executable, "-m", "prowess", *arguments]
    if "--help" not in arguments:
        command += ["--cwd", str(project), "--home", str(project.parent)]
    env = {**os.environ, "PYTHONUTF8": "1", **env}
    done = subprocess.run(command, stdout=stdout, stderr=subprocess.PIPE, check=False, env=env)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("name", COMMANDS)
def test_any_encoding_of_stdout_will_do(name: str, project: Path) -> None:
    """What it lacks is written as an escape; JSON is always UTF-8, also for an argument that is no text."""
    code, text, messages = run(project, COMMANDS[name], PYTHONIOENCODING="utf-8")
    assert code == 0
    assert "日本" in text.decode()
    for encoding in ("ascii", "latin-1"):
        done = run(project, COMMANDS[name], PYTHONIOENCODING=encoding)
        assert done == (0, text.decode().encode(encoding, "backslashreplace"), messages)
        code, out, _ = run(project, [*COMMANDS[name], "--json"], PYTHONIOENCODING=encoding)
        assert code == 0
        assert "日本" in out.decode()
        assert json.loads(out).get("query") == ("日本 \\xff" if name == "search" else None)


@pytest.mark.parametrize(
    "arguments", [*COMMANDS.values(), ["list", "--json"], ["list", "--help"]], ids=[*COMMANDS, "json", "help"]
)
def test_a_closed_pipe_ends_quietly(arguments: list[str], project: Path) -> None:
    """`prowess list | head -1`: a reader that has seen enough is no error."""
    reading, writing = os.pipe()
    os.close(reading)
    code, _, err = run(project, arguments, stdout=writing)
    os.close(writing)
    assert code == 0
    assert b"rror" not in err
    assert b"Exception" not in err


HOSTILE = "bad\x1b[2Jone"
SHOWING = [
    ("activate", "plain", "--arguments", "a\x1b[2J\u202e"),
    ("activate", "plain", "--arguments", "a\x1b[2J\u202e", "--json"),
    ("why", HOSTILE),
    ("search", "giraffe", "x"),
    ("search", "giraffe", "x", "--json"),
]


@pytest.mark.parametrize("host", host_names())
def test_hostile_skills_cannot_touch_the_terminal(host: str, project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Folders, names, descriptions, bodies, files, arguments and excerpts are printed without terminal escapes."""
    for folder in ("skills", ".agents/skills", ".claude/skills", ".qwen/skills", ".infer/skills"):
        plain = skill(project / folder / "plain", body="x \x1b[2J\u202e\n::error::x\n\ty")
        (plain.parent / "f\x1b[2J").touch()
        skill(project / folder / HOSTILE, '"x\\e[2J\\u202Ey"', '"d\\e[2J"', body="x \x1b[2J\u202e giraffe")
    for command, *arguments in SHOWING:
        assert run_in(command, project, *arguments, "--host", host) in ((0,) if command == "search" else (0, 1, 2))
        out, err = capsys.readouterr()
        assert not {"\x1b", "\u202e"} & set(out + err)
        assert "\n::error::" not in out
