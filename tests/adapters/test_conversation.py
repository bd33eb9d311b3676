"""Conversations with a role: with scripted models, and with a real server with OpenAI's API."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
import time
from typing import TYPE_CHECKING, Any

import pytest
from pydantic_ai.messages import ModelRequest
from pydantic_ai.models.function import FunctionModel

from prowess._internal.installer import missing_extra
from prowess.agent import Conversation, Turn, assemble, dry_run, make_model
from prowess.agent._threads import run_in_thread
from prowess.agent.models import PROVIDERS
from prowess.agent.role import ModelConfig
from prowess.errors import ConfigError
from prowess.testing import ScriptedModel
from support.growth import ends
from support.openai_server import GARBAGE, HALF, HANG, NOTHING, TRUNCATED, UNCOUNTED, USAGE, ModelServer
from support.processes import processes_with, wait_until
from support.skills import skill

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

ROLE = "name: a\nprompt: You help.\nmodel: openai:m\n"
FILES = "tools:\n- type: filesystem\n"
SLOW = "tools:\n- type: script\n  scripts: [{name: slow, body: 'sleep 20'}]\n"


@pytest.fixture
def top(tmp_path: Path) -> Path:
    (tmp_path / "home").mkdir()
    (tmp_path / "notes.txt").write_text("The sea is calm.\n")
    return tmp_path.resolve()


def start_conversation(top: Path, model: Any, more: str = "", **named: Any) -> Conversation:
    """Start a conversation with a role; the model is a script (a list), a server's URL or a model."""
    (top / "role.yaml").write_text(ROLE + more, encoding="utf-8")
    assembly, findings = assemble(top / "role.yaml", home=str(top / "home"), dirs=named.pop("dirs", ()), env={})
    assert findings == ()
    assert assembly is not None
    if isinstance(model, str):
        model = make_model(assembly.role.model, model, {})[0]
    elif isinstance(model, list):
        model = ScriptedModel(model).pydantic_ai()
    return Conversation(assembly, model, **named)


def ask(conversation: Conversation, prompt: str = "Hello?", **named: Any) -> Turn:
    return asyncio.run(conversation.ask(prompt, **named))


def call_results(turn: Turn) -> list[tuple[str, str | None, str | None]]:
    return [(call.tool, call.result, call.error) for call in turn.tool_calls]


# ── a turn ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_dry_run_shows_exactly_what_is_sent(top: Path) -> None:
    """The same instructions, and the same tools with the same parameters."""
    seen: list[Any] = []

    async def stream(messages: list[Any], info: Any) -> Any:
        seen.append((messages, info))
        yield "Done."

    skill(top / "skills/named", body="Do it well.", more="tools:\n- type: git\n")
    skill(top / "skills/found")
    (top / "skills/named/.git").mkdir()
    conversation = start_conversation(top, FunctionModel(stream_function=stream), "skills: [named]\n" + FILES)
    assert ask(conversation).output == "Done."
    shown = dry_run(conversation.assembly)
    ((messages, info),) = seen
    assert isinstance(messages[0], ModelRequest)
    assert messages[0].instructions == shown["instructions"]
    sent = [(tool.name, tool.description, tool.parameters_json_schema) for tool in info.function_tools]
    assert sent == [(tool["name"], tool["description"], tool["parameters"]) for tool in shown["tools"]]


