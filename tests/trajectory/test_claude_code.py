"""What the records of Claude Code say of skills."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from prowess.trajectory import Activation, FileRead, Offer, ScriptRun
from support.recorded import (
    calls,
    claude,
    claude_lines,
    gets_skill,
    offers,
    recording_of,
    returns,
    says,
    session_of,
    types,
    uses,
    write_lines,
)

if TYPE_CHECKING:
    from pathlib import Path

PDF = "/home/ada/.claude/skills/pdf"


def test_a_session_has_its_id_version_folder_and_times(tmp_path: Path) -> None:
    claude(tmp_path, [says(), *uses("pdf", PDF), says("Thanks.")])
    session = session_of(tmp_path)
    assert (session.agent, session.id, session.version, session.cwd) == ("claude-code", "s1", "2.1.330", "/work")
    assert (session.first, session.last) == ("2026-11-20T10:00:00Z", "2026-11-20T10:00:04Z")


def test_a_skill_that_the_model_used_has_its_copy(tmp_path: Path) -> None:
    claude(tmp_path, [says(), *uses("pdf", PDF)])
    assert session_of(tmp_path).activations == (
        Activation(id="t1", name="pdf", path=f"{PDF}/SKILL.md", by="model", time="2026-11-20T10:00:02Z"),
    )


def test_a_call_without_a_success_is_no_use(tmp_path: Path) -> None:
    """An unknown name, a refused permission, and an agent that was killed."""
    claude(
        tmp_path,
        [
            says(),
            calls("Skill", "t1", skill="unknown"),
            returns("t1", "Unknown skill", error=True, result="Error: Unknown skill: unknown"),
            calls("Skill", "t2", skill="pdf"),
            returns("t2", "refused", error=True, result="Error: refused"),
            calls("Skill", "t3", skill="pdf"),
        ],
    )
    assert session_of(tmp_path).activations == ()


def test_a_skill_that_the_user_called(tmp_path: Path) -> None:
    claude(tmp_path, [types("pdf"), gets_skill(PDF, None)])
    assert session_of(tmp_path).activations == (
        Activation(id="s1-0", name="pdf", path=f"{PDF}/SKILL.md", by="user", time="2026-11-20T10:00:01Z"),
    )


def test_version_2_0_writes_the_name_without_a_slash(tmp_path: Path) -> None:
    text = '<command-message>The "pdf" skill is running</command-message>\n<command-name>pdf</command-name>'
    claude(tmp_path, [says(text), gets_skill(PDF, None)])
    (used,) = session_of(tmp_path).activations
    assert (used.name, used.by) == ("pdf", "user")


def test_a_command_of_the_agent_is_no_skill(tmp_path: Path) -> None:
    text = "<command-name>/compact</command-name>\n<command-message>compact</command-message>"
    claude(tmp_path, [says(text), {"type": "user", "isMeta": True, "message": {"content": "Caveat: a skill"}}])
    assert session_of(tmp_path).activations == ()


def test_words_are_no_records(tmp_path: Path) -> None:
    """A tool prints this file, someone pastes it, and an answer quotes it."""
    text = "\n".join(map(json.dumps, claude_lines([*uses("pdf", PDF, "t9"), types("pdf"), offers(pdf="Does it.")])))
    claude(
        tmp_path,
        [
            says(text),
            says(f"Base directory for this skill: {PDF}"),
            calls("Bash", "t1", command="cat skills.jsonl"),
            returns("t1", text),
            returns("t9", text, result=text),
            {"type": "assistant", "message": {"content": [{"type": "text", "text": text}]}},
        ],
    )
    session = session_of(tmp_path)
    assert (session.activations, session.catalog, session.files, session.scripts) == ((), None, (), ())


def test_the_catalog_says_how_much_of_a_description_was_offered(tmp_path: Path) -> None:
    """A second one, after a compaction, adds to it."""
    claude(tmp_path, [says(), offers(pdf="Does pdf.", csv="Does cs…", old=""), offers(pdf="Does pdf.", new="Is new.")])
    assert session_of(tmp_path).catalog == (
        Offer(name="pdf"),
        Offer(name="csv", description="short"),
        Offer(name="old", description="none"),
        Offer(name="new"),
    )


def test_files_and_scripts_of_skills_are_counted(tmp_path: Path) -> None:
    """Other files and commands, and SKILL.md itself, are not."""
    claude(
        tmp_path,
        [
            says(),
            *uses("pdf", PDF, "t0"),
            calls("Read", "t1", file_path=f"{PDF}/forms.md"),
            returns("t1", "1\tForms", result={"file": {"filePath": f"{PDF}/forms.md"}}),
            calls("Read", "t2", file_path=f"{PDF}/SKILL.md"),
            returns("t2", "1\t---", result={"file": {"filePath": f"{PDF}/SKILL.md"}}),
            calls("Read", "t3", file_path="/work/skills.md"),
            returns("t3", "", result={"file": {"filePath": "/work/skills.md"}}),
            calls("Bash", "t4", command=f"cd {PDF} && python3 scripts/fill.py a.pdf"),
            returns("t4", "Exit code 3\nno such form", error=True, result="Error: Exit code 3"),
            calls("Bash", "t5", command=f"bash {PDF}/scripts/check.sh > out.txt"),
            returns("t5", "fine"),
            calls("Bash", "t6", command=f"{PDF}/scripts/never.sh"),
            returns("t6", "The user does not want that skill", error=True),
            calls("Read", "t7", file_path=f"{PDF}/gone.md"),
            returns("t7", "File does not exist.", error=True),
        ],
    )
    session = session_of(tmp_path)
    assert session.files == (FileRead(id="t1", path=f"{PDF}/forms.md", time="2026-11-20T10:00:05Z"),)
    assert session.scripts == (
        ScriptRun(id="t4", path=f"{PDF}/scripts/fill.py", exit=3, time="2026-11-20T10:00:11Z"),
        ScriptRun(id="t5", path=f"{PDF}/scripts/check.sh", exit=0, time="2026-11-20T10:00:13Z"),
    )


def test_a_fork_is_one_session_with_what_it_copies(tmp_path: Path) -> None:
    """It has the same records under another session, and its own ones after them."""
    records = claude_lines([says(), offers(pdf="Does pdf."), *uses("pdf", PDF)])
    write_lines(tmp_path / ".claude/projects/-work/s1.jsonl", records)
    fork = [{**record, "sessionId": "s2"} for record in records]
    more = claude_lines(uses("csv", "/work/.claude/skills/csv", "t2"), "s2")
    write_lines(tmp_path / ".claude/projects/-work/s2.jsonl", [*fork, *more])
    session = session_of(tmp_path)
    assert [used.name for used in session.activations] == ["pdf", "csv"]


def test_a_sub_agent_belongs_to_its_session(tmp_path: Path) -> None:
    """In 2.1 below the session's folder, in 2.0 beside the session."""
    side = {"isSidechain": True, "agentId": "a1"}
    claude(tmp_path, [says()])
    projects = tmp_path / ".claude/projects/-work"
    for number, place in enumerate(("s1/subagents/agent-a1.jsonl", "agent-a2.jsonl")):
        records = [{**record, **side} for record in [says(), *uses("pdf", PDF, f"t{number}")]]
        write_lines(
            projects / place,
            [{**record, "uuid": f"{place}{index}"} for index, record in enumerate(claude_lines(records))],
        )
    assert {used.id for used in session_of(tmp_path).activations} == {"t0", "t1"}


def test_a_warm_up_and_an_empty_file_are_no_sessions(tmp_path: Path) -> None:
    warmup = {**says("Warmup"), "isSidechain": True}
    claude(
        tmp_path, [warmup, {"type": "assistant", "isSidechain": True, "message": {"content": []}}], session="agent-1"
    )
    claude(tmp_path, [], session="s2", end="")
    claude(tmp_path, [{"type": "summary", "summary": "skill"}], session="s3")
    assert recording_of(tmp_path).sessions == ()


@pytest.mark.parametrize("cut", [1, 40, 200])
def test_a_line_that_is_being_written_is_left_out(tmp_path: Path, cut: int) -> None:
    path = claude(tmp_path, [says(), *uses("pdf", PDF)])
    path.write_bytes(path.read_bytes() + json.dumps(says("x" * 500)).encode()[:cut])
    assert len(session_of(tmp_path).activations) == 1


def test_unknown_types_are_counted(tmp_path: Path) -> None:
    claude(tmp_path, [says(), {"type": "skill-of-tomorrow"}, *uses("pdf", PDF)])
    session = session_of(tmp_path)
    assert (session.skipped, len(session.activations)) == (1, 1)
