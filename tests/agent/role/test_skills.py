"""The skills that a role names: where they are looked up, how they are loaded, and their errors.

Quotations are of InitRunner's documents on skills.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from prowess.agent.role import load_role
from prowess.agent.role._skills import LoadedSkill, load_explicit_skills, read_skill_tools, skill_dirs
from prowess.skill import load
from support.skills import skill

if TYPE_CHECKING:
    from pathlib import Path

    from prowess.findings import Finding


@pytest.fixture
def top(tmp_path: Path) -> Path:
    """A folder for a role, two skill directories, and a home."""
    for name in ("roles", "first", "second", "home/.initrunner/skills"):
        (tmp_path / name).mkdir(parents=True)
    return tmp_path.resolve()


def load_references(top: Path, *references: str, **env: str) -> tuple[tuple[LoadedSkill, ...], tuple[Finding, ...]]:
    """Load the skills of a role with these references, with two skill directories."""
    file = top / "roles/role.yaml"
    lines = "".join(f"- {reference!r}\n" for reference in references)
    file.write_text(f"name: a\nprompt: x\nskills:\n{lines}", encoding="utf-8")
    role, findings = load_role(file)
    assert role is not None
    assert findings == ()
    dirs = [str(top / "first"), str(top / "second")]
    return load_explicit_skills(role, dirs=dirs, home=str(top / "home"), env=env)


def write_flat_skill(file: Path) -> Path:
    """Write a skill in InitRunner's flat format."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"---\nname: {file.stem}\ndescription: d\n---\n{file.parent.name} flat\n", encoding="utf-8")
    return file


def loaded_paths(result: tuple[tuple[LoadedSkill, ...], tuple[Finding, ...]], top: Path) -> list[str]:
    loaded, findings = result
    assert findings == ()
    return [os.path.relpath(one.path, top) for one in loaded]


# ── "Resolution Order" ───────────────────────────────────────────────────────────────────────────────────────────────

ORDER = (
    "roles/skills/pdf/SKILL.md",
    "roles/skills/pdf.md",
    "first/pdf/SKILL.md",
    "first/pdf.md",
    "second/pdf/SKILL.md",
    "second/pdf.md",
    "home/.initrunner/skills/pdf/SKILL.md",
    "home/.initrunner/skills/pdf.md",
)


@pytest.mark.parametrize("at", range(len(ORDER)))
def test_a_bare_name_is_looked_up_in_order_of_priority(top: Path, at: int) -> None:
    """InitRunner: "When a skill reference is a bare name (no / or .md suffix)", it searches "in priority order"."""
    for path in ORDER[at:]:
        file = top / path
        if file.name == "SKILL.md":
            skill(file.parent)
        else:
            write_flat_skill(file)
    assert loaded_paths(load_references(top, "pdf"), top) == [ORDER[at]]


def test_skill_dir_comes_before_the_environment_variables(top: Path) -> None:
    """InitRunner: "The --skill-dir CLI option takes precedence over INITRUNNER_SKILL_DIR"."""
    env = {
        "INITRUNNER_SKILL_DIR": f"/b{os.pathsep}/c",
        "PROWESS_SKILL_DIR": f"/d{os.pathsep}{os.pathsep}/b",
        "HOME": "/h",
    }
    assert skill_dirs(["/a", "/z"], env) == ("/a", "/z", "/b", "/c", "/d")
    assert skill_dirs([], {}) == ()
    assert skill_dirs(["here", "~/x"], {}) == (os.path.abspath("here"), os.path.expanduser("~/x"))


def test_a_flat_file_has_no_skill_folder(top: Path) -> None:
    """Other files share its folder, so its tools must not see it."""
    write_flat_skill(top / "roles/skills/pdf.md")
    skill(top / "roles/skills/csv")
    pdf, csv = load_references(top, "pdf", "csv")[0]
    assert (pdf.folder, pdf.body.strip()) == (None, "skills flat")
    assert csv.folder == str(top / "roles/skills/csv")


# ── tools ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_skill_s_tools_are_read_like_a_role_s(top: Path) -> None:
    """With defaults, and with the line in SKILL.md."""
    file = skill(top / "roles/skills/pdf", more="tools:\n- type: git\n- type: web_reader\n  timeout_seconds: 5\n")
    git, web = read_skill_tools(load(str(file)))[0]
    assert (git.kind, git.line, git.where, git.options["read_only"]) == ("git", 5, "tools[0]", True)
    assert (web.kind, web.line, web.options["timeout_seconds"]) == ("web_reader", 6, 5.0)


@pytest.mark.parametrize("reference", ["\0", "x" * 5000, "./" + "y/" * 3000])
def test_an_impossible_reference_is_a_missing_skill(top: Path, reference: str) -> None:
    """Never an exception."""
    (top / "roles/role.yaml").write_text("name: a\nprompt: x\n")
    role, _ = load_role(top / "roles/role.yaml")
    assert role is not None
    named = role.with_changes(skills=(reference,), skill_lines=(1,))
    loaded, (item,) = load_explicit_skills(named, dirs=(), home=str(top / "home"), env={})
    assert loaded == ()
    assert item.message.startswith("skill not found: `" + reference[:1].replace("\0", "\\"))
