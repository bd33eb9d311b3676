"""Grade recorded runs again, without running anything: by the graders of today, or by those of another file."""

from __future__ import annotations

from prowess._internal.frozen import Frozen

from ._grade import grade_all
from ._plan import with_graders
from ._recorded import read_results

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._cases import EvalCase, Evals, Grader
    from ._plan import Plan
    from ._recorded import Recorded
    from ._runs import Run


class Regraded(Frozen):
    """An evaluation with other grades."""

    plan: Plan
    evals: Evals
    runs: tuple[Run, ...]
    changed: int
    """Runs that pass now and did not before, or the other way round."""
    partial: int
    """Runs of which an answer or a file was not kept as it was: graders that they had before keep their grade."""
    missing: tuple[str, ...]
    """The ids of cases that the other file does not have, or with another prompt: their graders stay."""


def regrade(recorded: Recorded, cases: tuple[EvalCase, ...] | None = None) -> Regraded:
    """Return the runs of a record with new grades.

    Args:
        recorded: the record.
        cases: with the graders that count, by their ids; by default those of the record.

    Raises:
        ConfigError: a file of the record is damaged.
    """
    old = [case.graders for case in recorded.evals.cases]
    given = {case.id: case for case in cases or ()}
    missing = []
    graders = [*old]
    for number, case in enumerate(recorded.evals.cases if cases is not None else ()):
        other = given.get(case.id)
        if other is None or other.prompt != case.prompt:
            missing.append(case.id)
        else:
            graders[number] = other.graders
    plan, evals = with_graders(recorded.plan, graders) if cases is not None else (recorded.plan, recorded.evals)
    runs = []
    items = (
        (graders[run.case], ran, files) for run, (ran, files) in zip(recorded.runs, read_results(recorded), strict=True)
    )
    for run, found in zip(recorded.runs, grade_all(items, name=evals.name, is_alone=plan.is_alone), strict=True):
        is_whole = (run.pair, run.arm) in recorded.whole
        grades = tuple(
            kept if (not is_whole or grade is None) and kept is not None else grade
            for grade, kept in zip(found, _kept(run, old[run.case], graders[run.case]), strict=True)
        )
        runs.append(run if run.ran.failure else run.with_changes(grades=grades))
    return Regraded(
        plan=plan,
        evals=evals,
        runs=tuple(runs),
        changed=sum(now.passed != before.passed for now, before in zip(runs, recorded.runs, strict=True)),
        partial=len(recorded.runs) - len(recorded.whole),
        missing=tuple(missing),
    )


def _kept(run: Run, old: tuple[Grader, ...], new: tuple[Grader, ...]) -> list[bool | None]:
    """Return the grade that a run has for each of some graders, and `None` for those that it did not have."""
    known = dict(zip(map(_key, old), run.grades, strict=False))
    return [known.get(_key(grader)) for grader in new]


def _key(grader: Grader) -> tuple[str, ...]:
    return grader.kind, grader.text, grader.path, repr(sorted(grader.config.items()))
