"""`prowess check` accepts findings: `--baseline`, `--ignore`, comments, and `[tool.prowess]` of the repository."""

from __future__ import annotations

import json
import shutil
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from prowess.cli import main
from support.project_commands import run_in

if TYPE_CHECKING:
    from pathlib import Path

BROKEN = "---\nname: a\ndescription: Use: it\n---\nSee [x](no.md).\n"
RULE = "[[tool.prowess.ignore]]\ncode = '{}'\nskill = 'a'\nreason = 'known'\n"

run = partial(run_in, "check")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A repository with one skill that has two warnings."""
    (tmp_path / "home").mkdir()
    top = tmp_path / "project"
    (top / ".git").mkdir(parents=True)
    write(top, "skills/a/SKILL.md", BROKEN)
    return top


def write(top: Path, path: str, text: str) -> Path:
    file = top / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
    return file


def report(project: Path, *arguments: str, capsys: pytest.CaptureFixture[str]) -> tuple[list[str], dict[str, int]]:
    """Return the codes of the findings, and the counts."""
    capsys.readouterr()
    run(project, "skills", "--json", *arguments)
    value: dict[str, Any] = json.loads(capsys.readouterr().out)
    return [item["code"] for item in value["findings"]], value["counts"]


def baseline(project: Path, capsys: pytest.CaptureFixture[str]) -> str:
    """Write a baseline beside the project; return its path."""
    capsys.readouterr()
    run(project, "skills", "--json")
    return str(write(project.parent, "baseline.json", capsys.readouterr().out))


def test_only_new_findings_fail(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Lines may move; the summary counts what the baseline accepts."""
    file = baseline(project, capsys)
    assert run(project, "skills", "--strict") == 1
    write(project, "skills/a/SKILL.md", BROKEN.replace("name: a", "# a comment\nname: a"))
    capsys.readouterr()
    assert run(project, "skills", "--strict", "--baseline", file) == 0
    out, err = capsys.readouterr()
    assert out == ""
    assert "1 skill checked: no problems, 2 in the baseline\n" in err
    assert "note" not in err
    write(project, "skills/a/SKILL.md", f"{BROKEN}See [y](no-more.md).\n")
    assert run(project, "skills", "--strict", "--baseline", file) == 1
    codes, counts = report(project, "--baseline", file, capsys=capsys)
    assert (codes, counts["warning"], counts["baseline"], counts["ignored"]) == (["link-missing"], 1, 2, 0)


def test_a_baseline_works_in_another_clone(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Its paths are relative to the repository."""
    file = baseline(project, capsys)
    clone = project.parent / "another clone"
    shutil.copytree(project, clone)
    shutil.rmtree(project)
    assert run(clone, "skills", "--strict", "--baseline", file) == 0


def test_fixed_findings_are_counted(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = baseline(project, capsys)
    write(project, "skills/a/SKILL.md", "---\nname: a\ndescription: It does.\n---\nDo it.\n")
    capsys.readouterr()
    assert run(project, "skills", "--baseline", file) == 0
    assert "note: 2 findings of the baseline are fixed\n" in capsys.readouterr().err


@pytest.mark.parametrize("content", [None, "", "{}", '{"findings": []}', '{"version": "2.1.0", "runs": []}'])
def test_a_wrong_baseline_is_an_error_of_usage(
    project: Path, content: str | None, capsys: pytest.CaptureFixture[str]
) -> None:
    """Never an empty baseline."""
    path = project.parent / "wrong.json"
    if content is not None:
        path.write_text(content, encoding="utf-8")
    capsys.readouterr()
    assert run(project, "skills", "--baseline", str(path)) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("error: ")
    assert "hint: write it with `prowess check --json > FILE`" in err


def test_an_option_ignores_codes(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Repeatable; an unknown code is an error with the most similar one."""
    assert run(project, "skills", "--strict", "--ignore", "repair-colon") == 1
    assert run(project, "skills", "--strict", "--ignore", "repair-colon", "--ignore", "link-missing") == 0
    assert "1 skill checked: no problems, 2 ignored\n" in capsys.readouterr().err
    assert run(project, "skills", "--ignore", "repair-colons") == 2
    assert capsys.readouterr().err == (
        "error: `--ignore`: unknown code of a finding `repair-colons`\n\nhint: did you mean `repair-colon`?\n"
    )


def test_files_of_the_repository_ignore_findings(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A comment, and `pyproject.toml`; each format leaves them out, and SARIF has the reasons."""
    write(project, "pyproject.toml", RULE.format("repair-colon"))
    write(project, "skills/a/SKILL.md", BROKEN.replace("name:", "# prowess: ignore link-missing: made later\nname:"))
    for form in ("text", "github", "json", "sarif", "gitlab"):
        capsys.readouterr()
        assert run(project, "skills", "--strict", "--format", form) == 0
        out, err = capsys.readouterr()
        assert "note" not in err
        if form in ("text", "github"):
            assert out == ""
            assert "1 skill checked: no problems, 2 ignored\n" in err
        if form == "sarif":
            suppressions = [result["suppressions"][0] for result in json.loads(out)["runs"][0]["results"]]
            assert [(item["kind"], item["justification"]) for item in suppressions] == [
                ("external", "known"),
                ("inSource", "made later"),
            ]
        if form == "gitlab":
            assert json.loads(out) == []
    assert report(project, capsys=capsys)[1]["ignored"] == 2
    run(project, "skills", "--quiet", "--format", "sarif")
    assert json.loads(capsys.readouterr().out)["runs"][0]["results"] == []


def test_what_ignores_nothing_is_a_note(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Not with `--quiet`."""
    write(project, "pyproject.toml", RULE.format("name-case"))
    run(project, "skills")
    assert "note: pyproject.toml: `tool.prowess.ignore` 1 matches no finding\n" in capsys.readouterr().err
    run(project, "skills", "--quiet")
    assert capsys.readouterr().err == ""


def test_an_invalid_table_is_an_error_of_usage(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(project, "pyproject.toml", "[tool.prowess]\nignores = []\n")
    assert run(project, "skills") == 2
    assert "unknown key `ignores`\n\nhint: did you mean `ignore`?" in capsys.readouterr().err


def test_a_skill_from_elsewhere_does_not_silence_its_findings(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Neither its comments nor a rule of the project count outside the repository."""
    write(project, "pyproject.toml", RULE.format("repair-colon"))
    other = write(
        project.parent, "download/a/SKILL.md", BROKEN.replace("name:", "# prowess: ignore link-missing: x\nname:")
    )
    assert run(project, str(other.parent), "--strict") == 1
    out, err = capsys.readouterr()
    assert "[repair-colon]" in out
    assert "[link-missing]" in out
    assert "1 skill checked: 2 warnings\n" in err


def test_gitlab_gets_a_report(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With paths relative to the repository, also from a folder of it."""
    assert main(["check", ".", "--cwd", str(project / "skills"), "--format", "gitlab"]) == 0
    first, _ = json.loads(capsys.readouterr().out)
    assert first["location"] == {"path": "skills/a/SKILL.md", "lines": {"begin": 3}}
    assert first["check_name"] == "repair-colon"
