"""Fixtures of the tests of sessions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from prowess.session import Trust
from support.sessions import SKILLS, write_project, write_skill_with_script
from support.skills import skill

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Write a project: two active skills, one for its user only, one that is shadowed and one that is rejected."""
    top = write_project(tmp_path.resolve() / "project")
    for name in ("pdf", "xls"):
        skill(top / SKILLS / name, body=f"Do {name}.")
    skill(top / SKILLS / "manual", more="disable-model-invocation: true\n", body="Do by hand.")
    skill(top / SKILLS / "broken", description="")
    skill(tmp_path / "home/.agents/skills/pdf", body="The user's own.")
    return top


@pytest.fixture
def scripts_project(tmp_path: Path) -> Path:
    """Write a project with two skills that have scripts."""
    top = write_project(tmp_path.resolve() / "project")
    for name in ("pdf", "xls"):
        write_skill_with_script(top, name)
    return top


@pytest.fixture
def trust(tmp_path: Path) -> Trust:
    """Return the trust of a user who has trusted nothing yet, and has no folder for it."""
    return Trust(str(tmp_path.resolve() / "config/prowess/trust.json"))
