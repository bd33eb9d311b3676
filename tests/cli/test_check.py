"""`prowess check`: findings under a policy, in four formats, and repairs on the disk."""

from __future__ import annotations

import json
import os
import sys
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from prowess._internal.text import display_width
from prowess.checks._check import check
from prowess.cli import main
from prowess.findings import CODES
from support.project_commands import run_in

if TYPE_CHECKING:
    from pathlib import Path

GOOD = "---\nname: {0}\ndescription: Does {0} when due.\n---\nDo it.\n"


def write(top: Path, path: str, text: str | bytes) -> Path:
    file = top / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(text.encode() if isinstance(text, str) else text)
    return file


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Create a repository and a home with one agent, Codex."""
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    (tmp_path / "home/.codex").mkdir(parents=True)
    top = tmp_path / "project"
    (top / ".git").mkdir(parents=True)
    return top


run = partial(run_in, "check")


def codes(project: Path, *arguments: str, capsys: pytest.CaptureFixture[str]) -> list[tuple[str, str]]:
    run(project, *arguments, "--json")
    return [(item["severity"], item["code"]) for item in json.loads(capsys.readouterr().out)["findings"]]


def test_sarif_has_rules_and_escaped_relative_places(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Paths are relative to the git root and percent-encoded; there is a rule for each code."""
    write(project, "my skills/é#1/SKILL.md", "---\nname: b\ndescription: It does all when due.\n---\nDo it.\n")
    assert main(["check", ".", "--cwd", str(project / "my skills"), "--format", "sarif"]) == 0
    log: dict[str, Any] = json.loads(capsys.readouterr().out)
    run = log["runs"][0]
    assert (log["version"], run["tool"]["driver"]["name"]) == ("2.1.0", "prowess")
    assert [rule["id"] for rule in run["tool"]["driver"]["rules"]] == list(CODES)
    assert run["originalUriBaseIds"] == {"SRCROOT": {"uri": f"{project.as_uri()}/"}}
    place = {
        "artifactLocation": {"uri": "my%20skills/%C3%A9%231/SKILL.md", "uriBaseId": "SRCROOT"},
        "region": {"startLine": 2, "startColumn": 1},
    }
    assert run["results"] == [
        {
            "ruleId": "name-not-folder",
            "ruleIndex": list(CODES).index("name-not-folder"),
            "level": "warning",
            "message": {"text": "the name `b` differs from the folder name `é#1`; rename the folder to `b`"},
            "locations": [{"physicalLocation": place}],
            "partialFingerprints": run["results"][0]["partialFingerprints"],
        }
    ]


