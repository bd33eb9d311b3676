"""Say what an evaluation runs, before it runs: cases, arms, runs and the seed, with a digest of all of it."""

from __future__ import annotations

import json
import re
from hashlib import sha256
from random import Random

from prowess._internal.files import MAX_DIGEST_BYTES, UnreadableError, read_file, skill_digest
from prowess._internal.frozen import Frozen
from prowess.errors import ConfigError
from prowess.testing import Case

from ._cases import EVALUATOR, GRADERS, EvalCase, Evals, Fixture, Grader
from ._graders import MAX_PATTERN, usable_graders

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

VERSION = 1
"""Of what a plan says, and of the rules of its verdicts."""
DEFAULT_RUNS = 3
ARMS = ("with", "without")
MOST_PAIRS = 100_000
"""Of a plan."""
_NUMBER = "number of all digits"
_is_arm = re.compile(r"[a-z]{1,20}").fullmatch


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
    is_alone: bool = False
    """Whether only the first arm has the skill."""
    digest: str
    """The SHA-256 of `content`."""
    content: str = ""
    """All of it as JSON: the cases with their graders, the digests of their files and of the skills of both arms."""
    open_ended: bool = False
    """Whether pairs run until a difference is shown or a limit is reached; `runs` is then the most of each case."""
    neighbours: int = 0
    """How many other skills both arms have."""
    judge: str | None = None
    """The model that judges what code cannot."""

    def as_dict(self) -> dict[str, object]:
        """Return it in the shape of `--json`."""
        return {
            "cases": list(self.cases),
            "runs": self.runs,
            "arms": list(self.arms),
            "seed": self.seed,
            "open_ended": self.open_ended,
            "neighbours": self.neighbours,
            "judge": self.judge,
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
    judge: str | None = None,
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
        judge: the model that judges what code cannot.

    Raises:
        ConfigError: the plan is too large.
    """
    if len(evals.cases) * runs > MOST_PAIRS:
        message = f"{len(evals.cases):,} cases with {runs:,} runs are more than {MOST_PAIRS:,} pairs"
        raise ConfigError(message, hint="plan fewer runs with `--runs`, or fewer cases with `--cases`")
    sources = _digests(dict.fromkeys(fixture.source for case in evals.cases for fixture in case.fixtures))
    content = {
        "version": VERSION,
        "skill": {
            "name": evals.name,
            "description": _digest(evals.description),
            "body": _digest(evals.body),
            "arms": [skill_digest(evals.folder), None if other is None else skill_digest(other)],
        },
        "cases": [
            {
                "id": case.id,
                "prompt": case.prompt,
                "skill": case.skill,
                "triggers": case.triggers,
                "expected": case.expected,
                "tags": case.tags,
                "graders": _graders_of(case.graders),
                "files": [
                    {
                        "path": fixture.path,
                        "digest": sources[fixture.source] if fixture.source else _digest(fixture.text),
                    }
                    for fixture in case.fixtures
                ],
            }
            for case in evals.cases
        ],
        "runs": runs,
        "arms": arms,
        "seed": seed,
        **({"open_ended": True} if open_ended else {}),
        **({"neighbours": [skill_digest(folder) for folder in neighbours]} if neighbours else {}),
        **({"judge": judge} if judge is not None else {}),
    }
    return _plan_of(json.dumps(content, sort_keys=True, default=_plain), evals.cases)


def _plan_of(content: str, cases: Sequence[EvalCase]) -> Plan:
    value = json.loads(content)
    is_alone = value["arms"][1] == ARMS[1]
    alone, judge = value["skill"]["name"] if is_alone else "", value.get("judge")
    return Plan(
        cases=tuple(case.id for case in cases),
        runs=value["runs"],
        arms=tuple(value["arms"]),
        seed=value["seed"],
        open_ended=value.get("open_ended") is True,
        neighbours=len(value.get("neighbours", ())),
        judge=judge,
        only_chosen=tuple(
            number
            for number, case in enumerate(cases)
            if not usable_graders(case, steps=True, alone=alone, judged=judge is not None)
        ),
        is_alone=is_alone,
        digest=_digest(content),
        content=content,
    )


def _graders_of(graders: Iterable[Grader]) -> list[dict[str, object]]:
    return [
        {"kind": grader.kind, "text": grader.text, "path": grader.path, "config": dict(grader.config)}
        for grader in graders
    ]


def with_graders(plan: Plan, graders: Sequence[Iterable[Grader]]) -> tuple[Plan, Evals]:
    """Return a plan with other graders for each of its cases, and the cases."""
    content = json.loads(plan.content)
    for case, found in zip(content["cases"], graders, strict=True):
        case["graders"] = _graders_of(found)
    return read_plan(json.dumps(content, sort_keys=True, default=_plain))


def read_plan(content: str) -> tuple[Plan, Evals]:
    """Return a plan and its cases, from `Plan.content` that anyone may have written.

    The files of its cases have their paths alone, and the skill has its name alone.

    Raises:
        ValueError: it is invalid; the text says why.
    """
    try:
        value = json.loads(content, object_hook=_restored)
        if _typed(value, dict)["version"] != VERSION:
            raise ValueError("another version of Prowess made it")
        cases = tuple(_case_of(case) for case in _typed(value["cases"], list))
        names = tuple(_typed(name, str) for name in _typed(value["arms"], list))
        is_valid = (
            0 < _typed(value["runs"], int) <= MOST_PAIRS
            and len(cases) * value["runs"] <= MOST_PAIRS
            and len(names) == len(ARMS)
            and all(map(_is_arm, names))
            and len(_typed(value.get("neighbours", []), list)) >= 0
            and len(_typed(value.get("judge", ""), str)) >= 0
            and abs(_typed(value["seed"], int)) >= 0
        )
        name = _typed(value["skill"]["name"], str)
    except (KeyError, TypeError, AttributeError, RecursionError):
        is_valid = False
    if not is_valid:
        raise ValueError("it is no plan of Prowess")
    return _plan_of(content, cases), Evals(name=name, folder="", description="", body="", cases=cases)


def _case_of(value: dict[str, Any]) -> EvalCase:
    skill = value["skill"]
    graders = tuple(
        Grader(
            kind=_typed(grader["kind"], str),
            text=_typed(grader["text"], str),
            path=_typed(grader["path"], str),
            config=_typed(grader["config"], dict),
        )
        for grader in _typed(value["graders"], list)
    )
    for grader in graders:
        if grader.kind.endswith("matches") and len(grader.text) > MAX_PATTERN:
            raise ValueError("it has a pattern that is too long")
        if grader.kind == "expected":
            Case(name="run", file="", command="", **grader.config)
            for key, texts in grader.config.items():
                if key.endswith("contains"):
                    [_typed(text, str) for text in _typed(texts, list)]
        elif grader.kind not in GRADERS and grader.kind != EVALUATOR:
            raise ValueError("it has graders of another version of Prowess")
    return EvalCase(
        id=_typed(value["id"], str),
        prompt=_typed(value["prompt"], str),
        skill=None if skill is None else _typed(skill, str),
        triggers=_typed(value["triggers"], bool),
        expected=_typed(value["expected"], str),
        tags=tuple(_typed(tag, str) for tag in _typed(value["tags"], list)),
        graders=graders,
        fixtures=tuple(Fixture(path=_typed(file["path"], str)) for file in _typed(value["files"], list)),
        path="",
    )


def _typed(value: Any, kind: type) -> Any:
    """Return a value of a type; a `bool` is no `int`.

    Raises:
        TypeError: it has another type.
    """
    if type(value) is not kind:
        raise TypeError
    return value


def _plain(value: object) -> object:
    """Return what JSON has instead of a value: `stdout-json` has numbers with all their digits."""
    return {_NUMBER: str(value)} if type(value).__name__ == "Decimal" else str(value)


def _restored(value: dict[str, Any]) -> object:
    if value.keys() != {_NUMBER}:
        return value
    from decimal import Decimal, InvalidOperation

    try:
        return Decimal(value[_NUMBER])
    except (InvalidOperation, TypeError):
        raise ValueError("it has an invalid number") from None


def _digest(text: str) -> str:
    return f"sha256:{sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()}"


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
        digests[path] = f"sha256:{sha256(data).hexdigest()}"
    return digests
