"""Say what some runs show: the same runs give the same verdicts on every machine."""

from __future__ import annotations

from fractions import Fraction

from prowess._internal.frozen import Frozen

from ._plan import pairs_of
from ._runs import outcome_of
from ._statistics import judge_cases, judge_pairs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from ._plan import Plan
    from ._runs import Run
    from ._statistics import Verdict


class Outcome(Frozen):
    """What some runs show."""

    pairs: Verdict
    """The verdict on these cases."""
    cases: Verdict
    """The verdict on tasks like these."""
    planned: int
    """Pairs of the plan."""
    done: int
    """Runs that ended and were graded, of both arms."""
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
        }

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
    planned = len(pairs_of(plan))
    outcomes: list[int] = []
    by_case: dict[int, list[int]] = {}
    for _, both in sorted(by_pair.items()):
        outcome = outcome_of(both)
        if outcome is not None:
            outcomes.append(outcome)
            by_case.setdefault(both[0].case, []).append(outcome)
    ordered = [run for _, both in sorted(by_pair.items()) for run in both]
    graded = [run for run in ordered if run.passed is not None]
    failed = [run.ran.failure for run in ordered if run.ran.failure]
    having = [run.ran for run in graded if run.arm == 0]
    return Outcome(
        # At the end of the plan, pairs with a failed run are left out of it.
        pairs=judge_pairs(outcomes, len(outcomes) if len(by_pair) == planned else planned),
        cases=judge_cases([Fraction(sum(values), len(values)) for values in by_case.values()], plan.seed),
        planned=planned,
        done=len(graded),
        failed=len(failed),
        installed=len(having),
        offered=_count([ran.offered for ran in having]),
        used=_count([ran.used for ran in having]),
        first_failure=failed[0] if failed else "",
    )


def _count(values: list[bool | None]) -> int | None:
    known = [value for value in values if value is not None]
    return sum(known) if values and len(known) == len(values) else None
