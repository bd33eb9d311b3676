"""Real Claude Code and Codex as agents of an eval, against a model on the loopback address (`make clients`).

What they were offered and what they used is recorded right, also where a skill-creator reports that no run used the
skill: runs at once share a folder (anthropics/skills#1427), the user has a copy that the model prefers (#1559), and the
first call is another one, after which it no longer looks (#1721).
"""

from __future__ import annotations

import json
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import pytest

from prowess.cli import main
from prowess.evals import Arms, Client, Evals, Ran, read_evals
from prowess.evals._place import Place
from support.model_server import ANSWER, ModelServer
from support.programs import require
from support.skills import skill

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from support.model_server import Request

TOP = Path(__file__).parent.parent.parent
MODULES = TOP / ".clients/node_modules"
KEY = "key-3c09"
DECOY = "decoy-b71f"
"""Is in everything of the user that no run may see."""

pytestmark = pytest.mark.skipif(not (MODULES / ".bin").is_dir(), reason="`make clients` installs the clients")
each_client = pytest.mark.parametrize("name", ["claude-code", "codex"])


@pytest.fixture(autouse=True)
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModelServer]:
    """A model for both, and a user whose home has a copy of the skill; runs are in a folder below that home."""
    require("bwrap")
    require("socat")
    # The sandbox of Claude Code makes sockets in a folder below this one, whose paths have at most 107 bytes.
    with TemporaryDirectory(prefix="e-", dir="/var/tmp") as top:
        yield from _served(Path(top), monkeypatch)


def _served(home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModelServer]:
    for root in (".claude/skills", ".agents/skills", ".codex/skills"):
        skill(home / root / "greet", description=f"Is a copy ({DECOY}).", body=DECOY)
        skill(home / root / DECOY)
    for file in ("CLAUDE.md", ".claude/CLAUDE.md", "AGENTS.md", ".codex/AGENTS.md", ".claude/rules/a.md"):
        (home / file).parent.mkdir(parents=True, exist_ok=True)
        (home / file).write_text(f"Always say {DECOY}.\n")
    (home / ".mcp.json").write_text(json.dumps({"mcpServers": {DECOY: {"command": "true"}}}))
    (home / "t").mkdir(mode=0o700)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setattr("tempfile.tempdir", str(home / "t"))
    monkeypatch.setenv("PATH", f"{MODULES / '.bin'}:{os.environ['PATH']}")
    with ModelServer() as server:
        for variable in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY"):
            monkeypatch.setenv(variable, KEY)
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
        for variable in ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"):
            monkeypatch.setenv(variable, server.url)
        for variable in ("NO_PROXY", "no_proxy"):
            monkeypatch.setenv(variable, "127.0.0.1")
        for variable in ("GITHUB_TOKEN", "AWS_SECRET_ACCESS_KEY", "CLAUDE_CONFIG_DIR", "CODEX_HOME"):
            monkeypatch.setenv(variable, str(home / ".claude") if variable.endswith(("DIR", "HOME")) else DECOY)
        yield server


def evals_of(top: Path) -> Evals:
    cases: list[dict[str, Any]] = [
        {"id": "greet", "prompt": "Greet Ada", "assertions": [{"type": "contains", "value": ANSWER}]}
    ]
    cases += [{"id": "add", "prompt": "Add 1 and 2", "should_trigger": False}]
    skill(top / "greet", description="Greets people.", body="Say good day.")
    (top / "greet/evals").mkdir()
    (top / "greet/evals/evals.json").write_text(json.dumps({"evals": cases}))
    (top / "greet/words.txt").write_text("Hello\n")
    return read_evals(str(top / "greet"))


def command(client: str, line: str) -> tuple[str, Any]:
    """Return the call with which the model of an agent runs a command."""
    if client == "claude-code":
        return "Bash", {"command": line, "description": "Run it"}
    return "exec", f"const r = await tools.exec_command({{cmd: {json.dumps(line)}}}); text(r.output);"


def use(client: str) -> tuple[str, Any]:
    """Return the call with which the model of an agent uses the skill."""
    return (
        ("Skill", {"skill": "greet"})
        if client == "claude-code"
        else command(client, "cat .agents/skills/greet/SKILL.md")
    )


