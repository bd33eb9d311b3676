"""Skills in agents of smolagents, whose model is a scripted endpoint on the loopback address."""

from __future__ import annotations

import json
import runpy
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("smolagents")

from smolagents import ActionStep, AgentError, CodeAgent, LogLevel, OpenAIModel, ToolCallingAgent, tool

from prowess import LiveCatalog, Session, discover
from prowess.adapters.smolagents import attach, detach, session_of
from prowess.errors import ConfigError
from support.openai_server import ModelServer
from support.scripts import READ, RUN, SCRIPTS, write_script
from support.skills import BANK_MESSAGE, GARDEN_MESSAGE, skill, write_many_skills

if TYPE_CHECKING:
    from collections.abc import Iterator

    from prowess.catalog import Catalog

TOP = Path(__file__).parent.parent.parent
BODY = "Count the pages twice."
DONE: Any = [("final_answer", {"answer": "Done."})]
PAGES: Any = [("activate_skill", {"name": "pages"})]
NOTES: Any = [("read_skill_file", {"name": "pages", "path": "notes.md"})]


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer(DONE) as server:
        yield server


def catalog_of(folder: Path) -> Catalog:
    return discover(folder, home=folder.parent / "home", cache=False)


def model_of(server: ModelServer, **options: Any) -> OpenAIModel:
    client = {"max_retries": 0}
    return OpenAIModel("local", api_base=server.url, api_key="none", client_kwargs=client, retry=False, **options)


def agent_of(server: ModelServer, kind: Any = ToolCallingAgent, **options: Any) -> Any:
    return kind(**{"tools": [], "model": model_of(server), "verbosity_level": LogLevel.OFF, **options})


def texts(message: dict[str, Any]) -> list[str]:
    content = message.get("content") or ""
    return [content] if isinstance(content, str) else [part["text"] for part in content]


def whole(request: dict[str, Any]) -> str:
    """All the text of the messages that one call of the model was sent."""
    return "\n".join(text for message in request["messages"] for text in texts(message))


def memory(agent: Any) -> str:
    """What the agent keeps of a conversation, with what it recorded of its requests."""
    return json.dumps(agent.memory.get_full_steps(), default=str)


def code(*lines: str) -> str:
    return "Thoughts: I do it.\n<code>\n" + "\n".join(lines) + "\n</code>"


def test_a_model_reads_a_skill_it_chose(folder: Path, server: ModelServer) -> None:
    """The body comes as the tool's result, once, and its files after it."""
    server.answers = [PAGES, NOTES, DONE]
    agent = agent_of(server)
    attach(agent, catalog_of(folder))
    assert agent.run("How many?") == "Done."
    assert f'<skill_content name="pages">\n{BODY}\n' in whole(server.requests[2])
    assert "Page 3 is blank." in whole(server.requests[2])
    assert [whole(request).count(BODY) for request in server.requests] == [0, 1, 1]


def test_code_reads_a_skill_and_need_not_print_it(folder: Path, server: ModelServer) -> None:
    """An active skill that the memory does not contain is added to each call."""
    server.answers = [
        code('found = activate_skill("pages")'),
        code('print(read_skill_file("pages", path="notes.md"))'),
        code('final_answer("Done.")'),
    ]
    agent = agent_of(server, CodeAgent)
    attach(agent, catalog_of(folder))
    assert agent.run("How many?") == "Done."
    assert [whole(request).count(BODY) for request in server.requests] == [0, 1, 1]
    assert "Page 3 is blank." in whole(server.requests[2])


def test_code_that_prints_a_skill_gets_it_once(folder: Path, server: ModelServer) -> None:
    server.answers = [code('print(activate_skill("pages"))'), code('final_answer("Done.")')]
    agent = agent_of(server, CodeAgent)
    attach(agent, catalog_of(folder))
    agent.run("How many?")
    assert [whole(request).count(BODY) for request in server.requests] == [0, 1]


@pytest.mark.parametrize("kind", [ToolCallingAgent, CodeAgent])
def test_the_catalog_is_at_the_end_of_one_system_message_and_not_in_the_memory(
    folder: Path, server: ModelServer, kind: Any
) -> None:
    server.answers = [NOTES, DONE, DONE] if kind is ToolCallingAgent else [code("1"), code('final_answer("1")')]
    agent = agent_of(server, kind)
    session = attach(agent, catalog_of(folder))
    agent.run("How many?")
    agent.run("And now?", reset=False)
    for request in server.requests:
        (system,) = (message for message in request["messages"] if message["role"] == "system")
        assert texts(system) == [f"{agent.system_prompt}\n\n{session.static_block()}"]
    assert "<available_skills>" not in agent.memory.system_prompt.system_prompt
    assert "<available_skills>" not in memory(agent)


