"""What the records of Gemini CLI say of skills."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

import pytest

from prowess.trajectory import Activation
from support.recorded import Records, recording_of, session_of, write_lines

if TYPE_CHECKING:
    from pathlib import Path

PDF = "/home/ada/.gemini/skills/pdf"
OUTPUT = f"""<activated_skill name="pdf">
<instructions>Do it well.</instructions>
  <available_resources>
    Showing up to 200 items (files + folders).

{PDF}/
├───SKILL.md
└───forms.md
  </available_resources>
</activated_skill>"""
START = {
    "sessionId": "s1",
    "projectHash": hashlib.sha256(b"/work").hexdigest(),
    "startTime": "2026-11-20T10:00:00.000Z",
    "kind": "main",
}


def gemini(home: Path, records: Records, name: str = "session-2026-11-20-s1.jsonl") -> None:
    """Write a session of Gemini CLI, which was started in `/work`."""
    projects = home / ".gemini/projects.json"
    projects.parent.mkdir(parents=True, exist_ok=True)
    projects.write_text(json.dumps({"projects": {"/work": "work"}}), encoding="utf-8")
    write_lines(home / ".gemini/tmp/work/chats" / name, records)


def says(text: str = "Do it.", key: str = "m1") -> dict[str, Any]:
    return {"id": key, "timestamp": "2026-11-20T10:00:01.000Z", "type": "user", "content": text}


def calls(*items: dict[str, Any], key: str = "m2") -> dict[str, Any]:
    return {"id": key, "timestamp": "2026-11-20T10:00:02.000Z", "type": "gemini", "content": "", "toolCalls": [*items]}


def call(tool: str, key: str = "c1", output: str = "", status: str = "success", **args: Any) -> dict[str, Any]:
    result = [{"functionResponse": {"id": key, "name": tool, "response": {"output": output}}}]
    time = "2026-11-20T10:00:03.000Z"
    return {"id": key, "name": tool, "args": args, "status": status, "result": result, "timestamp": time}


def test_a_skill_that_the_model_activated(tmp_path: Path) -> None:
    """Its folder is in the answer; a message is written twice, and a resumed session repeats it in another form."""
    activated = calls(call("activate_skill", output=OUTPUT, name="pdf"))
    again = {"content": [{"functionCall": {"id": "c1", "name": "activate_skill", "args": {"name": "pdf"}}}]}
    echo = {"type": "user", "content": [{"functionResponse": {"response": {"output": OUTPUT}}}]}
    gemini(
        tmp_path,
        [START, says(), calls(), activated, activated, echo, START, {"$set": {"messages": [says(), again, echo]}}],
    )
    session = session_of(tmp_path)
    assert (session.agent, session.id, session.cwd, session.catalog) == ("gemini-cli", "s1", "/work", None)
    assert session.activations == (
        Activation(id="c1", name="pdf", path=f"{PDF}/SKILL.md", by="model", time="2026-11-20T10:00:03Z"),
    )


@pytest.mark.parametrize("status", ["error", "cancelled", "executing"])
def test_a_call_without_a_success_is_no_use(tmp_path: Path, status: str) -> None:
    """The last record of a call counts, also if another one was written before."""
    first = calls(call("activate_skill", output=OUTPUT, name="pdf"))
    gemini(tmp_path, [START, says(), first, calls(call("activate_skill", output=OUTPUT, status=status, name="pdf"))])
    assert session_of(tmp_path).activations == ()


def test_files_and_scripts(tmp_path: Path) -> None:
    """A command that fails is a success, with a line that says so."""
    gemini(
        tmp_path,
        [
            START,
            says(),
            calls(
                call("read_file", "c1", "Forms", file_path=f"{PDF}/forms.md"),
                call("run_shell_command", "c2", "Output: x\nExit Code: 3\nBackground: no", command=f"{PDF}/fill.py"),
                call("run_shell_command", "c3", "Output: x", command=f"python3 {PDF}/check.py"),
            ),
        ],
    )
    session = session_of(tmp_path)
    assert [file.path for file in session.files] == [f"{PDF}/forms.md"]
    assert [(script.path, script.exit) for script in session.scripts] == [(f"{PDF}/fill.py", 3), (f"{PDF}/check.py", 0)]


def test_a_sub_agent_belongs_to_its_session(tmp_path: Path) -> None:
    gemini(tmp_path, [START, says()])
    used = calls(call("activate_skill", output=OUTPUT, name="pdf"))
    gemini(tmp_path, [{**START, "sessionId": "a1", "kind": "subagent"}, says(), used], "s1/a1.jsonl")
    session = session_of(tmp_path)
    assert (session.id, len(session.activations)) == ("s1", 1)


def test_older_versions_have_one_object_a_session(tmp_path: Path) -> None:
    """In a folder that is called after the hash of the project, which may be unknown."""
    used = calls(call("activate_skill", output=OUTPUT, name="pdf"))
    whole = {**START, "messages": [says(), used]}
    write_lines(tmp_path / f".gemini/tmp/{START['projectHash']}/chats/session-x.json", [whole])
    session = session_of(tmp_path)
    assert (session.cwd, len(session.activations)) == ("", 1)


def test_a_file_in_the_folder_names_the_project(tmp_path: Path) -> None:
    write_lines(tmp_path / ".gemini/tmp/work-2/chats/session-x.jsonl", [START, says()])
    (tmp_path / ".gemini/tmp/work-2/.project_root").write_text("/other/work\n")
    assert session_of(tmp_path).cwd == "/other/work"


def test_a_session_without_a_message_does_not_count(tmp_path: Path) -> None:
    gemini(tmp_path, [START])
    assert recording_of(tmp_path).sessions == ()
