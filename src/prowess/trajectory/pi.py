"""Read the sessions of pi (0.87.1)."""

from __future__ import annotations

import os
import re

from prowess._internal.files import SKILL_FILE

from ._lines import Lines, at, has_call, keep_call, objects_at, records, text_at
from ._recorder import offer_xml

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ._recorder import Recorder

_find_noise = re.compile(rb'"type":"(?:model_change|thinking_level_change|label)"').search
_match_skill = re.compile(r'<skill name="([^"]*)" location="([^"]*)">').match
_find_exit = re.compile(r"Command exited with code (\d+)").findall
_ARGUMENTS = {"read": "path", "bash": "command"}


def session_id(path: str) -> str:
    """Return the id of the session that a file belongs to, if its records do not say it."""
    return os.path.basename(path).removesuffix(".jsonl").partition("_")[2]


def read(lines: Lines, recorder: Recorder) -> None:
    """Read one file, which is one session with all its branches."""
    calls: dict[str, tuple[str, Any]] = {}

    def is_wanted(line: bytes) -> bool:
        awaited = b"skill" in line or b"SKILL" in line or has_call(line, calls)
        return awaited or b'"usage"' in line or not recorder.has_messages

    for record in records(lines, _find_noise, is_wanted):
        recorder.at(record.get("timestamp"))
        if record.get("type") == "session":
            recorder.id = text_at(record, "id") or recorder.id
            recorder.set_once(cwd=record.get("cwd"))
        elif record.get("type") == "message":
            _read_message(record, calls, recorder)
        else:
            recorder.skipped += bool(record)


def _read_message(record: dict[str, Any], calls: dict[str, tuple[str, Any]], recorder: Recorder) -> None:
    message = record.get("message")
    role = at(message, "role")
    if role == "system":
        catalog = text_at(message, "sections", "skills")
        if catalog:
            offer_xml(catalog, recorder, has_paths=True)
    elif role == "user":
        recorder.has_messages = True
        recorder.set_once(origin=f"{text_at(record, 'id')} {text_at(record, 'timestamp')}")
        if match := _match_skill(_text(message)):
            recorder.activate(text_at(record, "id"), match[1], match[2], "user")
    elif role == "assistant":
        if isinstance(usage := at(message, "usage"), dict):
            recorder.answer(
                text_at(record, "id") or recorder.now,
                got=(usage.get("input"), usage.get("cacheRead"), usage.get("cacheWrite")),
                cached=usage.get("cacheRead"),
                wrote=[usage.get("output")],
            )
        for item in objects_at(message, "content"):
            tool, key = text_at(item, "name"), text_at(item, "id")
            if item.get("type") == "toolCall" and key and tool in _ARGUMENTS:
                keep_call(calls, key, (tool, at(item, "arguments", _ARGUMENTS[tool])))
    elif role == "toolResult" and (call := calls.pop(text_at(message, "toolCallId"), None)):
        _count_call(text_at(message, "toolCallId"), *call, message, recorder)


def _count_call(key: str, tool: str, argument: object, message: Any, recorder: Recorder) -> None:
    is_error = at(message, "isError") is not False
    if tool == "bash":
        codes = _find_exit(_text(message)) if is_error else ["0"]
        recorder.run(key, argument, int(codes[-1][:6]) if codes else None)
    elif not is_error:
        path = recorder.path(argument)
        if path and os.path.basename(path) == SKILL_FILE:
            recorder.activate(key, recorder.offered_as(path), path, "model")
        else:
            recorder.read(key, argument)


def _text(message: Any) -> str:
    content = at(message, "content")
    return content if isinstance(content, str) else "".join(text_at(i, "text") for i in objects_at(message, "content"))
