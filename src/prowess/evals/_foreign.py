"""Judge trajectories that others recorded: find the case and the arm of each, and grade it by what it shows.

They are files of ATIF, such as a job of Harbor has them, `results.jsonl` of Vally, and sessions of Claude Code. The
case is found by the prompt, the arm by the names of the folders (`with_skill`, `baseline`) or else by whether the skill
was there. What files a run wrote is not known, so graders of files say nothing.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from itertools import pairwise

from prowess._internal.files import UnreadableError
from prowess._internal.frozen import Frozen
from prowess.trajectory import UnreadableSessionError, read_session, read_trials, session_parts, trajectory_at

from ._grade import grade_all
from ._place import Place, Ran
from ._plan import make_plan, pairs_of
from ._recorded import final_answer
from ._runs import Run
from ._steps import with_steps

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

    from prowess.trajectory import RecordedSession

    from ._cases import Evals, Grader
    from ._plan import Plan

_MOST_FILES = 20_000
_WITH, _WITHOUT = {"with", "skilled", "treatment"}, {"without", "baseline", "control", "unskilled"}
"""Names of folders that say which arm is in them; numbers and signs do not count."""
_PAIRS = {
    ("with", "skill"): 0,
    ("with", "skills"): 0,
    ("without", "skill"): 1,
    ("without", "skills"): 1,
    ("no", "skill"): 1,
}
"""The same for two words in a row of a longer name."""
_MIN_CONTAINED = 20
"""Characters of a prompt that may be a part of what the agent was asked: others add instructions to a task."""
_MOST_CONTAINED = 1_000
"""Cases of which it may be a part."""


class Foreign(Frozen):
    """Trajectories of others as runs."""

    plan: Plan
    """Of the cases that some trajectory is of, with as many rounds as the case with the most has."""
    evals: Evals
    runs: tuple[Run, ...]
    found: int
    """Trajectories, of any case."""
    left_out: Mapping[str, int]
    """How many of them do not count, by the reason."""


def read_foreign(folder: str, evals: Evals) -> Foreign:
    """Return the trajectories in a folder as runs of the cases of a skill."""
    left_out: Counter[str] = Counter()
    matched: list[tuple[int, int, Ran]] = []
    grades = grade_all(_match_all(folder, evals, matched, left_out), name=evals.name, is_alone=True)
    by_place: dict[tuple[int, int], list[Run]] = {}
    # The list has each run before its grades come.
    for number, passed in enumerate(grades):
        case, arm, ran = matched[number]
        known = tuple(
            None if grader.kind.startswith("file-") else grade
            for grader, grade in zip(evals.cases[case].graders, passed, strict=True)
        )
        run = Run(pair=0, case=case, arm=arm, ran=ran, grades=() if ran.failure else known)
        by_place.setdefault((case, arm), []).append(run)
    used = sorted({case for case, _ in by_place})
    planned = evals.with_changes(cases=tuple(evals.cases[case] for case in used))
    plan = make_plan(planned, max(map(len, by_place.values()), default=1), 0)
    return Foreign(
        plan=plan,
        evals=planned,
        runs=tuple(_in_pairs(plan, used, by_place)),
        found=len(matched) + sum(left_out.values()),
        left_out=dict(left_out),
    )


def _match_all(
    folder: str, evals: Evals, matched: list[tuple[int, int, Ran]], left_out: Counter[str]
) -> Iterator[tuple[Sequence[Grader], Ran, Mapping[str, str]]]:
    """Yield what `grade_all` needs of each trajectory; its case, its arm and its run are added to `matched`."""
    prompts: dict[str, int | None] = {}
    for number, case in enumerate(evals.cases):
        text = _normal(case.prompt)
        prompts[text] = None if text in prompts else number
    for trajectory in _trajectories(folder, left_out):
        place, ran = _case_of(trajectory.own_steps, prompts), _ran_of(trajectory, evals)
        arm = _arm_of(trajectory.names, ran)
        if place is None:
            left_out["of no case, by what was asked"] += 1
        elif arm is None:
            left_out["of no arm, by the names of its folders and the skills in it"] += 1
        elif arm and (ran.offered or ran.used):
            left_out["of the arm without the skill, which it had"] += 1
        else:
            matched.append((place, arm, ran.with_changes(answer=b"", steps=None)))
            yield evals.cases[place].graders, ran, {}


def _in_pairs(plan: Plan, used: Sequence[int], by_place: Mapping[tuple[int, int], Sequence[Run]]) -> Iterator[Run]:
    """Yield the runs with their pairs in the plan; one without a partner is in a pair with a failed run."""
    missing = Run(pair=0, case=0, arm=0, ran=Ran(failure="there is no trajectory"))
    rounds: Counter[int] = Counter()
    for pair in pairs_of(plan):
        for arm in pair.arms:
            waiting = by_place.get((used[pair.case], arm), ())[rounds[pair.case] :]
            yield (waiting or [missing])[0].with_changes(pair=pair.number, case=pair.case, arm=arm)
        rounds[pair.case] += 1


class _Trajectory(Frozen):
    """What some file says of one run."""

    names: Sequence[str]
    """Of the folders on the way to it."""
    sessions: Sequence[RecordedSession]
    steps: Sequence[Mapping[str, Any]]
    own_steps: Sequence[Mapping[str, Any]]
    """Without those of sub-agents."""
    cost: float | None = None
    failed: bool = False
    seconds: float = 0.0
    """0 if it is unknown."""


def _trajectories(folder: str, left_out: Counter[str]) -> Iterator[_Trajectory]:
    """Yield the trajectories in a folder; links are not followed."""
    count = 0
    for inner, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if name != "subagents")
        # Harbor has the parts of a long conversation beside all of it.
        for name in ["trajectory.json"] if "trajectory.json" in names else sorted(names):
            path = os.path.join(inner, name)
            way = os.path.relpath(path, folder).split(os.sep)
            if (count := count + 1) > _MOST_FILES:
                return
            try:
                if name == "results.jsonl":
                    yield from (_of_value(value, [*way, variant]) for variant, value in read_trials(path))
                elif name.endswith(".jsonl"):
                    sessions, steps = read_session("claude-code", path, "")
                    if steps:
                        yield _Trajectory(names=way, sessions=sessions, steps=steps, own_steps=steps)
                elif name.endswith(".json") and (found := trajectory_at(path)) is not None:
                    yield _of_value(found, way)
            except (UnreadableSessionError, UnreadableError):
                left_out["that cannot be read"] += 1


def _of_value(value: dict[str, Any], names: Sequence[str]) -> _Trajectory:
    """Return what a trajectory of ATIF says."""
    sessions, steps, cost = session_parts(value, "trajectory", "")
    own = value.get("steps")
    extra = value.get("extra")
    extra = extra if isinstance(extra, dict) else {}
    milliseconds: Any = extra.get("milliseconds")
    return _Trajectory(
        names=names,
        sessions=sessions,
        steps=steps,
        own_steps=[step for step in own if isinstance(step, dict)] if isinstance(own, list) else [],
        cost=cost,
        failed=extra.get("failed") is True,
        seconds=milliseconds / 1000 if type(milliseconds) in (int, float) and 0 < milliseconds < 1e9 else 0.0,
    )


def _ran_of(trajectory: _Trajectory, evals: Evals) -> Ran:
    place = Place()
    place.name, place.skill = evals.name, evals.folder
    # Their paths are those of another machine, so the name of the skill counts.
    named = [
        session.with_changes(
            activations=tuple(use.with_changes(path=None) for use in session.activations),
            catalog=session.catalog and tuple(offer.with_changes(path=None) for offer in session.catalog),
        )
        for session in trajectory.sessions
    ]
    ran = Ran(
        failure="it failed" if trajectory.failed else "",
        answer=final_answer(trajectory.own_steps).encode("utf-8", "replace"),
        seconds=trajectory.seconds,
    )
    return with_steps(ran, named, trajectory.steps, place).with_changes(cost=trajectory.cost)


def _case_of(steps: Sequence[Mapping[str, Any]], prompts: Mapping[str, int | None]) -> int | None:
    message = next((step.get("message") for step in steps if step.get("source") == "user"), "")
    if isinstance(message, list):
        message = "\n".join(str(part["text"]) for part in message if isinstance(part, dict) and "text" in part)
    text = _normal(str(message))
    if text in prompts or len(prompts) > _MOST_CONTAINED:
        return prompts.get(text)
    inside = [prompt for prompt in prompts if len(prompt) >= _MIN_CONTAINED and prompt in text]
    return prompts[max(inside, key=len)] if inside else None


def _arm_of(names: Sequence[str], ran: Ran) -> int | None:
    """Return 0 for a run with the skill, 1 for one without it; the innermost name that says it counts."""
    for name in reversed(names):
        words = re.findall(r"[a-z]+", name.lower())
        if len(words) == 1 and words[0] in _WITH | _WITHOUT:
            return int(words[0] in _WITHOUT)
        if found := [_PAIRS[pair] for pair in pairwise(words) if pair in _PAIRS]:
            return found[-1]
    if ran.offered or ran.used:
        return 0
    return 1 if ran.offered is False else None


def _normal(text: str) -> str:
    return " ".join(text.split())
