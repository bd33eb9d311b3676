"""What the records of Qwen Code say of skills."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from prowess.trajectory import Activation
from support.recorded import Records, session_of, write_lines

if TYPE_CHECKING:
    from pathlib import Path

PDF = "/home/ada/.qwen/skills/pdf"
TEXT = f"Base directory for this skill: {PDF}\n\nDo it well, as in /usr/bin.\n"


def qwen(home: Path, records: Records, place: str = "chats/s1.jsonl") -> None:
    """Write a session of Qwen Code."""
    common = {"sessionId": "s1", "cwd": "/work", "version": "0.24.4"}
    lines = [
        {"uuid": f"{place}{number}", "timestamp": f"2026-11-20T10:00:{number:02}.000Z", **common, **record}
        for number, record in enumerate(records)
    ]
    write_lines(home / ".qwen/projects/-work" / place, lines)


def says(text: str = "Do it.") -> dict[str, Any]:
    return {"type": "user", "message": {"role": "user", "parts": [{"text": text}]}}


def call(tool: str, key: str = "c1", **args: Any) -> dict[str, Any]:
    parts = [{"functionCall": {"id": key, "name": tool, "args": args}}]
    return {"type": "assistant", "message": {"role": "model", "parts": parts}}


def result(
    key: str = "c1", output: str | None = "", status: str | None = "success", *, said: str = "no", **more: Any
) -> dict[str, Any]:
    response = {"error": said} if output is None else {"output": output}
    parts = [{"functionResponse": {"id": key, "response": response}}]
    came = {"callId": key, **({} if status is None else {"status": status}), **more}
    return {"type": "tool_result", "message": {"role": "user", "parts": parts}, "toolCallResult": came}


def test_a_skill_that_the_model_used(tmp_path: Path) -> None:
    """What the telemetry repeats does not count."""
    telemetry = {"type": "system", "subtype": "ui_telemetry", "systemPayload": {"name": "qwen-code.tool_call skill"}}
    qwen(
        tmp_path,
        [
            says(),
            call("skill", "c1", skill="pdf"),
            telemetry,
            result("c1", TEXT),
            call("skill", "c2", skill="unknown"),
            result("c2", None, "error"),
            call("skill", "c3", skill="pdf"),
        ],
    )
    session = session_of(tmp_path)
    assert (session.agent, session.id, session.version, session.cwd) == ("qwen-code", "s1", "0.24.4", "/work")
    assert session.catalog is None
    assert session.activations == (
        Activation(id="c1", name="pdf", path=f"{PDF}/SKILL.md", by="model", time="2026-11-20T10:00:03Z"),
    )


def test_a_skill_that_the_user_called(tmp_path: Path) -> None:
    """The first message is the skill, with what the user typed below it."""
    qwen(tmp_path, [says(f"{TEXT}\n/my-pdf a.pdf\n"), says(f"I typed:\n{TEXT}")])
    (used,) = session_of(tmp_path).activations
    assert (used.name, used.path, used.by) == ("my-pdf", f"{PDF}/SKILL.md", "user")


def test_a_sub_agent_has_no_status_but_an_output_or_an_error(tmp_path: Path) -> None:
    qwen(tmp_path, [says()])
    side = [
        says(),
        call("skill", "c1", skill="pdf"),
        result("c1", TEXT, None),
        call("skill", "c2", skill="pdf"),
        result("c2", None, None),
        call("run_shell_command", "c3", command=f"sh {PDF}/fill.sh"),
        result("c3", None, None, said="Command: sh\nError: (none)\nExit Code: 3\nSignal: (none)"),
    ]
    qwen(tmp_path, [{**record, "isSidechain": True} for record in side], "subagents/s1/agent-a1.jsonl")
    session = session_of(tmp_path)
    assert (session.id, [used.id for used in session.activations]) == ("s1", ["c1"])
    assert [(script.path, script.exit) for script in session.scripts] == [(f"{PDF}/fill.sh", 3)]


def test_files_and_scripts(tmp_path: Path) -> None:
    shell = {"type": "shell_result", "exitCode": 3}
    qwen(
        tmp_path,
        [
            says(),
            call("read_file", "c1", file_path=f"{PDF}/forms.md"),
            result("c1", "Forms"),
            call("run_shell_command", "c2", command=f"cd {PDF} && ./fill.py"),
            result("c2", "x", resultDisplay=shell),
            call("run_shell_command", "c3", command=f"{PDF}/never.sh"),
            result("c3", None, "cancelled"),
        ],
    )
    session = session_of(tmp_path)
    assert [file.path for file in session.files] == [f"{PDF}/forms.md"]
    assert [(script.path, script.exit) for script in session.scripts] == [(f"{PDF}/fill.py", 3)]
