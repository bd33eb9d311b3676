"""Read and write trajectories of any agent: ATIF 1.7, the Agent Trajectory Interchange Format of Harbor.

The format has no record of a skill. In trajectories of others, the calls by which agents load one count, if their
results say that they did. Prowess says in `extra` of a step what it did: `skills` were offered, `skill` was used,
`file` was read, `script` was run. `skill` is null if nothing reached the model, or it already had the text.
"""

from __future__ import annotations

import os
import re

from prowess._internal.files import SKILL_FILE, UnreadableError, read_file

from ._lines import at, objects_at, parse_object, text_at
from ._places import UnreadableSessionError
from ._recorder import Recorder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from ._session import RecordedSession

VERSION = "ATIF-v1.7"
MAX_BYTES = 64 * 1024 * 1024
"""Of a file that is read or written."""
_MAX_DEPTH = 8
"""Sub-agents of sub-agents that are read."""
_MAX_TREES, _MAX_STEPS, _MAX_COST = 100, 10_000, 1e6
"""Trajectories in one file, their steps, and US dollars."""
_SKILL_TOOLS = ("Skill", "skill", "activate_skill")
_READ_TOOLS = ("Read", "read", "read_file", "view", "read_skill_file")
_SHELL_TOOLS = ("Bash", "bash", "bash_command", "exec_command", "run_shell_command", "shell", "shell_command")
_OWN_KEYS = frozenset(("skill", "file", "script"))
"""Keys of `extra` in steps of Prowess."""
_BY_READING = ("codex", "pi")
"""Agents without a tool for skills: reading SKILL.md is what loads one."""
_find_base = re.compile(r"^Base directory for this skill: (.+)$", re.MULTILINE).search
_find_exit = re.compile(r"Exit code:? (\d+)|exited with code (\d+)", re.IGNORECASE).search


def read_all(path: str, home: str) -> list[RecordedSession]:
    """Return the session of a file, and its sub-agents.

    Raises:
        UnreadableSessionError: it cannot be read, or is no trajectory.
    """
    return [*_sessions(_value_of(path, follow=True), os.path.basename(path).partition(".")[0], None, home)]


def read_trajectory(path: str, home: str) -> tuple[list[RecordedSession], tuple[dict[str, Any], ...], float | None]:
    """Return the sessions of a file that a program wrote, the steps of all of them, and what they cost.

    Args:
        path: of the file; a link is not followed.
        home: of the program.

    Returns:
        The sessions as for `read_all`; the steps, those of sub-agents at the end; and US dollars, or `None` if the file
        does not say them.

    Raises:
        UnreadableSessionError: it cannot be read, or is no trajectory.
    """
    return session_parts(_value_of(path, follow=False), os.path.basename(path).partition(".")[0], home)


def trajectory_at(path: str) -> dict[str, Any] | None:
    """Return the trajectory in a file; `None` if the file has something else. A link is not followed.

    Raises:
        UnreadableError: it cannot be read.
    """
    value = parse_object(read_file(path, MAX_BYTES))
    return value if value is not None and text_at(value, "schema_version").startswith("ATIF-v1.") else None


def session_parts(
    value: dict[str, Any], name: str, home: str
) -> tuple[list[RecordedSession], tuple[dict[str, Any], ...], float | None]:
    """Return what `read_trajectory` does, of a trajectory that was read.

    Args:
        value: the trajectory.
        name: of its session, if it does not say that.
        home: of the program that wrote it.
    """
    sessions = [*_sessions(value, name, None, home)]
    trees = [value]
    for tree in trees:
        trees += objects_at(tree, "subagent_trajectories") if len(trees) < _MAX_TREES else []
    steps = [step for tree in trees for step in objects_at(tree, "steps") if step.get("is_copied_context") is not True]
    costs = [at(value, "final_metrics", "total_cost_usd")]
    if costs == [None]:
        costs = [cost for step in steps if (cost := at(step, "metrics", "cost_usd")) is not None]
    is_known = costs and all(type(cost) in (int, float) and 0 <= cost < _MAX_COST for cost in costs)
    return sessions, tuple(steps[:_MAX_STEPS]), float(sum(costs)) if is_known else None


