"""Add to the grades of runs what code alone cannot decide."""

from __future__ import annotations

from prowess.errors import ConfigError

from ._judge import Judge, work_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Protocol

    from prowess.evals._cases import EvalCase
    from prowess.evals._place import Ran

    from ._evaluators import Evaluators

    Grades = tuple[bool | None, ...]

    class Asker(Protocol):
        """What sends messages to a model; `ModelAsk` does it."""

        name: str
        says_cost: bool
        tokens: int | None
        cost: float | None

        def __call__(self, instructions: str, message: str) -> str:
            """Return what the model answers."""


class Judging:
    """A judge and evaluators, if the user names them.

    Args:
        ask: sends a message to the model of the judge.
        evaluators: of the user.
    """

    def __init__(self, ask: Asker | None = None, evaluators: Evaluators | None = None) -> None:
        self._ask, self.evaluators = ask, evaluators
        self.judge = None if ask is None else Judge(ask, ask.name)
        self.name = None if ask is None else ask.name
        """Of the model of the judge."""
        self._paid = 0.0

    def check(self, *, has_limit: bool) -> None:
        """Test the judge before its first judgment.

        Args:
            has_limit: whether all of the evaluation may cost only so much.

        Raises:
            ConfigError: it cannot be the judge.
            ProwessError: it cannot be reached.
        """
        if self._ask is None or self.judge is None:
            return
        if has_limit and not self._ask.says_cost:
            message = f"what the judge {self._ask.name} costs is not known"
            raise ConfigError(message, hint="leave out `--max-cost`, and limit it with `--max-runs` or `--max-time`")
        self.judge.check()

    def grade(
        self, case: EvalCase, grades: Grades, ran: Ran, files: Mapping[str, str], hidden: str
    ) -> tuple[Grades, str, tuple[int, int]]:
        """Return the grades of a run, what a judge read of it, and how many judgments were asked twice and agreed.

        Args:
            case: with its graders.
            grades: by code.
            ran: the run.
            files: the path of each file that it left, and where it is.
            hidden: the folder of the skill that is evaluated.

        Raises:
            ProwessError: the judge gives no valid answers any more.
        """
        if self.evaluators is not None:
            grades = self.evaluators.grade(case, grades, ran, files)
        if self.judge is None:
            return grades, "", (0, 0)
        work = work_of(ran, files, hidden)
        asked, agreed = self.judge.asked_twice, self.judge.agreed
        grades = self.judge.grade(case, grades, work)
        return grades, work, (self.judge.asked_twice - asked, self.judge.agreed - agreed)

    def compares(self, case: EvalCase) -> bool:
        """Return whether both runs of a case are compared."""
        return self.judge is not None and any(grader.kind == "compare" for grader in case.graders)

    def compare(self, case: EvalCase, grades: Sequence[Grades], works: tuple[str, str]) -> tuple[Grades, Grades]:
        """Return the grades of both runs of a pair with those that compare them.

        Args:
            case: of the pair.
            grades: of both runs.
            works: what a judge read of them.

        Raises:
            ProwessError: the judge gives no valid answers any more.
        """
        first, second = (list(some) for some in grades)
        for place, grader in enumerate(case.graders):
            if grader.kind == "compare" and self.judge is not None:
                first[place], second[place] = self.judge.compare(case, grader, works)
        return tuple(first), tuple(second)

    @property
    def cost(self) -> float | None:
        """What the judge cost, in US dollars; `None` if that is not known."""
        return None if self._ask is None else self._ask.cost

    def take_cost(self) -> float:
        """Return what the judge cost since this was asked last, in US dollars; 0 if that is not known."""
        cost = self.cost
        if cost is None:
            return 0.0
        self._paid, last = cost, self._paid
        return cost - last

    def as_dict(self) -> dict[str, object] | None:
        """Return what is known of the judge in the shape of `--json`."""
        if self.judge is None or self._ask is None:
            return None
        cost = None if self._ask.cost is None else round(self._ask.cost, 6)
        return {**self.judge.as_dict(), "tokens": self._ask.tokens, "cost": cost}
