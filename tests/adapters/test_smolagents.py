"""Skills in agents of smolagents, whose model is a scripted endpoint on the loopback address."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("smolagents")

from smolagents import ActionStep, AgentError, CodeAgent, LogLevel, OpenAIModel, ToolCallingAgent, tool

from prowess import Scripts, Session
from prowess.adapters.smolagents import attach, detach, session_of
from prowess.errors import ConfigError
from support.openai_server import ModelServer, whole
from support.processes import processes_end, processes_with, wait_until
from support.sessions import discover_project
from support.skills import add_endless_script, skill

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


BODY = "Count the pages twice."
DONE: Any = [("final_answer", {"answer": "Done."})]
PAGES: Any = [("activate_skill", {"name": "pages"})]
NOTES: Any = [("read_skill_file", {"name": "pages", "path": "notes.md"})]


@pytest.fixture
def server() -> Iterator[ModelServer]:
    """Its model answers by a tool."""
    with ModelServer(DONE) as server:
        yield server


def model_of(server: ModelServer, **options: Any) -> OpenAIModel:
    client = {"max_retries": 0}
    return OpenAIModel("local", api_base=server.url, api_key="none", client_kwargs=client, retry=False, **options)


def agent_of(server: ModelServer, kind: Any = ToolCallingAgent, **options: Any) -> Any:
    return kind(**{"tools": [], "model": model_of(server), "verbosity_level": LogLevel.OFF, **options})


def memory(agent: Any) -> str:
    """What the agent keeps of a conversation, with what it recorded of its requests."""
    return json.dumps(agent.memory.get_full_steps(), default=str)


def code(*lines: str) -> str:
    return "Thoughts: I do it.\n<code>\n" + "\n".join(lines) + "\n</code>"


def test_code_reads_a_skill_and_need_not_print_it(folder: Path, server: ModelServer) -> None:
    """An active skill that the memory does not contain is added to each call."""
    server.answers = [
        code('found = activate_skill("pages")'),
        code('print(read_skill_file("pages", path="notes.md"))'),
        code('final_answer("Done.")'),
    ]
    agent = agent_of(server, CodeAgent)
    attach(agent, discover_project(folder))
    assert agent.run("How many?") == "Done."
    assert server.counts(BODY) == [0, 1, 1]
    assert "Page 3 is blank." in whole(server.requests[2])


def test_a_new_conversation_starts_without_active_skills(folder: Path, server: ModelServer) -> None:
    """By default, `run` resets the memory of an agent."""
    server.answers = [PAGES, DONE, DONE, PAGES, DONE]
    agent = agent_of(server)
    session = attach(agent, discover_project(folder))
    agent.run("How many?")
    agent.run("Hello.")
    assert session.ledger == ()
    assert BODY not in whole(server.requests[2])
    agent.run("How many?", reset=False)
    assert "already active" not in whole(server.requests[-1])
    assert whole(server.requests[-1]).count(BODY) == 1


def test_a_stream_is_a_run_too(folder: Path, server: ModelServer) -> None:
    """With a model that streams its answers."""
    server.answers = [PAGES, DONE]
    agent = agent_of(server, stream_outputs=True)
    attach(agent, discover_project(folder))
    *_, last = agent.run("Use $secret.", stream=True)
    assert last.output == "Done."
    assert [request.get("stream") for request in server.requests] == [True, True]
    assert server.counts("Whisper.") == [1, 1]
    assert server.counts(BODY) == [0, 1]


def test_a_run_may_have_all_its_arguments(folder: Path, server: ModelServer) -> None:
    """As smolagents' user interface calls it; what is added to a task names no skill."""
    agent = agent_of(server)
    attach(agent, discover_project(folder))
    given = {"images": None, "additional_args": {"note": "Use $secret."}, "max_steps": 2, "return_full_result": True}
    result = agent.run(task="Use $pages.", stream=False, reset=False, **given)
    assert result.output == "Done."
    assert "Use $secret." in whole(server.requests[0])
    assert [whole(server.requests[0]).count(text) for text in (BODY, "Whisper.")] == [1, 0]


def test_a_model_that_does_not_stream_is_not_asked_to(folder: Path, server: ModelServer) -> None:
    class Plain(OpenAIModel):  # type: ignore[misc]
        generate_stream = property()

    agent = agent_of(server, model=Plain("local", api_base=server.url, api_key="none"))
    assert not hasattr(agent.model, "generate_stream")
    attach(agent, discover_project(folder))
    assert not hasattr(agent.model, "generate_stream")
    assert agent.run("Hello.") == "Done."