def test_a_walk_ends(project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Past the limit of folders there is a finding, not silence."""
    monkeypatch.setattr("prowess.checks._check_file.MAX_FOLDERS", 3)
    for number in range(5):
        (project / f"f{number}").mkdir()
    write(project, ".a/SKILL.md", GOOD.format("b"))
    found = codes(project, ".", capsys=capsys)
    assert found == [("warning", "name-not-folder"), ("warning", "folder-limit")]


def test_a_folder_that_cannot_be_listed(
    project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Named, it is an error; below another one, a warning."""

    def refused(path: str) -> Any:
        if path.endswith("closed"):
            raise PermissionError(13, "Permission denied", path)
        return scandir(path)

    scandir = os.scandir
    monkeypatch.setattr("os.scandir", refused)
    write(project, "a/SKILL.md", GOOD.format("a"))
    (project / "closed").mkdir()
    assert codes(project, ".", capsys=capsys) == [("warning", "folder-unreadable")]
    assert codes(project, "closed", capsys=capsys) == [("warning", "folder-unreadable"), ("error", "file-missing")]


def test_the_python_function_returns_findings(project: Path) -> None:
    """`check` is what the command runs."""
    write(project, "a/SKILL.md", GOOD.format("b"))
    (found,) = check(project / "a", policy="spec")
    assert (found.code, found.severity, found.path) == ("name-not-folder", "error", str(project / "a" / "SKILL.md"))
    assert check(cwd=project, home=project.parent / "home", hosts=["codex"]) == ()


@pytest.mark.parametrize(
    "arguments", [(), ("--host", "codex"), ("--host", "infer"), ("--policy", "spec"), ("--quiet",)]
)
@pytest.mark.parametrize("file", [None, "dist/skills/a/SKILL.md"])
def test_without_skills_the_exit_code_is_1(
    project: Path, arguments: tuple[str, ...], file: str | None, capsys: pytest.CaptureFixture[str]
) -> None:
    """Also if there are findings, such as an agent that is switched off."""
    (project / ".gitignore").write_text("dist\n")
    if file is not None:
        (project / file).parent.mkdir(parents=True)
        (project / file).write_text("---\nname: a\ndescription: A.\n---\nDo it.\n")
    assert run(project, *arguments) == 1
    assert ("no skills found" in capsys.readouterr().err) is ("--quiet" not in arguments)
    assert run(project, *arguments, "--format", "json") == 1
    assert json.loads(capsys.readouterr().out)["counts"]["skills"] == 0
    assert run(project, *arguments, "--allow-empty") == 0


@pytest.mark.parametrize(("arguments", "code"), [((), 0), (("--host", "codex"), 1), (("--policy", "spec"), 0)])
def test_a_file_with_another_spelling_is_a_skill_with_a_finding(
    project: Path, arguments: tuple[str, ...], code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    """An error for an agent that does not load it, else a warning, as some agents do."""
    write(project, "skills/a/skill.md", GOOD.format("a"))
    assert run(project, *arguments, "--format", "json") == code
    result = json.loads(capsys.readouterr().out)
    assert (result["counts"]["skills"], [item["code"] for item in result["findings"]]) == (1, ["file-name-case"])


# ── --fix ────────────────────────────────────────────────────────────────────────────────────────────────────────────

BROKEN = b"\xef\xbb\xbf---  \r\ndescription: Use: it\r\nallowed_tools: Read\r\n--- \r\nbody \r\n"


def test_a_file_that_cannot_be_fixed_is_reported(
    project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder without permission is an error with a hint; permissions do not bind root, so the refusal is played."""
    file = write(project, "a/SKILL.md", BROKEN)

    def refuse(*_arguments: object, **_options: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("prowess.skill._fix_file.exchange_names", refuse)
    assert run(project, "a", "--fix") == 1
    assert f"error: cannot fix {file}: permission denied" in capsys.readouterr().err


def test_fix_survives_a_full_disk(
    project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file is as it was, nothing is left beside it, and the rest goes on."""

    def full(_fd: int, _data: bytes) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("prowess.skill._fix_file.write_all", full)
    file = write(project, "a/SKILL.md", BROKEN)
    assert run(project, "a", "--fix", "--quiet") == 1
    assert (file.read_bytes(), os.listdir(file.parent)) == (BROKEN, ["SKILL.md"])
    assert capsys.readouterr().err == (
        f"error: cannot fix {file}: no space left on device\n\n"
        "hint: fix the permissions of its folder, or free disk space\n"
    )


def test_a_terminal_shows_the_first_of_each_kind(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """With counts, in lines that fit it; `--full` and a pipe show all of them."""
    for number in range(10):
        name = f"release-notes-for-people-who-read-them-{number}"
        text = f"---\nname: {name}\ndescription: Use: when kind{number}\n---\nDo it.\n"
        write(project, f".agents/skills/{name}/SKILL.md", text)
    write(project, ".agents/skills/empty/SKILL.md", "---\nname: empty\ndescription:\n---\nDo it.\n")
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("NO_COLOR", "1")
    assert run(project) == 1
    piped = capsys.readouterr().out
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    assert run(project) == 1
    shown, words = capsys.readouterr()
    assert run(project, "--full") == 1
    assert capsys.readouterr().out.count("[loads/repair-colon]") == piped.count("[loads/repair-colon]") == 10
    assert [line for line in shown.splitlines() if "[" in line] == [
        "error: the description is empty [loads/description-empty], 1 time",
        "warning: an unquoted value contains `: ` [loads/repair-colon], 10 times",
    ]
    assert "  ... and 7 more\n" in shown
    assert run(project, "--format", "github") == 1
    assert capsys.readouterr().out.count("title=repair-colon::") == 10
    assert "11 skills checked: 1 error, 10 warnings; `prowess check --full` shows each\n" in words
    too_long = [line for line in (shown + words).splitlines() if display_width(line) > 80]
    assert [line for line in too_long if "/" not in line] == []
