"""Describe the cases of an eval, whatever form their files have."""

from __future__ import annotations

from prowess._internal.frozen import EMPTY, Frozen
from prowess.findings import Severity

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from prowess.findings import Finding


class Grader(Frozen):
    """One check of what a run printed, wrote or did."""

    kind: str
    """One of `GRADERS`, or `expected` for the mapping of skill tests."""
    text: str = ""
    """What is looked for: a text, a pattern, the name of a tool, or the sentence that a judge decides about."""
    path: str = ""
    """The file that is looked at; it may have `*`."""
    config: Mapping[str, Any] = EMPTY
    """The further keys of its author."""
    line: int | None = None
    column: int | None = None


class Fixture(Frozen):
    """A file that the agent finds in its folder."""

    path: str
    """Where the agent finds it, with `/`."""
    source: str = ""
    """The absolute path of the file, or empty."""
    text: str = ""
    """The content, if there is no `source`."""


class EvalCase(Frozen):
    """One task for an agent, and how its result is graded."""

    id: str
    prompt: str
    skill: str | None
    """The name of the skill that should be used; `None` if no skill should be."""
    triggers: bool
    """Whether the skill that is evaluated should be used."""
    expected: str = ""
    """The expected output, in words."""
    fixtures: tuple[Fixture, ...] = ()
    graders: tuple[Grader, ...] = ()
    tags: tuple[str, ...] = ()
    path: str
    """The file that it is in."""
    line: int | None = None
    column: int | None = None


class Evals(Frozen):
    """The cases of one skill."""

    name: str
    folder: str
    """The folder of the skill, absolute."""
    description: str
    body: str
    files: tuple[str, ...] = ()
    """The files that were read."""
    cases: tuple[EvalCase, ...] = ()
    findings: tuple[Finding, ...] = ()

    @property
    def is_valid(self) -> bool:
        """Whether the cases may run: no file has an error."""
        return not any(item.severity is Severity.ERROR for item in self.findings)


EVALUATOR = "evaluator"
"""The kind of graders that are evaluators of `pydantic-evals`: a user adds them to the cases, and no file has them."""
GRADERS = {
    "judge": "prompt llm llm-judge rubric panel semantic",
    "compare": "pairwise baseline",
    "output-contains": "contains contains-phrase phrase substring",
    "output-not-contains": "not-contains not-contains-phrase",
    "output-matches": "regex matches pattern contains-pattern",
    "output-not-matches": "not-contains-pattern not-matches",
    "file-exists": "",
    "file-not-exists": "",
    "file-contains": "",
    "file-not-contains": "",
    "file-matches": "",
    "file-not-matches": "",
    "exit-success": "completed",
    "tool-used": "tool-calls",
    "tool-order": "",
    "skill-used": "skill-invocation",
    "command": "run-command program script",
    "limit": "tool-call-count turn-count token-budget wall-time error-count",
}
"""Each kind of grader, with the other words that published files have for it; `_` and `-` are the same."""
KINDS = {word: kind for kind, others in GRADERS.items() for word in (kind, *others.split())}
