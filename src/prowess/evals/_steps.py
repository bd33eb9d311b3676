"""Say what a model was shown and did in a run, from the steps that its agent recorded (ATIF 1.7)."""

from __future__ import annotations

import os

from prowess._internal.files import SKILL_FILE, is_inside, real_path
from prowess._internal.text import neutral, normalize_name, quoted
from prowess.trajectory import UnreadableSessionError, read_trajectory

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import Any

    from prowess.trajectory import RecordedSession

    from ._place import Place, Ran

    Steps = Iterable[Mapping[str, Any]]


def with_trajectory(ran: Ran, place: Place) -> Ran:
    """Return a run with what its agent left in `place.trajectory`; an invalid file is a failed run."""
    if not os.path.lexists(place.trajectory):
        return ran
    try:
        sessions, steps, cost = read_trajectory(place.trajectory, place.home)
    except UnreadableSessionError as error:
        failure = ran.failure or f"its trajectory is invalid: {neutral(str(error))}"
        return ran.with_changes(failure=failure)
    return with_steps(ran, sessions, steps, place).with_changes(cost=cost)


def with_steps(ran: Ran, sessions: Iterable[RecordedSession], steps: Steps, place: Place) -> Ran:
    """Return a run with its steps, and what they say of the skill of its arm.

    Args:
        ran: what is known without them.
        sessions: what was offered and used, and the tokens.
        steps: of all sessions.
        place: of the run.
    """
    sessions, steps = list(sessions), tuple(_without_prompt(steps))
    catalogs = [session.catalog for session in sessions if session.catalog is not None]
    offered = any(_is_own(offer.name, offer.path, place) for catalog in catalogs for offer in catalog)
    used = any(_is_own(use.name, use.path, place) for session in sessions for use in session.activations)
    used = used or any(_reads_skill(step, place) for step in steps)
    tokens = [sum(each.tokens[kind] for kind in ("input", "output")) for each in sessions if each.tokens is not None]
    failure = ran.failure
    if (offered or used) and not place.has_skill:  # the arms did not differ
        failure = failure or f"the model had {quoted(place.name)}, which this arm does not have"
    return ran.with_changes(
        failure=failure,
        steps=steps,
        offered=offered if catalogs else None,
        used=used,
        tokens=sum(tokens) if tokens else None,
    )


def _without_prompt(steps: Steps) -> Iterator[Mapping[str, Any]]:
    """Yield the steps except messages of the user before the first answer, unless a skill came with one."""
    waiting = True
    for step in steps:
        waiting = waiting and step.get("source") != "agent"
        if not waiting or step.get("source") != "user" or step.get("extra"):
            yield step


def _is_own(name: str, path: str | None, place: Place) -> bool:
    """Return whether a skill is the one that is evaluated, and not a copy of it somewhere else."""
    if path is not None:
        return is_inside(real_path(path), real_path(place.skill))
    return normalize_name(name) in (normalize_name(place.name), normalize_name(os.path.basename(place.skill)))


def _reads_skill(step: Mapping[str, Any], place: Place) -> bool:
    """Return whether a tool that knows no skills has read the SKILL.md of the skill, which has a description."""
    file = "/".join((os.path.basename(place.skill), SKILL_FILE))
    return any(
        not is_error and any(file in text for text in texts_of(arguments)) and "description:" in content
        for _, arguments, content, is_error in calls_of(step)
    )


def calls_of(step: Mapping[str, Any]) -> Iterator[tuple[str, Any, str, bool]]:
    """Yield the calls of a step: the tool, its arguments, the text of its result, and whether it failed."""
    observation = step.get("observation")
    results = {
        str(result.get("source_call_id")): result
        for result in _objects(observation.get("results") if isinstance(observation, dict) else None)
    }
    for call in _objects(step.get("tool_calls")):
        result = results.get(str(call.get("tool_call_id")), {})
        content = "\n".join(texts_of(result.get("content")))
        extra = result.get("extra")
        failed = isinstance(extra, dict) and extra.get("is_error") is True
        failed = failed or content.lower().startswith(("error:", "<tool_use_error>"))
        yield str(call.get("function_name")), call.get("arguments"), content, failed


def _objects(value: object) -> list[dict[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list | tuple) else []


def texts_of(value: object) -> Iterator[str]:
    """Yield the texts in a value of JSON, in their order."""
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, str):
            yield item
        elif isinstance(item, dict | list | tuple):
            waiting += reversed([*(item.values() if isinstance(item, dict) else item)])
