"""`prowess why`: every candidate behind a name, and the rule that decided."""

from __future__ import annotations

import os
import subprocess
import sys
from functools import partial
from typing import TYPE_CHECKING

import pytest

from prowess.hosts import host_names
from support.project_commands import run_in
from support.skills import skill

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """The same name in the project and at home, and a skill that some do not load."""
    top = tmp_path / "project"
    (top / ".git").mkdir(parents=True)
    skill(top / ".claude/skills/pdf")
    skill(tmp_path / "home/.claude/skills/pdf", description="The user's own.")
    skill(top / ".agents/skills/release", description="Use when: a release is due")
    skill(top / ".agents/skills/notes", "release-notes")
    return top


run = partial(run_in, "why")


@pytest.mark.parametrize("host", host_names())
def test_hostile_names_cannot_touch_the_terminal(
    host: str, project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A folder and a name with escapes are printed as escapes."""
    for folder in ("skills", ".agents/skills", ".claude/skills", ".qwen/skills", ".infer/skills"):
        file = project / folder / "bad\x1b[2Jone" / "SKILL.md"
        file.parent.mkdir(parents=True)
        file.write_text('---\nname: "x\\e[2J\\u202Ey"\ndescription: d\n---\nx\n')
    code = run(project, "bad\x1b[2Jone", "--host", host)
    out, err = capsys.readouterr()
    assert code in (0, 2)
    assert not {"\x1b", "\u202e"} & set(out + err)


@pytest.mark.slow
@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_why_as_a_process(encoding: str, project: Path) -> None:
    """Data on stdout in any encoding; a closed pipe is not an error."""
    skill(project / ".agents/skills/größe-日本", description="Use: →")
    command = [sys.executable, "-m", "prowess", "why", "größe-日本", "--cwd", str(project), "--host", "pi"]
    env = {**os.environ, "PYTHONIOENCODING": encoding, "PYTHONUTF8": "1"}
    done = subprocess.run(command, capture_output=True, check=False, env=env)
    assert (done.returncode, done.stderr) == (0, b"")
    assert "\\u65e5\\u672c for pi: 1 candidate\n" in done.stdout.decode(encoding)
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE, check=False, env=env)
    os.close(writing)
    assert (done.returncode, done.stderr) == (0, b"")