def run_of(client: Client, arms: Arms, arm: int, then: Any = None) -> Ran:
    with Place() as place:
        arms.fill(place, arms.evals.cases[0], arm)
        ran = client.run(place, "Greet Ada", 0, 120)
        if then is not None:
            then(place)
    return ran


def arms_of(client: Client, evals: Evals) -> Arms:
    return Arms(evals, skills=client.skills, host=client.host, arguments=client.arguments)


def sent(requests: Sequence[Request]) -> str:
    return "\n".join(request.text() for request in requests)


@each_client
@pytest.mark.parametrize(("steps", "used"), [("U", True), ("LU", True), ("L", False), ("", False)])
def test_offered_and_used_are_recorded_right(
    name: str, steps: str, used: bool, server: ModelServer, tmp_path: Path
) -> None:
    """With the skill and without it; its first call may be another one. Nothing of the user reaches the model."""
    client = Client(name)
    arms = arms_of(client, evals_of(tmp_path))
    calls = {"U": use(name), "L": command(name, "echo looked")}
    server.turns["Greet"] = [calls[step] for step in steps]
    found = [run_of(client, arms, arm) for arm in (0, 1)]
    assert [run.failure for run in found] == ["", ""]
    assert [run.answer.strip() for run in found] == [ANSWER.encode()] * 2
    assert [(run.offered, run.used) for run in found] == [(True, used), (False, False)]
    for run in found:
        assert run.tokens is not None
        assert run.tokens > 0
        assert run.steps is not None
        assert sum(len(step.get("tool_calls", ())) for step in run.steps) == len(steps)
    assert (found[0].cost is None) is (name == "codex")
    assert DECOY not in sent(server.requests)
    assert (
        client.version
        == json.loads((TOP / "tests/clients/package.json").read_text("utf-8"))["dependencies"][
            {"claude-code": "@anthropic-ai/claude-code", "codex": "@openai/codex"}[name]
        ]
    )


@each_client
def test_ten_runs_at_once(name: str, server: ModelServer, tmp_path: Path) -> None:
    """Five of them have the skill, and their model uses it after another call."""
    client = Client(name)
    arms = arms_of(client, evals_of(tmp_path))
    server.turns["Greet"] = [command(name, "echo looked"), use(name)]
    with ThreadPoolExecutor(10) as pool:
        runs = [*pool.map(lambda number: run_of(client, arms, number % 2), range(10))]
    assert [run.failure for run in runs] == [""] * 10
    assert [(run.offered, run.used) for run in runs] == [(True, True), (False, False)] * 5


@each_client
def test_commands_work_in_the_folder_of_the_run_without_keys(name: str, server: ModelServer, tmp_path: Path) -> None:
    """In the sandbox of the agent: a file there, none elsewhere, and no network; files of the skill can be read."""
    client = Client(name)
    arms = arms_of(client, evals_of(tmp_path))
    outside = tmp_path / "outside"
    line = f"env; cat {client.skills}/greet/words.txt; touch inside; touch {outside}; curl -sS {server.url}/leak"
    server.turns["Greet"] = [command(name, line)]
    seen: list[bool] = []
    ran = run_of(client, arms, 0, lambda place: seen.append(Path(place.work, "inside").exists()))
    assert (ran.failure, seen, outside.exists()) == ("", [True], False)
    output = sent(server.requests[-1:])
    assert "Hello" in output
    assert KEY not in "\n".join(
        step["observation"]["results"][0]["content"] for step in ran.steps or () if "tool_calls" in step
    )
    assert [request.path for request in server.requests if "leak" in request.path] == []


@each_client
def test_an_evaluation_of_a_real_agent(
    name: str, server: ModelServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The whole command, with a case that must use the skill and one that must not."""
    evals_of(tmp_path)
    monkeypatch.chdir(tmp_path)
    server.turns["Greet"] = [use(name)]
    assert main(["eval", "./greet", "--via", name, "--runs", "2", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["runs"] == {"done": 6, "failed": 0}
    assert data["exposure"] == {"installed": 4, "offered": 4, "used": 2}
    assert (data["chosen"]["precision"], data["chosen"]["recall"]) == (1.0, 1.0)
    assert data["helps"]["pairs"] == {"won": 0, "lost": 0, "tied": 2}
