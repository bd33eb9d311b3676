"""What an agent says that it did: offered and used, the graders of its steps, and level 2."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from evals.test_runs import SKILL, cases, evals_of, is_alive
from prowess.cli import main
from prowess.evals import Arms, Chosen, Command, Grader, Ran, judge_choices, make_plan, run_pairs, usable_graders
from prowess.evals._grade import grade
from prowess.evals._place import Place
from prowess.evals._steps import with_trajectory
from prowess.trajectory import call_step, message_step


def trajectory(*steps: dict[str, Any], **more: Any) -> str:
    numbered = [{"step_id": number, **step} for number, step in enumerate(steps, 1)]
    return json.dumps({"schema_version": "ATIF-v1.7", "agent": {"name": "mine"}, "steps": numbered, **more})


CATALOG = message_step("system", "", "", skills=[{"name": "greet"}])
OTHERS = message_step("system", "", "", skills=[{"name": "other"}])
USE = call_step("Skill", {"skill": "greet"}, "Launching skill: greet", "", "c1")
FAILED = call_step("Skill", {"skill": "greet"}, "Error: no such skill", "", "c1")
READ = call_step("Read", {"file_path": f"/w/{SKILL}/SKILL.md"}, "---\nname: greet\ndescription: d\n---\n", "", "c2")
BASH = call_step("Bash", {"command": "ls"}, "a", "", "c3")
SAID = message_step("agent", "Good day", "")
ASKED = message_step("user", "Greet 1", "")


def ran_of(text: str) -> Ran:
    """Return what is known of a run that left a trajectory."""
    with Place() as place:
        place.name, place.skill = "greet", f"{place.work}/{SKILL}"
        with open(place.trajectory, "w", encoding="utf-8") as file:
            file.write(text)
        return with_trajectory(Ran(), place)


@pytest.mark.parametrize(
    ("steps", "offered", "used"),
    [
        ([CATALOG, USE, SAID], True, True),
        ([CATALOG, BASH, USE, SAID], True, True),  # its first call is not the skill
        ([CATALOG, SAID], True, False),
        ([CATALOG, FAILED, SAID], True, False),
        ([OTHERS, SAID], False, False),
        ([READ, SAID], None, True),  # an agent without a tool for skills
        ([SAID], None, False),
    ],
)
def test_a_trajectory_says_what_was_offered_and_used(
    steps: list[dict[str, Any]], offered: bool | None, used: bool
) -> None:
    """The prompt is no step of the agent."""
    ran = ran_of(trajectory(ASKED, *steps, final_metrics={"total_prompt_tokens": 7, "total_completion_tokens": 5}))
    assert (ran.failure, ran.offered, ran.used, ran.tokens, ran.cost) == ("", offered, used, 12, None)
    assert ran.steps is not None
    assert [step["source"] for step in ran.steps] == [step["source"] for step in steps]


def test_an_arm_that_sees_the_skill_after_all_is_a_failed_run() -> None:
    """Whatever was predicted: the arms did not differ."""
    for steps in ([CATALOG], [OTHERS, USE]):
        with Place() as place:
            place.name, place.skill, place.has_skill = "greet", f"{place.work}/{SKILL}", False
            Path(place.trajectory).write_text(trajectory(*steps))
            failure = with_trajectory(Ran(), place).failure
        assert failure == "the model had `greet`, which this arm does not have"


def test_a_copy_of_the_skill_somewhere_else_is_another_skill() -> None:
    use = call_step(
        "activate_skill", {}, "", "", "c1", skill={"id": "u1", "name": "greet", "path": "/x/greet/SKILL.md"}
    )
    assert ran_of(trajectory(CATALOG, use)).used is False


def test_a_trajectory_says_what_a_run_cost() -> None:
    """In all, or step by step; nonsense is no cost."""
    assert ran_of(trajectory(SAID, final_metrics={"total_cost_usd": 0.25})).cost == 0.25
    steps = [{**SAID, "metrics": {"cost_usd": 0.25}}, {**SAID, "metrics": {"cost_usd": 0.5}}]
    assert ran_of(trajectory(*steps)).cost == 0.75
    for cost in (-1, 1e300, "much", True):
        assert ran_of(trajectory(SAID, final_metrics={"total_cost_usd": cost})).cost is None


@pytest.mark.parametrize("text", ["", "[]", "{", '{"schema_version": "ATIF-v2.0"}', "\0", '{"a":' * 100_000])
def test_an_invalid_trajectory_is_a_failed_run(text: str) -> None:
    assert ran_of(text).failure.startswith("its trajectory is invalid: ")


def test_a_trajectory_of_nonsense_is_read(tmp_path: Path) -> None:
    """Whatever the types of its values are."""
    odd = {
        "source": 7,
        "tool_calls": [1, {"tool_call_id": [], "arguments": {"a": [{}]}}],
        "observation": {"results": 7},
    }
    for steps in ([odd, "x", None], {"a": 1}, 7):
        ran = ran_of(json.dumps({"schema_version": "ATIF-v1.7", "steps": steps, "final_metrics": [7]}))
        graders = [Grader(kind="tool-used", text="Bash"), Grader(kind="limit", config={"max_turns": 1})]
        assert ran.failure == ""
        assert grade(graders, ran, str(tmp_path), name="greet") == (False, True)


RAN = Ran(steps=(CATALOG, USE, BASH, BASH, READ, SAID), used=True, tokens=100, seconds=5.0)
STEP_GRADES = [
    ("tool-used", {"text": "Bash"}, True),
    ("tool-used", {"text": "exec_command"}, True),  # of another agent, the same tool
    ("tool-used", {"text": "WebSearch"}, False),
    ("tool-used", {"text": "bash", "config": {"max": 1}}, False),
    ("tool-used", {"text": "bash", "config": {"min": 2, "max": 2}}, True),
    ("tool-used", {"text": "create_file", "config": {"max": 0}}, True),
    ("tool-used", {"config": {"required": ["bash", "view"]}}, True),
    ("tool-used", {"config": {"required": ["bash", "WebSearch"]}}, False),
    ("tool-used", {"config": {"disallowed": ["bash"]}}, False),
    ("tool-used", {"text": "Bash", "config": {"input_match": "^.*ls"}}, True),
    ("tool-used", {"text": "Bash", "config": {"input_match": "rm"}}, False),
    ("tool-used", {"text": "Bash", "config": {"input_match": "ls", "max": 1}}, False),
    ("tool-used", {"text": "Bash", "config": {"input_match": "rm", "max": 0}}, True),
    ("tool-order", {"config": {"tools": ["Skill", "Bash", "Read"]}}, True),
    ("tool-order", {"config": {"tools": ["Read", "Bash"]}}, False),
    ("tool-order", {}, None),
    ("skill-used", {}, True),
    ("skill-used", {"text": "greet"}, True),
    ("skill-used", {"text": "Skill", "config": {"input_match": '"greet"', "max": 0}}, False),
    ("skill-used", {"config": {"disallowed": ["greet"]}}, False),
    ("skill-used", {"config": {"required": ["greet"], "disallowed": ["other"]}}, True),
    ("skill-used", {"config": {"required": ["other"]}}, False),
    ("limit", {"config": {"max_turns": 5}}, True),
    ("limit", {"config": {"max_turns": 4}}, False),
    ("limit", {"config": {"max_tool_calls": 4, "max_errors": 0}}, True),
    ("limit", {"config": {"max_tool_calls": 3}}, False),
    ("limit", {"config": {"max_tokens": 99}}, False),
    ("limit", {"config": {"max_seconds": 4}}, False),
    ("limit", {"config": {"max_colours": 4}}, None),
]


@pytest.mark.parametrize(("kind", "fields", "passed"), STEP_GRADES)
def test_a_run_is_graded_by_its_steps(kind: str, fields: dict[str, Any], passed: bool | None, tmp_path: Path) -> None:
    assert grade([Grader(kind=kind, **fields)], RAN, str(tmp_path), name="greet") == (passed,)


@pytest.mark.parametrize(("kind", "fields", "passed"), STEP_GRADES)
def test_without_steps_nothing_is_known_of_tools(
    kind: str, fields: dict[str, Any], passed: bool | None, tmp_path: Path
) -> None:
    """How long a run took is known of each."""
    found = grade([Grader(kind=kind, **fields)], Ran(seconds=5.0), str(tmp_path), name="greet")
    assert found == (passed if "max_seconds" in str(fields) else None,)


def test_the_words_of_other_tools_for_limits_are_understood(tmp_path: Path) -> None:
    words = {"tool-call-count": "tool_calls", "turn-count": "turns", "wall-time": "seconds", "error-count": "errors"}
    assertions = [{"type": word, "config": {"max": 3, "min": 1}} for word in words]
    (case,) = evals_of(tmp_path, [{"prompt": "Greet", "assertions": assertions}]).cases
    assert [grader.config for grader in case.graders] == [{f"max_{n}": 3, f"min_{n}": 1} for n in words.values()]


def test_using_the_skill_is_no_result_if_one_arm_has_it_alone(tmp_path: Path) -> None:
    """The other arm could never win; with two versions both can."""
    graders = [
        Grader(kind="skill-used"),
        Grader(kind="skill-used", text="other"),
        Grader(kind="tool-used", text="Bash"),
    ]
    assert grade(graders, RAN, str(tmp_path), name="greet", is_alone=True) == (None, False, True)
    assert grade(graders, RAN, str(tmp_path), name="greet") == (True, False, True)
    (case,) = evals_of(tmp_path, [{"prompt": "Greet", "assertions": [{"type": "skill-used"}]}]).cases
    assert usable_graders(case) == usable_graders(case, steps=True, alone="greet") == ()
    assert len(usable_graders(case, steps=True)) == 1


def agent(tmp_path: Path, *steps: dict[str, Any]) -> str:
    """Return a command that uses the skill for prompts with Greet, and says so."""
    (tmp_path / "used.json").write_text(trajectory(CATALOG, *steps, SAID))
    (tmp_path / "plain.json").write_text(trajectory(CATALOG, SAID))
    copy = f"if grep -q Greet; then cp {tmp_path}/used.json $0; else cp {tmp_path}/plain.json $0; fi"
    return f"if [ -d {SKILL} ]; then sh -c '{copy}' $PROWESS_RUN_TRAJECTORY; echo good day; else echo hi; fi"


MUST_NOT = {"prompt": "Add 1 and 2", "should_trigger": False}


def test_runs_say_whether_agents_choose_the_skill(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A case that no grader decides runs with the skill alone."""
    evals_of(tmp_path, [*cases(2), MUST_NOT, {"prompt": "Greet all", "assertions": ["It is polite"]}])
    monkeypatch.chdir(tmp_path)
    line = ["eval", "./greet", "--runs", "2", "--via", agent(tmp_path, USE)]
    assert main(line) == 0
    out = capsys.readouterr().out
    assert "left out: 2 cases that code alone cannot grade, run with the skill alone to see whether it is chosen" in out
    assert "chosen: used in 6 of 6 runs that should use it and in 0 of 2 runs that should not\n" in out
    assert "installed in 8, offered in 8, used in 6\n" in out
    assert main([*line, "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["chosen"] == {
        "precision": 1.0,
        "recall": 1.0,
        "intervals": {"precision": {"low": 0.6097, "high": 1.0}, "recall": {"low": 0.6097, "high": 1.0}},
        "should": {"runs": 6, "used": 6},
        "should_not": {"runs": 2, "used": 0},
    }
    assert data["exposure"] == {"installed": 8, "offered": 8, "used": 6}
    assert data["runs"] == {"done": 12, "failed": 0}
    assert (data["helps"]["pairs"]["won"], data["sound"]["power"]["pairs"]) == (4, 4)


def test_never_used_is_not_used_without_effect(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    """The same verdict on the result, and another line beside it."""
    evals_of(tmp_path, cases(2))
    monkeypatch.chdir(tmp_path)
    lines = []
    for steps in ((USE,), ()):
        command = agent(tmp_path, *steps).replace("echo hi", "echo good day")
        assert main(["eval", "./greet", "--via", command]) == 0
        lines.append(capsys.readouterr().out)
    assert all("6 pairs of 6: 0 won, 0 lost, 6 tied" in out for out in lines)
    assert "chosen: used in 6 of 6 runs that should use it\n" in lines[0]
    assert "chosen: used in 0 of 6 runs that should use it\n" in lines[1]


def test_the_intervals_are_those_of_wilson() -> None:
    """0 of 10 and 22 of 30, as tables have them (Wilson, 1927; Agresti and Coull, 1998)."""
    chosen = Chosen(used=22, should=30, used_wrongly=0, should_not=10)
    assert chosen.recall is not None
    assert [round(bound, 3) for bound in chosen.recall.interval] == [0.556, 0.858]
    nothing = Chosen(used=0, should=10, used_wrongly=0, should_not=0)
    assert (nothing.precision, nothing.recall and nothing.recall.interval[0]) == (None, 0.0)
    assert nothing.recall is not None
    assert round(nothing.recall.interval[1], 4) == 0.2775


def test_max_cost_stops_before_a_run_that_is_too_dear(tmp_path: Path) -> None:
    """The pair in which it is passed does not count; a run that does not say what it cost has failed."""
    text = trajectory(SAID, final_metrics={"total_cost_usd": 0.5})
    (tmp_path / "t.json").write_text(text)
    evals = evals_of(tmp_path, cases(4))
    command = Command(f"cp {tmp_path}/t.json $PROWESS_RUN_TRAJECTORY; echo good day")
    plan, arms = make_plan(evals, 1, 0), Arms(evals)
    assert len(run_pairs(command, arms, plan, cost=2.0)) == 4
    assert len(run_pairs(command, arms, plan, cost=1.9)) == 2
    (first, *_) = run_pairs(Command("true"), arms, plan, cost=1.9)
    assert first.ran.failure == "it did not say what it cost, and `--max-cost` needs that"
    assert judge_choices(evals.cases, [first]) is None


CHECK = "import sys; sys.exit(open('out.txt').read() != 'ok')"


@pytest.mark.needs("bwrap")
def test_a_command_of_the_case_grades_a_run_in_the_sandbox(tmp_path: Path) -> None:
    """No run sees its files, it sees what was read before the first run, and what it writes is seen by no other."""
    commands = [
        'python3 "$PROWESS_CASE"/check.py',
        "touch new && test ! -e ../../secret && test ! -w /etc",
        "test ! -e new",
    ]
    assertions = [{"type": "command", "command": command} for command in commands]
    graded = [{"prompt": "Greet", "assertions": [*assertions, {"type": "script", "path": "check.py"}]}]
    evals = evals_of(tmp_path, graded, {"evals/check.py": CHECK})
    assert len(usable_graders(evals.cases[0])) == 4
    arms, case = Arms(evals), evals.cases[0]
    (tmp_path / "greet/evals/check.py").write_text("")
    for text, passed in (("ok", True), ("no", False)):
        with Place() as place:
            arms.fill(place, case, 0)
            program = f'printf {text} > out.txt; find "$HOME/.." -name check.py'
            ran = Command(program).run(place, case.prompt, 0, 60)
            assert (ran.failure, ran.answer) == ("", b"")
            assert arms.grade(place, case, ran) == (passed, True, True, passed)


def test_what_a_program_leaves_as_its_trajectory_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is outside of its folder, and no link is followed."""
    (tmp_path / "t.json").write_text(trajectory(CATALOG, USE))
    evals = evals_of(tmp_path, cases(1))
    plan, arms = make_plan(evals, 1, 0), Arms(evals)
    for command in (f"ln -s {tmp_path}/t.json $PROWESS_RUN_TRAJECTORY", "mkfifo $PROWESS_RUN_TRAJECTORY"):
        runs = run_pairs(Command(command), arms, plan)
        assert {run.ran.failure.partition(":")[0] for run in runs} == {"its trajectory is invalid"}
    monkeypatch.setattr("prowess.evals._agents.MOST_RUN_FILES", 50)
    flood = 'cd "$(dirname $PROWESS_RUN_TRAJECTORY)"; for n in $(seq 200); do echo > $n; done; sleep 600'
    runs = run_pairs(Command(flood), arms, plan)
    assert {run.ran.failure for run in runs} == {"it wrote too many files, or too large ones"}
    assert not is_alive(10**7)