def test_a_plan_and_an_answer_at_the_last_step_get_the_skills(folder: Path, server: ModelServer) -> None:
    server.answers = ["First I read, then I count.", NOTES, "Two."]
    agent = agent_of(server, planning_interval=3, max_steps=1)
    attach(agent, discover_project(folder))
    assert agent.run("Use $pages.") == "Two."
    assert server.counts("<available_skills>") == [1, 1, 1]
    assert server.counts(BODY) == [1, 1, 1]


def test_a_model_that_reads_only_one_text_of_a_message_gets_all(folder: Path, server: ModelServer) -> None:
    agent = agent_of(server, model=model_of(server, flatten_messages_as_text=True))
    attach(agent, discover_project(folder))
    agent.run("Use $pages.")
    assert whole(server.requests[0]).count("<available_skills>") == 1
    assert whole(server.requests[0]).count(BODY) == 1


@pytest.mark.parametrize(
    ("name", "arguments", "words"),
    [
        ("activate_skill", {"name": "nothing"}, "nothing"),
        ("activate_skill", {}, "name is required"),
        ("activate_skill", {"name": 7}, "should be 'string'"),
        ("read_skill_file", {"name": "pages", "path": "../../../secret"}, "error: "),
    ],
)
def test_a_tool_call_that_fails_is_text_and_the_run_goes_on(
    folder: Path, server: ModelServer, name: str, arguments: Any, words: str
) -> None:
    server.answers = [[(name, arguments)], DONE]
    agent = agent_of(server)
    attach(agent, discover_project(folder))
    assert agent.run("How many?") == "Done."
    assert words in whole(server.requests[1])


@pytest.mark.parametrize("call", ['activate_skill("nothing")', "activate_skill(1, 2, 3, 4)", "activate_skill(x=1)"])
def test_code_that_calls_a_tool_wrongly_reads_why(folder: Path, server: ModelServer, call: str) -> None:
    server.answers = [code(f"print({call})"), code('final_answer("Done.")')]
    agent = agent_of(server, CodeAgent)
    attach(agent, discover_project(folder))
    assert agent.run("How many?") == "Done."
    assert "error: " in whole(server.requests[1])


def test_an_interrupted_turn_leaves_a_conversation_that_goes_on(folder: Path, server: ModelServer) -> None:
    server.answers = [PAGES, DONE]
    agent = agent_of(server)
    session = attach(agent, discover_project(folder))
    run = agent.run("How many?", stream=True)
    next(run)
    agent.interrupt()
    with pytest.raises(AgentError, match="interrupted"):
        list(run)
    assert agent.run("And now?", reset=False) == "Done."
    assert whole(server.requests[-1]).count(BODY) == 1
    assert session.turn == 2


def test_an_agent_is_as_before_after_detach(folder: Path, server: ModelServer) -> None:
    agent = agent_of(server)
    model, tools = agent.model, dict(agent.tools)
    session = attach(agent, discover_project(folder))
    assert session_of(agent) is session
    assert detach(detach(agent)) is agent
    assert (agent.model, agent.tools, session_of(agent)) == (model, tools, None)
    agent.run("Use $pages.")
    assert "<available_skills>" not in whole(server.requests[0])
    assert session.turn == 0


def test_a_manager_and_the_agent_it_manages_have_a_conversation_each(folder: Path, server: ModelServer) -> None:
    """A managed agent starts a new one for each task, which a model wrote, so it names no skill."""
    catalog = discover_project(folder)
    inner = agent_of(server, name="counter", description="Counts.")
    outer = agent_of(server, managed_agents=[inner])
    sessions = attach(inner, catalog), attach(outer, catalog)
    ask: Any = [("counter", {"task": "How many? Use $secret."})]
    server.answers = [ask, PAGES, DONE, ask, PAGES, DONE, DONE]
    outer.run("How many?")
    assert [[record.name for record in session.ledger] for session in sessions] == [["pages"], []]
    assert server.counts(BODY) == [0, 0, 1, 0, 0, 1, 0]
    assert not any("Whisper." in whole(request) for request in server.requests)


def test_code_in_structured_outputs_uses_skills(folder: Path, server: ModelServer) -> None:
    def answer(line: str) -> str:
        return json.dumps({"thought": "I do it.", "code": line})

    server.answers = [answer('activate_skill("pages")'), answer('final_answer("Done.")')]
    agent = agent_of(server, CodeAgent, use_structured_outputs_internally=True, stream_outputs=True)
    attach(agent, discover_project(folder))
    assert agent.run("How many?") == "Done."
    assert server.counts(BODY) == [0, 1]


def test_a_step_callback_that_cuts_the_memory_loses_no_skill(folder: Path, server: ModelServer) -> None:
    """As smolagents' own examples do it: old observations become empty."""

    def forget(step: Any, agent: Any) -> None:
        for old in agent.memory.steps:
            if isinstance(old, ActionStep) and old is not step:
                old.observations = None

    server.answers = [PAGES, NOTES, NOTES, DONE]
    agent = agent_of(server, step_callbacks=[forget])
    attach(agent, discover_project(folder))
    agent.run("How many?")
    assert server.counts(BODY) == [0, 1, 1, 1]


