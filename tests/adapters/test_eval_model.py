"""`prowess eval --model`: a model in a small agent, with a server of OpenAI's API on the loopback address."""

from __future__ import annotations

import json
import os
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest

from prowess.agent.meter import cost_of
from prowess.cli import main
from prowess.evals import Arms, Evals, Model, Ran, judge_choices, judge_runs, make_plan, read_evals, run_pairs
from prowess.evals._place import Place
from support.model_server import ModelServer
from support.openai_server import GARBAGE, HALF, HANG, NOTHING, SLOW, TRUNCATED, UNCOUNTED, ModelServer as OpenAI
from support.skills import skill

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.needs("bwrap")
FILE = {"type": "file-contains", "path": "out.txt", "value": "good day"}
SECRET = "good day to you"
"""Is in the skill alone: a model that was not sent it does not know it."""


def evals_of(top: Path, count: int = 8) -> Evals:
    cases: list[dict[str, Any]] = [{"prompt": f"Greet {number}", "assertions": [FILE]} for number in range(count)]
    cases += [{"prompt": f"Add {number}", "should_trigger": False} for number in range(count // 2)]
    skill(top / "greet", description="Greets people. Use for a greeting.", body=f"Write {SECRET}.")
    (top / "greet/evals").mkdir(exist_ok=True)
    (top / "greet/evals/evals.json").write_text(json.dumps({"evals": cases}))
    (top / "greet/words.txt").write_text("Hello")
    return read_evals(str(top / "greet"))


def one_run(top: Path, model: str, arm: int = 0, seconds: float = 60.0, cost: float = 1e9) -> Ran:
    """Return one run of the first case."""
    evals = evals_of(top)
    with Place() as place:
        Arms(evals).fill(place, evals.cases[0], arm)
        return Model(model).run(place, "Greet 1", 0, seconds, cost)


def greeter(payload: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """Return what a model does that greets as the skill says: its calls depend on what it was sent."""
    text = json.dumps(payload["messages"])
    tools = [tool["function"]["name"] for tool in payload["tools"]]
    done = text.count('"role": "tool"')
    if "Greet" not in text.partition('"role": "user"')[2] or done > 1:
        return []
    if "activate_skill" in tools and done == 0:
        return [("activate_skill", {"name": "greet"})]
    return [("write_file", {"path": "out.txt", "content": SECRET if SECRET in text else "hi"})] * (2 - done)


def test_a_model_is_offered_the_skill_and_uses_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Both verdicts, whether it was chosen, and the tokens; the answers of the model depend on what it was sent."""
    evals_of(tmp_path)
    monkeypatch.chdir(tmp_path)
    with ModelServer() as server:
        server.calls = greeter
        line = ["eval", "./greet", "--model", f"openai:local@{server.url}/v1", "--runs", "2"]
        assert main([*line, "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["helps"]["on_these_cases"] == data["helps"]["on_tasks_like_these"] == "helps"
    assert (data["helps"]["pairs"]["won"], data["runs"]["failed"]) == (11, 0)
    assert (data["chosen"]["precision"], data["chosen"]["recall"]) == (1.0, 1.0)
    assert data["chosen"]["should_not"]["used"] == 0 < data["chosen"]["should_not"]["runs"]
    exposure = data["exposure"]
    assert exposure["installed"] == exposure["offered"] == 11 + data["chosen"]["should_not"]["runs"]
    assert exposure["used"] == 11


def test_a_run_has_its_steps_and_its_tokens(tmp_path: Path) -> None:
    """In both arms: offered and used are known, also if they are false."""
    with ModelServer() as server:
        server.calls = greeter
        ran = one_run(tmp_path, f"openai:local@{server.url}/v1")
        other = one_run(tmp_path, f"openai:local@{server.url}/v1", arm=1)
    assert (ran.failure, ran.offered, ran.used, ran.answer) == ("", True, True, b"Done.")
    assert (other.failure, other.offered, other.used) == ("", False, False)
    # Each answer of the server has two tokens.
    assert (ran.tokens, ran.cost) == (2 * 3, None)
    assert ran.steps is not None
    names = [call["function_name"] for step in ran.steps for call in step.get("tool_calls", ())]
    assert names == ["activate_skill", "write_file"]
    sent = server.requests[0].json()
    assert {tool["function"]["name"] for tool in sent["tools"]} == {
        *("activate_skill", "read_skill_file", "list_directory", "read_file", "search_files", "write_file"),
        *("edit_file", "run_command"),
    }


def test_a_model_works_in_the_folder_of_the_run_alone(tmp_path: Path) -> None:
    """Its commands are in the sandbox, with a home that is empty, and nothing of the user."""
    (tmp_path / "secret").write_text("x")
    command = f"cat {tmp_path}/secret; ls -A $HOME; env; cat .agents/skills/greet/words.txt; echo x > new; touch /etc/x"
    calls: Any = [("run_command", {"command": command}), ("read_file", {"path": str(tmp_path / "secret")})]
    with OpenAI(calls, "Done.") as server:
        evals = evals_of(tmp_path)
        with Place() as place:
            Arms(evals).fill(place, evals.cases[0], 0)
            ran = Model(server.model).run(place, "Greet", 0, 60)
            assert sorted(os.listdir(place.work)) == [".agents", "new"]
            home = place.home
    assert ran.failure == ""
    results = [m["content"] for m in server.requests[-1]["messages"] if m["role"] == "tool"]
    assert "Hello" in results[0]
    assert "No such file" in results[0]
    assert f"HOME={home}" in results[0]
    assert "OPENAI" not in results[0]
    assert results[1].startswith("error: ")
    assert not os.path.exists("/etc/x")


def test_reading_the_file_of_the_skill_is_using_it(tmp_path: Path) -> None:
    """Also with a tool that knows no skills; to list it is not."""
    for command, used in (("cat .agents/skills/greet/SKILL.md", True), ("ls .agents/skills/greet/SKILL.md", False)):
        with OpenAI([("run_command", {"command": command})], "Done.") as server:
            assert one_run(tmp_path, server.model).used is used


FAILURES = [
    (401, "the model server answered 401: the API key is invalid"),
    (429, "the model server answered 429: too many requests"),
    (500, "the model server answered 500"),
    (GARBAGE, "the model returned an invalid response"),
    (NOTHING, "no answer from the model"),
    (HALF, "no answer from the model: Connection error"),
    (TRUNCATED, "no answer from the model: Streamed response ended"),
    (HANG, "it took too long"),
    (SLOW, "it took too long"),
]


@pytest.mark.parametrize(("answer", "reason"), FAILURES, ids=[repr(answer).strip("'") for answer, _ in FAILURES])
def test_a_server_that_fails_is_a_failed_run(answer: Any, reason: str, tmp_path: Path) -> None:
    """With its reason in one line, and nothing is known of the skill."""
    seconds = 1.0 if answer in (HANG, SLOW) else 60.0
    with OpenAI(answer) as server:
        ran = one_run(tmp_path, server.model, seconds=seconds)
    assert ran.failure.startswith(reason)
    assert "\n" not in ran.failure
    assert len(ran.failure) < 800


def test_a_failed_run_does_not_end_the_evaluation(tmp_path: Path) -> None:
    """The rate is limited once, beyond the attempts that a client makes."""
    evals = evals_of(tmp_path, 2)
    plan = make_plan(evals, 1, 0)
    with OpenAI(*[429] * 3, "Done.") as server:
        runs = run_pairs(Model(server.model), Arms(evals), plan)
    outcome = judge_runs(plan, runs)
    assert (outcome.failed, outcome.done) == (1, 4)
    assert outcome.first_failure.startswith("the model server answered 429")
    assert (chosen := judge_choices(evals.cases, runs)) is not None
    assert chosen.used == 0


def test_a_model_that_goes_on_and_on_is_ended(tmp_path: Path) -> None:
    """By the number of its calls; and what it writes is bounded."""
    with OpenAI([("list_directory", {})]) as server:
        ran = one_run(tmp_path, server.model)
    assert ran.failure.startswith("the run reached a limit: ")
    assert len(server.requests) <= 101
    with OpenAI("x" * 1_100_000) as server:
        assert one_run(tmp_path, server.model).failure == "the model wrote more than a million characters"


def test_a_run_ends_when_it_costs_more_than_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After the answer with which it does. Each answer of the server costs 110 tokens."""
    monkeypatch.setattr("prowess.agent.meter.cost_of", lambda _: 0.01)
    with OpenAI([("list_directory", {})]) as server:
        ran = one_run(tmp_path, server.model, cost=0.035)
    assert (ran.failure, ran.cost and round(ran.cost, 3), ran.tokens) == (
        "the run cost more than `--max-cost` leaves",
        0.04,
        440,
    )
    assert len(server.requests) == 4


def test_a_price_that_is_not_known_is_no_price(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """`--max-cost` is refused then, before the first run; an answer without tokens has no price either."""
    from pydantic_ai.messages import ModelResponse
    from pydantic_ai.usage import RequestUsage

    usage = RequestUsage(input_tokens=1_000_000, output_tokens=1_000_000)
    known = ModelResponse(parts=[], usage=usage, model_name="gpt-4o-mini", provider_name="openai")
    # The price list of OpenAI: 0.15 and 0.60 US dollars for a million tokens.
    assert cost_of(known) == pytest.approx(0.75)
    assert cost_of(ModelResponse(parts=[], usage=usage, model_name="local", provider_name="mine")) is None
    evals_of(tmp_path)
    monkeypatch.chdir(tmp_path)
    with OpenAI(UNCOUNTED) as server:
        ran = one_run(tmp_path, server.model)
        assert (ran.tokens, ran.cost) == (None, None)
        server.requests.clear()
        assert main(["eval", "./greet", "--model", server.model, "--max-cost", "1"]) == 2
    assert server.requests == []
    assert "costs is not known" in capsys.readouterr().err


def test_ten_runs_at_once_do_not_see_each_other(tmp_path: Path) -> None:
    evals = evals_of(tmp_path)
    arms = Arms(evals)

    def work(number: int) -> Ran:
        with Place() as place:
            arms.fill(place, evals.cases[0], number % 2)
            return model.run(place, "Greet 1", number, 60)

    with ModelServer() as server:
        server.calls = greeter
        model = Model(f"openai:local@{server.url}/v1")
        with ThreadPoolExecutor(10) as pool:
            runs = [*pool.map(work, range(10))]
    assert [run.failure for run in runs] == [""] * 10
    assert [(run.offered, run.used) for run in runs] == [(True, True), (False, False)] * 5


def test_wrong_models_are_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing runs: the model, its key, or the package is missing."""
    evals_of(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    for options, words in (
        (["--model", "unheard:x"], "unknown model provider `unheard`"),
        (["--model", "openai:gpt-5"], "no API key for `openai`"),
        (["--model", "script:missing.yaml"], "the script `missing.yaml`"),
        (["--model", "script:m", "--via", "true"], "`--model` and `--via` exclude each other"),
    ):
        assert main(["eval", "./greet", *options]) == 2
        err = capsys.readouterr().err
        assert err.startswith(f"error: {words}")
        assert err.count("\n") <= 3
