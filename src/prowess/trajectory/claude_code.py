"""Read the sessions of Claude Code (2.0.77 to 2.1.330)."""

from __future__ import annotations

import os
import re

from prowess._internal.files import SKILL_FILE

from ._lines import BASE, Lines, at, description_level, has_call, keep_call, objects_at, records, text_at

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ._recorder import Recorder

_TYPES = frozenset(("user", "assistant", "attachment", "system"))
_find_noise = re.compile(
    rb'"type":"(?:prompt_snapshot|api-request[\w-]*|queue-operation|file-history-snapshot)"'
).search
"""The types of records that are nine tenths of the bytes. A quotation mark in a text has a backslash before it."""
_match_command = re.compile(
    r"\s*<command-message>.*?</command-message>\s*<command-name>/?([^<]*)</command-name>", re.DOTALL
).match
_exit_code = re.compile(r"(?:Error: )?Exit code (\d+)").match


def session_id(path: str) -> str:
    """Return the id of the session that a file belongs to, if its records do not say it."""
    return os.path.basename(path).removesuffix(".jsonl")


def read(lines: Lines, recorder: Recorder) -> None:
    """Read one file: a session, or one of its sub-agents."""
    reader = _Reader(recorder)
    for record in records(lines, _find_noise, reader.is_wanted):
        reader.read(record)
        if reader.is_warmup:
            return


class _Reader:
    """Joins the records of one file: a call, its result, and the text that the model got."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder
        self.is_warmup = False
        """Whether it is a sub-agent that did nothing (2.0.77)."""
        self._calls: dict[str, tuple[str, Any, str]] = {}
        """Calls without a result so far: the tool, its argument, and the working directory."""
        self._command: tuple[str, str] | None = None
        """A command of the user: the id of the record, and the name."""

    def is_wanted(self, line: bytes) -> bool:
        """Return whether a line may say something of skills."""
        if b"skill" in line or b"<command-name>" in line or b'"usage"' in line or not self.recorder.origin:
            return True
        return has_call(line, self._calls)

    def read(self, record: dict[str, Any]) -> None:
        """Read one record."""
        recorder, kind = self.recorder, text_at(record, "type")
        if kind not in _TYPES:
            recorder.skipped += bool(record)
            return
        recorder.at(record.get("timestamp"))
        recorder.set_once(cwd=record.get("cwd"), version=record.get("version"))
        if session := text_at(record, "sessionId"):
            recorder.id = session
        if record.get("isSidechain") is True:
            recorder.set_once(parent=record.get("sessionId"))
        if kind == "attachment":
            self._read_listing(record)
        elif kind == "assistant":
            self._read_answer(record)
        elif kind == "user":
            self._read_user(record)

    def _read_listing(self, record: dict[str, Any]) -> None:
        if at(record, "attachment", "type") != "skill_listing":
            return
        names = at(record, "attachment", "names")
        lines = text_at(record, "attachment", "content").split("\n")
        for name in names if isinstance(names, list) else ():
            start = f"- {name}: "
            text = next((line.removeprefix(start).strip() for line in lines if line.startswith(start)), "")
            self.recorder.offer(name, description=description_level(text))

    def _read_answer(self, record: dict[str, Any]) -> None:
        """Read an answer; each of its parts is a record, with the tokens of the whole answer so far."""
        message = record.get("message")
        if isinstance(usage := at(message, "usage"), dict):
            key = text_at(message, "id")
            cached = usage.get("cache_read_input_tokens")
            self.recorder.answer(
                f"{key} {text_at(record, 'requestId')}" if key else text_at(record, "uuid"),
                got=(usage.get("input_tokens"), usage.get("cache_creation_input_tokens"), cached),
                cached=cached,
                wrote=[usage.get("output_tokens")],
            )
        for item in objects_at(record, "message", "content"):
            argument = _ARGUMENTS.get(text_at(item, "name"))
            if item.get("type") == "tool_use" and argument and (key := text_at(item, "id")):
                keep_call(
                    self._calls, key, (text_at(item, "name"), at(item, "input", argument), text_at(record, "cwd"))
                )

    def _read_user(self, record: dict[str, Any]) -> None:
        recorder, content, key = self.recorder, at(record, "message", "content"), text_at(record, "uuid")
        if not recorder.origin:
            self.is_warmup = content == "Warmup" and record.get("isSidechain") is True
            recorder.has_messages, recorder.origin = not self.is_warmup, key or "-"
        for item in objects_at(record, "message", "content"):
            if item.get("type") == "tool_result":
                self._read_result(record, item)
        if record.get("isMeta") is not True:
            match = _match_command(content) if isinstance(content, str) else None
            self._command = (key, match[1]) if match else None
            return
        text = (
            content if isinstance(content, str) else "".join(text_at(i, "text") for i in objects_at({"": content}, ""))
        )
        if not text.startswith(BASE):
            return
        path = os.path.join(text.removeprefix(BASE).partition("\n")[0].strip(), SKILL_FILE)
        if source := text_at(record, "sourceToolUseID"):
            if recorder.is_used(source):
                recorder.activate(source, None, path, "model")
        elif self._command is not None:
            recorder.activate(self._command[0], self._command[1], path, "user")
            self._command = None

    def _read_result(self, record: dict[str, Any], item: dict[str, Any]) -> None:
        key = text_at(item, "tool_use_id")
        call = self._calls.pop(key, None)
        if call is None:
            return
        tool, argument, cwd = call
        failed = item.get("is_error") is True
        if tool == "Skill" and not failed and at(record, "toolUseResult", "success") is True:
            self.recorder.activate(key, argument, None, "model")
        elif tool == "Read" and not failed:
            self.recorder.read(key, at(record, "toolUseResult", "file", "filePath") or argument)
        elif tool == "Bash":
            self.recorder.run(key, argument, exit_code_in(item) if failed else 0, cwd)


_ARGUMENTS = {"Skill": "skill", "Read": "file_path", "Bash": "command"}
"""The tools that matter, each with its argument that does."""


def exit_code_in(item: dict[str, Any]) -> int | None:
    """Return the exit code in the text of a failed command; `None` if it was not run."""
    content = item.get("content")
    text = content if isinstance(content, str) else "".join(text_at(i, "text") for i in objects_at(item, "content"))
    match = _exit_code(text)
    return int(match[1][:4]) if match else None
