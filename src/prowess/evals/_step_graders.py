"""Grade a run by what its agent did: tools, skills and limits."""

from __future__ import annotations

import json
from math import inf, isfinite

from prowess._internal.text import normalize_name

from ._graders import skills_of, texts_at
from ._steps import calls_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from ._cases import Grader
    from ._place import Ran

_SAME_TOOLS = (
    "bash shell exec exec_command run_command run_shell_command run_shell shell_command local_shell",
    "read read_file view view_file",
    "write write_file create create_file",
    "edit edit_file str_replace multiedit apply_patch replace",
    "glob search_files find list_directory ls",
    "webfetch web_fetch fetch",
)
"""What agents call the same tool; in small letters."""
_GROUPS = {name: words.split()[0] for words in _SAME_TOOLS for name in words.split()}
_LIMITED = {
    "tool_calls": ("tool_calls", "calls"),
    "turns": ("turns", "steps"),
    "tokens": ("tokens", "total_tokens"),
    "seconds": ("seconds", "time", "duration", "duration_seconds", "wall_time"),
    "errors": ("errors", "tool_errors"),
}
"""What a limit is of, with the words for it, after `max_` or `min_`."""


def tool_name(name: str) -> str:
    """Return a name that is the same for one tool of different agents."""
    name = name.lower().replace("-", "_")
    return _GROUPS.get(name, name)


def bounds_of(grader: Grader) -> tuple[float, float]:
    """Return how often a tool must be called at least and at most: once without a number."""
    most = _number(grader.config.get("max"), inf)
    return _number(grader.config.get("min"), 0.0 if most == 0 else 1.0), most


def calls_to(grader: Grader, ran: Ran) -> list[str]:
    """Return the arguments of each call to the tool of a grader, as JSON."""
    wanted = tool_name(grader.text)
    return [
        json.dumps(arguments, ensure_ascii=False, default=str)
        for step in ran.steps or ()
        for tool, arguments, _, _ in calls_of(step)
        if tool_name(tool) == wanted
    ]


def grade_steps(grader: Grader, ran: Ran, name: str) -> bool | None:
    """Return whether a run passes a grader of tools, skills or limits; `None` if what it needs is not known.

    Args:
        grader: not one with a pattern for arguments.
        ran: the run.
        name: of the skill that is evaluated.
    """
    if grader.kind == "limit":
        return _limit(grader.config, ran)
    if grader.kind == "skill-used":
        return _skills(grader, ran, name)
    if ran.steps is None:
        return None
    called = [tool_name(tool) for step in ran.steps for tool, *_ in calls_of(step)]
    if grader.kind == "tool-order":
        order = texts_at(grader.config, "order", "tools", "sequence", "required", "expected")
        rest = iter(called)
        return all(tool_name(tool) in rest for tool in order) if order else None
    wanted, refused = texts_at(grader.config, "required"), texts_at(grader.config, "disallowed")
    if not grader.text and not wanted and not refused:
        return None
    low, high = bounds_of(grader)
    is_right = not grader.text or low <= called.count(tool_name(grader.text)) <= high
    return (
        is_right
        and all(tool_name(tool) in called for tool in wanted)
        and not any(tool_name(tool) in called for tool in refused)
    )


def _skills(grader: Grader, ran: Ran, name: str) -> bool | None:
    wanted, refused = skills_of(grader, name)
    own = normalize_name(name)
    others = None if ran.steps is None else set(_used_skills(ran.steps))

    def is_used(skill: str) -> bool | None:
        key = normalize_name(skill)
        return ran.used if key == own else None if others is None else key in others

    uses = [(is_used(skill), True) for skill in wanted] + [(is_used(skill), False) for skill in refused]
    if any(used is None for used, _ in uses):
        return None
    return all(used is should for used, should in uses)


def _used_skills(steps: Iterable[Mapping[str, Any]]) -> Iterable[str]:
    for step in steps:
        extra = step.get("extra")
        skill = extra.get("skill") if isinstance(extra, dict) else None
        if isinstance(skill, dict):
            yield normalize_name(str(skill.get("name")))
        for tool, arguments, _, failed in calls_of(step):
            if tool.lower() in ("skill", "activate_skill") and isinstance(arguments, dict) and not failed:
                yield normalize_name(str(arguments.get("skill") or arguments.get("name")))


def _limit(config: Mapping[str, Any], ran: Ran) -> bool | None:
    """Return whether a run is within limits; those that name nothing that is counted are left out."""
    steps = ran.steps
    calls = None if steps is None else [call for step in steps for call in calls_of(step)]
    counts: dict[str, float | None] = {
        "tool_calls": None if calls is None else len(calls),
        "turns": None if steps is None else sum(step.get("source") == "agent" for step in steps),
        "tokens": ran.tokens,
        "seconds": ran.seconds,
        "errors": None if calls is None else sum(failed for *_, failed in calls),
    }
    found: list[bool | None] = []
    for kind, words in _LIMITED.items():
        for word in words:
            low, high = (_number(config.get(f"{bound}_{word}"), none) for bound, none in (("min", -inf), ("max", inf)))
            if (low, high) != (-inf, inf):
                count = counts[kind]
                found.append(None if count is None else low <= count <= high)
    return None if not found or None in found else all(found)


def _number(value: object, default: float) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return default
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return default
    return number if isfinite(number) else default
