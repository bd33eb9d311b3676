"""Trajectories of ATIF 1.7, read and written."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from prowess.filesystem import Question
from prowess.trajectory import RecordedSession, read_sessions, trajectory_of
from support.recorded import calls, claude, gets_skill, offers, returns, says, session_of, types, uses

if TYPE_CHECKING:
    from pathlib import Path

PDF = "/home/ada/.claude/skills/pdf"


def read(home: Path, *values: dict[str, Any]) -> tuple[RecordedSession, ...]:
    """Return the sessions of trajectories."""
    paths = []
    for number, value in enumerate(values):
        paths.append(home / f"{number}.json")
        paths[-1].write_text(json.dumps(value), encoding="utf-8")
    recording = read_sessions(Question.about(home, home), agents=(), imports=[str(path) for path in paths])
    assert recording.unreadable == ()
    return recording.sessions


def trajectory(agent: str, *steps: dict[str, Any], **more: Any) -> dict[str, Any]:
    """Return a trajectory as Harbor writes it."""
    numbered = [
        {"step_id": number, "timestamp": "2026-11-20T10:00:00Z", "message": "", **step}
        for number, step in enumerate(steps, 1)
    ]
    about = {"name": agent, "version": "1.0"}
    return {"schema_version": "ATIF-v1.7", "session_id": "s1", "agent": about, "steps": numbered, **more}


def step(tool: str, arguments: dict[str, Any], content: str | None, key: str = "c1", **extra: Any) -> dict[str, Any]:
    """Return a step with one call, and its result."""
    results = [] if content is None else [{"source_call_id": key, "content": content, "extra": extra}]
    call = {"tool_call_id": key, "function_name": tool, "arguments": arguments}
    return {"source": "agent", "tool_calls": [call], "observation": {"results": results}}


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    claude(
        tmp_path / "home",
        [
            says(),
            offers(pdf="Does pdf.", csv=""),
            *uses("pdf", PDF),
            types("csv"),
            gets_skill("/work/.claude/skills/csv", None),
            calls("Read", "t2", file_path=f"{PDF}/a b.md"),
            returns("t2", "x"),
            calls("Bash", "t3", command=f"python3 '{PDF}/fi ll.py'"),
            returns("t3", "Exit code 3", error=True),
        ],
    )
    session = session_of(tmp_path / "home")
    value = trajectory_of(session)
    assert read(tmp_path, value) == (session.with_changes(origin=""),)
    assert "Do it" not in json.dumps(value)


def test_steps_are_as_the_format_wants_them(tmp_path: Path) -> None:
    """Numbers from 1 on, calls only in steps of the agent, and a result for each call."""
    claude(tmp_path, [says(), *uses("pdf", PDF), types("csv"), gets_skill("/work/csv", None)])
    value: Any = trajectory_of(session_of(tmp_path))
    assert value["schema_version"] == "ATIF-v1.7"
    assert [(each["step_id"], each["source"]) for each in value["steps"]] == [(1, "system"), (2, "agent"), (3, "user")]
    for each in value["steps"]:
        found = [call["tool_call_id"] for call in each.get("tool_calls", ())]
        assert found == [result["source_call_id"] for result in each.get("observation", {}).get("results", ())]
        assert not found or each["source"] == "agent"


@pytest.mark.parametrize(
    ("agent", "made", "names"),
    [
        ("claude-code", step("Skill", {"skill": "pdf"}, f"Base directory for this skill: {PDF}\n"), ["pdf"]),
        ("qwen-code", step("skill", {"skill": "pdf"}, "Do it."), ["pdf"]),
        ("gemini-cli", step("activate_skill", {"name": "pdf"}, "<activated_skill>"), ["pdf"]),
        ("claude-code", step("Skill", {"skill": "pdf"}, None), []),
        ("claude-code", step("Skill", {"skill": "pdf"}, "Error: Unknown skill"), []),
        ("claude-code", step("Skill", {"skill": "pdf"}, "x", is_error=True), []),
        ("codex", step("exec_command", {"cmd": f"cat {PDF}/SKILL.md"}, "---"), ["pdf"]),
        ("codex", step("exec_command", {"cmd": f"cat {PDF}/SKILL.md"}, "Exit code: 1"), []),
        ("pi", step("read", {"path": f"{PDF}/SKILL.md"}, "---"), ["pdf"]),
        ("claude-code", step("Read", {"file_path": f"{PDF}/SKILL.md"}, "---"), []),
        ("claude-code", {**step("Skill", {"skill": "pdf"}, "x"), "is_copied_context": True}, []),
        ("claude-code", {"source": "user", "message": "use the skill pdf"}, []),
    ],
)
def test_calls_that_load_a_skill(tmp_path: Path, agent: str, made: dict[str, Any], names: list[str]) -> None:
    (session,) = read(tmp_path, trajectory(agent, made))
    assert [used.name for used in session.activations] == names


def test_sub_agents_belong_to_their_session(tmp_path: Path) -> None:
    inner = trajectory("claude-code", step("Skill", {"skill": "csv"}, "x", "c2"), trajectory_id="inner")
    (session,) = read(tmp_path, trajectory("claude-code", {"source": "user"}, subagent_trajectories=[inner]))
    assert [used.name for used in session.activations] == ["csv"]


def test_tokens_are_those_of_the_whole(tmp_path: Path) -> None:
    metrics = {"total_prompt_tokens": 1200, "total_completion_tokens": 34}
    (session,) = read(tmp_path, trajectory("codex", {"source": "user"}, final_metrics=metrics))
    assert session.tokens == {"input": 1200, "cached": 0, "output": 34}


def test_tokens_of_steps_count_but_not_those_of_copied_ones(tmp_path: Path) -> None:
    """A trajectory that goes on with another one has its steps again."""
    copied = {"source": "agent", "is_copied_context": True, "metrics": {"prompt_tokens": 500, "completion_tokens": 500}}
    own = {"source": "agent", "metrics": {"prompt_tokens": 20, "cached_tokens": 5, "completion_tokens": 3}}
    metrics = {"total_prompt_tokens": 520, "total_completion_tokens": 503}
    (session,) = read(tmp_path, trajectory("codex", copied, own, own, final_metrics=metrics))
    assert session.tokens == {"input": 40, "cached": 10, "output": 6}


def test_a_trajectory_that_is_there_twice_has_its_tokens_once(tmp_path: Path) -> None:
    """The first copy was made before the conversation went on."""
    early = {"total_prompt_tokens": 10, "total_completion_tokens": 1}
    late = {"total_prompt_tokens": 30, "total_completion_tokens": 2}
    more = {"source": "user", "timestamp": "2026-11-20T11:00:00Z"}
    (session,) = read(
        tmp_path,
        trajectory("codex", {"source": "user"}, more, final_metrics=late),
        trajectory("codex", {"source": "user"}, final_metrics=early),
    )
    assert session.tokens == {"input": 30, "cached": 0, "output": 2}


def test_a_trajectory_without_tokens_has_an_unknown_number(tmp_path: Path) -> None:
    """Prowess writes 0 if the framework does not say how many there were."""
    metrics = {"total_prompt_tokens": 0, "total_completion_tokens": 0, "total_steps": 1}
    (session,) = read(tmp_path, trajectory("prowess", {"source": "user"}, final_metrics=metrics))
    assert session.tokens is None


def test_tokens_are_written_as_they_are_read(tmp_path: Path) -> None:
    usage = {"input_tokens": 7, "cache_read_input_tokens": 40, "output_tokens": 5}
    answer = {"type": "assistant", "message": {"id": "m1", "role": "assistant", "content": [], "usage": usage}}
    claude(tmp_path / "home", [says(), answer])
    value: Any = trajectory_of(session_of(tmp_path / "home"))
    assert value["final_metrics"] == {
        "total_prompt_tokens": 47,
        "total_cached_tokens": 40,
        "total_completion_tokens": 5,
    }
    (session,) = read(tmp_path, value)
    assert session.tokens == {"input": 47, "cached": 40, "output": 5}


@pytest.mark.parametrize("content", [b"", b"[]", b'{"schema_version": "2"}', b"\xff", b"[" * 100_000])
def test_another_file_is_named(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "x.json").write_bytes(content)
    recording = read_sessions(Question.about(tmp_path, tmp_path), agents=(), imports=[str(tmp_path / "x.json")])
    assert [item.reason for item in recording.unreadable] == ["it is not a trajectory of ATIF 1"]
