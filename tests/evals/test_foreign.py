"""Trajectories of other tools, judged like runs of our own."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from prowess.cli import main
from prowess.evals import Ran
from prowess.evals._foreign import _arm_of
from support.recorded import calls, claude, offers, returns, says, uses
from support.recorded_evals import record
from support.skills import skill

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Output = tuple[int, str, str]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., Output]:
    """Return a function that calls `prowess eval` beside a skill with seven cases."""
    skill(tmp_path / "greet")
    graders = [
        {"type": "contains", "value": "good day"},
        {"type": "file-exists", "path": "out.txt"},
        {"type": "tool-used", "name": "Bash"},
        {"type": "skill-used"},
    ]
    cases = [{"prompt": f"Greet person number {number}\nin a letter", "assertions": graders} for number in range(7)]
    (tmp_path / "greet/evals").mkdir()
    (tmp_path / "greet/evals/evals.json").write_text(json.dumps({"evals": cases}), encoding="utf-8")
    monkeypatch.chdir(tmp_path)

    def call(*words: str) -> Output:
        code = main(["eval", *words])
        return code, *capsys.readouterr()

    return call


def call_of(tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
    call = {"tool_call_id": "c", "function_name": tool, "arguments": arguments}
    return {"source": "agent", "message": "", "tool_calls": [call], "observation": {"results": [result_of("c")]}}


def result_of(key: str) -> dict[str, Any]:
    return {"source_call_id": key, "content": "Launching skill: greet"}


def harbor(trial: Path, prompt: str, answer: str, *, used: bool = False, tool: str = "Bash") -> None:
    """Write a trial as Harbor does: a trajectory, and other JSON beside it."""
    steps = [
        {"source": "system", "message": "You are an agent"},
        {"source": "user", "message": prompt},
        *([call_of("Skill", {"skill": "greet"})] if used else []),
        call_of(tool, {"command": "ls"}),
        {"source": "agent", "message": answer, "metrics": {"prompt_tokens": 90, "completion_tokens": 10}},
    ]
    value = {
        "schema_version": "ATIF-v1.8",
        "session_id": trial.name,
        "agent": {"name": "claude-code", "version": "2.1"},
        "steps": [{"step_id": number, **step} for number, step in enumerate(steps, 1)],
        "final_metrics": {"total_cost_usd": 0.5},
    }
    (trial / "agent").mkdir(parents=True)
    (trial / "agent/trajectory.json").write_text(json.dumps(value), encoding="utf-8")
    (trial / "agent/trajectory.cont-1.json").write_text(json.dumps(value), encoding="utf-8")
    (trial / "result.json").write_text('{"reward": 1}', encoding="utf-8")


def prompt_of(number: int) -> str:
    return f"Greet person number {number} in a  letter"


def test_jobs_of_harbor_are_judged(run: Callable[..., Output], tmp_path: Path) -> None:
    """By answers, tools, tokens and cost; what a trajectory does not show does not count."""
    for number in range(7):
        harbor(tmp_path / f"jobs/with-skill/task-{number}__a", prompt_of(number), "good day", used=number > 0)
        harbor(tmp_path / f"jobs/no-skill/task-{number}__b", f"Instructions first. {prompt_of(number)} Thanks", "hi")
    code, output, errors = run("greet", "--replay", "jobs", "--json")
    assert code == 0
    data = json.loads(output)
    assert data["helps"]["pairs"] == {"won": 7, "lost": 0, "tied": 0}
    assert data["helps"]["on_these_cases"] == data["helps"]["on_tasks_like_these"] == "helps"
    assert data["exposure"] == {"installed": 7, "offered": None, "used": 6}
    assert data["chosen"]["should"] == {"runs": 7, "used": 6}
    assert data["helps"]["measures"]["tokens"]["medians"] == [100, 100]
    assert data["helps"]["measures"]["cost"]["medians"] == [0.5, 0.5]
    assert data["helps"]["measures"]["time"] is None
    assert errors == "14 runs found\n"


def test_what_cannot_be_matched_is_counted(run: Callable[..., Output], tmp_path: Path) -> None:
    """Another task, a run of no arm, one that cannot be read, one that had the skill, and one without a partner."""
    jobs = tmp_path / "jobs"
    for number in range(3):
        harbor(jobs / f"with_skill/{number}", prompt_of(number), "good day")
        harbor(jobs / f"without_skill/{number}", prompt_of(number), "good day")
    harbor(jobs / "with_skill/more", prompt_of(2), "good day", tool="Read")
    harbor(jobs / "with_skill/other", "Do something else", "good day")
    harbor(jobs / "job/1", prompt_of(1), "good day")
    harbor(jobs / "without_skill/used", prompt_of(1), "good day", used=True)
    (jobs / "baseline").mkdir()
    (jobs / "baseline/link.json").symlink_to(jobs / "with_skill/0/agent/trajectory.json")
    code, output, errors = run("greet", "--replay", "jobs", "--json")
    assert code == 0
    data = json.loads(output)
    assert data["helps"]["pairs"] == {"won": 0, "lost": 0, "tied": 3}
    assert data["runs"] == {"done": 7, "failed": 5}
    assert errors.splitlines() == [
        "11 runs found",
        "left out: 1 run that cannot be read",
        "left out: 1 run of no arm, by the names of its folders and the skills in it",
        "left out: 1 run of no case, by what was asked",
        "left out: 1 run of the arm without the skill, which it had",
        "left out: 4 cases without a trajectory",
    ]


def answers(text: str) -> dict[str, Any]:
    """Return the record of an answer of Claude Code."""
    return {"type": "assistant", "message": {"role": "assistant", "content": [{"type": "text", "text": text}]}}


def vally(variant: str, number: int, output: str, **more: Any) -> dict[str, Any]:
    """Return a line of `results.jsonl`."""
    call = {"toolName": "Bash", "toolCallId": "c", "arguments": {"command": "ls"}}
    events = [
        {"type": "tool_call", "data": call},
        {"type": "tool_result", "data": {"toolName": "Bash", "toolCallId": "c", "success": True, "result": "a"}},
        {"type": "token_usage", "data": {"inputTokens": 50, "outputTokens": 5}},
        {"type": "assistant_message", "data": {"content": output}},
    ]
    trajectory = {"stimulus": {"name": "x", "prompt": prompt_of(number)}, "events": events, "output": output}
    status = {"type": "trial-result", "variant": variant, "status": "success", "durationMs": 1500}
    return {**status, "trajectory": trajectory, **more}


def test_results_of_vally_are_judged(run: Callable[..., Output], tmp_path: Path) -> None:
    """With their times; a trial that did not succeed is a failed run."""
    folder = tmp_path / "results/2026-11-30"
    folder.mkdir(parents=True)
    lines = [vally("skilled", number, "good day") for number in range(7)]
    lines += [vally("baseline", number, "hi", **({"status": "error"} if number == 6 else {})) for number in range(7)]
    text = "".join(f"{json.dumps(line)}\n" for line in lines)
    (folder / "results.jsonl").write_text(f'{text}{{"type": "summary"}}\n[1]\nnone\n', encoding="utf-8")
    data = json.loads(run("greet", "--replay", "results", "--json")[1])
    assert data["helps"]["pairs"] == {"won": 6, "lost": 0, "tied": 0}
    assert data["runs"] == {"done": 13, "failed": 1}
    assert data["helps"]["measures"]["time"]["medians"] == [1.5, 1.5]
    assert data["helps"]["measures"]["tokens"]["medians"] == [55, 55]


def test_sessions_of_claude_code_are_judged(run: Callable[..., Output], tmp_path: Path) -> None:
    """The arm is that of the skills which a session was offered; sub-agents are a part of their session."""
    for number in range(14):
        has_skill = number % 2 == 0
        records = [
            says(prompt_of(number // 2)),
            offers(**({"greet": "Greets.", "csv": "Reads."} if has_skill else {"csv": "Reads."})),
            *(uses("greet", "/home/ada/.claude/skills/greet") if has_skill else []),
            calls("Bash", "t9", command="ls"),
            returns("t9", "a"),
            answers("good day" if has_skill else "hi"),
        ]
        claude(tmp_path / "home", records, session=f"s{number}")
    folder = tmp_path / "home/.claude/projects"
    (folder / "-work/s0/subagents").mkdir(parents=True)
    (folder / "-work/s0/subagents/agent-1.jsonl").write_text(json.dumps(says("Do a part")) + "\n")
    code, output, errors = run("greet", "--replay", str(folder), "--json")
    assert code == 0
    data = json.loads(output)
    assert data["helps"]["pairs"] == {"won": 7, "lost": 0, "tied": 0}
    assert data["exposure"] == {"installed": 7, "offered": 7, "used": 7}
    assert errors == "14 runs found\n"


@pytest.mark.parametrize(
    ("names", "arm"),
    [
        (["job", "with_skill"], 0),
        (["pdf-with-skill-2"], 0),
        (["with", "1"], 0),
        (["without_skill"], 1),
        (["no-skill-3"], 1),
        (["Baseline"], 1),
        (["with_skill", "control"], 1),
        (["chat-with-pdf"], None),
        (["version-control"], None),
    ],
)
def test_the_name_of_a_folder_says_the_arm(names: list[str], arm: int | None) -> None:
    """Not a word that is only in it."""
    assert _arm_of(names, Ran()) == arm


def test_a_folder_without_trajectories_of_the_cases_has_no_verdict(run: Callable[..., Output], tmp_path: Path) -> None:
    """And one of Prowess is never judged as that of another tool."""
    (tmp_path / "empty").mkdir()
    assert "is no record of Prowess" in run("--replay", "empty")[2]
    assert "no trajectory in" in run("greet", "--replay", "empty")[2]
    harbor(tmp_path / "other/with/1", "Do something else", "x")
    code, _, errors = run("greet", "--replay", "other")
    assert code == 2
    assert "1 run of no case" in errors
    record(tmp_path, tmp_path / "own", most=2, command="echo good day")
    (tmp_path / "own/manifest.json").unlink()
    assert "has not ended" in run("greet", "--replay", "own")[2]


@pytest.mark.parametrize(
    "text",
    [
        *("", "[]", "{", '{"schema_version": "ATIF-v1.7"}', '{"schema_version": "ATIF-v1.7", "steps": 1}'),
        '{"schema_version": "ATIF-v1.7", "steps": [{"source": "user", "message": [{"text": 5}, {"text": null}]}]}',
    ],
)
def test_hostile_trajectories_do_not_crash(text: str, run: Callable[..., Output], tmp_path: Path) -> None:
    for name in ("a.json", "results.jsonl", "trajectory.json"):
        folder = tmp_path / f"x/{name}.d/with"
        folder.mkdir(parents=True)
        (folder / name).write_text(text, encoding="utf-8")
    assert run("greet", "--replay", "x")[0] == 2
