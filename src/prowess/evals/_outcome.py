"""Say what some runs show: the same runs give the same verdicts on every machine."""

from __future__ import annotations

from fractions import Fraction
from statistics import median

from prowess._internal.frozen import Frozen

from ._plan import pairs_of
from ._runs import outcome_of
from ._statistics import judge_cases, judge_measures, judge_pairs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from ._plan import Plan
    from ._runs import Run
    from ._statistics import Difference, Verdict

MEASURES: dict[str, Callable[[Run], Fraction | float | None]] = {
    "score": lambda run: run.score,
    "tokens": lambda run: run.ran.tokens,
    "time": lambda run: run.ran.seconds or None,
    "cost": lambda run: run.ran.cost,
}
"""What is measured of a run beside passing; of all but the score, less is better."""


class Measure(Frozen):
    """What one measure shows, over the pairs in which both runs are graded."""

    verdict: Verdict
    """A case is won if the skill is better in it."""
    difference: Difference | None
    """How much more the runs with the skill have, in the mean of the cases."""
    medians: tuple[float, float]
    """Of the runs with the skill, and of the others."""

    def as_dict(self) -> dict[str, object]:
        """Return it in the shape of `--json`."""
        verdict = self.verdict
        return {
            "verdict": verdict.verdict,
            "cases": {"won": verdict.won, "lost": verdict.lost, "tied": verdict.tied},
            "difference": None if self.difference is None else self.difference.as_dict(),
            "medians": [round(value, 4) for value in self.medians],
        }


class ConstantGrade(Frozen):
    """A grader that all runs of both arms pass, or that all fail: it says nothing about the skill."""

    case: int
    """The place of its case in the plan, from 0."""
    id: str
    """Of the case."""
    grader: int
    """Its place in the case, from 0."""
    passed: bool
    runs: int

    def as_dict(self) -> dict[str, object]:
        """Return it in the shape of `--json`."""
        return {"case": self.id, "grader": self.grader, "passed": self.passed, "runs": self.runs}


class Outcome(Frozen):
    """What some runs show."""

    pairs: Verdict
    """The verdict on these cases."""
    cases: Verdict
    """The verdict on tasks like these."""
    planned: int
    """Pairs of the plan, without the runs that show only whether the skill is chosen."""
    done: int
    """Runs that did not fail, of both arms."""
    measures: Mapping[str, Measure]
    """Of `MEASURES`, those that are known of all runs."""
    constant: tuple[ConstantGrade, ...]
    open_ended: bool
    neighbours: int
    """How many other skills both arms had."""
    judge: str | None
    """The model that judged what code cannot."""
    asked_twice: int
    agreed: int
    """Sentences that the judge was asked for a second time, and those with the same answer."""
    failed: int
    installed: int
    """Those of `done` that had the skill."""
    offered: int | None = None
    """Those in which the model was shown the skill; `None` if that is not known of all of them."""
    used: int | None = None
    """Those in which the model loaded the skill; `None` if that is not known of all of them."""
    first_failure: str = ""
    """The last line that the first failed run wrote to stderr, or how it ended."""

    def as_dict(self) -> dict[str, object]:
        """Return the verdicts in the shape of `helps` in `--json`."""
        difference = self.pairs.difference
        return {
            "on_these_cases": self.pairs.verdict,
            "on_tasks_like_these": self.cases.verdict,
            "pairs": {"won": self.pairs.won, "lost": self.pairs.lost, "tied": self.pairs.tied},
            "difference": None if difference is None else difference.as_dict(),
            "more": self.pairs.more,
            "measures": {name: self.measures[name].as_dict() if name in self.measures else None for name in MEASURES},
            "same_in_all_runs": [grade.as_dict() for grade in self.constant],
        }

    def judged(self) -> dict[str, object] | None:
        """Return what is known of the judge, in the shape of `--json`."""
        if self.judge is None:
            return None
        return {"name": self.judge, "asked_twice": self.asked_twice, "agreed": self.agreed}

    def exposure(self) -> dict[str, int | None]:
        """Return in how many runs the skill was there, in the shape of `--json`."""
        return {"installed": self.installed, "offered": self.offered, "used": self.used}


