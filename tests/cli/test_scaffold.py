"""`prowess new` and `prowess init` write inside the project, or where the user says."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import pytest

from prowess.cli import main
from prowess.cli.skills._new_skill import write_skill
from prowess.errors import ProwessError
from support.races import flipped

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="links need a permission on Windows")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    for folder in ("p/.git", "home", "outside/skills"):
        (tmp_path / folder).mkdir(parents=True)
    return tmp_path / "p"


def run(project: Path, *arguments: str) -> int:
    return main([*arguments, "--cwd", str(project), "--home", str(project.parent / "home")])


def link(path: Path, target: Path | str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to(target)


def files_outside(project: Path) -> list[str]:
    return [str(path) for path in (project.parent / "outside").rglob("*") if not path.is_dir()]


@pytest.mark.parametrize("command", [["new", "pdf"], ["init"], ["new", "pdf", "--host", "claude-code"]])
@pytest.mark.parametrize("where", [".agents", ".agents/skills"])
@pytest.mark.parametrize("target", ["{top}/outside", "../outside", "../outside/missing", "{top}/p/../outside"])
def test_a_link_out_of_the_project_is_refused(
    command: list[str], where: str, target: str, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With the link, and where it leads."""
    if "claude-code" in command:
        where = where.replace("agents", "claude")
    if where.endswith("/skills") and not target.startswith("{"):
        target = f"../{target}"
    link(project / where, target.format(top=project.parent))
    assert run(project, *command) == 1
    err = capsys.readouterr().err
    assert f"`{project / where}` is a link to `{project.parent}/outside" in err
    assert "hint: remove the link" in err
    assert files_outside(project) == []
    assert not (project.parent / "outside/missing").exists()


@pytest.mark.parametrize("target", ["nowhere", ".agents", "skills"])
@pytest.mark.parametrize("command", [["new", "pdf"], ["init"]])
def test_a_link_to_nothing_is_refused(
    target: str, command: list[str], project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Or to itself: nothing is made at its target."""
    link(project / ".agents", target)
    assert run(project, *command) == 1
    assert "which does not exist" in capsys.readouterr().err
    assert sorted(os.listdir(project)) == [".agents", ".git"]


@pytest.mark.slow
def test_a_folder_that_becomes_a_link_leads_nowhere(project: Path) -> None:
    """A thread exchanges `.agents` for a link out of the project, again and again."""
    skills = project / ".agents/skills"
    skills.mkdir(parents=True)
    link(project / "link", project.parent / "outside")
    written = 0
    with flipped(project, ".agents", "link"):
        for number in range(1_000):
            try:
                write_skill(str(skills), f"s{number}", {"SKILL.md": "x", "a/b": "y"}, project=str(project))
                written += 1
            except ProwessError:
                continue
    assert written
    assert files_outside(project) == []
