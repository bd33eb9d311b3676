"""Skills in agents of CrewAI, whose model is a scripted endpoint on the loopback address."""

from __future__ import annotations

import json
import os
import socket
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

os.environ |= {"CREWAI_DISABLE_TELEMETRY": "true", "CREWAI_DISABLE_TRACKING": "true", "OTEL_SDK_DISABLED": "true"}
pytest.importorskip("crewai")

from crewai import LLM, Agent, BaseLLM, Crew, Task
from crewai.events.event_bus import crewai_event_bus
from crewai.flow.flow import Flow, listen, start
from crewai.hooks.dispatch import HookAborted
from crewai.state.checkpoint_config import CheckpointConfig
from crewai.tools import tool
from pydantic import BaseModel

from prowess import Scripts, Session
from prowess.adapters.crewai import Skills
from prowess.errors import ConfigError
from support.openai_server import ModelServer, results, whole
from support.processes import processes_end, processes_with, wait_until
from support.sessions import discover_project
from support.skills import add_endless_script, skill

if TYPE_CHECKING:
    from pathlib import Path


# What CrewAI leaves open or still uses is not ours.
pytestmark = [pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")]
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
    # A checkpoint has all agents that ran in this context, also those of other tests, whose parts may be no JSON.
    crewai_event_bus.reset_runtime_state()


def agent_of(server: ModelServer, skills: Skills, **options: Any) -> Agent:
    headers = {"Connection": "close"}  # no connection outlives its event loop
    llm = LLM(model="openai/local", base_url=server.url, api_key="none", max_retries=0, default_headers=headers)
    options = {"role": "Counter", "goal": "Count.", "backstory": "You count pages.", **options}
    native = options.pop("native", None)
    tools = [*options.pop("tools", ()), *([] if native else skills.tools())]
    return Agent(llm=llm, tools=tools, skills=native, **options)


def task_of(agent: Agent, text: str, **options: Any) -> Task:
    return Task(description=text, expected_output="A number.", agent=agent, **options)


def test_an_agent_uses_skills_and_its_output_contains_none(folder: Path, server: ModelServer) -> None:
    """It sees the same catalog in each request, a body once, a file, and what the user names in that turn only."""
    server.answers = [PAGES, [("read_skill_file", {"name": "pages", "path": "notes.md"})], DONE, PAGES, DONE]
    skills = Skills(discover_project(folder))
    agent = agent_of(server, skills)
    with skills.conversation() as session:
        first = agent.kickoff("How many?")
        second = agent.kickoff("Now use $secret.")
    assert (first.raw, second.raw) == (DONE, DONE)
    assert results(server.requests[2])[1] == "Page 3 is blank."
    assert "already active" in results(server.requests[4])[0]
    assert server.counts(BODY) == [0, 1, 1, 1, 1]
    assert server.counts("Whisper.") == [0, 0, 0, 1, 1]
    systems = {request["messages"][0]["content"] for request in server.requests}
    assert systems == {f"You are Counter. You count pages.\nYour personal goal is: Count.\n\n{session.static_block()}"}
    assert "<available_skills>" not in json.dumps(first.messages + second.messages)
    assert "Whisper." not in json.dumps(second.messages)
    assert [(row.name, row.turn) for row in session.ledger] == [("pages", 1), ("secret", 2)]


def test_a_history_begins_a_turn_with_its_last_message(folder: Path, server: ModelServer) -> None:
    """Neither what an assistant wrote nor an earlier message names a skill, and active skills are given again."""
    server.answers = [PAGES, DONE, DONE]
    skills = Skills(discover_project(folder))
    agent = agent_of(server, skills)
    messages = [{"role": "user", "content": "How many?"}]
    with skills.conversation() as session:
        messages.append({"role": "assistant", "content": f"{agent.kickoff(messages).raw} Use $secret!"})
        messages.append({"role": "user", "content": "And now?"})
        agent.kickoff(messages)
    assert results(server.requests[2]) == []
    assert server.counts(BODY) == [0, 1, 1]
    assert server.counts("Whisper.") == [0, 0, 0]
    assert session.turn == 2


def test_an_agent_that_is_a_tool_of_another_one_may_have_a_conversation_of_its_own(
    folder: Path, server: ModelServer
) -> None:
    """It gets the skills of that one only, and the outer one goes on as before."""
    skills = Skills(discover_project(folder))
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
    assert server.counts("<available_skills>") == [1, 1, 1, 1]
    assert server.counts(BODY) == [1, 0, 1, 1]
    assert server.counts("Whisper.") == [0, 1, 0, 0]
    assert [text.partition("\n\n<skill_content")[0] for text in results(server.requests[2])] == ["in turn 1"]
    assert (session.turn, [row.name for row in session.ledger]) == (1, ["pages"])


def test_what_a_memory_recalls_names_no_skill(folder: Path, server: ModelServer) -> None:
    """CrewAI writes it into the user's message, and a model wrote it."""

    class Memory:
        """One memory, in the form that CrewAI reads."""

        read_only = True

        def recall(self, *_: Any, **__: Any) -> list[Any]:
            return [SimpleNamespace(format=lambda: "Use $secret.")]

    skills = Skills(discover_project(folder))
    agent = agent_of(server, skills)
    object.__setattr__(agent, "memory", Memory())
    with skills.conversation():
        agent.kickoff("Use $pages.")
    assert "Use $secret." in whole(server.requests[0])
    assert server.counts("Whisper.") == [0]
    assert server.counts(BODY) == [1]


def test_a_crew_shares_the_conversation_and_each_task_begins_a_turn(folder: Path, server: ModelServer) -> None:
    """Only the description of a task names skills, not the result of the task before it. Copies of a crew have them."""
    server.answers = [DONE, DONE, PAGES, "Use $secret.", DONE]
    skills = Skills(discover_project(folder))
    first, second = (agent_of(server, skills, role=role) for role in ("First", "Second"))
    crew = Crew(agents=[first, second], tasks=[task_of(first, "Count {what}."), task_of(second, "Check it.")])
    with skills.conversation() as session:
        crew.kickoff_for_each([{"what": "it with $secret"}])
        crew.kickoff({"what": "the pages"})
    assert server.counts("Whisper.") == [1, 0, 0, 0, 0]
    assert server.counts("Use $secret.") == [0, 0, 0, 0, 1]
    assert server.counts(BODY) == [0, 0, 0, 1, 1]
    assert session.turn == 4


def test_a_flow_keeps_the_record_in_its_state(folder: Path, server: ModelServer) -> None:
    """And a conversation around a flow is that of its methods, which CrewAI runs in threads."""
    server.answers = [PAGES, DONE]
    skills = Skills(discover_project(folder))
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
    assert server.counts(BODY) == [0, 1, 1]
    assert server.counts("Whisper.") == [0, 0, 1]
    with skills.conversation() as session:
        assert Inner().kickoff() == DONE
    assert server.counts(BODY)[3:] == [1]
    assert session.turn == 1


def test_tasks_at_once_have_each_the_skills_that_they_name(folder: Path, server: ModelServer) -> None:
    """In one conversation, in which each of them begins a turn."""
    skills = Skills(discover_project(folder))
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
    emit = crewai_event_bus.emit

    def emit_and_wait(source: Any, event: Any) -> None:
        """Let the crew wait for its checkpoint, which fails if the crew changes while it is written."""
        written = emit(source, event)
        if event.type == "task_completed":
            written.result()

    monkeypatch.setattr(crewai_event_bus, "emit", emit_and_wait)
    server.answers = [PAGES, DONE, 500, PAGES, DONE]
    skills, again = Skills(discover_project(folder)), Skills(discover_project(folder))
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


def test_a_run_that_crewai_shortens_keeps_its_skills(
    folder: Path, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also in the request before which it does: the active skill and the one that the user named are not summarized."""
    server.answers = [PAGES, DONE, *["<summary>They talked.</summary>"] * 2, DONE]  # the summary is made of two parts
    skills = Skills(discover_project(folder))
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


class Summarizing(ModelServer):
    """A server whose model also makes the summaries that CrewAI asks it for."""

    def next_answer(self, request: dict[str, Any]) -> Any:
        return super().next_answer(request) if "tools" in request else "<summary>They talked.</summary>"


def test_a_skill_larger_than_the_window_that_crewai_assumes_is_in_each_request(folder: Path) -> None:
    """Of a model that it does not know it assumes 8,192 tokens, and makes a summary of all before each request."""
    lines = "\n".join(f"{number}. Count the lines of page {number} from the top." for number in range(900))
    skill(folder / ".agents/skills/pages", body=f"{lines}\nEND_OF_PAGES")
    (folder / ".agents/skills/pages/notes.md").write_text("Page 3 is blank.")
    notes: Any = [("read_skill_file", {"name": "pages", "path": "notes.md"})]
    skills = Skills(discover_project(folder))
    with Summarizing(PAGES, notes, notes, DONE) as server, skills.conversation():
        agent = agent_of(server, skills)
        assert isinstance(agent.llm, BaseLLM)
        assert len(lines) / 4 > agent.llm.get_context_window_size()
        result = agent.kickoff("How many?")
    assert result.raw == DONE
    assert server.counts("END_OF_PAGES") == [0, 1, 1, 1]
    assert server.counts("<available_skills>") == [1, 1, 1, 1]
    assert "They talked." in whole(server.requests[-1])
    assert "END_OF_PAGES" not in json.dumps(result.messages)


def test_an_agent_without_a_system_prompt_and_without_function_calls(folder: Path, server: ModelServer) -> None:
    """The catalog is in front of the first message, and the backstory names no skill."""
    server.answers = [
        'Thought: I need it.\nAction: activate_skill\nAction Input: {"name": "pages"}',
        "Thought: I now know the final answer\nFinal Answer: Twice.",
    ]
    skills = Skills(discover_project(folder))
    agent = agent_of(server, skills, use_system_prompt=False, backstory="You use the secret skill.")
    agent.llm.supports_function_calling = lambda: False  # type: ignore[union-attr,method-assign]
    with skills.conversation() as session:
        assert agent.kickoff("How many?").raw == "Twice."
    firsts = [request["messages"][0] for request in server.requests]
    assert all(first["content"].startswith(f"{session.static_block()}\n\nYou are Counter.") for first in firsts)
    assert [first["role"] for first in firsts] == ["user", "user"]
    assert server.counts(BODY) == [0, 1]
    assert server.counts("Whisper.") == [0, 0]


def test_agents_with_different_skills_in_one_crew(folder: Path, server: ModelServer, tmp_path: Path) -> None:
    skill(tmp_path / "other/.agents/skills/words", body="Count words.")
    pages, words = Skills(discover_project(folder)), Skills(discover_project(tmp_path / "other"))
    agents = [agent_of(server, skills) for skills in (pages, words)]
    with pages.conversation(), words.conversation():
        for agent in agents:
            agent.kickoff("Use $pages and $words.")
    assert server.counts(BODY) == [1, 0]
    assert server.counts("Count words.") == [0, 1]
    assert server.counts("- words: ") == [0, 1]


def test_an_agent_with_skills_and_without_a_conversation_is_stopped(folder: Path, server: ModelServer) -> None:
    """An agent without skills is not, and gets none from the conversation of another one."""
    skills = Skills(discover_project(folder))
    with pytest.raises(HookAborted, match=r"use `with skills\.conversation\(\):`"):
        agent_of(server, skills).kickoff("How many?")
    assert server.requests == []
    with skills.conversation():
        agent = agent_of(server, skills)
        agent.tools = []
        agent.kickoff("Use $pages.")
    assert server.counts("pages twice") == [0]
    assert server.counts("<available_skills>") == [0]


def test_skills_of_crewai_itself(folder: Path, server: ModelServer) -> None:
    """CrewAI lists and loads them; the conversation records them, and adds what the user names."""
    skill(folder / ".agents/skills/-odd", name="-odd", body="CrewAI cannot read it.")
    server.answers = [[("load_skill", {"skill_name": "pages"})], DONE, DONE]
    skills = Skills(discover_project(folder))
    agent = agent_of(server, skills, native=skills.native())
    with skills.conversation() as session:
        agent.kickoff("Use $secret.")
        agent.kickoff("And now?")
    assert [row["function"]["name"] for row in server.requests[0]["tools"]] == ["load_skill"]
    assert server.counts("<available_skills>") == [1, 1, 1]
    assert server.counts(BODY) == [0, 1, 1]
    assert server.counts("Whisper.") == [1, 1, 0]
    assert "-odd" not in whole(server.requests[0])
    assert [row.name for row in session.ledger] == ["secret", "pages"]


def test_a_script_ends_with_the_time_of_its_task(folder: Path, server: ModelServer) -> None:
    """CrewAI waits for the tools of a task also when its time is over."""
    add_endless_script(folder / ".agents/skills/pages", 66652)
    server.answers = [PAGES, [("run_skill_script", {"skill": "pages", "script": "wait.sh"})], DONE]
    scripts = Scripts(sandbox="none", timeout=66652, on_untrusted=lambda _: True)
    skills = Skills(discover_project(folder), scripts=scripts)
    agent = agent_of(server, skills, max_execution_time=1)
    with skills.conversation(), pytest.raises(TimeoutError):
        Crew(agents=[agent], tasks=[task_of(agent, "Wait.")]).kickoff()
    assert processes_end("66652")


def test_a_script_ends_with_its_conversation(folder: Path, server: ModelServer) -> None:
    """As a run in another thread goes on."""
    add_endless_script(folder / ".agents/skills/pages", 66653)
    server.answers = [PAGES, [("run_skill_script", {"skill": "pages", "script": "wait.sh"})], DONE]
    scripts = Scripts(sandbox="none", timeout=66653, on_untrusted=lambda _: True)
    skills = Skills(discover_project(folder), scripts=scripts)
    with ThreadPoolExecutor(1) as threads, skills.conversation():
        threads.submit(copy_context().run, agent_of(server, skills).kickoff, "Wait.")
        wait_until(lambda: len(processes_with("66653")) > 1)
    assert processes_end("66653")


def test_wrong_arguments_say_what_to_pass(folder: Path) -> None:
    with pytest.raises(ConfigError, match="not a session: an object of type `dict`"), Skills(folder).conversation({}):  # type: ignore[arg-type]
        pass
    with pytest.raises(ConfigError, match="not the record of a session"), Skills(folder).conversation("{"):
        pass
    with Skills(str(folder)).conversation(Session(discover_project(folder))) as session:
        assert session.turn == 0
