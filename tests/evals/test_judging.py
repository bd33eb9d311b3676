"""Evaluations that a judge grades, or evaluators."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING, Any

import pytest

from prowess.cli import main
from prowess.errors import ConfigError
from prowess.evals import Arms, Ran, make_plan, read_evals, run_pairs
from prowess.evals.judge import Judging
from support.judges import Asker, honest, obedient
from support.skills import skill

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Evaluate = Callable[..., Any]

SKILL = ".agents/skills/greet"
AGENT = f"if [ -d {SKILL} ]; then echo good day; else echo hi; fi; echo $PWD"
SENTENCES = ["It mentions good day", "It mentions /"]


@pytest.fixture
def evaluate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Evaluate:
    """Return a function that evaluates a skill with some graders; it returns the JSON, or what an error says."""
    monkeypatch.setattr("prowess.evals.judge.ModelAsk", Asker)
    monkeypatch.setattr(Asker, "function", staticmethod(Asker.function))
    monkeypatch.chdir(tmp_path)
    skill(tmp_path / "greet")
    (tmp_path / "greet/evals").mkdir()

    def run(graders: list[Any], *options: str, count: int = 7, code: int = 0) -> Any:
        cases = [{"id": f"c{number}", "prompt": f"Greet {number}", "assertions": graders} for number in range(count)]
        (tmp_path / "greet/evals/evals.json").write_text(json.dumps({"evals": cases}))
        assert main(["eval", "./greet", "--via", AGENT, "--json", "--runs", "2", *options]) == code
        captured = capsys.readouterr()
        return captured.err if code else json.loads(captured.out)

    return run


def test_a_judge_grades_what_code_cannot(evaluate: Evaluate) -> None:
    """A skill that changes the answer helps; the judge is in the plan, and says how often it agrees with itself."""
    data = evaluate(SENTENCES, "--judge", "openai:gpt-5")
    assert data["helps"]["on_these_cases"] == "helps"
    assert (data["plan"]["judge"], data["helps"]["pairs"]["won"]) == ("openai:gpt-5", 11)
    judge = data["judge"]
    assert (judge["name"], judge["judgments"], judge["undecided"]) == ("openai:gpt-5", 44, 0)
    assert 0 < judge["asked_twice"] == judge["agreed"] <= 44
    assert judge["cost"] == judge["tokens"] / 10 * 0.25
    same = {(item["grader"], item["passed"]) for item in data["helps"]["same_in_all_runs"]}
    assert same == {(1, True)}


def test_without_a_judge_sentences_are_left_out(evaluate: Evaluate) -> None:
    assert "no case has a grader that needs no judge" in evaluate(SENTENCES, code=2)
    data = evaluate([*SENTENCES, {"type": "contains", "value": "good day"}])
    assert (data["plan"]["judge"], data["judge"], data["helps"]["pairs"]["won"]) == (None, None, 11)


def test_the_judge_is_not_shown_which_arm_a_run_is_of(evaluate: Evaluate, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither the folder of the skill nor what is in it; the messages of both arms differ by the answers alone."""
    messages: list[str] = []

    def remember(instructions: str, message: str) -> str:
        messages.append(message)
        return honest(instructions, message)

    monkeypatch.setattr(Asker, "function", staticmethod(remember))
    evaluate(SENTENCES, "--judge", "a:b", "--max-runs", "2", count=1)
    works = [message for message in messages if "Greet 0" in message]
    assert len({work.partition("> /")[0] for work in works}) >= 2
    assert all(SKILL not in work and "greet" not in work.partition("> /")[0] for work in works)