@pytest.mark.parametrize("prompt", ["Hello", "Use $found on it", "Use $found and $other", "$unknown", ""])
def test_a_dry_run_of_a_prompt_shows_exactly_what_is_sent(prompt: str, top: Path) -> None:
    """The same messages, also for skills that the prompt names, and the tools that these bring."""
    seen: list[Any] = []

    async def stream(messages: list[Any], info: Any) -> Any:
        seen.append((messages, info))
        yield "Done."

    skill(top / "skills/found", body="Do it well.", more="tools:\n- type: git\n")
    skill(top / "skills/other", body="Do it quickly.")
    conversation = start_conversation(top, FunctionModel(stream_function=stream))
    assert ask(conversation, prompt).output == "Done."
    shown = dry_run(conversation.assembly, prompt=prompt)
    (([message], info),) = seen
    assert message.instructions == shown["instructions"]
    assert [(part.part_kind, part.content) for part in message.parts] == [
        (f"{item['role']}-prompt", item["content"]) for item in shown["messages"]
    ]
    sent = [(tool.name, tool.description, tool.parameters_json_schema) for tool in info.function_tools]
    assert sent == [(tool["name"], tool["description"], tool["parameters"]) for tool in shown["tools"]]


def test_a_discovered_skill_s_tools_are_offered_after_its_activation(top: Path) -> None:
    """And not before."""
    offered: list[list[str]] = []

    async def stream(messages: list[Any], info: Any) -> Any:
        offered.append([tool.name for tool in info.function_tools])
        if len(offered) == 1:
            from pydantic_ai.models.function import DeltaToolCall

            yield {0: DeltaToolCall("activate_skill", '{"name": "files"}')}
        else:
            yield "Done."

    skill(top / "skills/files", more=FILES)
    conversation = start_conversation(top, FunctionModel(stream_function=stream))
    ask(conversation)
    assert "read_file" not in offered[0]
    assert "read_file" in offered[1]
    ask(conversation)
    assert "read_file" in offered[2]


def test_a_second_turn_knows_the_first(top: Path) -> None:
    """Active skills stay active."""
    skill(top / "skills/tides")
    script = [{"call": "activate_skill", "with": {"name": "tides"}}, {"say": "One."}, {"say": "Two."}]
    conversation = start_conversation(top, script)
    assert ask(conversation).output == "One."
    turn = ask(conversation)
    assert (turn.output, turn.tool_calls) == ("Two.", ())
    assert [row["name"] for row in turn.activations] == ["tides"]


def test_an_answer_arrives_in_parts(top: Path) -> None:
    parts: list[str] = []
    with ModelServer("The sea is calm.") as server:
        turn = ask(start_conversation(top, server.model), on_text=parts.append)
    assert parts == ["The", " sea", " is", " calm."]
    assert turn.output == "The sea is calm."
    assert turn.usage == {"requests": 1, "input_tokens": 100, "output_tokens": 10, "total_tokens": 110, "tool_calls": 0}
    assert server.requests[0]["stream"] is True
    assert server.keys == ["none"]


def test_a_real_server_can_call_tools(top: Path) -> None:
    """Two at the same time, with their results in the next request."""
    with ModelServer([("read_file", {"path": "notes.txt"}), ("read_file", {"path": "none.txt"})], "Calm.") as server:
        turn = ask(start_conversation(top, server.model, FILES.replace("tools", "guardrails: {}\ntools")))
    assert turn.output == "Calm."
    first, second = turn.tool_calls
    assert (first.arguments, first.error) == ({"path": "notes.txt"}, None)
    assert "The sea is calm." in (first.result or "")
    assert second.result is None
    assert "none.txt" in (second.error or "")
    results = [message["content"] for message in server.requests[1]["messages"] if message["role"] == "tool"]
    assert results[0] == first.result
    assert results[1] == f"error: {second.error}"
    assert turn.usage["total_tokens"] == 2 * USAGE["total_tokens"]


def test_the_role_s_model_settings_are_sent(top: Path) -> None:
    """Settings that the role does not have are left out."""
    with ModelServer("Yes.") as server:
        more = f"model: {{name: local, base_url: '{server.url}', temperature: 0, top_p: 0.5, max_tokens: 7}}\n"
        (top / "role.yaml").write_text(ROLE.replace("model: openai:m\n", more))
        assembly, _ = assemble(top / "role.yaml", home=str(top / "home"), env={})
        assert assembly is not None
        model, name = make_model(assembly.role.model, None, {})
        ask(Conversation(assembly, model))
        ask(start_conversation(top, server.model))
    assert name == server.model
    first, second = server.requests
    assert (first["temperature"], first["top_p"]) == (0.0, 0.5)
    assert 7 in (first.get("max_tokens"), first.get("max_completion_tokens"))
    assert {"temperature", "top_p", "max_tokens", "max_completion_tokens"} & set(second) == set()


