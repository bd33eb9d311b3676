"""Say what an evaluation runs, before it runs: cases, arms, runs and the seed, with a digest of all of it."""

from __future__ import annotations

import json
from hashlib import sha256
from random import Random

from prowess._internal.files import MAX_DIGEST_BYTES, UnreadableError, read_file, skill_digest
from prowess._internal.frozen import Frozen
from prowess.errors import ConfigError

from ._graders import code_graders

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ._cases import Evals

DEFAULT_RUNS = 3
ARMS = ("with", "without")
MOST_PAIRS = 100_000
"""Of a plan."""


class Plan(Frozen):
    """What an evaluation runs; the rules of its verdicts are part of it."""

    cases: tuple[str, ...]
    """The ids of the cases, in their order."""
    runs: int
    """Pairs of runs for each case."""
    arms: tuple[str, ...]
    seed: int
    only_chosen: tuple[int, ...] = ()
    """The places of the cases that show only whether the skill is chosen: they run with it alone."""
    digest: str
    """A SHA-256 over the cases with their graders and files, the skills of both arms, and the rest."""
    open_ended: bool = False
    """Whether pairs run until a difference is shown or a limit is reached; `runs` is then the most of each case."""
    neighbours: int = 0
    """How many other skills both arms have."""

    def as_dict(self) -> dict[str, object]:
        """Return it in the shape of `--json`."""
        return {
            "cases": list(self.cases),
            "runs": self.runs,
            "arms": list(self.arms),
            "seed": self.seed,
            "open_ended": self.open_ended,
            "neighbours": self.neighbours,
            "digest": self.digest,
        }


class Pair(Frozen):
    """Two runs of one case, one in each arm; a single run of a case that shows only whether the skill is chosen."""

    number: int
    """From 0."""
    case: int
    """The place of the case in the plan, from 0."""
    arms: tuple[int, ...]
    """In which order the arms run; 0 has the skill."""


def pairs_of(plan: Plan) -> tuple[Pair, ...]:
    """Return the pairs of a plan in the order in which they run.

    Each round has all cases, so that a slow hour of a server touches both arms and all of them.
    """
    random = Random(plan.seed)  # noqa: S311 - the order is the same on every machine
    pairs: list[Pair] = []
    for _ in range(plan.runs):
        cases = list(range(len(plan.cases)))
        random.shuffle(cases)
        for case in cases:
            arms = [0] if case in plan.only_chosen else [0, 1]
            random.shuffle(arms)
            pairs.append(Pair(number=len(pairs), case=case, arms=tuple(arms)))
    return tuple(pairs)


def make_plan(
    evals: Evals,
    runs: int,
    seed: int,
    arms: tuple[str, ...] = ARMS,
    other: str | None = None,
    *,
    open_ended: bool = False,
    neighbours: Sequence[str] = (),
) -> Plan:
    """Return the plan for the cases of a skill.

    Args:
        evals: the cases that run.
        runs: pairs for each case.
        seed: of the order.
        arms: their names.
        other: the folder of the skill that the second arm has, if any.
        open_ended: whether it has no end but a limit: then `runs` is only the most of each case.
        neighbours: the folders of other skills, which both arms have.

    Raises:
        ConfigError: the plan is too large.
    """
    if len(evals.cases) * runs > MOST_PAIRS:
        message = f"{len(evals.cases):,} cases with {runs:,} runs are more than {MOST_PAIRS:,} pairs"
        raise ConfigError(message, hint="plan fewer runs with `--runs`, or fewer cases with `--cases`")
    alone = "" if other else evals.name
    only_chosen = tuple(
        number for number, case in enumerate(evals.cases) if not code_graders(case, steps=True, alone=alone)
    )
    sources = _digests(dict.fromkeys(fixture.source for case in evals.cases for fixture in case.fixtures))
    content = {
        "version": 1,
        "skill": evals.name,
        "cases": [
            [
                case.id,
                case.prompt,
                case.skill,
                case.triggers,
                [[grader.kind, grader.text, grader.path, dict(grader.config)] for grader in case.graders],
                [[fixture.path, fixture.text, sources[fixture.source]] for fixture in case.fixtures],
            ]
            for case in evals.cases
        ],
        "runs": runs,
        "arms": arms,
        "skills": [skill_digest(evals.folder), None if other is None else skill_digest(other)],
        "seed": seed,
        **({"open_ended": True} if open_ended else {}),
        **({"neighbours": [skill_digest(folder) for folder in neighbours]} if neighbours else {}),
    }
    text = json.dumps(content, sort_keys=True, ensure_ascii=True, default=str)
    return Plan(
        cases=tuple(case.id for case in evals.cases),
        runs=runs,
        arms=arms,
        seed=seed,
        open_ended=open_ended,
        neighbours=len(neighbours),
        only_chosen=only_chosen,
        digest=f"sha256:{sha256(text.encode()).hexdigest()}",
    )


def _digests(paths: Iterable[str]) -> dict[str, str | None]:
    """Return the SHA-256 of each file; `None` if it cannot be read, or all of them are too large to run."""
    left = MAX_DIGEST_BYTES
    digests: dict[str, str | None] = {}
    for path in paths:
        try:
            data = read_file(path, left) if path else b""
        except UnreadableError:
            digests[path] = None
            continue
        left -= len(data)
        digests[path] = sha256(data).hexdigest()
    return digests
