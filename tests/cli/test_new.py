"""`prowess new`: a skill that passes `check`, where `list` shows it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from prowess.cli import main
from prowess.cli.skills._new_skill import suggest_name
from prowess.hosts import host_names, skills_folder

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "p" / ".git").mkdir(parents=True)
    (tmp_path / "p" / "sub").mkdir()
    (tmp_path / "home").mkdir()
    return tmp_path / "p"


def run(project: Path, *arguments: str) -> int:
    return main(["new", *arguments, "--cwd", str(project / "sub"), "--home", str(project.parent / "home")])


@pytest.mark.parametrize(
    ("name", "better"),
    [
        ("My Café's PDF_tool", "my-cafes-pdf-tool"),
        ("Übersicht", "ubersicht"),
        ("  a  ", "a"),
        ("…", ""),
        ("日本", "日本"),
    ],
)
def test_a_proposal_is_near(name: str, better: str) -> None:
    """Accents go, words stay."""
    assert suggest_name(name) == better


def test_a_full_disk_leaves_nothing(
    project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Half a skill is taken away again."""

    def full(*_arguments: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("prowess.cli.skills._new_skill.rename_no_replace", full)
    assert run(project, "a") == 1
    assert "/.agents/skills/a: no space left on device" in capsys.readouterr().err
    assert list((project / ".agents/skills").iterdir()) == []


@pytest.mark.parametrize("host", [name for name in host_names() if skills_folder(name, "project")])
def test_it_is_written_where_the_agent_looks(host: str, project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In the folder that `mount` and `add` use, also if the first of its rules is about folders that settings name."""
    home = str(project.parent / "home")
    assert main(["new", "pdf", "--host", host, "--cwd", str(project), "--home", home]) == 0
    assert "in another folder" not in capsys.readouterr().err
    (file,) = project.rglob("SKILL.md")
    assert file == project / str(skills_folder(host, "project")) / "pdf/SKILL.md"
