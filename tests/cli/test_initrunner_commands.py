"""InitRunner's commands for skills, as one types them here; quotations are of its documents on skills."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from prowess.cli import main
from support.skills import skill

ROLES = Path(__file__).parent.parent / "roles"


@pytest.fixture
def role(tmp_path: Path) -> Path:
    """The document's `roles/auto-skill-demo.yaml`, with a skill beside it, one of the project's, one further down."""
    top = tmp_path / "roles"
    top.mkdir()
    (found,) = ROLES.rglob("auto-skill-demo.yaml")
    shutil.copy(found, top)
    skill(top / "skills/summarizer")
    skill(top / ".agents/skills/release-notes")
    skill(top / "skills/more/deeper")
    return top / "auto-skill-demo.yaml"


def listed(capsys: pytest.CaptureFixture[str], *options: str) -> dict[str, str]:
    """Return the names that are listed, with their states."""
    assert main(["list", "--host", "initrunner", "--json", *options]) == 0
    return {row["name"]: row["state"] for row in json.loads(capsys.readouterr().out)["skills"]}


def test_skill_list_auto_role(role: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`initrunner skill list --auto --role role.yaml # auto-discover relative to role`."""
    found = listed(capsys, "--role", str(role), "--home", str(tmp_path))
    assert found == {"summarizer": "active", "release-notes": "active"}


def test_skill_list_skill_dir(role: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`initrunner skill list --skill-dir ./my-skills`."""
    skill(tmp_path / "my-skills/shared")
    found = listed(capsys, "--role", str(role), "--home", str(tmp_path), "--skill-dir", str(tmp_path / "my-skills"))
    assert found == {"summarizer": "active", "release-notes": "active", "shared": "active"}


def test_skill_list_all(role: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`initrunner skill list --all # both explicit and auto-discovered`: the skills of `prowess show ROLE`."""
    skill(role.parent / "skills/named")
    role.write_text(role.read_text().replace("  auto_skills:", "  skills: [named]\n  auto_skills:"))
    assert main(["show", str(role), "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)["skills"]
    assert {row["name"]: row["state"] for row in shown} == {
        "named": "whole",
        "summarizer": "listed",
        "release-notes": "listed",
    }


def test_init_template_skill(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`initrunner init --template skill --name web-research`: "with example frontmatter and body"."""
    assert main(["new", "web-research", "--dir", str(tmp_path), "--json"]) == 0
    text = (tmp_path / "web-research/SKILL.md").read_text()
    assert text.startswith("---\nname: web-research\ndescription: ")
    assert text.partition("\n---\n")[2].strip()