def test_a_skill_that_the_user_names_is_in_that_turn_only_and_never_in_the_memory(
    folder: Path, server: ModelServer
) -> None:
    """Also one that is only for its user."""
    server.answers = [NOTES, DONE, DONE, DONE]
    agent = agent_of(server)
    attach(agent, catalog_of(folder))
    agent.run("Use $pages.")
    agent.run("Go on.", reset=False)
    agent.run("Now /secret please.", reset=False)
    assert [whole(request).count(BODY) for request in server.requests] == [1, 1, 0, 0]
    assert [whole(request).count("Whisper.") for request in server.requests] == [0, 0, 0, 1]
    assert BODY not in memory(agent)
    assert "Whisper." not in memory(agent)


def test_a_new_conversation_starts_without_active_skills(folder: Path, server: ModelServer) -> None:
    """By default, `run` resets the memory of an agent."""
    server.answers = [PAGES, DONE, DONE, PAGES, DONE]
    agent = agent_of(server)
    session = attach(agent, catalog_of(folder))
    agent.run("How many?")
    agent.run("Hello.")
    assert session.ledger == ()
    assert BODY not in whole(server.requests[2])
    agent.run("How many?", reset=False)
    assert "already active" not in whole(server.requests[-1])
    assert whole(server.requests[-1]).count(BODY) == 1


def test_an_active_skill_survives_a_memory_that_is_cut(folder: Path, server: ModelServer) -> None:
    server.answers = [PAGES, DONE, PAGES, DONE]
    agent = agent_of(server)
    attach(agent, catalog_of(folder))
    agent.run("How many?")
    agent.memory.steps.clear()
    agent.run("And now?", reset=False)
    assert [whole(request).count(BODY) for request in server.requests] == [0, 1, 1, 1]
    assert "already active since turn 1" in whole(server.requests[-1])


def test_a_conversation_continues_from_json(folder: Path, server: ModelServer) -> None:
    """In another agent, whose memory is new."""
    server.answers = [PAGES, DONE, DONE]
    first, second = agent_of(server), agent_of(server)
    session = attach(first, catalog_of(folder))
    first.run("How many?")
    restored = Session.from_json(session.to_json(), catalog_of(folder))
    assert attach(second, restored) is restored
    second.run("And now?", reset=False)
    assert whole(server.requests[-1]).count(BODY) == 1
    assert restored.turn == 2


def test_a_stream_is_a_run_too(folder: Path, server: ModelServer) -> None:
    """With a model that streams its answers."""
    server.answers = [PAGES, DONE]
    agent = agent_of(server, stream_outputs=True)
    attach(agent, catalog_of(folder))
    *_, last = agent.run("Use $secret.", stream=True)
    assert last.output == "Done."
    assert [request.get("stream") for request in server.requests] == [True, True]
    assert [whole(request).count("Whisper.") for request in server.requests] == [1, 1]
    assert [whole(request).count(BODY) for request in server.requests] == [0, 1]


def test_a_run_may_have_all_its_arguments(folder: Path, server: ModelServer) -> None:
    """As smolagents' user interface calls it; what is added to a task names no skill."""
    agent = agent_of(server)
    attach(agent, catalog_of(folder))
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
    attach(agent, catalog_of(folder))
    assert not hasattr(agent.model, "generate_stream")
    assert agent.run("Hello.") == "Done."


def test_a_plan_and_an_answer_at_the_last_step_get_the_skills(folder: Path, server: ModelServer) -> None:
    server.answers = ["First I read, then I count.", NOTES, "Two."]
    agent = agent_of(server, planning_interval=3, max_steps=1)
    attach(agent, catalog_of(folder))
    assert agent.run("Use $pages.") == "Two."
    assert [whole(request).count("<available_skills>") for request in server.requests] == [1, 1, 1]
    assert [whole(request).count(BODY) for request in server.requests] == [1, 1, 1]


def test_a_model_that_reads_only_one_text_of_a_message_gets_all(folder: Path, server: ModelServer) -> None:
    agent = agent_of(server, model=model_of(server, flatten_messages_as_text=True))
    attach(agent, catalog_of(folder))
    agent.run("Use $pages.")
    assert whole(server.requests[0]).count("<available_skills>") == 1
    assert whole(server.requests[0]).count(BODY) == 1


def test_skills_that_are_activated_in_parallel_are_all_recorded(folder: Path, server: ModelServer) -> None:
    names = [f"s{number}" for number in range(8)]
    for name in names:
        skill(folder / ".agents/skills" / name, body=f"Body of {name}.")
    server.answers = [[("activate_skill", {"name": name}) for name in names], DONE]
    agent = agent_of(server)
    session = attach(agent, catalog_of(folder))
    agent.run("All of them.")
    assert sorted(record.name for record in session.ledger) == names


