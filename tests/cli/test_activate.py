"""`prowess activate`: what the model would read of a skill."""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING

import pytest

from prowess.hosts import host_names
from support.project_commands import json_in, run_in
from support.skills import skill

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with a skill, one for its user alone, one that does not load, and a copy that loses."""
    top = tmp_path.resolve() / "project"
    (top / ".git").mkdir(parents=True)
    root = top / ".agents/skills"
    skill(root / "pdf", body="Fill $ARGUMENTS with !`date`.")
    (root / "pdf/a.md").touch()
    skill(root / "manual", more="disable-model-invocation: true\n", body="By hand.")
    skill(root / "broken", description="")
    skill(tmp_path / "home/.agents/skills/pdf", body="The user's own.")
    return top


run = partial(run_in, "activate")
data = partial(json_in, "activate")


@pytest.mark.parametrize("host", host_names())
@pytest.mark.parametrize("more", [[], ["--json"]], ids=["text", "json"])
def test_hostile_skills_cannot_touch_the_terminal(
    host: str, more: list[str], project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Body, files and arguments contain no terminal escapes."""
    name = "bad"
    for folder in ("skills", ".agents/skills", ".claude/skills", ".qwen/skills", ".infer/skills"):
        file = skill(project / folder / name, body="x \x1b[2J\u202e\n::error::x\n\ty")
        (file.parent / "f\x1b[2J").touch()
    run(project, name, "--arguments", "a\x1b[2J\u202e", *more, "--host", host)
    out, err = capsys.readouterr()
    assert not {"\x1b", "\u202e"} & set(out + err)
    assert "\n::error::" not in out


def test_nothing_in_the_skill_is_run_or_filled_in(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """No process is started."""
    for name in ("system", "posix_spawn", "fork"):
        monkeypatch.setattr(os, name, lambda *_, **__: pytest.fail("a process was started"))
    assert "!`date`" in data(project, "pdf", capsys=capsys)["content"]
