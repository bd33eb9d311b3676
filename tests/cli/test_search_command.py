"""`prowess search`: words, and the skills that fit them best."""

from __future__ import annotations

import json
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
    """Skills in a project, in a home and further away, some of which cannot be reached."""
    top = tmp_path / "project"
    (top / ".git").mkdir(parents=True)
    root = top / ".agents/skills"
    skill(root / "pdf", description="Fills forms.", body="Zebra.")
    skill(root / "forms", description="Makes a pdf.", body="Nothing.")
    skill(root / "manual", description="Prints\n  a pdf.", more="disable-model-invocation: true\n")
    skill(root / "broken", description="", body="A pdf.")
    skill(tmp_path / "home/.agents/skills/pdf", description="The user's own, which is hidden.", body="Walrus.")
    skill(tmp_path / "home/.agents/skills/quiet", description="Says nothing.", body="Though a pdf it is.")
    skill(tmp_path / "far/away", description="Far from the pdf.")
    for number in range(8):
        skill(root / f"other-{number}", description="Does something else.", body="Not this.")
    return top


run = partial(run_in, "search")


@pytest.mark.parametrize("host", host_names())
@pytest.mark.parametrize("more", [[], ["--json"]], ids=["text", "json"])
def test_hostile_skills_cannot_touch_the_terminal(
    host: str, more: list[str], project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Name, description and excerpt contain no terminal escapes."""
    for folder in ("skills", ".agents/skills", ".claude/skills", ".qwen/skills", ".infer/skills"):
        file = project / folder / "bad\x1b[2Jone" / "SKILL.md"
        file.parent.mkdir(parents=True)
        file.write_text('---\nname: "x\\e[2J\\u202Ey"\ndescription: "d\\e[2J"\n---\nx \x1b[2J\u202e giraffe\n')
    assert run(project, "giraffe", "x", *more, "--host", host) == 0
    out, err = capsys.readouterr()
    assert not {"\x1b", "\u202e"} & set(out + err)


@pytest.mark.slow
@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_search_as_a_process(encoding: str, project: Path) -> None:
    """Data on stdout in any encoding; an invalid query in bytes; a closed pipe is not an error."""
    skill(project / ".agents/skills/größe", description="Misst 日本.")
    command: list[str | bytes] = [
        sys.executable,
        "-m",
        "prowess",
        "search",
        "日本",
        b"\xff",
        "--cwd",
        str(project),
        "--no-cache",
    ]
    env = {**os.environ, "PYTHONIOENCODING": encoding, "PYTHONUTF8": "1"}
    done = subprocess.run(command, capture_output=True, check=False, env=env)
    assert (done.returncode, done.stderr) == (0, b"1 skill\n")
    shown = "größe  2.83   .agents/skills  Misst 日本.".encode(encoding, "backslashreplace").decode(encoding)
    assert done.stdout.decode(encoding).splitlines()[1][:6] == shown[:6]
    done = subprocess.run([*command, "--json"], capture_output=True, check=False, env=env)
    assert json.loads(done.stdout)["query"] == "日本 \\xff"
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE, check=False, env=env)
    os.close(writing)
    assert done.returncode == 0