def test_a_changed_and_a_new_skill_are_seen_in_the_next_turn(folder: Path, server: ModelServer) -> None:
    agent = agent_of(server)
    attach(agent, LiveCatalog(folder, home=folder.parent / "home"))
    agent.run("Use $pages.")
    skill(folder / ".agents/skills/pages", body="Count them once.")
    skill(folder / ".agents/skills/fresh", body="New.")
    agent.run("Use $pages and $fresh.", reset=False)
    assert BODY in whole(server.requests[0])
    assert BODY not in whole(server.requests[1])
    assert "Count them once." in whole(server.requests[1])
    assert "New." in whole(server.requests[1])
    assert "<name>fresh</name>" in whole(server.requests[1])


def test_a_tool_result_names_no_skill(folder: Path, server: ModelServer) -> None:
    @tool
    def look() -> str:
        """Look at something."""
        return "Use $secret now."

    server.answers = [[("look", {})], DONE]
    agent = agent_of(server, tools=[look])
    session = attach(agent, catalog_of(folder))
    agent.run("How many?")
    assert "Whisper." not in whole(server.requests[1])
    assert session.turn == 1


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
    attach(agent, catalog_of(folder))
    assert agent.run("How many?") == "Done."
    assert words in whole(server.requests[1])


@pytest.mark.parametrize("call", ['activate_skill("nothing")', "activate_skill(1, 2, 3, 4)", "activate_skill(x=1)"])
def test_code_that_calls_a_tool_wrongly_reads_why(folder: Path, server: ModelServer, call: str) -> None:
    server.answers = [code(f"print({call})"), code('final_answer("Done.")')]
    agent = agent_of(server, CodeAgent)
    attach(agent, catalog_of(folder))
    assert agent.run("How many?") == "Done."
    assert "error: " in whole(server.requests[1])


@pytest.mark.parametrize("kind", [ToolCallingAgent, CodeAgent])
def test_a_model_runs_a_script_of_a_trusted_skill(folder: Path, server: ModelServer, kind: Any) -> None:
    """A new conversation has a new folder."""
    trust = write_script(folder)
    catalog = catalog_of(folder)
    activate, run, read, done = PAGES, RUN, READ, DONE
    if kind is CodeAgent:
        activate, done = code('activate_skill("pages")'), code('final_answer("Done.")')
        run, read = (
            code('print(run_skill_script("pages", "count.sh", ["3"]))'),
            code('print(read_script_file("ok.txt"))'),
        )
    server.answers = [activate, run, done, run, read, done, read, done]
    agent = agent_of(server, kind)
    attach(agent, catalog, scripts=SCRIPTS, trust=trust)
    agent.run("Count.")
    assert "prowess trust" in whole(server.requests[-1])
    assert "pages: 3" not in whole(server.requests[-1])
    trust.allow(catalog.resolve("pages"))
    agent.run("Count.", reset=False)
    assert "pages: 3" in whole(server.requests[-1])
    assert "\ndone" in whole(server.requests[-1])
    agent.run("Count.")
    assert "no script of this conversation wrote" in whole(server.requests[-1])


@pytest.mark.slow
def test_fifty_conversations_at_once_do_not_mix(folder: Path, server: ModelServer) -> None:
    for number in range(50):
        skill(folder / f".agents/skills/k{number:02}", body=f"Body of k{number:02}.")
    catalog = catalog_of(folder)

    def talk(number: int) -> list[str]:
        agent = agent_of(server)
        session = attach(agent, catalog)
        agent.run(f"I am {number:02}. Use $k{number:02}.")
        return [record.name for record in session.ledger]

    with ThreadPoolExecutor(50) as pool:
        assert list(pool.map(talk, range(50))) == [[f"k{number:02}"] for number in range(50)]
    for request in server.requests:
        text = whole(request)
        mine = int(text.partition("I am ")[2][:2])
        assert [other for other in range(50) if f"Body of k{other:02}." in text] == [mine]


def test_an_interrupted_turn_leaves_a_conversation_that_goes_on(folder: Path, server: ModelServer) -> None:
    server.answers = [PAGES, DONE]
    agent = agent_of(server)
    session = attach(agent, catalog_of(folder))
    run = agent.run("How many?", stream=True)
    next(run)
    agent.interrupt()
    with pytest.raises(AgentError, match="interrupted"):
        list(run)
    assert agent.run("And now?", reset=False) == "Done."
    assert whole(server.requests[-1]).count(BODY) == 1
    assert session.turn == 2


