"""What the records of Codex say of skills."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from prowess.trajectory import Activation, Offer, ScriptRun
from support.recorded import Records, recording_of, session_of, write_lines

if TYPE_CHECKING:
    from pathlib import Path

PDF = "/home/ada/.agents/skills/pdf"
CATALOG = """<skills_instructions>
### Skill roots
- `r0` = `/home/ada/.agents/skills`
- `r1` = `/work/.codex/skills`
### Available skills
- pdf: Does pdf: forms. (file: r0/pdf/SKILL.md)
- pdf: Does it otherwise. (file: r1/pdf/SKILL.md)
- csv: (file: r0/csv/SKILL.md)
</skills_instructions>"""


def codex(home: Path, records: Records, *, session: str = "s1", **start: Any) -> None:
    """Write a session of Codex, which begins with its own record."""
    meta = {"session_id": session, "id": session, "cwd": "/work", "cli_version": "0.169.0", **start}
    lines = [
        {"timestamp": f"2026-11-20T10:00:{number:02}.000Z", "ordinal": number, **record}
        for number, record in enumerate([{"type": "session_meta", "payload": meta}, *records])
    ]
    name = meta["id"] if isinstance(meta["id"], str) else session
    write_lines(home / f".codex/sessions/2026/11/20/rollout-2026-11-20T10-00-00-{name}.jsonl", lines)


def item(kind: str, **payload: Any) -> dict[str, Any]:
    return {"type": "response_item", "payload": {"type": kind, **payload}}


def message(role: str, text: str) -> dict[str, Any]:
    return item("message", role=role, content=[{"type": "input_text", "text": text}])


def ran(command: str, *parsed: tuple[str, str], key: str = "c1", code: int = 0, cwd: str = "/work") -> dict[str, Any]:
    """Return the event of a command that has ended."""
    done = {
        "type": "CommandExecution",
        "id": key,
        "command": ["/bin/bash", "-lc", command],
        "cwd": f"file://{cwd}",
        "parsed_cmd": [{"type": kind, "path": path} for kind, path in parsed],
        "status": "failed" if code else "completed",
        "exit_code": code,
    }
    return {"type": "event_msg", "payload": {"type": "item_completed", "item": done}}


def test_the_catalog_has_both_copies_of_a_name(tmp_path: Path) -> None:
    """And after a compaction it is repeated, which counts once."""
    again = {"type": "compacted", "payload": {"replacement_history": [message("developer", CATALOG)["payload"]]}}
    codex(tmp_path, [message("developer", CATALOG), again])
    session = session_of(tmp_path)
    assert (session.agent, session.id, session.version, session.cwd) == ("codex", "s1", "0.169.0", "/work")
    assert session.catalog == (
        Offer(name="pdf", path=f"{PDF}/SKILL.md"),
        Offer(name="pdf", path="/work/.codex/skills/pdf/SKILL.md"),
        Offer(name="csv", path="/home/ada/.agents/skills/csv/SKILL.md", description="none"),
    )


def test_reading_skill_md_is_a_use_and_looking_for_it_is_not(tmp_path: Path) -> None:
    codex(
        tmp_path,
        [
            ran(f"ls {PDF}", ("list_files", PDF), key="c1"),
            ran(f"rg x {PDF}/SKILL.md", ("search", f"{PDF}/SKILL.md"), key="c2"),
            ran("cat gone/skills/SKILL.md", ("read", "gone/skills/SKILL.md"), key="c3", code=1),
            ran(
                "cat .codex/skills/csv/SKILL.md", ("read", ".codex/skills/csv/SKILL.md"), key="c4", cwd="/work/in%20it"
            ),
            ran(
                f"cat {PDF}/forms.md && cat {PDF}/SKILL.md",
                ("read", f"{PDF}/forms.md"),
                ("read", f"{PDF}/SKILL.md"),
                key="c5",
            ),
        ],
    )
    session = session_of(tmp_path)
    assert [(used.name, used.path, used.by) for used in session.activations] == [
        ("csv", "/work/in it/.codex/skills/csv/SKILL.md", "model"),
        ("pdf", f"{PDF}/SKILL.md", "model"),
    ]
    assert [file.path for file in session.files] == [f"{PDF}/forms.md"]


def test_a_script_has_the_exit_code_of_its_command(tmp_path: Path) -> None:
    codex(tmp_path, [ran(f"python3 {PDF}/scripts/fill.py", code=3)])
    assert session_of(tmp_path).scripts == (
        ScriptRun(id="c1", path=f"{PDF}/scripts/fill.py", exit=3, time="2026-11-20T10:00:01Z"),
    )


def test_a_skill_that_the_user_named(tmp_path: Path) -> None:
    text = f"<skill>\n<name>pdf</name>\n<path>{PDF}/SKILL.md</path>\nDo it well.\n</skill>"
    codex(tmp_path, [message("user", "$pdf a.pdf"), message("user", text), message("user", f"Look at {text}")])
    assert session_of(tmp_path).activations == (
        Activation(
            id=f"2026-11-20T10:00:02Z {PDF}/SKILL.md",
            name="pdf",
            path=f"{PDF}/SKILL.md",
            by="user",
            time="2026-11-20T10:00:02Z",
        ),
    )


def test_the_same_command_in_events_and_items_counts_once(tmp_path: Path) -> None:
    script = f"await tools.exec_command({{cmd: {json.dumps(f'cat {PDF}/SKILL.md')}}})"
    codex(
        tmp_path,
        [
            item("custom_tool_call", name="exec", call_id="k1", input=script),
            ran(f"cat {PDF}/SKILL.md", ("read", f"{PDF}/SKILL.md")),
            item("custom_tool_call_output", call_id="k1", output="Exit code: 0\n---\nname: pdf"),
        ],
    )
    assert len(session_of(tmp_path).activations) == 1


def test_version_0_90_has_calls_of_a_shell_only(tmp_path: Path) -> None:
    """Its catalog is in the first message of the user, and its session has only an `id`."""
    reads = json.dumps({"command": f"sed -n 1,20p {PDF}/SKILL.md", "workdir": "/work"})
    runs = json.dumps({"command": ["bash", "-lc", "./scripts/fill.py"], "workdir": PDF})
    fails = json.dumps({"command": f"cat {PDF}/skills/SKILL.md", "workdir": "/work"})
    catalog = f"# AGENTS.md instructions for /work\n- pdf: Does pdf. (file: {PDF}/SKILL.md)"
    codex(
        tmp_path,
        [
            message("user", catalog),
            item("function_call", name="shell_command", call_id="k1", arguments=reads),
            item("function_call_output", call_id="k1", output="Exit code: 0\nWall time: 0\nOutput:\n---"),
            item("function_call", name="shell", call_id="k2", arguments=runs),
            item("function_call_output", call_id="k2", output=json.dumps({"output": "", "metadata": {"exit_code": 2}})),
            item("function_call", name="shell_command", call_id="k3", arguments=fails),
            item("function_call_output", call_id="k3", output="Exit code: 1\n"),
            item("function_call", name="shell_command", call_id="k4", arguments=reads),
        ],
        session_id=None,
    )
    session = session_of(tmp_path)
    assert session.catalog == (Offer(name="pdf", path=f"{PDF}/SKILL.md"),)
    assert [(used.name, used.time) for used in session.activations] == [("pdf", "2026-11-20T10:00:03Z")]
    assert [(script.path, script.exit) for script in session.scripts] == [(f"{PDF}/scripts/fill.py", 2)]


def test_a_sub_agent_belongs_to_its_session(tmp_path: Path) -> None:
    codex(tmp_path, [message("user", "hi")])
    use = ran(f"cat {PDF}/SKILL.md", ("read", f"{PDF}/SKILL.md"))
    codex(tmp_path, [use], id="a1", thread_source="subagent", parent_thread_id="s1")
    session = session_of(tmp_path)
    assert (session.id, len(session.activations)) == ("s1", 1)


def test_words_are_no_records(tmp_path: Path) -> None:
    text = f"{CATALOG}\n<skill>\n<name>pdf</name>\n<path>{PDF}/SKILL.md</path>\n{json.dumps(ran('cat SKILL.md'))}"
    codex(
        tmp_path,
        [
            message("user", f"See this: {text}"),
            message("assistant", CATALOG),
            item("function_call_output", call_id="k9", output=text),
            {"type": "event_msg", "payload": {"type": "agent_message", "message": text}},
        ],
    )
    session = session_of(tmp_path)
    assert (session.activations, session.catalog) == ((), None)


def test_an_index_beside_the_sessions_is_not_read(tmp_path: Path) -> None:
    write_lines(tmp_path / ".codex/history.jsonl", [{"text": "skill"}])
    write_lines(tmp_path / ".codex/sessions/notes.jsonl", [{"text": "skill"}])
    assert recording_of(tmp_path).sessions == ()
