"""Write what agents record of their sessions, as files of a home."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from prowess.filesystem import Question
from prowess.trajectory import read_sessions

if TYPE_CHECKING:
    from pathlib import Path

    from prowess.trajectory import RecordedSession, Recording

Records = list[dict[str, Any]]


def write_lines(path: Path, records: Records, end: str = "\n") -> Path:
    """Write a file with a record a line."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(map(json.dumps, records)) + end, encoding="utf-8")
    return path


def recording_of(home: Path, **options: Any) -> Recording:
    """Return what the agents recorded in a home."""
    return read_sessions(Question.about(home, home), **options)


def session_of(home: Path) -> RecordedSession:
    """Return the only session in a home, in which everything can be read."""
    recording = recording_of(home)
    assert recording.unreadable == ()
    (session,) = recording.sessions
    return session


# ── Claude Code ──────────────────────────────────────────────────────────────────────────────────────────────────────


def claude(home: Path, records: Records, *, session: str = "s1", cwd: str = "/work", end: str = "\n") -> Path:
    """Write a session of Claude Code; each record gets what all have, if it does not have it."""
    return write_lines(home / f".claude/projects/-work/{session}.jsonl", claude_lines(records, session, cwd), end)


def claude_lines(records: Records, session: str = "s1", cwd: str = "/work") -> Records:
    """Return records with what all records of Claude Code have."""
    return [
        {
            "uuid": f"{session}-{number}",
            "sessionId": session,
            "timestamp": f"2026-11-20T10:00:{number:02}.500Z",
            "cwd": cwd,
            "version": "2.1.330",
            **record,
        }
        for number, record in enumerate(records)
    ]


def says(text: str = "Do it.") -> dict[str, Any]:
    """Return the record of what a user typed."""
    return {"type": "user", "message": {"role": "user", "content": text}}


def calls(tool: str, key: str = "t1", **arguments: Any) -> dict[str, Any]:
    """Return the record of a call of a tool."""
    item = {"type": "tool_use", "id": key, "name": tool, "input": arguments}
    return {"type": "assistant", "message": {"role": "assistant", "content": [item]}}


def returns(key: str = "t1", content: str = "", *, error: bool = False, result: Any = None) -> dict[str, Any]:
    """Return the record of the result of a call."""
    item = {"type": "tool_result", "tool_use_id": key, "content": content, **({"is_error": True} if error else {})}
    return {"type": "user", "message": {"role": "user", "content": [item]}, "toolUseResult": result}


def gets_skill(folder: str, key: str | None = "t1") -> dict[str, Any]:
    """Return the record of the text of a skill, which the model got."""
    text = [{"type": "text", "text": f"Base directory for this skill: {folder}\n\nDo it well."}]
    source = {} if key is None else {"sourceToolUseID": key}
    return {"type": "user", "isMeta": True, **source, "message": {"role": "user", "content": text}}


def uses(name: str, folder: str, key: str = "t1") -> Records:
    """Return the three records of a skill that the model used."""
    result = {"success": True, "commandName": name}
    return [
        calls("Skill", key, skill=name),
        returns(key, f"Launching skill: {name}", result=result),
        gets_skill(folder, key),
    ]


def types(name: str) -> dict[str, Any]:
    """Return the record of a skill that the user called."""
    return says(f"<command-message>{name}</command-message>\n<command-name>/{name}</command-name>")


def offers(**descriptions: str) -> dict[str, Any]:
    """Return the record of the catalog that the model got."""
    content = "\n".join(f"- {name}: {text}" if text else f"- {name}" for name, text in descriptions.items())
    return {
        "type": "attachment",
        "attachment": {"type": "skill_listing", "names": [*descriptions], "content": content, "isInitial": True},
    }