def test_a_catalog_that_does_not_fit_shows_what_the_message_needs(folder: Path, server: ModelServer) -> None:
    """And the model can search for the rest."""
    write_many_skills(folder / ".agents/skills")
    agent = agent_of(server)
    attach(agent, catalog_of(folder), budget=2000)
    agent.run(BANK_MESSAGE)
    agent.run(GARDEN_MESSAGE)
    first, second = (whole(request).partition("</available_skills>")[0] for request in server.requests)
    assert first != second
    assert "search_skills" in {row["function"]["name"] for row in server.requests[0]["tools"]}


def test_without_skills_nothing_is_added(tmp_path: Path, server: ModelServer) -> None:
    agent = agent_of(server)
    attach(agent, catalog_of(tmp_path))
    agent.run("Hello.")
    assert [row["function"]["name"] for row in server.requests[0]["tools"]] == ["final_answer"]
    assert whole(server.requests[0]) == f"{agent.system_prompt}\nNew task:\nHello."


def test_an_agent_is_as_before_after_detach(folder: Path, server: ModelServer) -> None:
    agent = agent_of(server)
    model, tools = agent.model, dict(agent.tools)
    session = attach(agent, catalog_of(folder))
    assert session_of(agent) is session
    assert detach(detach(agent)) is agent
    assert (agent.model, agent.tools, session_of(agent)) == (model, tools, None)
    agent.run("Use $pages.")
    assert "<available_skills>" not in whole(server.requests[0])
    assert session.turn == 0


def test_a_manager_and_the_agent_it_manages_have_a_conversation_each(folder: Path, server: ModelServer) -> None:
    """A managed agent starts a new one for each task, which a model wrote, so it names no skill."""
    catalog = catalog_of(folder)
    inner = agent_of(server, name="counter", description="Counts.")
    outer = agent_of(server, managed_agents=[inner])
    sessions = attach(inner, catalog), attach(outer, catalog)
    ask: Any = [("counter", {"task": "How many? Use $secret."})]
    server.answers = [ask, PAGES, DONE, ask, PAGES, DONE, DONE]
    outer.run("How many?")
    assert [[record.name for record in session.ledger] for session in sessions] == [["pages"], []]
    assert [whole(request).count(BODY) for request in server.requests] == [0, 0, 1, 0, 0, 1, 0]
    assert not any("Whisper." in whole(request) for request in server.requests)


def test_code_in_structured_outputs_uses_skills(folder: Path, server: ModelServer) -> None:
    def answer(line: str) -> str:
        return json.dumps({"thought": "I do it.", "code": line})

    server.answers = [answer('activate_skill("pages")'), answer('final_answer("Done.")')]
    agent = agent_of(server, CodeAgent, use_structured_outputs_internally=True, stream_outputs=True)
    attach(agent, catalog_of(folder))
    assert agent.run("How many?") == "Done."
    assert [whole(request).count(BODY) for request in server.requests] == [0, 1]


def test_a_step_callback_that_cuts_the_memory_loses_no_skill(folder: Path, server: ModelServer) -> None:
    """As smolagents' own examples do it: old observations become empty."""

    def forget(step: Any, agent: Any) -> None:
        for old in agent.memory.steps:
            if isinstance(old, ActionStep) and old is not step:
                old.observations = None

    server.answers = [PAGES, NOTES, NOTES, DONE]
    agent = agent_of(server, step_callbacks=[forget])
    attach(agent, catalog_of(folder))
    agent.run("How many?")
    assert [whole(request).count(BODY) for request in server.requests] == [0, 1, 1, 1]


def test_the_words_of_a_skill_are_not_markup_of_the_log(folder: Path, server: ModelServer) -> None:
    skill(folder / ".agents/skills/pages", body="[/bold] [red]Count[/blue] {{ 7 * 7 }}")
    server.answers = [PAGES, [("activate_skill", {"name": "[/x]"})], DONE]
    agent = agent_of(server, verbosity_level=LogLevel.DEBUG)
    attach(agent, catalog_of(folder))
    assert agent.run("How many? Use $secret.") == "Done."
    assert "[red]Count[/blue] {{ 7 * 7 }}" in whole(server.requests[-1])


def test_what_cannot_be_attached_says_why(folder: Path, server: ModelServer) -> None:
    @tool
    def activate_skill() -> str:
        """Something else."""
        return ""

    catalog = catalog_of(folder)
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
    assert [whole(request).count(BODY) for request in server.requests] == [1, 1]


def test_the_example_runs(capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(TOP / "examples/adapters/smolagents_agent.py"), run_name="__main__")
    assert "commit-message" in capsys.readouterr().out
