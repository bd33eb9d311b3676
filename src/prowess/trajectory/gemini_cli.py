"""Read the sessions of Gemini CLI (0.61.0; before that one JSON file a session, known from its source)."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from hashlib import sha256

from prowess._internal.files import SKILL_FILE, UnreadableError, read_file

from ._lines import Lines, at, objects_at, parse_object, records, text_at
from ._places import UnreadableSessionError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ._recorder import Recorder

_MAX_BYTES = 64 * 1024 * 1024
"""Of a file that is one object."""
_find_noise = re.compile(rb"\A\0").search
_find_folder = re.compile(r"^ *(/.*)$", re.MULTILINE).search
_find_exit = re.compile(r"^Exit Code: (\d+)$", re.MULTILINE).search


def session_id(path: str) -> str:
    """Return the id of the session that a file belongs to, if its records do not say it."""
    return os.path.basename(path).partition(".")[0]


def read(lines: Lines, recorder: Recorder) -> None:
    """Read one file: a session, or one of its sub-agents. The last record of a call counts."""
    calls: dict[str, dict[str, Any]] = {}
    is_whole = lines.path.endswith(".json")
    found = records(
        lines, _find_noise, lambda line: not recorder.has_messages or b"skill" in line or b'"tokens"' in line
    )
    for record in [_read_object(lines)] if is_whole else found:
        if text_at(record, "projectHash"):
            recorder.at(record.get("startTime"))
            recorder.id = text_at(record, "sessionId") or recorder.id
            recorder.set_once(cwd=_project(lines.path, text_at(record, "projectHash")))
            if record.get("kind") == "subagent":
                recorder.set_once(parent=os.path.basename(os.path.dirname(lines.path)))
        for message in objects_at(record, "messages") or [record]:
            if message.get("type") in ("user", "gemini"):
                recorder.has_messages = True
                recorder.at(message.get("timestamp"))
            if isinstance(tokens := message.get("tokens"), dict):
                recorder.answer(
                    text_at(message, "id") or recorder.now,
                    got=(tokens.get("input"), tokens.get("tool")),
                    cached=tokens.get("cached"),
                    wrote=(tokens.get("output"), tokens.get("thoughts")),
                )
            for call in objects_at(message, "toolCalls"):
                if key := text_at(call, "id"):
                    calls[key] = call
    for key, call in calls.items():
        _count_call(key, call, recorder)


def _read_object(lines: Lines) -> dict[str, Any]:
    """Return the object of a file that has no lines.

    Raises:
        UnreadableSessionError: it is too large, or something else.
    """
    if os.path.getsize(lines.path) > _MAX_BYTES:
        raise UnreadableSessionError(f"it is larger than {_MAX_BYTES >> 20} MiB")
    if (value := parse_object(b"".join(lines))) is None:
        raise UnreadableSessionError("it is not JSON")
    return value


def _count_call(key: str, call: dict[str, Any], recorder: Recorder) -> None:
    recorder.at(call.get("timestamp"))
    if call.get("status") != "success":
        return
    output = "\n".join(text_at(part, "functionResponse", "response", "output") for part in objects_at(call, "result"))
    if call.get("name") == "activate_skill":
        match = _find_folder(output.partition("<available_resources>")[2])
        path = os.path.join(match[1], SKILL_FILE) if match else None
        recorder.activate(key, at(call, "args", "name"), path, "model")
    elif call.get("name") == "read_file":
        recorder.read(key, at(call, "args", "file_path") or at(call, "args", "absolute_path"))
    elif call.get("name") == "run_shell_command":
        match = _find_exit(output)
        recorder.run(key, at(call, "args", "command"), int(match[1][:6]) if match else 0, at(call, "args", "dir_path"))


def _project(path: str, digest: str) -> str:
    """Return the folder in which a session was started; empty if it is unknown."""
    folder = path.rpartition("/chats/")[0]
    with suppress(UnreadableError):
        return read_file(os.path.join(folder, ".project_root")).decode("utf-8", "replace").strip()
    known: object = None
    with suppress(UnreadableError):
        file = os.path.join(os.path.dirname(os.path.dirname(folder)), "projects.json")
        known = at(parse_object(read_file(file)), "projects")
    for project, slug in known.items() if isinstance(known, dict) else ():
        path = str(project)
        if slug == os.path.basename(folder) or sha256(path.encode("utf-8", "surrogatepass")).hexdigest() == digest:
            return path
    return ""
