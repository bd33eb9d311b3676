"""`prowess new`: a skill that passes `check`, where `list` shows it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from prowess.catalog import discover
from prowess.catalog._check import check
from prowess.cli import main
from prowess.cli._scaffold import suggest_name
from support.programs import works

if TYPE_CHECKING:
    from pathlib import Path

SANDBOX = "auto" if works("bwrap") else "none"
"""What contains the tests of a new skill: they are ours."""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "p" / ".git").mkdir(parents=True)
    (tmp_path / "p" / "sub").mkdir()
    (tmp_path / "home").mkdir()
    return tmp_path / "p"


def run(project: Path, *arguments: str) -> int:
    return main(["new", *arguments, "--cwd", str(project / "sub"), "--home", str(project.parent / "home")])


def below(top: Path) -> list[str]:
    return sorted(str(path.relative_to(top)) for path in top.rglob("*") if path.is_file())


def test_a_new_skill_passes_check_and_is_listed(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In `.agents/skills` of the git root, from any folder below it."""
    assert run(project, "pdf-tools") == 0
    path = project / ".agents/skills/pdf-tools/SKILL.md"
    out, err = capsys.readouterr()
    assert out == f"{path}\n"
    assert err.splitlines()[0] == "next, edit the description: an agent chooses a skill by it"
    assert below(project) == [".agents/skills/pdf-tools/SKILL.md"]
    assert check(path, policy="spec") == ()
    catalog = discover(project / "sub", home=project.parent / "home")
    assert [(entry.name, entry.state) for entry in catalog.skills] == [("pdf-tools", "active")]


