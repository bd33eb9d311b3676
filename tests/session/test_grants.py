"""Which tools and scripts a session grants."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from prowess.errors import SkillNotFoundError
from prowess.session import Grants, Trust
from support.sessions import SKILLS, new_session
from support.skills import skill

if TYPE_CHECKING:
    from pathlib import Path

TOOLS = "tools:\n  - name: fill\n    script: scripts/fill.py\nallowed-tools: Bash(rm:*)\n"


def test_a_skill_needs_activation_and_trust(project: Path, trust: Trust) -> None:
    """Then its tools and scripts are granted, until a byte changes."""
    folder = skill(project / SKILLS / "pdf", more=TOOLS).parent
    for name in ("scripts/fill.py", "scripts/lib/x.py", "other.py"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("1\n")
    session = new_session(project, trust=trust)
    entry = session.catalog.resolve("pdf")
    assert session.granted("pdf") == Grants(denial_reason="the skill `pdf` is not active in this conversation")
    session.activate("pdf")
    denial_reason = f"`pdf` is not trusted: review it, then type `prowess trust {folder}`"
    assert session.granted("pdf") == Grants(denial_reason=denial_reason)
    trust.allow(entry)
    assert session.granted("pdf") == Grants(
        tools=({"name": "fill", "script": "scripts/fill.py"},), scripts=("scripts/fill.py", "scripts/lib/x.py")
    )
    (folder / "scripts/fill.py").write_text("2\n")
    changed = session.granted("pdf")
    assert (changed.tools, changed.scripts) == ((), ())
    assert str(changed.denial_reason).startswith("`pdf` has changed since it was trusted on ")
    (folder / "scripts/fill.py").write_text("1\n")
    assert session.granted("pdf").denial_reason is None


def test_trust_without_activation_grants_nothing(project: Path, trust: Trust) -> None:
    """`allowed-tools` is not a grant."""
    skill(project / SKILLS / "pdf", more="allowed-tools: Bash\n")
    session = new_session(project, trust=trust)
    trust.allow(session.catalog.resolve("pdf"))
    assert session.granted("pdf").denial_reason == "the skill `pdf` is not active in this conversation"
    session.activate("pdf")
    assert session.granted("pdf") == Grants()
    with pytest.raises(SkillNotFoundError):
        session.granted("nothing")


def test_skills_of_the_user_need_no_trust(project: Path, trust: Trust) -> None:
    skill(project.parent / "home/.agents/skills/own", more=TOOLS)
    session = new_session(project, trust=trust)
    session.activate("own")
    assert session.granted("own") == Grants(tools=({"name": "fill", "script": "scripts/fill.py"},))


def test_the_default_trust_is_the_record_of_the_user(project: Path) -> None:
    """It is outside the project."""
    session = new_session(project)
    assert session.trust is session.trust
    assert session.trust.file == os.path.join(os.environ["PROWESS_CONFIG_DIR"], "trust.json")