# ── errors of the model server ────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (401, "the model server answered 401: the API key is invalid: check it; its message: "),
        (403, "the model server answered 403: the API key has no access to this model; its message: "),
        (404, "the model server answered 404: the model does not exist: check its name; its message: "),
        (
            429,
            "the model server answered 429: too many requests, or no credit left: try again later",
        ),
        (500, "the model server answered 500: try again later; its message: "),
        (418, "the model server answered 418: see its message; its message: "),
        (HALF, "no answer from the model: "),
        (TRUNCATED, "no answer from the model: Streamed response ended without a `finish_reason`"),
        (NOTHING, "no answer from the model: "),
        (GARBAGE, "the model returned an invalid response: "),
    ],
    ids=["401", "403", "404", "429", "500", "418", "half", "cut", "nothing", "garbage"],
)
def test_an_error_of_the_model_server_is_the_turn_s_error(
    top: Path, answer: Any, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With what to do; nothing is raised, and the conversation can go on."""
    monkeypatch.setattr("openai._base_client.INITIAL_RETRY_DELAY", 0.01)
    with ModelServer(answer) as server:
        conversation = start_conversation(top, server.model)
        turn = ask(conversation)
        assert turn.output is None
        assert (turn.error or "").startswith(words), turn.error
        assert "\n" not in (turn.error or "")
        server.answers[:] = ["Better."]
        assert ask(conversation).output == "Better."


@pytest.mark.parametrize("more", ["", "auto_skills: {enabled: false}\n"])
def test_a_failed_trajectory_is_a_note_of_the_turn(top: Path, more: str) -> None:
    """With and without skills, and no warning, which would fail this test."""
    skill(top / ".agents/skills/pdf")
    path = top / "trajectory.json"
    conversation = start_conversation(top, [{"say": "Done."}], more, trajectory=str(path))
    path.symlink_to("elsewhere.json")
    turn = ask(conversation)
    assert (turn.output, len(turn.notes)) == ("Done.", 1)
    assert turn.notes[0].startswith("the trajectory is not complete")


@pytest.mark.parametrize("more", ["", "auto_skills: {enabled: false}\n"])
def test_a_trajectory_that_cannot_be_written_begins_no_conversation(top: Path, more: str) -> None:
    with pytest.raises(ConfigError, match="the folder of the trajectory does not exist"):
        start_conversation(top, [{"say": "Done."}], more, trajectory=str(top / "no/trajectory.json"))


def test_a_session_warns_also_in_a_process_with_conversations(top: Path) -> None:
    code = (
        "import os\nfrom prowess import Session, discover\nfrom prowess.agent import Conversation\n"
        "session = Session(discover('.', home='home', env={}), env={}, trajectory='trajectory.json')\n"
        "os.symlink('elsewhere.json', 'trajectory.json')\n"
        "session.inject('Hello?')\n"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=top, capture_output=True, text=True, check=True)
    assert "RuntimeWarning: the trajectory is not complete" in done.stderr


@pytest.mark.filterwarnings("ignore:Some responses omitted usage")
def test_a_server_without_token_usage_is_noted(top: Path) -> None:
    """The token limit cannot be enforced."""
    with ModelServer(UNCOUNTED) as server:
        turn = ask(start_conversation(top, server.model))
    assert turn.error is None
    assert "`max_tokens_per_run` is not enforced" in turn.notes[0]


def test_a_turn_that_fails_after_a_call_keeps_the_call(top: Path) -> None:
    """And the usage."""
    with ModelServer([("read_file", {"path": "notes.txt"})], 500) as server:
        turn = ask(start_conversation(top, server.model, FILES))
    assert turn.output is None
    assert [call.tool for call in turn.tool_calls] == ["read_file"]
    assert "The sea is calm." in (turn.tool_calls[0].result or "")
    assert turn.usage["total_tokens"] == USAGE["total_tokens"]


def test_a_server_that_never_answers_is_given_up(top: Path) -> None:
    """After `timeout_seconds`."""
    with ModelServer(HANG) as server, ends():
        turn = ask(start_conversation(top, server.model, "guardrails: {timeout_seconds: 0.5}\n"))
    assert turn.error == "the run took longer than 0.5 seconds (`guardrails.timeout_seconds`)"


def test_an_unreachable_server_is_named_in_the_error(top: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("openai._base_client.INITIAL_RETRY_DELAY", 0.01)
    with ModelServer("") as server:
        gone = server.model
    turn = ask(start_conversation(top, gone))
    assert (turn.error or "").startswith("no answer from the model: ")
    assert f"check that `{server.url.removesuffix('/v1')}` is right and running" in (turn.error or "")


# ── guardrails ───────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("at_once", [True, False])
@pytest.mark.parametrize("tool", ["read_file", "activate_skill", "no_such_tool"])
def test_a_model_that_calls_a_tool_ten_thousand_times_is_stopped(top: Path, tool: str, at_once: bool) -> None:
    """InitRunner: `max_tool_calls`; for any tool, in one answer or in many."""
    skill(top / "skills/tides")
    given = {"read_file": {"path": "notes.txt"}, "activate_skill": {"name": "tides"}}.get(tool, {})
    one = {"call": tool, "with": given}
    script: list[Any] = [{"calls": [one] * 10_000}] if at_once else [one] * 10_000
    with ends():
        turn = ask(start_conversation(top, [*script, {"say": "Done."}], FILES + "guardrails: {max_tool_calls: 3}\n"))
    assert turn.output is None
    assert turn.error is not None
    if tool != "no_such_tool":
        assert "`guardrails.max_tool_calls` of 3" in turn.error
    assert sum(call.result is not None for call in turn.tool_calls) <= 3
    assert turn.usage["tool_calls"] <= 3


@pytest.mark.parametrize(
    ("limits", "words", "requests"),
    [
        ("max_tokens_per_run: 200", "`guardrails.max_tokens_per_run` of 200", 2),
        ("max_tokens_per_run: 9000, total_tokens_limit: 200", "token", 2),
        ("max_tokens_per_run: 9000, run_token_budget: 200", "token", 2),
        ("input_tokens_limit: 150", "token", 2),
        ("session_token_budget: 200", "token", 2),
        ("per_request_input_tokens_limit: 99", "", 1),
        ("max_requests: 2, max_tool_calls: 100", "`guardrails.max_requests` of 2", 2),
    ],
)
def test_the_tokens_and_requests_of_a_run_are_limited(top: Path, limits: str, words: str, requests: int) -> None:
    """As InitRunner does it; the model never answers, a request costs 100 tokens, and its answer 10."""
    with ModelServer([("read_file", {"path": "notes.txt"})]) as server:
        turn = ask(start_conversation(top, server.model, f"{FILES}guardrails: {{{limits}}}\n"))
    assert (turn.output, len(server.requests)) == (None, requests)
    assert words in (turn.error or "")


def test_a_conversation_has_a_budget_of_tokens(top: Path) -> None:
    """Turns that failed count too; one that would begin without a token left asks no model."""
    with ModelServer("One.") as server:
        conversation = start_conversation(top, server.model, "guardrails: {session_token_budget: 150}\n")
        turns = [ask(conversation) for _ in range(4)]
    assert [turn.output for turn in turns] == ["One.", None, None, None]
    assert turns[-1].error == "the conversation has used all its tokens (`guardrails.session_token_budget`)"
    assert len(server.requests) == 2


def test_the_time_of_a_run_is_limited(top: Path) -> None:
    """InitRunner: `timeout_seconds`; a tool that hangs cannot extend it."""
    with ends():
        turn = ask(
            start_conversation(top, [{"call": "slow"}, {"say": "Done."}], SLOW + "guardrails: {timeout_seconds: 0.5}\n")
        )
    assert turn.error == "the run took longer than 0.5 seconds (`guardrails.timeout_seconds`)"
    assert [call.tool for call in turn.tool_calls] == ["slow"]
    from prowess.sandbox import stop

    stop()


# ── policy ───────────────────────────────────────────────────────────────────────────────────────────────────────────

WRITE = [{"call": "write_file", "with": {"path": "new.txt", "content": "x"}}, {"say": "Done."}]
ASKS = "tools:\n- type: filesystem\n  read_only: false\n  require_confirmation: true\n"


@pytest.mark.parametrize("more", [ASKS, FILES + "  read_only: false\nsecurity: {ask: [filesystem]}\n"])
@pytest.mark.parametrize("answer", [True, False, None])
def test_the_user_confirms_a_call(top: Path, answer: bool | None, more: str) -> None:
    """If the tool's configuration or the role requires it; without `confirm` the call is refused."""
    seen: list[Any] = []

    async def confirm(tool: str, arguments: Mapping[str, Any]) -> bool:
        seen.append((tool, dict(arguments)))
        return bool(answer)

    turn = ask(start_conversation(top, WRITE, more, confirm=None if answer is None else confirm))
    assert turn.output == "Done."
    (call,) = turn.tool_calls
    assert seen == ([] if answer is None else [("write_file", {"path": "new.txt", "content": "x"})])
    assert (top / "new.txt").exists() is (answer is True)
    if answer is None:
        assert (
            call.error
            == "`write_file` needs the user's confirmation, and the user cannot be asked here (go on without it)"
        )
    elif answer is False:
        assert call.error == "the user refused this call of `write_file` (ask what to do)"


def test_the_user_confirms_one_call_after_the_other(top: Path) -> None:
    """An answer for one call must not count for another at the same time."""
    waiting = 0

    async def confirm(_tool: str, arguments: Mapping[str, Any]) -> bool:
        nonlocal waiting
        waiting += 1
        assert waiting == 1
        await asyncio.sleep(0.01)
        waiting -= 1
        return str(arguments["path"]) == "b.txt"

    three = [{"call": "write_file", "with": {"path": path, "content": "x"}} for path in ("a.txt", "b.txt", "c.txt")]
    turn = ask(start_conversation(top, [{"calls": three}, {"say": "Done."}], ASKS, confirm=confirm))
    assert [call.error is None for call in turn.tool_calls] == [False, True, False]
    assert sorted(path.name for path in top.glob("?.txt")) == ["b.txt"]


@pytest.mark.parametrize("given", ["", "{", "[1]", "null", '"x"', "{}" * 2, "[" * 100_000])
def test_arguments_that_are_not_an_object_are_an_error(top: Path, given: str) -> None:
    """They do not end the run."""
    with ModelServer([("read_file", given)], "Done.") as server:
        turn = ask(start_conversation(top, server.model, FILES))
    assert (turn.output, turn.error) == ("Done.", None)
    assert "path" in (turn.tool_calls[0].error or "")


def test_an_exception_in_a_tool_does_not_end_the_run(top: Path) -> None:
    """The model gets it as an error."""
    conversation = start_conversation(
        top, [{"call": "read_file", "with": {"path": "notes.txt"}}, {"say": "Done."}], FILES
    )

    def broken(**_: Any) -> str:
        raise OSError("the disk is gone\x1b[2J")

    box = conversation.assembly.toolbox
    box.tools[:] = [tool.with_changes(call=broken) for tool in box.tools]
    turn = ask(conversation)
    assert turn.output == "Done."
    assert turn.tool_calls[0].error == "the tool failed: OSError: the disk is gone\\x1b[2J"


def test_a_result_is_limited_by_the_policy(top: Path) -> None:
    more = (
        "tools:\n- type: script\n  max_output_bytes: 9000000\n  scripts: [{name: flood, body: yes | head -c 5000000}]\n"
    )
    turn = ask(start_conversation(top, [{"call": "flood"}, {"say": "Done."}], more))
    assert turn.output == "Done."
    assert len(turn.tool_calls[0].result or "") <= 20_000


# ── changes, cancellation and many conversations ──────────────────────────────────────────────────────────────────────


def test_a_changed_assembly_is_used_from_the_next_turn_on(top: Path) -> None:
    """With new skills, and new descriptions of known ones."""
    seen: list[str] = []

    async def stream(messages: list[Any], info: Any) -> Any:
        seen.append(info.instructions or "")
        yield "Done."

    file = skill(top / "skills/tides")
    conversation = start_conversation(top, FunctionModel(stream_function=stream))
    ask(conversation)
    skill(top / "skills/waves")
    file.write_text("---\nname: tides\ndescription: Other words.\n---\n")
    assembly, _ = assemble(top / "role.yaml", home=str(top / "home"), env={})
    assert assembly is not None
    conversation.update_assembly(assembly)
    ask(conversation)
    assert "waves" not in seen[0]
    assert "- waves: " in seen[1]
    assert "Other words." in seen[1]


def test_conversations_at_the_same_time_do_not_mix(top: Path) -> None:
    """Each has its own history, skills and answers."""
    for number in range(10):
        skill(top / f"skills/skill-{number}")
    first = start_conversation(top, [{"say": ""}])

    async def one(number: int) -> Turn:
        script: list[Any] = [
            {"call": "activate_skill", "with": {"name": f"skill-{number}"}},
            {"say": f"I am {number}."},
        ]
        conversation = Conversation(first.assembly, ScriptedModel(script).pydantic_ai())
        await conversation.ask(f"Who is {number}?")
        return await conversation.ask("Again?")

    async def all_of_them() -> list[Turn]:
        return await asyncio.gather(*(one(number) for number in range(10)))

    turns = asyncio.run(all_of_them())
    assert [turn.output for turn in turns] == [f"I am {number}." for number in range(10)]
    assert [[row["name"] for row in turn.activations] for turn in turns] == [[f"skill-{n}"] for n in range(10)]


def test_a_cancelled_turn_ends_at_once(top: Path) -> None:
    """Also while a tool runs; only a cancellation is raised."""
    seconds = f"6{time.monotonic_ns()}"  # by which the process is found
    conversation = start_conversation(top, [{"call": "slow"}, {"say": "Done."}], SLOW.replace("20", seconds))

    async def cancelled() -> None:
        task = asyncio.create_task(conversation.ask("Go."))
        await asyncio.to_thread(wait_until, lambda: processes_with(seconds))
        task.cancel()
        await task

    with ends(), pytest.raises(asyncio.CancelledError):
        asyncio.run(cancelled())
    from prowess.sandbox import stop

    stop()


def test_a_call_in_a_thread_returns_its_result_or_raises() -> None:

    async def both() -> tuple[str, str]:
        name = await run_in_thread(lambda: threading.current_thread().name)
        try:
            await run_in_thread(lambda: 1 / 0)
        except ZeroDivisionError as error:
            return name, str(error)
        return name, ""

    assert asyncio.run(both()) == ("prowess-call", "division by zero")

    def raise_stop_iteration() -> None:
        raise StopIteration

    with pytest.raises(RuntimeError, match="StopIteration"):
        asyncio.run(run_in_thread(raise_stop_iteration))


def test_a_tool_whose_package_is_missing_is_named(top: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is not an error of the model's server."""

    def fail(*_: Any, **__: Any) -> None:
        raise ImportError(missing_extra("pydantic-ai-slim[mcp]", "mcp", "this tool"))

    monkeypatch.setattr("prowess.agent.tools.make_mcp_toolset", fail)
    server = "tools: [{type: mcp, command: /bin/cat}]\n"
    turn = ask(start_conversation(top, [{"say": "Done."}], server))
    assert turn.error is not None
    assert turn.error.startswith("this tool needs pydantic-ai-slim[mcp]")


# ── models ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_providers_are_those_of_pydantic_ai() -> None:
    """So that an unknown provider is an error without the framework."""
    from pydantic_ai.providers import infer_provider_class

    for name in PROVIDERS:
        try:
            infer_provider_class(name)
        except ImportError:
            continue  # its package is not installed, so it is known
    with pytest.raises(ValueError, match="nowhere"):
        infer_provider_class("nowhere")


def test_the_server_comes_from_the_role_or_from_the_environment(top: Path) -> None:
    """`base_url` before `OPENAI_BASE_URL`; `api_key_env` before `OPENAI_API_KEY`."""
    with ModelServer("Yes.") as server:
        for config, env, key in (
            (ModelConfig(name="m", base_url=server.url), {"OPENAI_BASE_URL": "http://nowhere/v1"}, "none"),
            (ModelConfig(name="m"), {"OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": "k"}, "k"),
            (ModelConfig(name="m", base_url=server.url, api_key_env="MINE"), {"MINE": "m", "OPENAI_API_KEY": "k"}, "m"),
        ):
            conversation = start_conversation(top, make_model(config, None, env)[0])
            assert ask(conversation).output == "Yes."
            assert server.keys.pop() == key


def test_a_provider_that_is_not_set_up_is_a_configuration_error() -> None:
    """For any exception of the provider."""
    for provider in ("azure", "bedrock", "groq", "mistral", "ollama", "gateway/openai"):
        config = ModelConfig(provider=provider, name="m")
        try:
            make_model(config, None, {"GROQ_API_KEY": "k", "MISTRAL_API_KEY": "k"})
        except ConfigError as error:
            assert error.hint, provider  # noqa: PT017 - where it can be made, it is made


# ── MCP servers ───────────────────────────────────────────────────────────────────────────────────────────────────────


def test_an_mcp_tool_with_a_taken_name_gets_another_one(top: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Or the one that a prefix gives it. The server's log does not reach the terminal."""
    (top / "server.py").write_text(LOUD)
    more = f"{FILES}- {{type: mcp, command: {sys.executable}, args: [server.py]"
    script = [{"call": "read_file", "with": {"path": "notes.txt"}}, {"call": "python_read_file"}, {"say": "Done."}]
    turn = ask(start_conversation(top, script, more + "}\n"))
    results = [("read_file", "The sea is calm.\n", None), ("python_read_file", "its own", None)]
    assert (turn.output, call_results(turn)) == ("Done.", results)
    turn = ask(start_conversation(top, [{"call": "b_read_file"}, {"say": "Done."}], more + ", tool_prefix: b}\n"))
    assert (turn.output, call_results(turn)) == ("Done.", [("b_read_file", "its own", None)])
    assert capfd.readouterr() == ("", "")


LOUD = """
import json, sys
def send(**message):
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)
for line in sys.stdin:
    asked = json.loads(line)
    if "id" not in asked:
        continue
    send(method="notifications/message", params={"level": "emergency", "data": "loud"})
    answer = {
        "initialize": {"capabilities": {"tools": {}}, "serverInfo": {"name": "x", "version": "1"}},
        "tools/list": {"tools": [{"name": "read_file", "inputSchema": {"type": "object"}}]},
        "tools/call": {"content": [{"type": "text", "text": "its own"}]},
    }.get(asked["method"], {})
    if asked["method"] == "initialize":
        answer["protocolVersion"] = asked["params"]["protocolVersion"]
    send(id=asked["id"], result=answer)
"""
