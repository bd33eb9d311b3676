"""No command ends with a bug report because a link cannot be read."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from prowess.cli import main
from support.skills import skill
from support.suites import write_suite
from support.unreadable_links import refuse_to_read

if TYPE_CHECKING:
    from pathlib import Path

ROLE = """\
name: helper
prompt: Help.
model: openai:gpt-4o
skills: [.agents/skills/pdf/SKILL.md]
tools:
  - {type: filesystem, root_path: data, read_only: false}
  - {type: script, scripts: [{name: a, path: .agents/skills/pdf/scripts/a.py}]}
"""
PLACES = [
    *(".agents", ".agents/skills", ".agents/skills/pdf", ".agents/skills/pdf/SKILL.md", ".agents/skills/pdf/scripts"),
    *(".agents/skills/pdf/scripts/a.py", ".agents/skills/pdf/tests/cases", "data", "role.yaml"),
]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Create a project with a skill, its tests and a role."""
    project = tmp_path.resolve() / "project"
    for name in (".git", "data"):
        (project / name).mkdir(parents=True)
    folder = skill(project / ".agents/skills/pdf").parent
    (folder / "scripts").mkdir()
    (folder / "scripts/a.py").write_text("print(1)\n")
    write_suite(folder, {"a": "true"})
    (project / "role.yaml").write_text(ROLE)
    monkeypatch.chdir(project)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PROWESS_CONFIG_DIR", str(tmp_path / "config"))
    monkeypatch.setenv("PROWESS_NO_CACHE", "1")
    return project


def replace_by_link(place: Path, target: Path) -> None:
    place.rename(target)
    place.symlink_to(target)


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize(
    "command",
    [
        *("list", "check", "check .agents/skills/pdf", "check --fix", "why pdf", "show pdf", "show .agents/skills/pdf"),
        *("prompt", "activate pdf", "read pdf scripts/a.py", "search pdf", "trust --yes pdf", "test --list pdf"),
        *("mount pdf --to home --host codex", "mount .agents/skills/pdf --to home --host codex", "new other", "init"),
        *("validate role.yaml", "show role.yaml", "hosts prowess"),
    ],
)
def test_a_link_that_cannot_be_read_is_no_bug(
    command: str, place: str, project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    replace_by_link(project / place, project.parent / "target")
    refuse_to_read(project / place, monkeypatch)
    assert main(command.split()) in (0, 1, 2)
    assert "bug" not in capsys.readouterr().err


@pytest.mark.parametrize(
    "command", ["list --cwd alias", "list --role alias/role.yaml", "mount alias/.agents/skills/pdf --to alias/home"]
)
def test_a_project_behind_such_a_link_is_no_bug(
    command: str, project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    alias = project / "alias"
    alias.symlink_to(project)
    refuse_to_read(alias, monkeypatch)
    assert main(command.split()) in (0, 1, 2)
    assert "bug" not in capsys.readouterr().err
