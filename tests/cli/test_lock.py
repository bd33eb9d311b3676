from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from prowess.cli import main
from prowess.install import Lock, LockedSkill, computed_hash, read_lock, read_tree
from support.skills import skill

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with the skill `pdf`, whose entry in the lock is as the tool `skills` writes it."""
    project = tmp_path / "project"
    folder = skill(project / ".agents/skills/pdf").parent
    (project / ".git").mkdir()
    monkeypatch.setenv("PROWESS_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.chdir(project)
    write_lock(project, entry(folder))
    return project


def entry(folder: Path, name: str | None = None) -> LockedSkill:
    hashed = computed_hash(str(folder))
    return LockedSkill(name=name or folder.name, source="a/b", source_type="github", computed_hash=hashed)


def write_lock(project: Path, *skills: LockedSkill) -> None:
    (project / "skills-lock.json").write_text(Lock().with_skills(skills).to_text())


def locked(project: Path) -> dict[str, str | None]:
    """Return the tree digest of each skill in the lock."""
    return {name: skill.tree_digest for name, skill in read_lock(str(project / "skills-lock.json")).skills.items()}


def test_files_of_an_entry_with_a_hash_are_locked(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = (project / "skills-lock.json").read_bytes()
    assert main(["lock", "--dry-run"]) == 0
    assert (project / "skills-lock.json").read_bytes() == before
    capsys.readouterr()
    assert main(["lock"]) == 0
    assert capsys.readouterr() == ("locked      pdf from a/b\n", "1 skill locked\n")
    assert locked(project) == {"pdf": read_tree(str(project / ".agents/skills/pdf")).digest}
    assert main(["verify"]) == 0
    assert "computedHash" not in capsys.readouterr().err
    after = (project / "skills-lock.json").read_bytes()
    assert main(["lock"]) == 0
    assert (project / "skills-lock.json").read_bytes() == after


def test_a_skill_that_was_changed_is_not_locked(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The others are. Neither is one with files that the hash does not cover, or whose folder has another name."""
    folders = [skill(project / ".agents/skills" / name).parent for name in ("docx", "linked", "other")]
    missing = entry(folders[0], "missing")
    write_lock(project, *map(entry, [project / ".agents/skills/pdf", *folders]), missing, entry(folders[2], "Other"))
    assert main(["lock"]) == 2  # two entries have one folder
    capsys.readouterr()
    (project / ".agents/skills/other").rename(project / ".agents/skills/my-docs")
    named = entry(project / ".agents/skills/my-docs", "My Docs")
    write_lock(project, *map(entry, [project / ".agents/skills/pdf", *folders[:2]]), missing, named)
    (folders[0] / "SKILL.md").write_text("changed")
    (folders[1] / "link").symlink_to("/etc/passwd")
    assert main(["lock"]) == 1
    out, err = capsys.readouterr()
    assert out.splitlines() == [
        "locked      pdf from a/b",
        "not locked  My Docs: it is in a folder of another name, `my-docs`",
        "not locked  docx: it is not as it was locked",
        "not locked  linked: it has files that its hash does not cover",
        "not locked  missing: it is not installed",
    ]
    assert err == "1 skill locked and 4 not locked\n"
    assert [name for name, digest in locked(project).items() if digest] == ["pdf"]


def test_a_skill_in_the_folder_of_one_agent_is_locked_for_it(project: Path) -> None:
    folder = skill(project / ".claude/skills/docx").parent
    write_lock(project, entry(folder))
    assert main(["lock"]) == 0
    assert read_lock(str(project / "skills-lock.json")).skills["docx"].hosts == ("claude-code",)
    assert main(["verify"]) == 0
    skill(project / ".agents/skills/docx")
    write_lock(project, entry(folder))
    assert main(["lock"]) == 0
    assert read_lock(str(project / "skills-lock.json")).skills["docx"].hosts == ("claude-code", "prowess")


APM = """\
dependencies:
- repo_url: acme/skills
  resolved_commit: '0000000000000000000000000000000000000000'
  deployed_files: [.agents/skills/docx/SKILL.md, .agents/skills/pdf/SKILL.md]
- {repo_url: acme/x, resolved_commit: '1', deployed_files: ["a\\u202eb/x"], package_type: "\\e[31m"}
"""


def test_another_lock_is_imported(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Skills that are locked already stay as they are."""
    (project / "apm.lock.yaml").write_text(APM)
    before = read_lock(str(project / "skills-lock.json")).skills["pdf"]
    assert main(["lock", "--from", "apm.lock.yaml", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {
        "project": str(project),
        "lock": str(project / "skills-lock.json"),
        "locked": [{"name": "docx", "source": "acme/skills", "files": False}],
        "refused": [],
        "left_out": [
            {"name": "acme/x", "reason": "has no skill (it is a package of type `\\x1b[31m`)"},
            {"name": "pdf", "reason": "is locked already"},
        ],
    }
    skills = read_lock(str(project / "skills-lock.json")).skills
    assert (skills["docx"].revision, skills["docx"].tree_digest, skills["pdf"]) == ("0" * 40, None, before)
    assert main(["verify", "docx"]) == 1  # it is not installed yet


@pytest.mark.parametrize(
    ("arguments", "code", "problem"),
    [
        (["--from", "apm.lock.yaml", "--global"], 2, "`--from` and `--global` cannot be combined"),
        (["--from", "none.yaml"], 2, "none.yaml: no such file"),
        (["--from", "apm.lock.yaml", "xlsx"], 2, "`apm.lock.yaml` has no skill `xlsx`"),
        (["pfd"], 2, "the lock has no skill `pfd`"),
        (["--global"], 1, "no lock: "),
    ],
)
def test_wrong_use_is_an_error(
    arguments: list[str], code: int, problem: str, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (project / "apm.lock.yaml").write_text(APM)
    before = (project / "skills-lock.json").read_bytes()
    assert main(["lock", *arguments]) == code
    assert problem in capsys.readouterr().err
    assert (project / "skills-lock.json").read_bytes() == before
