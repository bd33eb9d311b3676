"""Read the sessions of Codex (0.90.0 to 0.169.0)."""

from __future__ import annotations

import json
import os
import re

from prowess._internal.files import SKILL_FILE

from ._lines import Lines, at, description_level, has_call, keep_call, objects_at, records, text_at

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ._recorder import Recorder

_find_noise = re.compile(
    rb'"type":"(?:world_state|turn_context|thread_settings_applied|additional_tools'
    rb'|compacted|agent_reasoning|reasoning|agent_message_delta)"'
).search
"""Types of records that say nothing of skills, or repeat other records."""
_find_entries = re.compile(r"^- (.+?): (?:(.*) )?\(file: (.*)\)$", re.MULTILINE).finditer
_find_roots = re.compile(r"^- `(r\d+)` = `(.*)`$", re.MULTILINE).findall
_match_skill = re.compile(r"<skill>\n<name>(.*?)</name>\n<path>(.*?)</path>\n").match
_find_exit = re.compile(r'^(?:Exit code: |Process exited with code )(-?\d+)|"exit_code": ?(-?\d+)', re.MULTILINE).search
_find_javascript = re.compile(r'\bcmd"?\s*:\s*("(?:\\.|[^"\\])*")').findall
_SHELLS = ("exec_command", "shell_command", "shell", "container.exec")


def session_id(path: str) -> str:
    """Return the id of the session that a file belongs to, if its records do not say it."""
    return os.path.basename(path).removesuffix(".jsonl")[-36:]


def read(lines: Lines, recorder: Recorder) -> None:
    """Read one file: a session, or one of its sub-agents."""
    reader = _Reader(recorder)
    for record in records(lines, _find_noise, lambda line: not recorder.has_messages or reader.is_awaited(line)):
        reader.read(record)
    reader.count_calls()