def _value_of(path: str, *, follow: bool) -> dict[str, Any]:
    try:
        value = parse_object(read_file(path, MAX_BYTES, follow=follow))
    except UnreadableError as error:
        raise UnreadableSessionError(str(error)) from None
    if value is None or not text_at(value, "schema_version").startswith("ATIF-v1."):
        raise UnreadableSessionError("it is not a trajectory of ATIF 1")
    return value


def _sessions(value: Any, name: str, parent: str | None, home: str, depth: int = 0) -> Iterator[RecordedSession]:
    session = text_at(value, "session_id") or text_at(value, "trajectory_id") or name
    key = session if parent is None else text_at(value, "trajectory_id") or f"{session} {name}"
    recorder = Recorder(text_at(value, "agent", "name") or "unknown", key, home)
    recorder.parent = parent
    recorder.set_once(version=at(value, "agent", "version"), cwd=at(value, "agent", "extra", "cwd"))
    recorder.set_once(cwd=at(value, "extra", "cwd"))
    if not any(at(step, "metrics", "prompt_tokens") for step in objects_at(value, "steps")):
        _read_metrics(key, at(value, "final_metrics"), "total_", recorder)
    for number, step in enumerate(objects_at(value, "steps"), 1):
        recorder.has_messages = True
        if step.get("is_copied_context") is not True:
            recorder.at(step.get("timestamp"))
            _read_step(step, f"{key} {step.get('step_id', number)}", recorder)
            _read_metrics(f"{key} {step.get('step_id', number)}", step.get("metrics"), "", recorder)
    if (found := recorder.session()) is not None:
        yield found
    for number, inner in enumerate(objects_at(value, "subagent_trajectories") if depth < _MAX_DEPTH else (), 1):
        yield from _sessions(inner, f"{name} {number}", parent or session, home, depth + 1)


def _read_metrics(key: str, metrics: Any, prefix: str, recorder: Recorder) -> None:
    got, wrote = at(metrics, f"{prefix}prompt_tokens"), at(metrics, f"{prefix}completion_tokens")
    if got or wrote:
        recorder.answer(key, got=[got], cached=at(metrics, f"{prefix}cached_tokens"), wrote=[wrote])


def _read_step(step: dict[str, Any], key: str, recorder: Recorder) -> None:
    extra = step.get("extra")
    if isinstance(at(extra, "skills"), list):
        recorder.has_catalog = True
        for skill in objects_at(extra, "skills"):
            recorder.offer(skill.get("name"), skill.get("path"), text_at(skill, "description") or "full")
    if isinstance(extra, dict) and not _OWN_KEYS.isdisjoint(extra):
        _read_own_step(step, extra, key, recorder)
        return
    if step.get("source") == "user" and (match := _find_base(text_at(step, "message"))):
        recorder.activate(key, None, os.path.join(match[1].strip(), SKILL_FILE), "user")
    results = {text_at(item, "source_call_id"): item for item in objects_at(step, "observation", "results")}
    for call in objects_at(step, "tool_calls"):
        call_id = text_at(call, "tool_call_id")
        if (result := results.get(call_id)) is not None:
            _count_call(call_id or key, text_at(call, "function_name"), call.get("arguments"), result, recorder)


def _read_own_step(step: dict[str, Any], extra: dict[str, Any], key: str, recorder: Recorder) -> None:
    """Read a step that says itself what it did with a skill."""
    key = next((text_at(call, "tool_call_id") for call in objects_at(step, "tool_calls")), "") or key
    if isinstance(skill := extra.get("skill"), dict):
        by = "user" if step.get("source") == "user" else "model"
        recorder.activate(text_at(skill, "id") or key, skill.get("name"), skill.get("path"), by)
    recorder.read(key, extra.get("file"))
    recorder.add_script(key, at(extra, "script", "path"), at(extra, "script", "exit_code"))