def test_the_words_of_a_skill_are_not_markup_of_the_log(folder: Path, server: ModelServer) -> None:
    skill(folder / ".agents/skills/pages", body="[/bold] [red]Count[/blue] {{ 7 * 7 }}")
    server.answers = [PAGES, [("activate_skill", {"name": "[/x]"})], DONE]
    agent = agent_of(server, verbosity_level=LogLevel.DEBUG)
    attach(agent, discover_project(folder))
    assert agent.run("How many? Use $secret.") == "Done."
    assert "[red]Count[/blue] {{ 7 * 7 }}" in whole(server.requests[-1])


def test_what_cannot_be_attached_says_why(folder: Path, server: ModelServer) -> None:
    @tool
    def activate_skill() -> str:
        """Something else."""
        return ""

    catalog = discover_project(folder)
    agent = agent_of(server)
    attach(agent, catalog)
    remote = agent_of(server, CodeAgent)
    remote.executor_type = "docker"
    cases: list[tuple[Any, dict[str, Any], str]] = [
        (agent, {}, "the agent already has a session"),
        (agent_of(server, tools=[activate_skill]), {}, "the agent already has a tool `activate_skill`"),
        (remote, {}, "the agent runs its code with `docker`, where the tools of skills are missing"),
        (agent_of(server), {"skills": None}, "not a catalog: an object of type `NoneType`"),
        (agent_of(server), {"skills": Session(catalog), "budget": 7}, "a session has its own options"),
    ]
    for given, arguments, message in cases:
        with pytest.raises(ConfigError) as error:
            attach(given, **{"skills": catalog, **arguments})
        assert str(error.value) == message
        assert error.value.hint


def test_a_directory_is_a_live_catalog(folder: Path, server: ModelServer) -> None:
    for given in (folder, str(folder)):
        agent = agent_of(server)
        attach(agent, given)
        agent.run("Use $pages.")
    assert server.counts(BODY) == [1, 1]


WAIT: Any = [("run_skill_script", {"skill": "pages", "script": "wait.sh"})]


def test_a_script_ends_with_the_time_of_the_code(folder: Path, server: ModelServer) -> None:
    """It waits for the thread of the code also when its time is over."""
    add_endless_script(folder / ".agents/skills/pages", 66654)
    lines = 'activate_skill("pages")', 'print(run_skill_script("pages", "wait.sh"))'
    server.answers = [code(*lines), code('final_answer("Done.")')]
    agent = agent_of(server, CodeAgent, executor_kwargs={"timeout_seconds": 1})
    scripts = Scripts(sandbox="none", timeout=66654, on_untrusted=lambda _: True)
    attach(agent, discover_project(folder), scripts=scripts)
    assert agent.run("Wait.") == "Done."
    assert processes_end("66654")
    assert "exceeded the maximum execution time" in whole(server.requests[-1])


@pytest.mark.parametrize("kind", [ToolCallingAgent, CodeAgent])
def test_interrupting_an_agent_ends_its_script(folder: Path, server: ModelServer, kind: Any) -> None:
    """And not those of its next run."""
    skill_folder = folder / ".agents/skills/pages"
    add_endless_script(skill_folder, 66655)
    (skill_folder / "count.sh").write_text("#!/bin/sh\necho COUNTED\n")
    count: Any = [("run_skill_script", {"skill": "pages", "script": "count.sh"})]
    answers: list[Any] = [PAGES, WAIT, count, DONE]
    if kind is CodeAgent:
        lines = ("pages", 'run_skill_script("pages", "wait.sh")', 'run_skill_script("pages", "count.sh")')
        answers = [code('activate_skill("pages")'), *(code(f"print({line})") for line in lines[1:])]
        answers.append(code('final_answer("Done.")'))
    server.answers = answers
    agent = agent_of(server, kind, **({"executor_kwargs": {"timeout_seconds": None}} if kind is CodeAgent else {}))
    scripts = Scripts(sandbox="none", timeout=66655, on_untrusted=lambda _: True)
    attach(agent, discover_project(folder), scripts=scripts)
    with ThreadPoolExecutor(1) as threads:
        run = threads.submit(agent.run, "Wait.")
        wait_until(lambda: len(processes_with("66655")) > 1)
        agent.interrupt()
        with pytest.raises(AgentError, match="interrupted"):
            run.result()
    assert processes_end("66655")
    assert agent.run("Count.", reset=False) == "Done."
    assert "COUNTED" in whole(server.requests[-1])
