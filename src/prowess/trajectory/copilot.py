"""Read the sessions of GitHub Copilot CLI (1.0.102)."""

from __future__ import annotations

import os
import re

from ._lines import Lines, at, has_call, keep_call, records, text_at
from ._recorder import offer_xml

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ._recorder import Recorder

_find_noise = re.compile(rb'"type":"(?:assistant\.message_delta|assistant\.reasoning)\w*"').search
_ADDITIONAL = "Additional skills available (invoke by name): "
_TYPES = frozenset(
    ("user.message", "assistant.message", "assistant.turn_start", "assistant.turn_end", "subagent.started")
) | {"session.shutdown", "subagent.completed"}
_ARGUMENTS = {"view": "path", "bash": "command"}


def session_id(path: str) -> str:
    """Return the id of the session that a file belongs to."""
    return os.path.basename(os.path.dirname(path))


def read(lines: Lines, recorder: Recorder) -> None:
    """Read one file: a session with its sub-agents."""
    calls: dict[str, tuple[str, Any]] = {}

    def is_wanted(line: bytes) -> bool:
        return not recorder.cwd or b"skill" in line or b'"session.usage_record"' in line or has_call(line, calls)

    for record in records(lines, _find_noise, is_wanted):
        kind, data = text_at(record, "type"), record.get("data")
        recorder.at(record.get("timestamp"))
        key = text_at(data, "toolCallId")
        if kind in ("session.start", "session.resume"):
            recorder.set_once(version=at(data, "copilotVersion"), cwd=at(data, "context", "cwd"))
            recorder.has_messages = True
        elif kind == "system.message":
            _read_catalog(text_at(data, "content"), recorder)
        elif kind == "skill.invoked":
            by = "user" if at(data, "trigger") == "user-invoked" else "model"
            recorder.activate(text_at(record, "id") or recorder.now, at(data, "name"), at(data, "path"), by)
        elif kind == "session.usage_record" and isinstance(usage := at(data, "usage"), dict):
            got, wrote = [usage.get("inputTokens")], [usage.get("outputTokens")]
            key = text_at(record, "id") or recorder.now
            recorder.answer(key, got=got, cached=usage.get("cacheReadTokens"), wrote=wrote)
        elif kind == "tool.execution_start":
            tool = text_at(data, "toolName")
            if key and tool in _ARGUMENTS:
                keep_call(calls, key, (tool, at(data, "arguments", _ARGUMENTS[tool])))
        elif kind == "tool.execution_complete":
            if (call := calls.pop(key, None)) and at(data, "success") is True:
                _count_call(key, *call, at(data, "shellExecution", "exitCode"), recorder)
        elif kind not in _TYPES:
            recorder.skipped += bool(record)


def _read_catalog(text: str, recorder: Recorder) -> None:
    if "<available_skills>" not in text:
        return
    offer_xml(text, recorder, has_paths=False)
    for line in text.splitlines():
        if line.startswith(_ADDITIONAL):
            for name in line.removeprefix(_ADDITIONAL).split(", "):
                recorder.offer(name.strip(), description="none")


def _count_call(key: str, tool: str, argument: object, code: object, recorder: Recorder) -> None:
    if tool == "view":
        recorder.read(key, argument)
    else:
        recorder.run(key, argument, code)
