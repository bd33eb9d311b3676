"""Say whether agents choose a skill when they should, and only then: level 2."""

from __future__ import annotations

from math import sqrt

from prowess._internal.frozen import Frozen

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ._cases import EvalCase
    from ._runs import Run

_Z = 1.959964
"""Of the normal distribution, for 95 %."""


class Share(Frozen):
    """A share of some runs, with an interval of 95 % (Wilson, "Probable inference", 1927)."""

    count: int
    of: int

    @property
    def interval(self) -> tuple[float, float]:
        """The interval, in which the share is in 95 of 100 evaluations."""
        of, share = self.of, self.count / self.of
        middle = share + _Z * _Z / (2 * of)
        half = _Z * sqrt(share * (1 - share) / of + _Z * _Z / (4 * of * of))
        scale = 1 + _Z * _Z / of
        return max(0.0, (middle - half) / scale), min(1.0, (middle + half) / scale)

    def as_dict(self) -> dict[str, float]:
        """Return the interval in the shape of `--json`."""
        low, high = self.interval
        return {"low": round(low, 4), "high": round(high, 4)}


class Chosen(Frozen):
    """How often a skill was used, in the runs that had it."""

    used: int
    """Of those that should use it."""
    should: int
    used_wrongly: int
    """Of those that should not."""
    should_not: int

    @property
    def precision(self) -> Share | None:
        """Of the runs that used it, those that should; `None` if no run used it."""
        uses = self.used + self.used_wrongly
        return Share(count=self.used, of=uses) if uses else None

    @property
    def recall(self) -> Share | None:
        """Of the runs that should use it, those that did; `None` if none should."""
        return Share(count=self.used, of=self.should) if self.should else None

    def as_dict(self) -> dict[str, object]:
        """Return it in the shape of `--json`."""
        shares = {"precision": self.precision, "recall": self.recall}
        return {
            **{name: None if each is None else round(each.count / each.of, 4) for name, each in shares.items()},
            "intervals": {name: None if each is None else each.as_dict() for name, each in shares.items()},
            "should": {"runs": self.should, "used": self.used},
            "should_not": {"runs": self.should_not, "used": self.used_wrongly},
        }


def judge_choices(cases: Sequence[EvalCase], runs: Iterable[Run]) -> Chosen | None:
    """Return how often the skill was used; `None` if that is not known of any run that had it.

    Args:
        cases: of the plan, in its order.
        runs: in any order.
    """
    known = [run for run in runs if run.arm == 0 and not run.ran.failure and run.ran.used is not None]
    if not known:
        return None
    should, should_not = ([run for run in known if cases[run.case].triggers is wanted] for wanted in (True, False))
    return Chosen(
        used=sum(bool(run.ran.used) for run in should),
        should=len(should),
        used_wrongly=sum(bool(run.ran.used) for run in should_not),
        should_not=len(should_not),
    )
