"""Run an agent on the cases, with the skill and without it, in pairs: levels 2 and 3."""

from __future__ import annotations

from contextlib import ExitStack
from fractions import Fraction
from math import inf
from time import monotonic

from prowess._internal.frozen import Frozen

from ._grade import output_files
from ._place import Place
from ._plan import pairs_of
from ._statistics import is_shown_early

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Protocol

    from ._agents import Agent
    from ._arms import Arms
    from ._cases import EvalCase
    from ._place import Ran
    from ._plan import Plan
    from .judge import Judging

    class Runs(Protocol):
        """Where runs are kept; `Record` does it."""

        shard: tuple[int, int] | None
        """Which part of the plan is run, from 1, and of how many; `None` for all of it."""

        def get(self, pair: int, arm: int) -> Run | None:
            """Return a run that was kept."""

        def drop_half(self, pair: int) -> None:
            """Remove the only run of a pair whose runs are compared, so that both run again."""

        def add(self, run: Run, place: Place) -> Run:
            """Keep a run, with the files that are in its folder, and return what `get` does."""


class Run(Frozen):
    """One run of the plan, and how it is graded."""

    pair: int
    """The place of its pair in the plan, from 0."""
    case: int
    """The place of its case in the plan, from 0."""
    arm: int
    """0 had the skill."""
    ran: Ran
    grades: tuple[bool | None, ...] = ()
    """One for each grader of the case: whether the run passes it, or `None` if it cannot be said."""
    asked_twice: int = 0
    """Sentences about it that a judge was asked for a second time."""
    agreed: int = 0
    """Those for which the judge gave the same answer."""

    @property
    def passed(self) -> bool | None:
        """Whether it passes all graders; `None` if it failed, or nothing can be said."""
        known = [value for value in self.grades if value is not None]
        return None if self.ran.failure or not known else all(known)

    @property
    def score(self) -> Fraction:
        """The share of its graders that it passes, from 0 to 1, of those that can be said; 0 if it has no grades."""
        known = [value for value in self.grades if value is not None]
        return Fraction(sum(known), len(known) or 1)


def run_pairs(
    agent: Agent,
    arms: Arms,
    plan: Plan,
    *,
    record: Runs | None = None,
    most: int | None = None,
    seconds: float = inf,
    cost: float = inf,
    progress: Callable[[int, int], None] | None = None,
    judging: Judging | None = None,
) -> tuple[Run, ...]:
    """Run each case in both arms, in an order from the seed of the plan, until the plan ends or a verdict is shown.

    Args:
        agent: what is run.
        arms: the skills that it has.
        plan: of the cases of `arms`.
        record: keeps the runs, and has its part of the plan; those that it has already are not run.
        most: runs at most, of both arms together.
        seconds: for all runs; what runs then is ended, and its pair does not count.
        cost: US dollars of all runs; what costs more is ended, and its pair does not count.
        progress: is called with the pairs that have run, and those of the plan.
        judging: adds to the grades what code cannot decide; its cost counts.
    """
    shard, shards = (1, 1) if record is None or record.shard is None else record.shard
    pairs = pairs_of(plan)[shard - 1 :: shards]
    runs: list[Run] = []
    won = lost = 0
    end = monotonic() + seconds
    for done, pair in enumerate(pairs):
        if most is not None and len(runs) + len(pair.arms) > most:
            break
        case = arms.evals.cases[pair.case]
        is_compared = judging is not None and judging.compares(case)
        both: list[Run] = []
        new: list[tuple[Run, Place, str]] = []
        with ExitStack() as places:
            if is_compared and record is not None:
                record.drop_half(pair.number)
            for arm in pair.arms:
                run = record.get(pair.number, arm) if record is not None else None
                if run is not None:
                    cost -= run.ran.cost or 0
                left = end - monotonic()
                if run is None and left > 0 and cost > 0:
                    with ExitStack() as own:
                        # No run finds the folder of another one, unless both are compared at the end.
                        place = (places if is_compared else own).enter_context(Place())
                        arms.fill(place, case, arm)
                        ran = agent.run(place, case.prompt, pair.number, left, cost)
                        if cost < inf and ran.cost is None and not ran.failure:
                            ran = ran.with_changes(failure="it did not say what it cost, and `--max-cost` needs that")
                        cost -= ran.cost or 0
                        run, work = Run(pair=pair.number, case=pair.case, arm=arm, ran=ran), ""
                        if not ran.failure:
                            run, work = _graded(run, place, case, arms, judging)
                        cost -= judging.take_cost() if judging is not None else 0
                        if is_compared:
                            new.append((run, place, work))
                        elif record is not None and monotonic() < end and cost >= 0:
                            run = record.add(run, place)
                if run is not None:
                    both.append(run)
            # A comparison grades both runs, so they are kept when both have ended.
            if judging is not None and new:
                both = [run for run in both if run.arm not in {run.arm for run, _, _ in new}]
                for run, place in _compared(new, case, judging):
                    kept = record is not None and monotonic() < end and cost >= 0
                    both.append(record.add(run, place) if record is not None and kept else run)
                cost -= judging.take_cost()
        if monotonic() >= end or len(both) < len(pair.arms) or cost < 0:
            break
        runs += both
        outcome = outcome_of(both)
        won, lost = won + (outcome == 1), lost + (outcome == -1)
        if progress is not None:
            progress(done + 1, len(pairs))
        # A part of the plan does not say when all of it would end.
        if outcome and shards == 1 and is_shown_early(won, lost, open_ended=plan.open_ended):
            break
    return tuple(runs)


def _graded(run: Run, place: Place, case: EvalCase, arms: Arms, judging: Judging | None) -> tuple[Run, str]:
    """Return a run with its grades, and what a judge read of it."""
    grades, work = arms.grade(place, case, run.ran), ""
    if judging is None:
        return run.with_changes(grades=grades), work
    files = output_files(place.work, arms.hidden_folder)
    grades, work, (asked, agreed) = judging.grade(case, grades, run.ran, files, arms.skill_folder)
    return run.with_changes(grades=grades, asked_twice=asked, agreed=agreed), work


def _compared(new: Sequence[tuple[Run, Place, str]], case: EvalCase, judging: Judging) -> Iterator[tuple[Run, Place]]:
    """Yield the runs of a pair with the grades that compare them; one alone, or a failed one, is not compared."""
    grades = [run.grades for run, _, _ in new]
    if len(new) == 2 and not any(run.ran.failure for run, _, _ in new):
        grades = [*judging.compare(case, grades, (new[0][2], new[1][2]))]
    for (run, place, _), found in zip(new, grades, strict=True):
        yield run.with_changes(grades=found), place


def outcome_of(runs: Sequence[Run]) -> int | None:
    """Return whether the pair of some runs is won, 1, lost, -1, or tied, 0; `None` if it cannot be said."""
    passed = {run.arm: run.passed for run in runs}
    if passed.get(0) is None or passed.get(1) is None:
        return None
    return int(bool(passed[0])) - int(bool(passed[1]))
