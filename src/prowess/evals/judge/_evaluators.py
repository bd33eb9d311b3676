"""Grade runs with evaluators of `pydantic-evals`: objects of the user's with a method `evaluate`.

Nothing of that package is imported: an evaluator gets a context with the names that `EvaluatorContext` has there.
"""

from __future__ import annotations

import asyncio
import inspect
import sys
from dataclasses import dataclass, field
from hashlib import sha256
from types import ModuleType

from prowess._internal.files import UnreadableError, read_file
from prowess._internal.text import quoted
from prowess.errors import ConfigError
from prowess.evals._cases import EVALUATOR, Grader
from prowess.testing import decode_output

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from prowess.evals._cases import EvalCase, Evals
    from prowess.evals._place import Ran

_HALF = 0.5
_MOST_CODE_BYTES = 1024 * 1024


@dataclass
class RunContext:
    """What an evaluator gets of a run."""

    name: str | None
    """The id of the case."""
    inputs: str
    """The prompt."""
    metadata: Mapping[str, Any]
    """`skill` and `tags` of the case."""
    expected_output: str | None
    output: str
    """The answer."""
    duration: float
    """In seconds."""
    attributes: dict[str, Any] = field(default_factory=dict)
    """`files`: the path of each file that the run left, and where it is."""
    metrics: dict[str, int | float] = field(default_factory=dict)
    """`tokens` and `cost`, if they are known."""


class Evaluators:
    """Evaluators of files of the user's, each of which grades every run.

    Args:
        references: of each `FILE.py:NAME`: an instance with a method `evaluate`, or a class of such instances.

    Raises:
        ConfigError: a file cannot be read, fails, or has no such evaluator.
    """

    def __init__(self, references: Sequence[str]) -> None:
        self._evaluators = {reference: _load(reference) for reference in references}
        self.failures = 0
        """Grades that are missing because an evaluator failed."""
        self.problem = ""
        """How the first one failed."""

    def add_to(self, evals: Evals) -> Evals:
        """Return the cases with a grader more for each evaluator."""
        graders = tuple(Grader(kind=EVALUATOR, text=reference) for reference in self._evaluators)
        cases = tuple(case.with_changes(graders=(*case.graders, *graders)) for case in evals.cases)
        return evals.with_changes(cases=cases)

    def grade(
        self, case: EvalCase, grades: Sequence[bool | None], ran: Ran, files: Mapping[str, str]
    ) -> tuple[bool | None, ...]:
        """Return the grades of a run with those of the evaluators.

        An assertion of `pydantic-evals` is true or false; of several all must be true. A score passes from 0.5 on if
        it is from 0 to 1. A label says nothing.

        Args:
            case: with its graders.
            grades: of the run, one for each grader.
            ran: the run.
            files: the path of each file that it left, and where it is.
        """
        context = RunContext(
            name=case.id,
            inputs=case.prompt,
            metadata={"skill": case.skill, "tags": case.tags},
            expected_output=case.expected or None,
            output=decode_output(ran.answer),
            duration=ran.seconds,
            attributes={"files": dict(files)},
            metrics={name: value for name in ("tokens", "cost") if (value := getattr(ran, name)) is not None},
        )
        found = list(grades)
        for place, grader in enumerate(case.graders):
            if grader.kind == EVALUATOR and grader.text in self._evaluators:
                try:
                    found[place] = _evaluate(self._evaluators[grader.text], context)
                except (Exception, SystemExit) as error:  # noqa: BLE001 - the code of the user
                    self.failures += 1
                    self.problem = self.problem or f"{grader.text}: {type(error).__name__}: {error}"
        return tuple(found)


def _load(reference: str) -> Any:
    path, _, name = reference.rpartition(":")
    hint = "write it as `FILE.py:NAME`, with the name of an evaluator in that file"
    if not path.endswith(".py") or not name.isidentifier():
        raise ConfigError(f"`--evaluator`: invalid reference {quoted(reference)}", hint=hint)
    module = ModuleType(f"prowess_evaluators_{sha256(path.encode('utf-8', 'replace')).hexdigest()[:12]}")
    module.__file__ = path
    try:
        code = compile(read_file(path, _MOST_CODE_BYTES, follow=True), path, "exec")
        sys.modules[module.__name__] = module  # dataclasses look their module up
        exec(code, vars(module))  # noqa: S102 - a file that the user names on the command line
        found = vars(module)[name]
        evaluator = found() if isinstance(found, type) else found
    except UnreadableError as error:
        raise ConfigError(f"`--evaluator`: {quoted(path)}: {error.message}", hint=hint) from None
    except KeyError:
        raise ConfigError(f"`--evaluator`: {quoted(path)} has no {quoted(name)}", hint=hint) from None
    except (Exception, SystemExit) as error:  # noqa: BLE001 - the code of the user
        problem = f"{type(error).__name__}: {error}"
        raise ConfigError(f"`--evaluator`: {quoted(path)} fails: {quoted(problem)}", hint="fix it") from None
    if not callable(getattr(evaluator, "evaluate", None)):
        raise ConfigError(f"`--evaluator`: {quoted(name)} has no method `evaluate`", hint=hint)
    return evaluator


def _evaluate(evaluator: Any, context: RunContext) -> bool | None:
    result = evaluator.evaluate(context)
    if inspect.isawaitable(result):
        result = asyncio.run(_wait(result))
    values = list(result.values()) if isinstance(result, dict) else [result]
    grades = [_grade_of(getattr(value, "value", value)) for value in values]
    known = [grade for grade in grades if grade is not None]
    return all(known) if known else None


async def _wait(result: Any) -> Any:
    return await result


def _grade_of(value: Any) -> bool | None:
    if isinstance(value, bool):
        return value
    return value >= _HALF if isinstance(value, int | float) and 0 <= value <= 1 else None
