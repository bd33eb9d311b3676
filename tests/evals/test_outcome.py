"""What runs show beside passing, and which graders show nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from prowess.evals import Plan, Ran, Run, judge_runs

if TYPE_CHECKING:
    from collections.abc import Callable

PLAN = Plan(cases=tuple("abcdefgh"), runs=1, arms=("with", "without"), seed=0, digest="")


def runs(of: Callable[[int, int], dict[str, Any]], grades: tuple[bool | None, ...] = (True,)) -> list[Run]:
    """Return both runs of each case; `of` gets the case and the arm."""
    both = [(case, arm, of(case, arm)) for case in range(len(PLAN.cases)) for arm in (1, 0)]
    return [
        Run(pair=case, case=case, arm=arm, grades=more.pop("grades", grades), ran=Ran(**more))
        for case, arm, more in both
    ]


def verdicts(found: list[Run]) -> dict[str, str]:
    return {name: measure.verdict.verdict for name, measure in judge_runs(PLAN, found).measures.items()}


@pytest.mark.parametrize(
    ("measure", "field", "values", "verdict"),
    [
        ("tokens", "tokens", (90, 100), "helps"),
        ("tokens", "tokens", (100, 90), "harms"),
        ("cost", "cost", (0.25, 0.5), "helps"),
        ("time", "seconds", (3.0, 2.0), "harms"),
        ("score", "grades", ((True, True, False), (True, False, False)), "helps"),
        ("score", "grades", ((False, False, None), (True, False, False)), "harms"),
    ],
)
def test_a_measure_has_a_verdict(measure: str, field: str, values: tuple[Any, Any], verdict: str) -> None:
    """Less is better, except of a score; the difference is what the runs with the skill have more."""
    outcome = judge_runs(PLAN, runs(lambda _, arm: {field: values[arm]}))
    found = outcome.measures[measure]
    assert (found.verdict.verdict, found.verdict.won) == (verdict, 8 if verdict == "helps" else 0)
    assert found.difference is not None
    is_more = found.difference.median > 0
    assert is_more is ((verdict == "helps") is (measure == "score"))
    assert found.difference.low <= found.difference.median <= found.difference.high
    assert outcome.pairs.tied == 8


def test_a_measure_that_some_run_does_not_tell_has_no_verdict() -> None:
    """An unknown count is not zero; a score with one grader a case is passing, which has its verdict."""
    found = runs(lambda case, arm: {"tokens": None if (case, arm) == (3, 1) else 5, "cost": 0.5, "seconds": 1.0})
    assert verdicts(found).keys() == {"cost", "time"}
    data: Any = judge_runs(PLAN, found).as_dict()
    assert data["measures"]["tokens"] is data["measures"]["score"] is None
    assert data["measures"]["cost"]["difference"] == {"median": 0, "low": 0, "high": 0}
    assert data["measures"]["cost"]["medians"] == [0.5, 0.5]
    assert judge_runs(PLAN, []).measures == {}


def test_a_pair_with_a_failed_run_is_not_measured() -> None:
    """Neither does its other run count."""
    found = runs(lambda case, arm: {"tokens": 1000 if not case else 5 - arm, "failure": "" if case or arm else "no"})
    tokens = judge_runs(PLAN, found).measures["tokens"]
    assert (tokens.verdict.lost, tokens.medians) == (7, (5, 4))


def test_measures_are_corrected_for_their_number() -> None:
    """Six cases of eight differ: enough for one measure, and too few for each of two."""
    one = runs(lambda case, arm: {"tokens": 5 + (arm and case < 6)})
    assert verdicts(one) == {"tokens": "helps"}
    both = runs(lambda case, arm: {"tokens": 5 + (arm and case < 6), "cost": 0.5 + (arm and case < 6)})
    assert verdicts(both) == {"tokens": "not-enough-runs", "cost": "not-enough-runs"}


def test_a_grader_that_is_the_same_in_all_runs_is_named() -> None:
    """In both arms; one that was graded in one arm alone may still tell them apart."""
    grades = {0: (True, False, True, None), 1: (True, False, False, True)}
    outcome = judge_runs(PLAN, runs(lambda _, arm: {"grades": grades[arm]})[:4])
    assert [(item.id, item.grader, item.passed, item.runs) for item in outcome.constant] == [
        ("a", 0, True, 2),
        ("a", 1, False, 2),
        ("b", 0, True, 2),
        ("b", 1, False, 2),
    ]
    assert outcome.as_dict()["same_in_all_runs"][0] == {"case": "a", "grader": 0, "passed": True, "runs": 2}  # type: ignore[index]
