"""Skills in agents of CrewAI, whose model is a scripted endpoint on the loopback address."""

from __future__ import annotations

import asyncio
import json
import os
import runpy
import socket
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

os.environ |= {"CREWAI_DISABLE_TELEMETRY": "true", "CREWAI_DISABLE_TRACKING": "true", "OTEL_SDK_DISABLED": "true"}
pytest.importorskip("crewai")

from crewai import LLM, Agent, Crew, Task
from crewai.flow.flow import Flow, listen, start
from crewai.hooks.dispatch import HookAborted
from crewai.state.checkpoint_config import CheckpointConfig
from crewai.tools import tool
from pydantic import BaseModel

from prowess import LiveCatalog, Scripts, Session, Trust, discover
from prowess.adapters._catalog_argument import HINT
from prowess.adapters.crewai import Skills
from prowess.errors import ConfigError
from support.openai_server import ModelServer
from support.skills import BANK_MESSAGE, GARDEN_MESSAGE, skill, write_many_skills

if TYPE_CHECKING:
    from collections.abc import Iterator

    from prowess.catalog import Catalog

# What CrewAI leaves open or still uses is not ours.
pytestmark = [pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")]
TOP = Path(__file__).parent.parent.parent
BODY = "Count the pages twice."
DONE = "Done."
PAGES: Any = [("activate_skill", {"name": "pages"})]


class TalkState(BaseModel):
    """The state of a flow."""

    skills: str = ""


@pytest.fixture(autouse=True)
def _only_loopback(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Fail at each connection to another machine, and keep CrewAI's files out of the user's folders."""
    connect = socket.socket.connect

    def connect_here(self: socket.socket, address: Any) -> None:
        assert not isinstance(address, tuple) or address[0] in ("127.0.0.1", "::1"), address
        connect(self, address)

    monkeypatch.setattr(socket.socket, "connect", connect_here)
    monkeypatch.setenv("CREWAI_STORAGE_DIR", str(tmp_path / "crewai"))


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer(DONE) as server:
        yield server


def catalog_of(folder: Path) -> Catalog:
    return discover(folder, home=folder.parent / "home", cache=False)


def agent_of(server: ModelServer, skills: Skills, **options: Any) -> Agent:
    llm = LLM(model="openai/local", base_url=server.url, api_key="none", max_retries=0)
    options = {"role": "Counter", "goal": "Count.", "backstory": "You count pages.", **options}
    native = options.pop("native", None)
    tools = [*options.pop("tools", ()), *([] if native else skills.tools())]
    return Agent(llm=llm, tools=tools, skills=native, **options)


def task_of(agent: Agent, text: str, **options: Any) -> Task:
    return Task(description=text, expected_output="A number.", agent=agent, **options)


def whole(request: dict[str, Any]) -> str:
    """All the text of the messages that one call of the model was sent."""
    return "\n".join(message.get("content") or "" for message in request["messages"])


def results(request: dict[str, Any]) -> list[str]:
    return [message["content"] for message in request["messages"] if message["role"] == "tool"]


def counts(server: ModelServer, text: str) -> list[int]:
    return [whole(request).count(text) for request in server.requests]


def test_an_agent_uses_skills_and_its_output_contains_none(folder: Path, server: ModelServer) -> None:
    """It sees the same catalog in each request, a body once, a file, and what the user names in that turn only."""
    server.answers = [PAGES, [("read_skill_file", {"name": "pages", "path": "notes.md"})], DONE, PAGES, DONE]
    skills = Skills(catalog_of(folder))
    agent = agent_of(server, skills)
    with skills.conversation() as session:
        first = agent.kickoff("How many?")
        second = agent.kickoff("Now use $secret.")
    assert (first.raw, second.raw) == (DONE, DONE)
    assert results(server.requests[2])[1] == "Page 3 is blank."
    assert "already active" in results(server.requests[4])[0]
    assert counts(server, BODY) == [0, 1, 1, 1, 1]
    assert counts(server, "Whisper.") == [0, 0, 0, 1, 1]
    systems = {request["messages"][0]["content"] for request in server.requests}
    assert systems == {f"You are Counter. You count pages.\nYour personal goal is: Count.\n\n{session.static_block()}"}
    assert "<available_skills>" not in json.dumps(first.messages + second.messages)
    assert "Whisper." not in json.dumps(second.messages)
    assert [(row.name, row.turn) for row in session.ledger] == [("pages", 1), ("secret", 2)]


def test_a_name_that_no_skill_has_is_reported_once(folder: Path, server: ModelServer) -> None:
    server.answers = [PAGES, DONE]
    skills = Skills(catalog_of(folder))
    agent = agent_of(server, skills)
    with skills.conversation():
        agent.kickoff("Use the pagse skill.")
    assert counts(server, "warning: ") == [1, 1]


def test_a_history_begins_a_turn_with_its_last_message(folder: Path, server: ModelServer) -> None:
    """Neither what an assistant wrote nor an earlier message names a skill, and active skills are given again."""
    server.answers = [PAGES, DONE, DONE]
    skills = Skills(catalog_of(folder))
    agent = agent_of(server, skills)
    messages = [{"role": "user", "content": "How many?"}]
    with skills.conversation() as session:
        messages.append({"role": "assistant", "content": f"{agent.kickoff(messages).raw} Use $secret!"})
        messages.append({"role": "user", "content": "And now?"})
        agent.kickoff(messages)
    assert results(server.requests[2]) == []
    assert counts(server, BODY) == [0, 1, 1]
    assert counts(server, "Whisper.") == [0, 0, 0]
    assert session.turn == 2


def test_an_agent_that_is_a_tool_of_another_one_may_have_a_conversation_of_its_own(
    folder: Path, server: ModelServer
) -> None:
    """It gets the skills of that one only, and the outer one goes on as before."""
    skills = Skills(catalog_of(folder))
    inner = agent_of(server, skills, role="Inner")

    @tool
    def delegate() -> str:
        """Ask another agent."""
        with skills.conversation() as own:
            inner.kickoff("Use $secret.")
        return f"in turn {own.turn}"

    server.answers = [[("delegate", {})], DONE, PAGES, DONE]
    outer = agent_of(server, skills, tools=[delegate])
    with skills.conversation() as session:
        outer.kickoff("Use $pages.")
    assert counts(server, "<available_skills>") == [1, 1, 1, 1]
    assert counts(server, BODY) == [1, 0, 1, 1]
    assert counts(server, "Whisper.") == [0, 1, 0, 0]
    assert results(server.requests[2]) == ["in turn 1"]
    assert (session.turn, [row.name for row in session.ledger]) == (1, ["pages"])


def test_what_a_memory_recalls_names_no_skill(folder: Path, server: ModelServer) -> None:
    """CrewAI writes it into the user's message, and a model wrote it."""

    class Memory:
        """One memory, in the form that CrewAI reads."""

        read_only = True

        def recall(self, *_: Any, **__: Any) -> list[Any]:
            return [SimpleNamespace(format=lambda: "Use $secret.")]

    skills = Skills(catalog_of(folder))
    agent = agent_of(server, skills)
    object.__setattr__(agent, "memory", Memory())
    with skills.conversation():
        agent.kickoff("Use $pages.")
    assert "Use $secret." in whole(server.requests[0])
    assert counts(server, "Whisper.") == [0]
    assert counts(server, BODY) == [1]


def test_a_crew_shares_the_conversation_and_each_task_begins_a_turn(folder: Path, server: ModelServer) -> None:
    """Only the description of a task names skills, not the result of the task before it. Copies of a crew have them."""
    server.answers = [DONE, DONE, PAGES, "Use $secret.", DONE]
    skills = Skills(catalog_of(folder))
    first, second = (agent_of(server, skills, role=role) for role in ("First", "Second"))
    crew = Crew(agents=[first, second], tasks=[task_of(first, "Count {what}."), task_of(second, "Check it.")])
    with skills.conversation() as session:
        crew.kickoff_for_each([{"what": "it with $secret"}])
        crew.kickoff({"what": "the pages"})
    assert counts(server, "Whisper.") == [1, 0, 0, 0, 0]
    assert counts(server, "Use $secret.") == [0, 0, 0, 0, 1]
    assert counts(server, BODY) == [0, 0, 0, 1, 1]
    assert session.turn == 4


def test_a_conversation_continues_from_json(folder: Path, server: ModelServer) -> None:
    """In another process: the text of the active skill is rendered again, as no message has it any more."""
    server.answers = [PAGES, DONE]
    catalog = catalog_of(folder)
    skills = Skills(catalog)
    with skills.conversation() as session:
        agent_of(server, skills).kickoff("How many?")
    saved = session.to_json()
    assert BODY not in saved
    skills = Skills(catalog)
    with skills.conversation(saved) as session:
        agent_of(server, skills).kickoff("And now?")
    assert whole(server.requests[-1]).count(BODY) == 1
    assert session.turn == 2


def test_a_flow_keeps_the_record_in_its_state(folder: Path, server: ModelServer) -> None:
    """And a conversation around a flow is that of its methods, which CrewAI runs in threads."""
    server.answers = [PAGES, DONE]
    skills = Skills(catalog_of(folder))
    agent = agent_of(server, skills)

    class Talk(Flow[TalkState]):
        @start()
        def first(self) -> str:
            with skills.conversation(self.state.skills or None) as session:
                result = agent.kickoff("How many?")
                self.state.skills = session.to_json()
            return str(result.raw)

        @listen(first)
        async def second(self, _: str) -> str:
            with skills.conversation(self.state.skills or None):
                return str((await agent.kickoff_async("And $secret?")).raw)

    class Inner(Flow[TalkState]):
        @start()
        def only(self) -> str:
            return str(agent.kickoff("Use $pages.").raw)

    assert Talk().kickoff() == DONE
    assert counts(server, BODY) == [0, 1, 1]
    assert counts(server, "Whisper.") == [0, 0, 1]
    with skills.conversation() as session:
        assert Inner().kickoff() == DONE
    assert counts(server, BODY)[3:] == [1]
    assert session.turn == 1


def test_tasks_at_once_have_each_the_skills_that_they_name(folder: Path, server: ModelServer) -> None:
    """In one conversation, in which each of them begins a turn."""
    skills = Skills(catalog_of(folder))
    first, second = agent_of(server, skills, role="First"), agent_of(server, skills, role="Second")
    tasks = [task_of(agent, text, async_execution=True) for agent, text in ((first, "$pages"), (second, "$secret"))]
    with skills.conversation() as session:
        Crew(agents=[first, second], tasks=[*tasks, task_of(first, "Sum up.")]).kickoff()
    shown = sorted((whole(request).count(BODY), whole(request).count("Whisper.")) for request in server.requests)
    assert shown == [(0, 0), (0, 1), (1, 0)]
    assert session.turn == 3


def test_a_crew_restored_from_a_checkpoint_has_the_skills_of_the_conversation(
    folder: Path, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in a new process: nothing in the restored tools knows whose they were."""
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    server.answers = [PAGES, DONE, 500, PAGES, DONE]
    skills, again = Skills(catalog_of(folder)), Skills(catalog_of(folder))
    agent = agent_of(server, skills, max_retry_limit=0)
    config = CheckpointConfig(location=str(folder / "checkpoints"), on_events=["task_completed"])
    crew = Crew(agents=[agent], tasks=[task_of(agent, "Count."), task_of(agent, "And $secret.")], checkpoint=config)
    with skills.conversation() as session, pytest.raises(Exception, match="500"):
        crew.kickoff()
    (checkpoint,) = (folder / "checkpoints/main").iterdir()
    with again.conversation(session.to_json()):
        assert Crew.from_checkpoint(CheckpointConfig(restore_from=str(checkpoint))).kickoff().raw == DONE
    last = server.requests[-1]
    assert "already active" in results(last)[-1]
    assert [whole(last).count(text) for text in (BODY, "Whisper.", "<available_skills>")] == [1, 1, 1]
    with pytest.raises(HookAborted, match="no conversation"):
        Crew.from_checkpoint(CheckpointConfig(restore_from=str(checkpoint))).kickoff()


@pytest.mark.slow
def test_conversations_at_once_with_one_agent_do_not_mix(folder: Path, server: ModelServer) -> None:
    """Each task of asyncio has its own, and so have the threads that CrewAI starts for it."""
    numbers = range(20)
    for number in numbers:
        skill(folder / f".agents/skills/k{number:02}", body=f"Body of k{number:02}.")
    skills = Skills(catalog_of(folder))
    agent = agent_of(server, skills)

    async def talk(number: int) -> list[str]:
        with skills.conversation() as session:
            await agent.kickoff_async(f"I am {number:02}. Use $k{number:02}.")
        return [row.name for row in session.ledger]

    async def everyone() -> list[list[str]]:
        return await asyncio.gather(*map(talk, numbers))

    assert asyncio.run(everyone()) == [[f"k{number:02}"] for number in numbers]
    for request in server.requests:
        me = whole(request).rpartition("I am ")[2][:2]
        assert [number for number in numbers if f"Body of k{number:02}." in whole(request)] == [int(me)]


def test_a_changed_and_a_new_skill_are_seen_in_the_next_turn_and_not_before(folder: Path, server: ModelServer) -> None:
    @tool
    def write() -> str:
        """Change the skills."""
        skill(folder / ".agents/skills/pages", body="Count them once.")
        skill(folder / ".agents/skills/fresh", body="New.")
        return "Use $secret now."

    server.answers = [[("write", {})], DONE, DONE]
    skills = Skills(LiveCatalog(folder, home=folder.parent / "home"))
    agent = agent_of(server, skills, tools=[write])
    with skills.conversation():
        agent.kickoff("Use $pages.")
        agent.kickoff("Use $pages and $fresh.")
    first, second, third = map(whole, server.requests)
    assert [BODY in text for text in (first, second, third)] == [True, True, False]
    assert ["fresh" in text for text in (first, second)] == [False, False]
    assert "Whisper." not in second
    assert "<name>fresh</name>" in third
    assert "Count them once." in third
    assert "New." in third


@pytest.mark.parametrize(
    ("name", "arguments", "words"),
    [
        ("activate_skill", {"name": "nothing"}, "nothing"),
        ("activate_skill", {}, "`name` is missing"),
        ("activate_skill", {"name": 7, "x": 1}, "must be of type string"),
        ("read_skill_file", {"name": "pages", "path": "../../../secret", "offset": None, "limit": None}, "error: "),
    ],
)
def test_a_tool_call_that_fails_is_text_and_the_run_goes_on(
    folder: Path, server: ModelServer, name: str, arguments: Any, words: str
) -> None:
    server.answers = [[(name, arguments)], DONE]
    skills = Skills(catalog_of(folder))
    with skills.conversation():
        assert agent_of(server, skills).kickoff("How many?").raw == DONE
    (text,) = results(server.requests[1])
    assert text.startswith("error: ")
    assert words in text


def test_a_model_that_fails_leaves_the_conversation_usable(folder: Path, server: ModelServer) -> None:
    server.answers = [PAGES, 500, DONE]
    skills = Skills(catalog_of(folder))
    agent = agent_of(server, skills)
    with skills.conversation() as session:
        with pytest.raises(Exception, match="500"):
            agent.kickoff("Use $secret.")
        agent.kickoff("And now?")
    assert whole(server.requests[-1]).count(BODY) == 1
    assert "Whisper." not in whole(server.requests[-1])
    assert session.turn == 2


def test_a_run_that_crewai_shortens_keeps_its_skills(
    folder: Path, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also in the request before which it does: the active skill and the one that the user named are not summarized."""
    server.answers = [PAGES, DONE, *["<summary>They talked.</summary>"] * 2, DONE]  # the summary is made of two parts
    skills = Skills(catalog_of(folder))
    agent = agent_of(server, skills)
    long = [{"role": role, "content": "A long word. " * 400} for role in ("user", "assistant")]
    with skills.conversation():
        agent.kickoff("How many?")
        monkeypatch.setattr(type(agent.llm), "get_context_window_size", lambda _: 2000)
        result = agent.kickoff([*long, {"role": "user", "content": "Use $secret."}])
    *summaries, last = map(whole, server.requests[2:])
    summary = "".join(summaries)
    assert "A long word." in summary
    assert "They talked." in last
    assert "A long word." not in last
    assert [last.count(text) for text in (BODY, "Whisper.", "<available_skills>")] == [1, 1, 1]
    assert not any(text in summary for text in (BODY, "Whisper."))
    assert "Whisper." not in json.dumps(result.messages)


def test_an_agent_without_a_system_prompt_and_without_function_calls(folder: Path, server: ModelServer) -> None:
    """The catalog is a message in front, and the backstory names no skill."""
    server.answers = [
        'Thought: I need it.\nAction: activate_skill\nAction Input: {"name": "pages"}',
        "Thought: I now know the final answer\nFinal Answer: Twice.",
    ]
    skills = Skills(catalog_of(folder))
    agent = agent_of(server, skills, use_system_prompt=False, backstory="You use the secret skill.")
    agent.llm.supports_function_calling = lambda: False  # type: ignore[union-attr,method-assign]
    with skills.conversation() as session:
        assert agent.kickoff("How many?").raw == "Twice."
    assert {request["messages"][0]["content"] for request in server.requests} == {session.static_block()}
    assert counts(server, BODY) == [0, 1]
    assert counts(server, "Whisper.") == [0, 0]


def test_agents_with_different_skills_in_one_crew(folder: Path, server: ModelServer, tmp_path: Path) -> None:
    skill(tmp_path / "other/.agents/skills/words", body="Count words.")
    pages, words = Skills(catalog_of(folder)), Skills(catalog_of(tmp_path / "other"))
    agents = [agent_of(server, skills) for skills in (pages, words)]
    with pages.conversation(), words.conversation():
        for agent in agents:
            agent.kickoff("Use $pages and $words.")
    assert counts(server, BODY) == [1, 0]
    assert counts(server, "Count words.") == [0, 1]
    assert counts(server, "<name>words</name>") == [0, 1]


def test_an_agent_with_skills_and_without_a_conversation_is_stopped(folder: Path, server: ModelServer) -> None:
    """An agent without skills is not, and gets none from the conversation of another one."""
    skills = Skills(catalog_of(folder))
    with pytest.raises(HookAborted, match=r"use `with skills\.conversation\(\):`"):
        agent_of(server, skills).kickoff("How many?")
    assert server.requests == []
    with skills.conversation():
        agent = agent_of(server, skills)
        agent.tools = []
        agent.kickoff("Use $pages.")
    assert counts(server, "pages twice") == [0]
    assert counts(server, "<available_skills>") == [0]


def test_the_catalog_of_a_small_budget_is_that_of_the_message(folder: Path, server: ModelServer) -> None:
    write_many_skills(folder / ".agents/skills")
    skills = Skills(catalog_of(folder), budget=2000)
    agent = agent_of(server, skills)
    with skills.conversation():
        agent.kickoff(BANK_MESSAGE)
        agent.kickoff(GARDEN_MESSAGE)
    first, second = (request["messages"][0]["content"] for request in server.requests)
    assert first != second
    assert "search_skills" in [row["function"]["name"] for row in server.requests[0]["tools"]]


def test_skills_of_crewai_itself(folder: Path, server: ModelServer) -> None:
    """CrewAI lists and loads them; the conversation records them, and adds what the user names."""
    skill(folder / ".agents/skills/-odd", name="-odd", body="CrewAI cannot read it.")
    server.answers = [[("load_skill", {"skill_name": "pages"})], DONE, DONE]
    skills = Skills(catalog_of(folder))
    agent = agent_of(server, skills, native=skills.native())
    with skills.conversation() as session:
        agent.kickoff("Use $secret.")
        agent.kickoff("And now?")
    assert [row["function"]["name"] for row in server.requests[0]["tools"]] == ["load_skill"]
    assert counts(server, "<available_skills>") == [1, 1, 1]
    assert counts(server, BODY) == [0, 1, 1]
    assert counts(server, "Whisper.") == [1, 1, 0]
    assert "-odd" not in whole(server.requests[0])
    assert [row.name for row in session.ledger] == ["secret", "pages"]


@pytest.mark.slow
@pytest.mark.needs("bwrap")
def test_a_script_is_refused_and_runs_after_its_skill_is_trusted(folder: Path, server: ModelServer) -> None:
    """Also in the message that activates its skill: calls run in the order of the model. No result is cached."""
    script = folder / ".agents/skills/pages/scripts/count.py"
    script.parent.mkdir()
    script.write_text("import sys\nprint(sys.argv[1:], sys.stdin.read())\n")
    arguments = {"skill": "pages", "script": "scripts/count.py", "args": ["a b", "*"], "input": None}
    run: Any = ("run_skill_script", arguments)
    server.answers = [[*PAGES, run], DONE, [run], DONE]
    trust = Trust(str(folder.parent / "trust.json"))
    skills = Skills(catalog_of(folder), scripts=Scripts(), trust=trust)
    agent = agent_of(server, skills, cache=True)
    with skills.conversation() as session:
        agent.kickoff("How many?")
        trust.allow(session.catalog.resolve("pages"))
        agent.kickoff("And now?")
    assert results(server.requests[1])[1].startswith("error: `pages` is not trusted")
    assert results(server.requests[3])[0].startswith("exit code 0\nstdout:\n['a b', '*'] ")


def test_wrong_arguments_say_what_to_pass(folder: Path) -> None:
    for wrong in (None, 7, b"."):
        with pytest.raises(ConfigError, match="not a catalog") as error:
            Skills(wrong)  # type: ignore[arg-type]
        assert error.value.hint == HINT
    with pytest.raises(ConfigError, match="not a session: an object of type `dict`"), Skills(folder).conversation({}):  # type: ignore[arg-type]
        pass
    with pytest.raises(ConfigError, match="not the record of a session"), Skills(folder).conversation("{"):
        pass
    with Skills(str(folder)).conversation(Session(catalog_of(folder))) as session:
        assert session.turn == 0


def test_without_skills_nothing_is_added(tmp_path: Path, server: ModelServer) -> None:
    skills = Skills(catalog_of(tmp_path))
    with skills.conversation():
        agent_of(server, skills).kickoff("Use $pages.")
    assert not server.requests[0].get("tools")
    assert [message["role"] for message in server.requests[0]["messages"]] == ["system", "user"]
    assert "skill" not in whole(server.requests[0])


def test_the_example_runs(capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(TOP / "examples/adapters/crewai_agent.py"), run_name="__main__")
    assert "commit-message" in capsys.readouterr().out