def test_a_judge_that_follows_the_work_does_not_judge(evaluate: Evaluate, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing runs."""
    monkeypatch.setattr(Asker, "function", staticmethod(obedient))
    message = evaluate(SENTENCES, "--judge", "a:b", code=2)
    assert "`a:b` follows instructions in what it judges, so it cannot judge" in message


def test_two_answers_are_compared(evaluate: Evaluate) -> None:
    """Both runs of a pair, in both orders; a tie is a tie."""
    data = evaluate([{"type": "pairwise", "prompt": "Which one is more polite?"}], "--judge", "a:b")
    assert (data["helps"]["on_these_cases"], data["helps"]["pairs"]["won"]) == ("helps", 11)
    data = evaluate([{"type": "pairwise"}], "--judge", "a:b", "--null")
    assert data["helps"]["pairs"] == {"won": 0, "lost": 0, "tied": 14}


def test_the_cost_of_the_judge_counts(tmp_path: Path) -> None:
    """A pair that it makes too expensive does not count; a judge whose price is not known cannot be limited."""
    skill(tmp_path / "greet")
    (tmp_path / "greet/evals").mkdir()
    cases = [{"prompt": "Greet", "assertions": SENTENCES[:1]}]
    (tmp_path / "greet/evals/evals.json").write_text(json.dumps({"evals": cases}))
    evals = read_evals(str(tmp_path / "greet"))
    plan, arms, judging = make_plan(evals, 9, 0, judge="a:b"), Arms(evals), Judging(Asker("a:b"))
    judging.check(has_limit=True)
    assert judging.take_cost() == judging.cost == 6 * 0.25
    runs = run_pairs(Free(), arms, plan, judging=judging, cost=2.1)
    # A message for each run, and another one if it is asked twice: a pair costs from 0.5 to 1.
    assert 4 <= len(runs) <= 8
    assert all(run.passed is False for run in runs)
    unknown = Asker("a:b")
    unknown.says_cost = False
    with pytest.raises(ConfigError, match="what the judge a:b costs is not known"):
        Judging(unknown).check(has_limit=True)


class Free:
    """An agent that answers and costs nothing."""

    name, version, skills, host = "free", "", ".agents/skills", "prowess"
    arguments: tuple[str, ...] = ()
    says_steps, says_cost = False, True

    def run(self, *_: object) -> Ran:
        """Return an answer."""
        return Ran(answer=b"hi", cost=0.0)


@pytest.mark.parametrize("graders", [SENTENCES, [{"type": "pairwise"}]], ids=["sentences", "comparison"])
def test_judged_runs_are_recorded(graders: list[Any], evaluate: Evaluate, capsys: pytest.CaptureFixture[str]) -> None:
    """The same verdict without the judge, and its agreement with itself; a recorded evaluation goes on with it."""
    data = evaluate(graders, "--judge", "a:b", "--out", "record", "--max-runs", "6")
    assert data["helps"]["pairs"]["won"] == 3
    assert main(["eval", "--resume", "record", "--json", "--max-runs", "28"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert (data["helps"]["on_these_cases"], data["helps"]["pairs"]["won"]) == ("helps", 11)
    assert main(["eval", "--replay", "record", "--json"]) == 0
    replayed = json.loads(capsys.readouterr().out)
    assert (replayed["helps"], replayed["plan"]) == (data["helps"], data["plan"])
    assert replayed["judge"] == {name: data["judge"][name] for name in ("name", "asked_twice", "agreed")}
    assert main(["eval", "--replay", "record"]) == 0
    assert "judge: a:b, agreement with itself: " in capsys.readouterr().out
    assert main(["eval", "grade", "record", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["helps"] == data["helps"]


def test_both_runs_of_a_half_pair_that_is_compared_run_again(evaluate: Evaluate, tmp_path: Path) -> None:
    """What one of them left is gone, and a comparison needs both."""
    options = ("--judge", "a:b", "--max-runs", "6")
    evaluate([{"type": "pairwise"}], *options, "--out", "whole")
    evaluate([{"type": "pairwise"}], *options, "--out", "part")
    shutil.rmtree(tmp_path / "part/runs/00001-with")
    assert main(["eval", "--resume", "part"]) == 0
    grades = [
        [json.loads(path.read_text())["grades"] for path in sorted((tmp_path / name).glob("runs/*/run.json"))]
        for name in ("whole", "part")
    ]
    assert grades[0] == grades[1] == [[True], [False]] * 3


def test_an_evaluator_grades_all_cases(evaluate: Evaluate, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Also those without any other grader; one that fails decides nothing, and that is said."""
    (tmp_path / "checks.py").write_text(
        "class Polite:\n    def evaluate(self, ctx):\n        return 'good day' in ctx.output\n"
        "class Broken:\n    def evaluate(self, ctx):\n        return 1 / 0\n"
    )
    options = ("--evaluator", "checks.py:Polite", "--evaluator", "checks.py:Broken")
    data = evaluate([], *options, "--out", "record")
    assert (data["helps"]["on_these_cases"], data["helps"]["pairs"]["won"]) == ("helps", 11)
    assert main(["eval", "--replay", "record", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["helps"] == data["helps"]
    assert main(["eval", "./greet", "--via", AGENT, "--max-runs", "2", *options]) == 0
    assert "an evaluator failed 2 times; the first: checks.py:Broken: ZeroDivisionError" in capsys.readouterr().err
    assert "`--evaluator` needs `--model` or `--via`" in no_agent(capsys, *options)


def no_agent(capsys: pytest.CaptureFixture[str], *options: str) -> str:
    assert main(["eval", "./greet", *options]) == 2
    return capsys.readouterr().err
