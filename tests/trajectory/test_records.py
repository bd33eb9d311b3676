"""The steps of recorded sessions, with their texts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from prowess.filesystem import Question
from prowess.trajectory import read_steps
from support.recorded import calls, claude, returns, says, write_lines

if TYPE_CHECKING:
    from collections.abc import Iterable

SESSIONS = Path(__file__).parents[1] / "clients/sessions"
"""Of real agents."""


def tools(steps: Iterable[dict[str, Any]]) -> list[str]:
    return [call["function_name"] for step in steps for call in step.get("tool_calls", ())]


def steps_of(home: Path, agent: str = "claude-code") -> list[dict[str, Any]]:
    return [*read_steps(agent, Question.about(home, home, env={}))]


@pytest.mark.parametrize(("agent", "known"), [("claude-code", {"Skill", "Read", "Bash", "Agent"}), ("codex", {"exec"})])
def test_recorded_sessions_of_real_agents_have_their_calls_and_results(agent: str, known: set[str]) -> None:
    """Each call that has ended has the text that its model got."""
    steps = steps_of(SESSIONS / agent / "home", agent)
    assert known <= {*tools(steps)}
    results = [result for step in steps for result in step.get("observation", {"results": []})["results"]]
    texts = "\n".join(result["content"] for result in results)
    assert "High water at 09:40." in texts
    assert "there is no low water" in texts
    assert any("Look at it." in step["message"] for step in steps if step["source"] == "user")
    assert any(step["message"] == "Done." for step in steps if step["source"] == "agent")


def test_the_parts_of_an_answer_are_one_step(tmp_path: Path) -> None:
    """Each is a record with the same id; the result of a call belongs to it, and says whether it failed."""
    first, second = calls("Bash", "t1", command="ls"), calls("Read", "t2", file_path="/x")
    for part in (first, second):
        part["message"]["id"] = "m1"
    text = {"type": "assistant", "message": {"id": "m2", "content": [{"type": "text", "text": "Done"}]}}
    records = [says(), first, second, returns("t1", "a"), returns("t2", "no", error=True), returns("t9", "x"), text]
    claude(tmp_path, records)
    asked, answer, said = steps_of(tmp_path)
    assert (asked["source"], asked["message"]) == ("user", "Do it.")
    assert tools([answer]) == ["Bash", "Read"]
    assert answer["observation"]["results"] == [
        {"source_call_id": "t1", "content": "a"},
        {"source_call_id": "t2", "content": "no", "extra": {"is_error": True}},
    ]
    assert (said["source"], said["message"]) == ("agent", "Done")


def test_records_of_nonsense_are_left_out(tmp_path: Path) -> None:
    """Whatever the types of their values are; long texts are cut."""
    odd: list[dict[str, Any]] = [
        {"type": "assistant"},
        {"type": "assistant", "message": {"content": [7, {"type": "tool_use", "id": 7, "name": None, "input": [1]}]}},
        {"type": "user", "message": 7},
        calls("Bash", "t1", command="x" * 100_000),
        returns("t1", "y" * 100_000),
    ]
    claude(tmp_path, odd)
    *_, last = steps_of(tmp_path)
    assert last["tool_calls"][0]["arguments"] == {}
    assert len(last["observation"]["results"][0]["content"]) == 65_536
    items: list[dict[str, Any]] = [
        {"type": "response_item", "payload": payload}
        for payload in (
            7,
            {"type": "message", "role": "assistant", "content": 7},
            {"type": "function_call", "name": 7, "arguments": "{", "call_id": 7},
            {"type": "function_call", "name": "exec_command", "arguments": '{"cmd": "ls"}', "call_id": "c1"},
            {"type": "function_call_output", "call_id": "c1", "output": {"content": "a", "success": False}},
            {"type": "custom_tool_call", "name": "exec", "input": "text(1)", "call_id": "c2"},
            {"type": "custom_tool_call_output", "call_id": "c2", "output": [{"type": "input_text", "text": "1"}]},
        )
    ]
    write_lines(tmp_path / ".codex/sessions/2026/11/02/rollout-2026-11-02T09-00-00-1.jsonl", items)
    steps = steps_of(tmp_path, "codex")
    assert tools(steps)[-2:] == ["exec_command", "exec"]
    assert steps[-1]["tool_calls"][0]["arguments"] == {"input": "text(1)"}
    assert [result["content"] for step in steps for result in step["observation"]["results"]] == ["a", "1"]
    assert "is_error" in json.dumps(steps)
