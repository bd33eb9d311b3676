"""Read the sessions of Qwen Code (0.24.4)."""

from __future__ import annotations

import os
import re

from prowess._internal.files import SKILL_FILE

from ._lines import BASE, Lines, at, has_call, keep_call, objects_at, records, text_at

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ._recorder import Recorder

_find_noise = re.compile(rb'"subtype":"(?:ui_telemetry|attribution_snapshot|slash_command)"').search
_find_exit = re.compile(r"^Exit Code: (\d+)$", re.MULTILINE).search
_find_command = re.compile(r"^/(\S+)", re.MULTILINE).findall
_ARGUMENTS = {"skill": "skill", "read_file": "file_path", "run_shell_command": "command"}
"""The tools that matter, each with its argument that does."""
_TYPES = frozenset(("user", "assistant", "tool_result", "system"))


def session_id(path: str) -> str:
    """Return the id of the session that a file belongs to, if its records do not say it."""
    return os.path.basename(path).removesuffix(".jsonl")


def read(lines: Lines, recorder: Recorder) -> None:
    """Read one file: a session, or one of its sub-agents."""
    calls: dict[str, tuple[str, Any]] = {}

    def is_wanted(line: bytes) -> bool:
        is_wanted = b"skill" in line or b'"usageMetadata"' in line or has_call(line, calls)
        return is_wanted or not recorder.has_messages

    for record in records(lines, _find_noise, is_wanted):
        kind = text_at(record, "type")
        if kind not in _TYPES:
            recorder.skipped += bool(record)
            continue
        recorder.at(record.get("timestamp"))
        recorder.set_once(cwd=record.get("cwd"), version=record.get("version"))
        recorder.id = text_at(record, "sessionId") or recorder.id
        if record.get("isSidechain") is True:
            recorder.set_once(parent=recorder.id)
        if kind == "user":
            recorder.has_messages = True
            recorder.set_once(origin=record.get("uuid"))
            _read_user(record, recorder)
        elif kind == "assistant":
            recorder.has_messages = True
            if isinstance(usage := record.get("usageMetadata"), dict):
                recorder.answer(
                    text_at(record, "uuid") or recorder.now,
                    got=[usage.get("promptTokenCount")],
                    cached=usage.get("cachedContentTokenCount"),
                    wrote=[usage.get("candidatesTokenCount")],
                    total=usage.get("totalTokenCount"),
                )
            for part in objects_at(record, "message", "parts"):
                call = at(part, "functionCall")
                tool, key = text_at(call, "name"), text_at(call, "id")
                if key and tool in _ARGUMENTS:
                    keep_call(calls, key, (tool, at(call, "args", _ARGUMENTS[tool])))
        elif kind == "tool_result":
            _read_result(record, calls, recorder)


def _read_user(record: dict[str, Any], recorder: Recorder) -> None:
    text = "".join(text_at(part, "text") for part in objects_at(record, "message", "parts"))
    if text.startswith(BASE):
        first, _, rest = text.removeprefix(BASE).partition("\n")
        names = _find_command(rest)
        path = os.path.join(first.strip(), SKILL_FILE)
        recorder.activate(text_at(record, "uuid"), names[-1] if names else None, path, "user")


def _read_result(record: dict[str, Any], calls: dict[str, tuple[str, Any]], recorder: Recorder) -> None:
    """Read what came of calls; a sub-agent's result has no status, so that its text decides."""
    responses = [at(part, "functionResponse") for part in objects_at(record, "message", "parts")]
    key = text_at(record, "toolCallResult", "callId") or text_at(responses[0] if responses else None, "id")
    if (call := calls.pop(key, None)) is None:
        return
    tool, argument = call
    status = at(record, "toolCallResult", "status")
    failed = any(at(each, "response", "error") for each in responses)
    output = "\n".join(text_at(each, "response", "output") for each in responses)
    is_done = status == "success" if status is not None else bool(output) and not failed
    code = at(record, "toolCallResult", "resultDisplay", "exitCode")
    if tool == "run_shell_command":
        match = _find_exit("\n".join(text_at(each, "response", "error") for each in responses))
        said = int(match[1][:6]) if match else 0 if is_done else None
        recorder.run(key, argument, code if isinstance(code, int) else said)
    elif is_done and tool == "read_file":
        recorder.read(key, argument)
    elif is_done:
        base = next((line for line in output.split("\n") if line.startswith(BASE)), "")
        path = os.path.join(base.removeprefix(BASE).strip(), SKILL_FILE) if base else None
        recorder.activate(key, argument, path, "model")