def _count_call(key: str, tool: str, arguments: Any, result: dict[str, Any], recorder: Recorder) -> None:
    content = text_at(result, "content") or "\n".join(text_at(part, "text") for part in objects_at(result, "content"))
    failed = at(result, "extra", "is_error") is True or content.startswith(("Error", "<tool_use_error>"))
    path = at(arguments, "file_path") or at(arguments, "path")
    loads = isinstance(path, str) and os.path.basename(path) == SKILL_FILE and recorder.agent in _BY_READING
    if tool in _SKILL_TOOLS and not failed:
        match = _find_base(content)
        base = os.path.join(match[1].strip(), SKILL_FILE) if match else None
        recorder.activate(key, at(arguments, "skill") or at(arguments, "name"), base, "model")
    elif tool in _READ_TOOLS and not failed:
        if loads:
            recorder.activate(key, None, path, "model")
        else:
            recorder.read(key, path)
    elif tool in _SHELL_TOOLS:
        code, match = at(result, "extra", "exit_code"), _find_exit(content[:2000])
        code = code if isinstance(code, int) else int((match[1] or match[2])[:6]) if match else 1 if failed else 0
        for found in recorder.run(key, at(arguments, "command") or at(arguments, "cmd"), code):
            if recorder.agent in _BY_READING:
                recorder.activate(f"{key} {found}", None, found, "model")


def trajectory_of(session: RecordedSession) -> dict[str, object]:
    """Return a session as a trajectory of ATIF 1.7: what was offered and used, and no text."""
    steps: list[dict[str, object]] = []
    for used in session.activations:
        skill = {"id": used.id, "name": used.name, "path": used.path}
        if used.by == "user":
            steps.append(message_step("user", "", used.time, skill=skill))
        else:
            steps.append(call_step("activate_skill", {"name": used.name}, "", used.time, used.id, skill=skill))
    steps += [
        call_step("read_skill_file", {"path": file.path}, "", file.time, file.id, file=file.path)
        for file in session.files
    ]
    for run in session.scripts:
        script = {"path": run.path, "exit_code": run.exit}
        steps.append(call_step("run_skill_script", {"script": run.path}, "", run.time, run.id, script=script))
    steps.sort(key=lambda step: str(step.get("timestamp", "")))
    skills = {} if session.catalog is None else {"skills": [offer.as_dict() for offer in session.catalog]}
    steps.insert(0, message_step("system", "", session.first, **skills))
    return {
        "schema_version": VERSION,
        "session_id": session.id,
        "agent": {"name": session.agent, "version": session.version or "unknown", "extra": {"cwd": session.cwd}},
        "steps": [{"step_id": number, **step} for number, step in enumerate(steps, 1)],
        **_final_metrics(session),
    }


def _final_metrics(session: RecordedSession) -> dict[str, object]:
    """Return what a trajectory has of the tokens of a session; nothing if they are not recorded."""
    if (tokens := session.tokens) is None:
        return {}
    names = {"input": "prompt", "cached": "cached", "output": "completion"}
    return {"final_metrics": {f"total_{name}_tokens": tokens[key] for key, name in names.items()}}


def message_step(source: str, text: str, time: str, **extra: object) -> dict[str, Any]:
    """Return a step of ATIF without its number.

    Args:
        source: `system`, `user` or `agent`.
        text: what was said.
        time: ISO 8601; empty if it is unknown.
        extra: what was done with a skill: `skill`, `file`, `script`, or `skills` for those that are offered.
    """
    step = {**({"timestamp": time} if time else {}), "source": source, "message": text}
    return {**step, "extra": extra} if extra else step


def call_step(
    tool: str, arguments: Mapping[str, Any], content: str, time: str, key: str, **extra: object
) -> dict[str, Any]:
    """Return a step of ATIF with one call of a tool and its result.

    Args:
        tool: its name.
        arguments: what it was called with.
        content: the result.
        time: as for `message_step`.
        key: the ID of the call.
        extra: as for `message_step`.
    """
    call = {"tool_call_id": key, "function_name": tool, "arguments": arguments}
    result = {"source_call_id": key, "content": content}
    return {
        **message_step("agent", "", time, **extra),
        "tool_calls": [call],
        "observation": {"results": [result]},
    }
