"""Records of trials that a published gate judged now one way, now the other: here each has one verdict.

The numbers are of github.com/dotnet/skills, written in our form: the won, tied and lost trials of a skill, or their
scores (1 is much better, 0.4 slightly better, 0 equal). A trial is one pair of runs of a scenario of its own.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import permutations

import pytest

from prowess.evals import judge_cases, judge_pairs

Record = tuple[int, int, int]
"""Won, tied and lost."""

IDENTICAL: dict[str, tuple[Record, Record]] = {
    # Issue 952, comment of 2026-07-27: two runs of all that is the same. The first three verdicts of the gate changed.
    "coverage-analysis": ((3, 0, 0), (3, 0, 0)),
    "find-untested-sources": ((3, 1, 0), (4, 0, 0)),
    "test-tagging": ((7, 1, 1), (5, 2, 2)),
    "test-gap-analysis": ((3, 3, 0), (5, 0, 1)),
    # Pull request 974, comment of 2026-07-31: the same for another skill.
    "migrate-mstest-v1v2-to-v3": ((7, 2, 2), (4, 5, 2)),
}
SCORES = {
    # Pull request 945, comment of 2026-07-26: trials that were all won or equal, and failed at the gate.
    "crap-score": (0.4, 1.0, 0.4),
    "migrate-static-to-wrapper": (1.0, 0.4, 0.4),
    "test-gap-analysis": (0.4, 0.0, 0.4, 0.4),
    "test-anti-patterns": (0.4, 0.0, 0.4, 0.0, 0.0, 0.4),
    "code-testing-agent": (0.0, 0.4),
    # The same pull request, its description: both arms had no skill, so this is the noise of the judge, of four evals.
    "no skill in both arms": (-0.4, 0.4, 0.4, 0.0),
}
LARGER_WINS = {
    # Pull request 965, which repairs issue 952: one win is larger, and the gate turned from passed to failed.
    "three trials": ((0.4, 0.4, 0.4), (0.4, 0.4, 1.0)),
    "seven trials": ((0.4, 0.4, 0.4, 0.4, 0.0, 0.0, 0.0), (1.0, 0.4, 0.4, 0.4, 0.0, 0.0, 0.0)),
}
SMALL: dict[str, Record] = {
    # Pull request 971, comment of 2026-07-31.
    "code-testing-agent": (1, 4, 0),
    "coverage-analysis": (4, 1, 0),
    "find-untested-sources": (3, 2, 0),
    "grade-tests": (4, 1, 0),
    "generate-testability-wrappers": (4, 0, 1),
    # Pull request 945: passed at the gate.
    "crap-score": (5, 1, 0),
    # Pull request 965: the last two passed at the gate, the last one with a single trial.
    "mcp-csharp-create": (1, 1, 1),
    "mcp-csharp-publish": (2, 1, 0),
    "dotnet-webapi": (3, 0, 0),
    "technology-selection": (5, 1, 0),
    "convert-blazor-server-to-webapp": (1, 0, 0),
}


def verdicts(record: Record) -> tuple[str, str]:
    """Return the verdict on these cases and that on tasks like these."""
    won, tied, lost = record
    outcomes = [1] * won + [0] * tied + [-1] * lost
    cases = judge_cases([Fraction(outcome) for outcome in outcomes], 0)
    return judge_pairs(outcomes, len(outcomes)).verdict, cases.verdict


@pytest.mark.parametrize("skill", IDENTICAL)
def test_identical_inputs_have_one_verdict(skill: str) -> None:
    first, second = IDENTICAL[skill]
    assert verdicts(first)[0] == verdicts(second)[0] == "not-enough-runs"
    assert {word for record in (first, second) for word in verdicts(record)}.isdisjoint({"helps", "harms"})


@pytest.mark.parametrize("skill", SMALL)
def test_fewer_than_six_decided_pairs_pass_nothing(skill: str) -> None:
    won, _, lost = SMALL[skill]
    assert won + lost < 6
    assert verdicts(SMALL[skill]) == ("not-enough-runs", "not-enough-runs")


@pytest.mark.parametrize("scores", SCORES.values(), ids=SCORES)
def test_the_order_of_trials_changes_no_verdict(scores: tuple[float, ...]) -> None:
    """Neither do few of them show a difference, however large each is."""
    for order in {*permutations(scores)}:
        outcomes = [(score > 0) - (score < 0) for score in order]
        assert judge_pairs(outcomes, len(outcomes)).verdict == "not-enough-runs"
        assert judge_cases([Fraction(score) for score in order], 0).verdict == "not-enough-runs"


@pytest.mark.parametrize(("smaller", "larger"), LARGER_WINS.values(), ids=LARGER_WINS)
def test_a_larger_win_does_not_lose(smaller: tuple[float, ...], larger: tuple[float, ...]) -> None:
    """The verdict of the score stays, and its difference grows."""
    before, after = (judge_cases([Fraction(score) for score in scores], 0) for scores in (smaller, larger))
    assert before.verdict == after.verdict == "not-enough-runs"
    assert before.difference is not None
    assert after.difference is not None
    assert after.difference.median >= before.difference.median


def test_as_many_cases_as_are_needed_show_what_the_gate_did_not() -> None:
    """Winning all of six scenarios passes; the gate asked for wins of one size."""
    assert judge_cases([Fraction(score) for score in (0.4, 1.0, 0.4, 0.4, 1.0, 0.4)], 0).verdict == "helps"
    assert verdicts((6, 3, 0)) == ("helps", "helps")
