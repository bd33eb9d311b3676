"""Say what all exports say alike: how a grader is called, and how each case ended."""

from __future__ import annotations

from prowess._internal.frozen import Frozen
from prowess.evals._runs import outcome_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from prowess.evals._cases import EvalCase, Grader
    from prowess.evals._outcome import Outcome
    from prowess.evals._runs import Run

WORDS = {
    "helps": "helps",
    "harms": "harms",
    "no-difference-shown": "no difference shown",
    "not-enough-runs": "not enough runs",
}
"""Each verdict in words."""


class CaseResult(Frozen):
    """How the runs of one case ended."""

    case: EvalCase
    passed: tuple[int, int]
    """Runs that pass, with the skill and without it."""
    graded: tuple[int, int]
    won: int
    """Pairs."""
    lost: int
    failed: int
    """Runs, of both arms."""


def by_case(cases: Sequence[EvalCase], runs: Iterable[Run]) -> tuple[CaseResult, ...]:
    """Return how the runs of each case ended, in the order of the plan."""
    of_case: dict[int, list[Run]] = {number: [] for number in range(len(cases))}
    for run in runs:
        of_case[run.case].append(run)
    results = []
    for number, found in of_case.items():
        graded = [[run for run in found if run.arm == arm and run.passed is not None] for arm in (0, 1)]
        pairs: dict[int, list[Run]] = {}
        for run in found:
            pairs.setdefault(run.pair, []).append(run)
        outcomes = [outcome_of(both) for both in pairs.values()]
        with_it, without = (sum(bool(run.passed) for run in some) for some in graded)
        results.append(
            CaseResult(
                case=cases[number],
                passed=(with_it, without),
                graded=(len(graded[0]), len(graded[1])),
                won=outcomes.count(1),
                lost=outcomes.count(-1),
                failed=sum(bool(run.ran.failure) for run in found),
            )
        )
    return tuple(results)


def grader_name(grader: Grader) -> str:
    """Return how a grader is called where it has one line."""
    return grader.text.strip() or grader.path or grader.kind


def result_of(outcome: Outcome) -> str:
    """Return the verdict on these cases in a few words, with its difference and the interval."""
    words = WORDS[outcome.pairs.verdict]
    if outcome.pairs.difference is None:
        return words
    low, middle, high = (outcome.pairs.difference.low, outcome.pairs.difference.median, outcome.pairs.difference.high)
    return f"{words}, {middle * 100:+.0f} points ({low * 100:+.0f} to {high * 100:+.0f})"
