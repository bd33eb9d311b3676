"""`prowess eval --judge`: a model of Pydantic AI, with a server of OpenAI's API on the loopback address."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from prowess.cli import main
from prowess.errors import ConfigError, ProwessError
from prowess.evals.judge import ModelAsk
from support.judges import honest, obedient
from support.model_server import ModelServer
from support.openai_server import GARBAGE, NOTHING, ModelServer as OpenAI
from support.skills import skill

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

SKILL = ".agents/skills/greet"
AGENT = f"if [ -d {SKILL} ]; then echo good day; else echo hi; fi"


def answering(judge: Callable[[str, str], str]) -> Callable[[Any], str]:
    """Return what answers a request as a judge does."""

    def answer(payload: Any) -> str:
        system, user = (message["content"] for message in payload["messages"])
        return judge(system, user)

    return answer


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A skill with cases that need a judge."""
    skill(tmp_path / "greet")
    (tmp_path / "greet/evals").mkdir()
    cases = [{"prompt": f"Greet {number}", "assertions": ["It mentions good day"]} for number in range(7)]
    (tmp_path / "greet/evals/evals.json").write_text(json.dumps({"evals": cases}))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_model_judges(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It is asked with instructions of its own, and its tokens are counted; its price is not known."""
    assert folder.is_dir()
    with ModelServer() as server:
        server.answers = answering(honest)
        judge = f"openai:judge-1@{server.url}/v1"
        line = ["eval", "./greet", "--via", AGENT, "--runs", "2", "--judge", judge]
        assert main([*line, "--json"]) == 0
        data = json.loads(capsys.readouterr().out)
        assert main([*line, "--max-cost", "1"]) == 2
        assert "costs is not known" in capsys.readouterr().err
        server.answers = answering(obedient)
        assert main(line) == 2
        assert "follows instructions in what it judges" in capsys.readouterr().err
    assert (data["helps"]["on_these_cases"], data["helps"]["pairs"]["won"]) == ("helps", 11)
    assert (data["judge"]["name"], data["judge"]["judgments"]) == (judge, 22)
    assert (data["judge"]["tokens"] > 2 * 22, data["judge"]["cost"]) == (True, None)


def test_a_judge_of_the_same_family_is_refused(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Unless the user says so; by its name, not by its server."""
    assert folder.is_dir()
    with ModelServer() as server:
        server.answers = answering(honest)
        line = ["eval", "./greet", "--model", f"openai:llama-3@{server.url}/v1", "--max-runs", "2", "--json", "--judge"]
        assert main([*line, f"openai:meta/llama-4@{server.url}/v1"]) == 2
        assert "is of the same family as" in capsys.readouterr().err
        assert main([*line, f"openai:meta/llama-4@{server.url}/v1", "--judge-same-family"]) == 0
        assert main([*line, f"openai:qwen3@{server.url}/v1"]) == 0


@pytest.mark.parametrize("how", [GARBAGE, NOTHING])
def test_a_server_that_answers_with_nonsense_is_an_error(how: str, folder: Path) -> None:
    """Of one line."""
    assert folder.is_dir()
    with OpenAI(how) as server:
        ask = ModelAsk(f"openai:judge@{server.url}")
        with pytest.raises(ProwessError) as caught:
            ask("Judge.", "Is it?")
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) <= 300


def test_a_model_that_is_not_there_is_an_error() -> None:
    with pytest.raises(ConfigError, match="unknown model provider"):
        ModelAsk("no:x")
    ask = ModelAsk("openai:judge@http://127.0.0.1:9/v1")
    with pytest.raises(ProwessError):
        ask("Judge.", "Is it?")
