"""`prowess eval`, and the findings of evals in `prowess check`; the output is in `tests/cases/cli/eval.md`."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import pytest

from prowess.cli import main
from support.skills import skill

if TYPE_CHECKING:
    from pathlib import Path

CASES = '{"evals": [{"prompt": "Fill the form", "assertions": ["It says Ada"], "files": [%s]}]}'


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a skill in a project."""
    (tmp_path / "project/.git").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "project")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PROWESS_CACHE_DIR", str(tmp_path / "cache"))
    return skill(tmp_path / "project/.agents/skills/pdf").parent


def run(capsys: pytest.CaptureFixture[str], *line: str) -> Any:
    main([*line, "--json"])
    return json.loads(capsys.readouterr().out)


def check_codes(capsys: pytest.CaptureFixture[str]) -> list[str]:
    found = run(capsys, "check", "--host", "prowess")["findings"]
    return [item["code"] for item in found if item["code"].startswith("eval-")]


def test_check_is_never_older_than_the_evals(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Whatever it kept: a new file, a changed one, a fixture outside of the skill, a file that is removed."""
    assert check_codes(capsys) == []
    (folder / "evals").mkdir()
    file = folder / "evals/evals.json"
    file.write_text(CASES % '"../../../form.txt"')
    assert check_codes(capsys) == check_codes(capsys) == ["eval-invalid"]
    (folder.parents[2] / "form.txt").write_text("Name:")
    assert check_codes(capsys) == check_codes(capsys) == ["eval-unsound"]  # no case is about another task
    file.write_text(CASES.replace("prompt", "promt") % "")
    assert check_codes(capsys) == ["eval-invalid", "eval-unknown"]
    file.unlink()
    assert check_codes(capsys) == []


def test_check_says_only_that_no_case_is_about_another_task(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As information, at its place; `eval` says more of what an eval cannot show."""
    (folder / "evals").mkdir()
    file = folder / "evals/evals.json"
    file.write_text(CASES % "")
    (found,) = [item for item in run(capsys, "check", "--host", "codex")["findings"] if item["code"] == "eval-unsound"]
    assert (found["severity"], found["line"], found["column"]) == ("info", 1, 1)
    assert found["message"] == "no case is one in which the skill must not be used"
    assert len(run(capsys, "eval", "pdf")["sound"]["findings"]) > 1
    cases = json.loads(file.read_text())
    cases["evals"].append({"id": "other", "prompt": "Sing a song", "should_trigger": False})
    file.write_text(json.dumps(cases))
    assert check_codes(capsys) == []


def test_a_plan_has_a_digest_of_what_it_runs(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The same for the same cases, another one for each change."""
    (folder / "evals").mkdir()
    file = folder / "evals/evals.json"
    file.write_text(CASES % "")
    plans = [run(capsys, "eval", "pdf", *more)["plan"] for more in ((), (), ("--runs", "4"), ("--seed", "1"))]
    file.write_text(CASES.replace("Ada", "Bob") % "")
    plans.append(run(capsys, "eval", "pdf")["plan"])
    digests = [plan["digest"] for plan in plans]
    assert digests[0] == digests[1]
    assert len({*digests}) == 4
    assert [plan["runs"] for plan in plans] == [3, 3, 4, 3, 3]


def test_the_digest_of_a_plan_covers_the_files_that_its_runs_get(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Those of the cases, those of the skill, and those of the version that it is compared with."""
    old = skill(folder.parents[3] / "old/pdf", body="Older.").parent
    case = {"prompt": "Fill it", "files": ["form.txt"], "assertions": [{"type": "contains", "value": "Ada"}]}
    judged = {"prompt": "Tell a joke", "assertions": ["It is funny"]}
    cases = folder.parents[2] / "cases.json"
    cases.write_text(json.dumps({"evals": [case, judged]}))
    (folder.parents[2] / "form.txt").write_text("Name:")
    line = ["eval", "pdf", "--cases", "cases.json", "--via", "cat", "--runs", "1", "--against", str(old)]
    found = [run(capsys, *line)]
    for file in (folder.parents[2] / "form.txt", folder / "SKILL.md", old / "SKILL.md"):
        file.write_text(f"{file.read_text()}changed\n")
        found.append(run(capsys, *line))
    found.append(run(capsys, *line))
    assert len({result["plan"]["digest"] for result in found}) == 4
    assert found[-1]["plan"] == found[-2]["plan"]
    # Only the case that runs is planned; the search ranks the skill for both.
    assert found[0]["plan"]["cases"] == ["1"]
    assert found[0]["sound"]["power"]["pairs"] == 1
    assert len(found[0]["found"]["ranks"]) == 2


def test_options_of_runs_need_a_command(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """They would do nothing."""
    assert folder.is_dir()
    for option in (
        ["--fail-on", "harms"],
        ["--max-runs", "4"],
        ["--max-time", "9"],
        ["--null"],
        ["--all"],
        ["--against", "pdf"],
    ):
        assert main(["eval", "pdf", *option]) == 2
        assert f"`{option[0]}` needs `--model` or `--via`" in capsys.readouterr().err
    for text in ("1", "0", "-2", "two"):
        assert main(["eval", "pdf", "--via", "cat", "--max-runs", text]) == 2
        assert "must be a whole number from 2" in capsys.readouterr().err


def test_a_replay_writes_no_record(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["eval", "pdf", "--replay", str(folder), "--out", "new"]) == 2
    assert "`--out` and `--replay` exclude each other" in capsys.readouterr().err


def test_a_first_file_is_not_written_through_a_link(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A link of a project may not lead out of it."""
    outside = folder.parents[3] / "outside"
    outside.mkdir()
    (folder / "evals").symlink_to(outside)
    assert main(["eval", "init", "pdf"]) == 2
    assert "is a link to" in capsys.readouterr().err
    assert os.listdir(outside) == []


def test_a_first_file_has_no_finding_but_what_must_be_replaced(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["eval", "init", str(folder)]) == 0
    capsys.readouterr()
    result = run(capsys, "eval", "pdf")
    assert len(result["plan"]["cases"]) == 6
    assert all(
        item["message"].endswith("is the one that `prowess eval init` wrote") for item in result["sound"]["findings"]
    )
    triggers = [rank["should_trigger"] for rank in result["found"]["ranks"]]
    assert triggers.count(True) == triggers.count(False)
