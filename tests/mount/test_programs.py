"""Front matter that is a program is never mounted: a client would run it when it lists the skills."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from prowess.errors import SkillError, SkillValidationError
from prowess.hosts import host_names, load_host
from prowess.mount import SkillConfig, SkillMount, mount, validate_skill
from support.mounting import write_file
from support.skills import skill

if TYPE_CHECKING:
    from pathlib import Path

PROGRAM = "---js\n{}\n---\nBody.\n"


def sources(top: Path) -> dict[str, Path]:
    """Return skills with a program in one of their files."""
    top.mkdir()
    for name in ("own", "inner", "hidden", "lower"):
        skill(top / name)
    for path in ("own/SKILL.md", "inner/docs/a/SKILL.md", "hidden/.x/node_modules/SKILL.md", "lower/b/skill.md"):
        write_file(top / path, PROGRAM)
    (top / "flat.md").write_text(PROGRAM)
    return {path.stem: path for path in top.iterdir()}


@pytest.mark.parametrize("validate", [True, False])
@pytest.mark.parametrize("kind", ["own", "inner", "hidden", "lower", "flat"])
def test_a_program_is_never_mounted(tmp_path: Path, kind: str, *, validate: bool) -> None:
    """For any host, with validation and without, on any level of the skill."""
    source = sources(tmp_path / "skills")[kind]
    config = SkillConfig((SkillMount(source, name="pdf"),), validate_on_mount=validate)
    for host in host_names():
        if any(root.scope == "user" for root in load_host(host).roots):
            with pytest.raises(SkillError) as caught:
                mount(config, tmp_path / "home", host=host)
            assert type(caught.value) is SkillValidationError, host
            assert caught.value.findings[0].code == "frontmatter-code"
            assert not (tmp_path / "home").exists()


@pytest.mark.parametrize("kind", ["own", "inner", "hidden", "lower", "flat"])
def test_a_program_is_not_valid(tmp_path: Path, kind: str) -> None:
    """The finding says where."""
    with pytest.raises(SkillValidationError, match="the front matter is a program") as caught:
        validate_skill(sources(tmp_path / "skills")[kind])
    assert caught.value.findings[0].line == 1


def test_a_skill_that_shows_programs_is_mounted(tmp_path: Path) -> None:
    """In its text and in other files."""
    skill(tmp_path / "pdf", body="---js\n{}\n---")
    (tmp_path / "pdf/example.md").write_text(PROGRAM)
    mount(SkillConfig((SkillMount(tmp_path / "pdf"),)), tmp_path / "home", host="opencode")
    assert (tmp_path / "home/.config/opencode/skills/pdf/SKILL.md").is_file()