def judge_runs(plan: Plan, runs: Iterable[Run]) -> Outcome:
    """Return the verdicts on some runs of a plan.

    Args:
        plan: of the runs.
        runs: in any order.
    """
    by_pair: dict[int, list[Run]] = {}
    for run in runs:
        by_pair.setdefault(run.pair, []).append(run)
    ordered = [run for _, both in sorted(by_pair.items()) for run in both]
    judged = [
        (both[0], both[1]) if both[0].arm == 0 else (both[1], both[0])
        for _, both in sorted(by_pair.items())
        if outcome_of(both) is not None
    ]
    outcomes = [outcome_of(both) or 0 for both in judged]
    graded = [run for run in ordered if run.passed is not None]
    failed = [run.ran.failure for run in ordered if run.ran.failure]
    done = [run for run in ordered if not run.ran.failure]
    having = [run.ran for run in done if run.arm == 0]
    all_pairs = pairs_of(plan)
    planned = sum(len(pair.arms) > 1 for pair in all_pairs)
    passing = _by_case(judged, lambda run: bool(run.passed))
    return Outcome(
        # At the end of the plan, pairs with a failed run are left out of it.
        pairs=judge_pairs(
            outcomes, len(outcomes) if len(by_pair) == len(all_pairs) else planned, open_ended=plan.open_ended
        ),
        cases=judge_cases(passing, plan.seed, open_ended=plan.open_ended),
        planned=planned,
        done=len(done),
        measures=_measure(plan, judged),
        constant=tuple(_constant_grades(plan, graded)),
        open_ended=plan.open_ended,
        neighbours=plan.neighbours,
        judge=plan.judge,
        asked_twice=sum(run.asked_twice for run in ordered),
        agreed=sum(run.agreed for run in ordered),
        failed=len(failed),
        installed=len(having),
        offered=_count([ran.offered for ran in having]),
        used=_count([ran.used for ran in having]),
        first_failure=failed[0] if failed else "",
    )


def _by_case(pairs: Iterable[tuple[Run, Run]], value: Callable[[Run], Fraction | float | None]) -> list[Fraction]:
    """Return for each case the mean difference of its pairs."""
    found: dict[int, list[Fraction]] = {}
    for first, second in pairs:
        found.setdefault(first.case, []).append(Fraction(value(first) or 0) - Fraction(value(second) or 0))
    return [sum(values, Fraction()) / len(values) for values in found.values()]


def _measure(plan: Plan, pairs: Sequence[tuple[Run, Run]]) -> dict[str, Measure]:
    """Return what each measure shows that is known of all runs of some pairs."""
    runs = [run for pair in pairs for run in pair]
    known = {name: value for name, value in MEASURES.items() if all(value(run) is not None for run in runs)}
    if all(len(run.grades) < 2 for run in runs):
        del known["score"]  # it is the same as passing
    gains = {
        name: [difference if name == "score" else -difference for difference in _by_case(pairs, value)]
        for name, value in known.items()
    }
    measures = {}
    for name, verdict in judge_measures(gains, plan.seed, open_ended=plan.open_ended).items() if runs else ():
        gain = verdict.difference
        with_it, without = ([float(known[name](pair[arm]) or 0) for pair in pairs] for arm in (0, 1))
        measures[name] = Measure(
            verdict=verdict,
            difference=gain if name == "score" or gain is None else gain.negated(),
            medians=(median(with_it), median(without)),
        )
    return measures


def _constant_grades(plan: Plan, runs: Iterable[Run]) -> Iterator[ConstantGrade]:
    found: dict[tuple[int, int], list[tuple[int, bool]]] = {}
    for run in runs:
        for number, passed in enumerate(run.grades):
            if passed is not None:
                found.setdefault((run.case, number), []).append((run.arm, passed))
    for (case, number), grades in sorted(found.items()):
        if len({passed for _, passed in grades}) == 1 and len({arm for arm, _ in grades}) == 2:
            passed = grades[0][1]
            yield ConstantGrade(case=case, id=plan.cases[case], grader=number, passed=passed, runs=len(grades))


def _count(values: list[bool | None]) -> int | None:
    known = [value for value in values if value is not None]
    return sum(known) if values and len(known) == len(values) else None
