"""Evaluations that are shared out, graded again, and run again with another agent."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING, Any

import pytest

from prowess import sandbox
from prowess.evals import _grade, read_record, regrade
from prowess.evals._plan import pairs_of
from support.recorded_evals import AGENT, SKILL, content, edit, greet, record

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Output = tuple[int, str, str]

RUN = ("./greet", "--runs", "3", "--via")
HELPS = f"test -d {SKILL} && echo good day; rm -f gone.txt; echo 'Greet 1: 1\ngiven' > out.txt; true"


@pytest.mark.slow
def test_parts_are_joined_into_the_record_of_one_evaluation(run: Callable[..., Output], tmp_path: Path) -> None:
    """Byte for byte; what one evaluation would not have run is left out, which is said."""
    assert run(*RUN, HELPS, "--out", "whole")[0] == 0
    assert len(read_record(str(tmp_path / "whole")).runs) == 22
    parts = [f"part{number}" for number in range(1, 9)]
    for number, part in enumerate(parts, 1):
        assert run(*RUN, HELPS, "--out", part, "--shard", f"{number}/8")[0] == 0
    plan = read_record(str(tmp_path / "whole")).plan
    assert len(pairs_of(plan)) == 18
    code, output, errors = run("merge", *reversed(parts), "--out", "merged")
    assert code == 0
    assert "left out 14 runs after the pair at which one evaluation would have ended" in errors
    assert content(tmp_path / "merged") == content(tmp_path / "whole")
    assert output == run("--replay", "merged")[1]
    assert run("--resume", "merged")[0] == 0


def test_parts_that_do_not_belong_together_are_refused(run: Callable[..., Output], tmp_path: Path) -> None:
    """A missing one is named, and one that is there twice; nothing is written."""
    for number in (1, 2):
        run("./greet", "--runs", "1", "--via", AGENT, "--out", f"part{number}", "--shard", f"{number}/3")
    run("./greet", "--runs", "1", "--via", "true", "--out", "other", "--shard", "3/3")
    shutil.copytree(tmp_path / "part1", tmp_path / "copy")
    for words, message, hint in (
        (("part1", "part2"), "is in no part", "also name the folder of part 3/3"),
        (("part1", "copy"), "have the same runs", "name each part once"),
        (("part1", "other"), "is not of the evaluation in", "the same skill, cases, options and agent"),
        (("part1", "missing"), "no such folder", "check the path"),
    ):
        code, _, errors = run("merge", *words, "--out", "merged")
        assert code == 2
        assert message in errors
        assert hint in errors
    assert not (tmp_path / "merged").exists()
    assert "`prowess eval merge` needs `--out`" in run("merge", "part1", "part2")[2]
    assert "`--via` cannot be used here" in run("merge", "part1", "--out", "x", "--via", "true")[2]
    for shard in ("0/3", "4/3", "1", "a/b", "1/0", "/"):
        assert "must be a part and the number of parts" in run(*RUN, "true", "--out", "x", "--shard", shard)[2]
    assert "`--shard` needs `--out`" in run(*RUN, "true", "--shard", "1/2")[2]


def test_a_merge_that_was_killed_begins_again(run: Callable[..., Output], tmp_path: Path) -> None:
    record(tmp_path, tmp_path / "run1", runs=1, most=12)
    for name in ("cases/0/given.txt", "runs/00000-with/run.json"):
        (tmp_path / "merged" / name).parent.mkdir(parents=True)
        (tmp_path / "merged" / name).write_text("half")
    assert run("merge", "run1", "--out", "merged")[0] == 0
    assert content(tmp_path / "merged") == content(tmp_path / "run1")


def test_runs_are_graded_again_without_running(run: Callable[..., Output], tmp_path: Path) -> None:
    """By the same graders the same; by others, as if they had been there. Files of a case count too."""
    record(tmp_path, tmp_path / "run1", runs=1, command=HELPS)
    before = content(tmp_path / "run1")
    code, output, errors = run("grade", "run1")
    assert (code, output) == (0, run("--replay", "run1")[1])
    assert "0 runs of 12 graded otherwise than before" in errors
    data = json.loads((tmp_path / "greet/evals/evals.json").read_text())
    for case in data["evals"]:
        case["assertions"] = [
            {"type": "file-contains", "path": "given.txt", "value": "given"},
            {"type": "file-not-exists", "path": "gone.txt"},
            {"type": "not-contains", "value": "good day"},
        ]
    data["evals"][5]["prompt"] = "Another task"
    (tmp_path / "new.json").write_text(json.dumps(data))
    code, output, errors = run("grade", "run1", "--cases", "new.json", "--out", "run2", "--json")
    assert code == 0
    assert "10 runs of 12 graded otherwise than before" in errors
    assert "1 case not in the file, or with another prompt" in errors
    assert json.loads(output)["helps"]["pairs"] == {"won": 1, "lost": 5, "tied": 0}
    assert run("--replay", "run2", "--json")[1] == output
    assert content(tmp_path / "run1") == before
    assert read_record(str(tmp_path / "run2")).plan != read_record(str(tmp_path / "run1")).plan


def test_what_was_not_kept_is_not_graded_again(tmp_path: Path) -> None:
    """A secret was removed, so the grader that looked for it keeps its grade."""
    greet(tmp_path, 1)
    secret = "ghp_" + "q7Rz2Wm9Kx" * 4
    evals = tmp_path / "greet/evals/evals.json"
    edit(evals, lambda it: it["evals"][0].update(assertions=[{"type": "contains", "value": secret}]))
    record(tmp_path, tmp_path / "run1", runs=1, command=f"echo {secret}")
    recorded = read_record(str(tmp_path / "run1"))
    assert [run.grades for run in recorded.runs] == [(True,), (True,)]
    found = regrade(recorded)
    assert [run.grades for run in found.runs] == [(True,), (True,)]
    assert found.partial == 2


def test_many_runs_are_graded_with_few_programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And without their answers in memory."""
    greet(tmp_path, 4)
    record(tmp_path, tmp_path / "run1", runs=2, command=HELPS)
    programs = []

    def counted(*args: Any, **named: Any) -> Any:
        programs.append(args)
        return sandbox.run(*args, **named)

    monkeypatch.setattr(_grade, "run", counted)
    found = regrade(read_record(str(tmp_path / "run1")))
    assert len(found.runs) == 16
    assert len(programs) == 1
    assert {(run.ran.answer, run.ran.steps) for run in found.runs} == {(b"", None)}


def test_the_plan_runs_again_with_another_agent(run: Callable[..., Output], tmp_path: Path) -> None:
    """Its verdict is beside that of the record."""
    run("./greet", "--runs", "2", "--via", HELPS, "--out", "run1")
    code, output, _ = run(
        "--again", "run1", "--via", HELPS.replace(f"test -d {SKILL} && ", ""), "--json", "--out", "run2"
    )
    assert code == 0
    data = json.loads(output)
    assert data["helps"]["pairs"] == {"won": 0, "lost": 0, "tied": 12}
    assert data["before"]["helps"]["pairs"] == {"won": 11, "lost": 0, "tied": 0}
    assert (data["before"]["agent"], data["before"]["still_needed"]) == (HELPS, "not-shown")
    assert data["plan"] == json.loads(run("--replay", "run1", "--json")[1])["plan"]
    assert run("--again", "run1", "--via", HELPS)[1].endswith("still needed: yes\n")
    assert "`--again` needs another agent" in run("--again", "run1")[2]
    (tmp_path / "greet/more.md").write_text("x")
    assert "are not those of" in run("--again", "run1", "--via", HELPS)[2]