class _Reader:
    """Joins the records of one file. The same command is in events, and in what the model saw: one of them counts."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder
        self._calls: dict[str, tuple[str, str]] = {}
        """Calls without a result so far: the command, and the working directory."""
        self._ended: list[tuple[str, str, str, int | None, str]] = []
        """Calls with a result: the id, the command, the working directory, the exit code, and the time."""
        self._has_events = False
        self._has_usage = False
        """Whether each answer has a record of its tokens (0.169.0); otherwise events count them, some of them twice."""
        self._total: Any = None
        """The tokens of the session so far, in the last one of these events."""

    def is_awaited(self, line: bytes) -> bool:
        """Return whether a line may say something of skills."""
        is_count = b'"token_usage_record"' in line or b'"token_count"' in line
        return is_count or b"skill" in line or b"SKILL" in line or has_call(line, self._calls)

    def read(self, record: dict[str, Any]) -> None:
        """Read one record."""
        recorder, kind, payload = self.recorder, record.get("type"), record.get("payload")
        recorder.at(record.get("timestamp"))
        if kind == "session_meta":
            self._read_start(payload)
        elif kind == "event_msg":
            if at(payload, "type") == "item_completed" and at(payload, "item", "type") == "CommandExecution":
                self._read_command(at(payload, "item"))
            elif at(payload, "type") == "token_count":
                self._read_count(at(payload, "info"))
        elif kind == "token_usage_record":
            self._has_usage = True
            self._add_answer(text_at(payload, "response_id") or recorder.now, at(payload, "usage"))
        elif kind == "response_item":
            self._read_item(payload)
        else:
            recorder.skipped += bool(record)

    def _read_count(self, info: Any) -> None:
        total = at(info, "total_token_usage")
        if not self._has_usage and isinstance(total, dict) and total != self._total:
            self._total = total
            self._add_answer(f"{self.recorder.now} {at(total, 'total_tokens')}", at(info, "last_token_usage"))

    def _add_answer(self, key: str, usage: Any) -> None:
        if isinstance(usage, dict):
            got, wrote = [usage.get("input_tokens")], [usage.get("output_tokens")]
            self.recorder.answer(key, got=got, cached=usage.get("cached_input_tokens"), wrote=wrote)

    def _read_start(self, payload: Any) -> None:
        recorder = self.recorder
        if recorder.has_messages:
            return  # a session that was resumed, or that is a copy of another one
        recorder.has_messages = True
        own, session = text_at(payload, "id"), text_at(payload, "session_id")
        is_sub_agent = at(payload, "thread_source") == "subagent"
        recorder.id = (own if is_sub_agent else session or own) or recorder.id
        recorder.set_once(cwd=at(payload, "cwd"), version=at(payload, "cli_version"))
        if forked := text_at(payload, "forked_from_id"):
            recorder.origin = f"session {forked}"
        if is_sub_agent:
            recorder.set_once(parent=session or at(payload, "parent_thread_id"))

    def _read_command(self, item: Any) -> None:
        """Read the event of a command that has ended."""
        recorder, code, argv = self.recorder, at(item, "exit_code"), at(item, "command")
        self._has_events = True
        key = text_at(item, "id") or text_at(item, "call_id") or recorder.now
        cwd = recorder.path(at(item, "cwd")) or recorder.cwd
        command = argv[-1] if isinstance(argv, list) and argv else argv
        typed = recorder.run(key, command, code, cwd)
        if code != 0 or at(item, "status") == "failed":
            return
        parsed = at(item, "parsed_cmd")
        if isinstance(parsed, list):
            typed = []
            for part in objects_at(item, "parsed_cmd"):
                if part.get("type") == "read" and (path := recorder.path(part.get("path"), cwd)):
                    recorder.read(key, path)
                    typed.append(path)
        self._use(key, typed)

    def _use(self, key: str, paths: list[str]) -> None:
        """Add the skills whose SKILL.md was read."""
        for path in paths:
            if os.path.basename(path) == SKILL_FILE:
                self.recorder.activate(f"{key} {path}", self.recorder.offered_as(path), path, "model")

    def _read_item(self, payload: Any) -> None:
        kind, key = at(payload, "type"), text_at(payload, "call_id")
        if kind == "message":
            for part in objects_at(payload, "content"):
                self._read_message(at(payload, "role"), text_at(part, "text"), text_at(payload, "id"))
        elif kind == "function_call" and at(payload, "name") in _SHELLS:
            self._keep_call(key, *_shell_command(text_at(payload, "arguments")))
        elif kind == "custom_tool_call" and at(payload, "name") == "exec":
            self._keep_call(key, _javascript_command(text_at(payload, "input")), "")
        elif kind in ("function_call_output", "custom_tool_call_output") and (call := self._calls.pop(key, None)):
            self._ended.append((key, *call, _exit_code(at(payload, "output")), self.recorder.now))

    def _keep_call(self, key: str, command: str, cwd: str) -> None:
        if key and command:
            keep_call(self._calls, key, (command, cwd))

    def _read_message(self, role: object, text: str, key: str) -> None:
        recorder = self.recorder
        if role == "user" and (match := _match_skill(text)):
            recorder.activate(key or f"{recorder.now} {match[2]}", match[1], match[2], "user")
        is_catalog = role == "developer" and text.startswith("<skills_instructions>")
        if is_catalog or (role == "user" and text.startswith("# AGENTS.md instructions for")):
            roots = dict(_find_roots(text))
            for name, description, path in (match.groups() for match in _find_entries(text)):
                first, _, rest = path.partition("/")
                path = f"{roots[first]}/{rest}" if first in roots else path
                recorder.offer(name, path, description_level((description or "").strip()))

    def count_calls(self) -> None:
        """Add what the commands did, if there were no events about them."""
        for key, command, cwd, code, time in () if self._has_events else self._ended:
            self.recorder.at(time)
            self._use(key, self.recorder.run(key, command, code, cwd))


def _shell_command(arguments: str) -> tuple[str, str]:
    """Return the command and the working directory of a call, whose arguments are JSON."""
    try:
        values = json.loads(arguments)
    except (ValueError, RecursionError):
        return "", ""
    command = at(values, "command") or at(values, "cmd")
    if isinstance(command, list):
        command = command[-1] if command else ""
    return command if isinstance(command, str) else "", text_at(values, "workdir")


def _javascript_command(text: str) -> str:
    """Return the commands in a program of JavaScript."""
    found = []
    for literal in _find_javascript(text):
        try:
            found.append(json.loads(literal))
        except ValueError:
            continue
    return "\n".join(found)


def _exit_code(output: object) -> int | None:
    text = output if isinstance(output, str) else json.dumps(output)
    match = _find_exit(text[:2000])
    return int((match[1] or match[2])[:6]) if match else None
