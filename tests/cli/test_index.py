from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import pytest

from prowess.cli import main

if TYPE_CHECKING:
    from pathlib import Path


def skill(folder: Path, name: str | None = None, description: str = "Use it when a test needs a skill.") -> Path:
    folder.mkdir(parents=True)
    text = f"---\nname: {name or folder.name}\ndescription: {description}\n---\nDo it.\n"
    (folder / "SKILL.md").write_text(text)
    return folder


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_every_skill_below_the_folder_is_written(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A skill inside another one is a part of that."""
    skill(project / "skills/pdf")
    skill(project / "skills/pdf-more")
    skill(project / "skills/pdf/inner")
    assert main(["index", "skills", "-o", "site"]) == 0
    captured = capsys.readouterr()
    assert captured.out == "pdf: pdf.tar.gz\npdf-more: pdf-more/SKILL.md\n"
    assert captured.err.splitlines()[-1] == f"2 skills in {os.path.join('site', '.well-known/agent-skills')}"
    index = json.loads((project / "site/.well-known/agent-skills/index.json").read_text())
    assert [entry["name"] for entry in index["skills"]] == ["pdf", "pdf-more"]


def test_an_output_inside_the_folder_is_not_read_again(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    skill(project / "skills/pdf")
    for _ in range(2):
        assert main(["index", ".", "-o", "."]) == 0
        assert capsys.readouterr().out == "pdf: pdf/SKILL.md\n"


def test_errors_of_a_skill_end_the_command_before_anything_is_written(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    skill(project / "skills/pdf")
    skill(project / "skills/bad", description="!tag [")
    assert main(["index", "skills", "-o", "site"]) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "bad/SKILL.md" in captured.err
    assert captured.err.splitlines()[-1] == "nothing written"
    assert not (project / "site").exists()
    assert main(["index", "skills", "-o", "site", "--json"]) == 1
    output = json.loads(capsys.readouterr().out)
    assert output["skills"] == []
    assert output["findings"][0]["severity"] == "error"


def test_a_folder_without_skills_is_a_failure(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / "empty").mkdir()
    assert main(["index", "empty", "-o", "site"]) == 1
    assert not (project / "site").exists()
    assert "nothing written" in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [["missing", "-o", "site"], [".", "-o", ""], ["."]])
def test_wrong_arguments_are_wrong_use(arguments: list[str]) -> None:
    assert main(["index", *arguments]) == 2


def test_an_output_that_cannot_be_written_is_a_failure(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    skill(project / "skills/pdf")
    (project / "site").write_text("a file")
    assert main(["index", "skills", "-o", "site"]) == 1
    assert "cannot write" in capsys.readouterr().err


def test_a_snapshot_is_written_in_place_of_a_site(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """At any depth; what cannot be used is left out and reported."""
    skill(project / "skills/pdf")
    skill(project / "skills/a/b/c/wiki")
    skill(project / "skills/z/pdf")
    assert main(["index", "skills", "--snapshot", "out"]) == 0
    captured = capsys.readouterr()
    assert captured.out == "2 skills in out\n"
    assert captured.err.splitlines()[-1] == "2 read, 2 archives written"
    assert "skills/z/pdf/SKILL.md: warning: left out of the snapshot: " in captured.err
    assert not (project / "out/.well-known").exists()
    assert main(["index", "skills", "--snapshot", "out", "--json"]) == 0
    written = json.loads(capsys.readouterr().out)
    assert (written["output"], written["skills"], written["archives"]) == (str(project / "out"), 2, 0)
    assert written["sha256"] == json.loads((project / "out/snapshot.json").read_text())["sha256"]
    assert main(["index", "skills/pdf", "--snapshot", "one"]) == 0
    assert capsys.readouterr().out == "1 skill in one\n"
    assert main(["search", "pdf", "--from", "one", "--json"]) == 0
    (hit,) = json.loads(capsys.readouterr().out)["results"]
    assert hit["path"] == f"snapshot+file://{project}/one/pdf/SKILL.md"


def test_a_snapshot_without_skills_fails(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / "skills").mkdir()
    assert main(["index", "skills", "--snapshot", "out"]) == 1
    assert "hint: name a folder with skills; `prowess new NAME` creates one" in capsys.readouterr().err
    for arguments in (["--snapshot", ""], ["--snapshot", "out", "-o", "site"], []):
        assert main(["index", "skills", *arguments]) == 2
