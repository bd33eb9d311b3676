from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest

from prowess.cli import main
from prowess.install import Lock, LockedSkill, computed_hash, read_tree
from support.skills import skill

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with the locked skill `pdf`, as the working directory."""
    folder = skill(tmp_path / ".agents/skills/pdf").parent
    (tmp_path / ".git").mkdir()
    write_lock(tmp_path, entry(folder))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def entry(folder: Path, **changes: object) -> LockedSkill:
    tree = read_tree(str(folder))
    files = {file.path: f"{file.mode} sha256:{file.sha256}" for file in tree.files}
    own = LockedSkill(name=folder.name, source="a/b", source_type="github", tree_digest=tree.digest, files=files)
    return own.with_changes(**changes)


def write_lock(folder: Path, *skills: LockedSkill) -> None:
    folder.mkdir(exist_ok=True)
    (folder / "skills-lock.json").write_text(Lock().with_skills(skills).to_text())


def test_skills_as_locked_are_a_success(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify"]) == 0
    assert capsys.readouterr() == ("", "1 skill is as in skills-lock.json\n")
    assert main(["verify", "pdf", "--cwd", str(project / ".agents")]) == 0


def test_differences_are_a_failure(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One line for each, as paths from the project; no file name can forge another line."""
    (project / ".agents/skills/pdf/SKILL.md").chmod(0o755)
    (project / ".agents/skills/pdf/a\nchanged     b\x1b[31m").touch()
    (project / ".agents/skills/pdf/ok").touch()
    assert main(["verify"]) == 1
    out, err = capsys.readouterr()
    assert out == (
        "mode        .agents/skills/pdf/SKILL.md (100755, locked as 100644)\n"
        "extra       .agents/skills/pdf/a\\x0achanged     b\\x1b[31m\n"
        "extra       .agents/skills/pdf/ok\n"
    )
    assert err.startswith("1 of 1 skill differs from skills-lock.json\n\nhint: `prowess install`")


@pytest.mark.parametrize(
    "text",
    [None, "{", "<<<<<<< x\n", "{}", "\udc80", "[" * 100_000],
    ids=["missing", "no JSON", "conflict", "no lock", "no text", "deep"],
)
def test_the_path_of_a_project_forges_no_line_and_no_command(
    text: str | None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    project = tmp_path / "a\nFORGED \x1b[31m $(touch x)"
    (project / ".git").mkdir(parents=True)
    if text is not None:
        (project / "skills-lock.json").write_text(text, errors="surrogateescape")
    for command in ("verify", "install", "lock"):
        assert main([command, "--cwd", str(project)]) in (1, 2)
        _, err = capsys.readouterr()
        assert "FORGED" in err
        assert "\x1b" not in err
        assert "\nFORGED" not in err
        for shown in re.findall("`(git [^`]*)`", err):
            assert "$" not in "".join(re.split("'[^']*'", shown))


def test_an_interrupted_change_is_named(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """If something is different: it may explain why."""
    (project / ".prowess-install-0123").mkdir()
    assert main(["verify"]) == 0
    assert "note" not in capsys.readouterr().err
    (project / ".agents/skills/pdf/new").touch()
    assert main(["verify"]) == 1
    assert "note: another process is changing the skills now, or was killed" in capsys.readouterr().err


def test_a_skill_that_is_not_locked_is_a_note_or_a_failure(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    skill(project / ".claude/skills/other")
    assert main(["verify"]) == 0
    out, err = capsys.readouterr()
    assert (out, err.splitlines()[0]) == ("", "note: .claude/skills/other is not in the lock")
    assert main(["verify", "--strict"]) == 1
    assert capsys.readouterr().out == "not locked  .claude/skills/other\n"
    assert main(["verify", "--strict", "pdf"]) == 0


def test_a_skill_that_is_compared_by_its_hash_is_named(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = project / ".agents/skills/pdf"
    write_lock(project, entry(folder, tree_digest=None, files={}, computed_hash=computed_hash(str(folder))))
    assert main(["verify"]) == 0
    assert "note: 1 skill compared by `computedHash` only" in capsys.readouterr().err
    (folder / "SKILL.md").write_text("x")
    assert main(["verify"]) == 1
    assert capsys.readouterr().out == "other hash  .agents/skills/pdf\n"


def test_json_has_every_difference(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / ".agents/skills/pdf/new").touch()
    skill(project / ".agents/skills/other")
    assert main(["verify", "--json"]) == 1
    shown = json.loads(capsys.readouterr().out)
    assert shown == {
        "project": str(project),
        "lock": str(project / "skills-lock.json"),
        "skills": [
            {
                "name": "pdf",
                "path": str(project / ".agents/skills/pdf"),
                "method": "files",
                "link": None,
                "differences": [{"kind": "extra", "path": "new", "expected": None, "found": "100644"}],
            }
        ],
        "not_locked": [str(project / ".agents/skills/other")],
        "counts": {"skills": 1, "different": 1, "by_hash": 0, "not_locked": 1},
        "ok": False,
    }


def test_without_a_lock_nothing_is_verified(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / "skills-lock.json").unlink()
    assert main(["verify"]) == 1
    assert capsys.readouterr().err.startswith(
        f"error: no lock: {project / 'skills-lock.json'} does not exist\n\nhint: "
    )
    assert main(["verify", "--cwd", str(project / "x")]) == 2
    assert capsys.readouterr().err == f"error: no such folder: `{project / 'x'}`\n\nhint: check `--cwd`\n"
    (project / "skills-lock.json").write_text("{")
    assert main(["verify"]) == 2
    assert capsys.readouterr().err.startswith(f"error: {project / 'skills-lock.json'}:1:2: the lock is not valid JSON")


def test_the_skills_of_the_user_have_a_lock_of_their_own(
    project: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    home, data = tmp_path_factory.mktemp("home"), tmp_path_factory.mktemp("data")
    monkeypatch.setenv("PROWESS_DATA_DIR", str(data))
    folder = skill(home / ".agents/skills/mine").parent
    write_lock(data, entry(folder))
    assert main(["verify", "--global", "--home", str(home)]) == 0
    (folder / "SKILL.md").write_text("x")
    assert main(["verify", "--global", "--home", str(home)]) == 1