def test_folders_come_with_something_to_start_from(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """All of it linked from the body, the script executable, and still without findings."""
    assert run(project, "a", "--scripts", "--references", "--assets", "--description", "Does: a.", "--json") == 0
    skill = project / ".agents/skills/a"
    answer = json.loads(capsys.readouterr().out)
    assert answer.pop("hosts")
    assert answer == {"name": "a", "path": str(skill / "SKILL.md"), "host": None, "state": "active"}
    assert below(skill) == ["SKILL.md", "assets/template.md", "references/details.md", "scripts/run.sh"]
    assert check(skill, policy="spec") == ()
    assert os.access(skill / "scripts/run.sh", os.X_OK)


def test_a_skill_comes_with_tests_that_pass(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A script, a config, a fixture and two cases; nothing to find in any of it."""
    assert run(project, "word-count", "--with-tests") == 0
    skill = project / ".agents/skills/word-count"
    out, err = capsys.readouterr()
    assert out == f"{skill}/SKILL.md\n"
    assert err.splitlines()[:2] == [
        "next, edit the description: an agent chooses a skill by it",
        f"`prowess test {skill}` runs its tests",
    ]
    assert below(skill) == [
        "SKILL.md",
        "scripts/count.py",
        "tests/cases/01-sample.yaml",
        "tests/cases/02-no-file.yaml",
        "tests/fixtures/sample.txt",
        "tests/test-config.json",
    ]
    assert os.access(skill / "scripts/count.py", os.X_OK)
    assert check(skill, policy="spec") == ()
    before = {path: path.read_bytes() for path in skill.rglob("*") if path.is_file()}
    here = ["--cwd", str(project), "--home", str(project.parent / "home")]
    assert main(["test", "word-count", "--sandbox", SANDBOX, "--json", *here]) == 0
    (tested,) = json.loads(capsys.readouterr().out)["skills"]
    assert [(case["name"], case["status"]) for case in tested["cases"]] == [("sample", "passed"), ("no-file", "passed")]
    assert {path: path.read_bytes() for path in skill.rglob("*") if path.is_file()} == before


def test_the_tests_of_a_new_skill_fail_when_its_script_is_wrong(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """They test something."""
    assert run(project, "a", "--with-tests", "--scripts", "--dir", "my skills") == 0
    skill = project / "sub/my skills/a"
    assert f"`prowess test '{skill}'` runs its tests\n" in capsys.readouterr().err
    script = skill / "scripts/count.py"
    script.write_text(script.read_text().replace("text.split()", "text").replace("return 1", "raise"))
    assert main(["test", str(skill), "--sandbox", SANDBOX, "--json"]) == 1
    (tested,) = json.loads(capsys.readouterr().out)["skills"]
    assert [[failure["kind"] for failure in case["failures"]] for case in tested["cases"]] == [
        ["stdout-json"],
        ["not-contains"],
    ]


def test_a_host_has_its_own_folder(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The first of the project that its file names; a host without one wants `--dir`."""
    assert run(project, "a", "--host", "claude-code") == 0
    assert run(project, "b", "--host", "infer") == 0
    assert below(project) == [".claude/skills/a/SKILL.md", "sub/.infer/skills/b/SKILL.md"]
    capsys.readouterr()
    assert run(project, "c", "--host", "wink") == 2
    assert (
        capsys.readouterr().err
        == "error: WINK has no skills folder in a project\n\nhint: name a folder: `prowess new NAME --dir DIR`\n"
    )


def test_dir_may_be_any_folder(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With a hint if no agent searches it."""
    assert run(project, "a", "--dir", "../my skills") == 0
    assert below(project) == ["my skills/a/SKILL.md"]
    assert "hint: agents do not search this folder" in capsys.readouterr().err


def test_nothing_is_overwritten(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Neither a skill nor a dangling link of that name."""
    assert run(project, "a") == 0
    skill = project / ".agents/skills/a/SKILL.md"
    skill.write_text("mine")
    (project / ".agents/skills/b").symlink_to("nowhere")
    capsys.readouterr()
    for name in ("a", "b"):
        assert run(project, name) == 1
        assert capsys.readouterr().err == (
            f"error: {project}/.agents/skills/{name} already exists\n\nhint: choose another name, or remove it first\n"
        )
    assert below(project) == [".agents/skills/a/SKILL.md"]
    assert skill.read_text() == "mine"


@pytest.mark.parametrize(
    ("name", "message", "hint"),
    [
        ("PDF", "the name `PDF` has upper case letters", "use `pdf`"),
        ("a_b", "the name `a_b` contains `_`", "use `a-b`"),
        ("../x", "the name `../x` contains `.` `/`", "use `x`"),
        ("a--b-", "the name `a--b-` begins or ends with a hyphen, or has two in a row", "use `a-b`"),
        ("", "the name is empty", "use letters, digits and single hyphens"),
        ("!", "the name `!` contains `!`", "use letters, digits and single hyphens"),
        ("a" * 65, "the name has 65 characters; at most 64 are allowed", f"use `{'a' * 64}`"),
        ("a\x1b[31m", "the name `a\\x1b[31m` contains `\\x1b` `[`", "use `a-31m`"),
    ],
)
def test_an_invalid_name_is_an_error_with_a_valid_suggestion(
    name: str, message: str, hint: str, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing is written."""
    assert run(project, name) == 1
    assert capsys.readouterr() == ("", f"error: {message}\n\nhint: {hint}\n")
    assert below(project) == []


def test_a_host_may_refuse_a_name(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What the specification allows, `infer` need not."""
    assert run(project, "claude-x", "--host", "infer") == 1
    assert "would reject the skill: the name `claude-x` contains the reserved word `claude`" in capsys.readouterr().err
    assert below(project) == []


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


@pytest.mark.parametrize(("text", "words"), [("", "the description is empty"), ("x" * 1025, "1,025 characters")])
def test_a_wrong_description_is_refused(
    text: str, words: str, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Before anything is written."""
    assert run(project, "a", "--description", text) == 1
    assert words in capsys.readouterr().err
    assert below(project) == []


def test_a_folder_that_cannot_be_created_is_an_error(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A file where the folder should be is an error with a hint."""
    (project / ".agents").write_text("a file")
    assert run(project, "a") == 1
    err = capsys.readouterr().err
    assert err.startswith(f"error: cannot write {project}/.agents/skills/a: ")
    assert "hint: fix the permissions" in err


def test_a_full_disk_leaves_nothing(
    project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Half a skill is taken away again."""

    def full(*_arguments: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("prowess.cli._scaffold.rename_no_replace", full)
    assert run(project, "a") == 1
    assert "/.agents/skills/a: no space left on device" in capsys.readouterr().err
    assert list((project / ".agents/skills").iterdir()) == []


def test_new_as_a_process(project: Path) -> None:
    """Without a git root the working directory is the project; stdout is the path alone."""
    alone = project.parent / "alone"
    alone.mkdir()
    command = [sys.executable, "-m", "prowess", "new", "a"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=alone)
    assert (done.returncode, done.stdout) == (0, f"{alone}/.agents/skills/a/SKILL.md\n")
