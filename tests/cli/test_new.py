"""`prowess new`: a skill that passes `check`, where `list` shows it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from prowess.cli import main
from prowess.cli.skills._new_skill import suggest_name

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
