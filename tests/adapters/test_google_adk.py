"""Skills in an agent of Google's ADK, with a model that follows a script."""

from __future__ import annotations

import asyncio
import copy
import json
import pickle
import threading
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("google.adk")

from google.adk.agents import LlmAgent, ParallelAgent
from google.adk.agents.invocation_context import InvocationContext
from google.adk.agents.live_request_queue import LiveRequestQueue
from google.adk.agents.readonly_context import ReadonlyContext
from google.adk.agents.run_config import RunConfig
from google.adk.apps import App, ResumabilityConfig
from google.adk.artifacts import InMemoryArtifactService
from google.adk.models import BaseLlm, Gemini, LlmResponse
from google.adk.models.base_llm_connection import BaseLlmConnection
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService
from google.adk.sessions.sqlite_session_service import SqliteSessionService
from google.adk.tools import FunctionTool
from google.adk.tools.agent_tool import AgentTool
from google.genai import types

from prowess import Scripts, Session, Trust
from prowess.adapters.google_adk import Skills
from prowess.errors import ConfigError
from support.sessions import discover_project
from support.skills import GARDEN_MESSAGE, skill, write_many_skills

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator
    from pathlib import Path

    from google.adk.events import Event
    from google.adk.models import LlmRequest


BODY = "Count the pages twice."


class Scripted(BaseLlm):  # type: ignore[misc]
    """A model that follows a script and records its requests."""

    model: str = "scripted"
    script: list[Any] = []  # noqa: RUF012 - each model has its own
    requests: list[Any] = []  # noqa: RUF012

    async def generate_content_async(
        self,
        llm_request: LlmRequest,
        stream: bool = False,  # noqa: ARG002 - the framework's signature
    ) -> AsyncGenerator[LlmResponse, None]:
        self.requests.append(llm_request.model_copy(deep=False))
        said = self.script[len(self.requests) - 1] if len(self.requests) <= len(self.script) else "Done."
        parts = [types.Part(text=said)] if isinstance(said, str) else []
        calls = said if isinstance(said, list) else [said] if isinstance(said, dict) else []
        parts += [types.Part(function_call=types.FunctionCall(**call)) for call in calls]
        yield LlmResponse(content=types.Content(role="model", parts=parts))


def use(tool: str, /, **arguments: Any) -> dict[str, Any]:
    """One call of a tool."""
    return {"name": tool, "args": arguments}


PAGES = use("activate_skill", name="pages")


class Chat:
    """Conversations with one agent, in ADK's runner."""

    def __init__(self, skills: Any, *script: Any, service: Any = None, agent: Any = None, **options: Any) -> None:
        self.model = Scripted(script=[*script], requests=[])
        self.skills = skills if isinstance(skills, Skills) else Skills(skills, **options)
        self.agent = agent or LlmAgent(
            name="counter", model=self.model, instruction="You count pages.", tools=[self.skills]
        )
        self.service = service or InMemorySessionService()
        self.runner = Runner(app_name="books", agent=self.agent, session_service=self.service, auto_create_session=True)

    async def asend(self, text: str, thread: str = "1") -> str:
        message = types.Content(role="user", parts=[types.Part(text=text)])
        answers = [
            part.text
            async for event in self.runner.run_async(user_id="me", session_id=thread, new_message=message)
            for part in (event.content.parts if event.content and event.content.parts else ())
            if part.text
        ]
        return answers[-1] if answers else ""

    def say(self, text: str, thread: str = "1") -> str:
        return asyncio.run(self.asend(text, thread))

    def saved(self, thread: str = "1") -> Any:
        """ADK's session, read again from its service."""
        return asyncio.run(self.service.get_session(app_name="books", user_id="me", session_id=thread))

    def session(self, thread: str = "1") -> Session:
        return self.skills.session(self.saved(thread).state, "counter")

    def append(self, event: Event, thread: str = "1") -> None:
        asyncio.run(self.service.append_event(self.saved(thread), event))


def test_what_scripts_wrote_is_an_artifact_of_the_conversation(folder: Path, tmp_path: Path) -> None:
    """Once for the same bytes, also in a later turn, and never one of all conversations of the user."""
    code = "import sys\nopen('user:' + sys.argv[1], 'wb').write(sys.argv[2].encode())\n"
    (folder / ".agents/skills/pages/write.py").write_text(code)

    def write(name: str, text: str) -> dict[str, Any]:
        return use("run_skill_script", skill="pages", script="write.py", args=[name, text])

    scripts, trust = Scripts(sandbox="none", on_untrusted=lambda _: True), Trust(str(tmp_path / "trust.json"))
    script = [write("a.csv", "1"), write("b", "2"), "Done.", write("a.csv", "1"), write("b", "3"), "Done."]
    chat = Chat(discover_project(folder), *script, scripts=scripts, trust=trust)
    service = chat.runner.artifact_service = InMemoryArtifactService()
    chat.say("Write.")
    chat.say("Again.")
    where = {"app_name": "books", "user_id": "me", "session_id": "1"}
    names = ["scripts/user:a.csv", "scripts/user:b"]
    assert asyncio.run(service.list_artifact_keys(**where)) == names
    assert asyncio.run(service.list_artifact_keys(**{**where, "session_id": "2"})) == []
    versions = [asyncio.run(service.list_versions(**where, filename=name)) for name in names]
    assert versions == [[0], [0, 1]]
    parts = [asyncio.run(service.load_artifact(**where, filename=name)) for name in names]
    assert [(part.inline_data.mime_type, part.inline_data.data) for part in parts] == [
        ("text/csv", b"1"),
        ("application/octet-stream", b"3"),
    ]


def test_a_service_of_artifacts_that_fails_keeps_no_script_from_its_answer(folder: Path, tmp_path: Path) -> None:
    class Broken(InMemoryArtifactService):  # type: ignore[misc]
        async def save_artifact(self, **_: Any) -> int:
            raise RuntimeError("the disk is full")

    (folder / ".agents/skills/pages/write.py").write_text("open('a.txt', 'w').write('x')")
    scripts, trust = Scripts(sandbox="none", on_untrusted=lambda _: True), Trust(str(tmp_path / "trust.json"))
    script = use("run_skill_script", skill="pages", script="write.py")
    chat = Chat(discover_project(folder), script, scripts=scripts, trust=trust)
    chat.runner.artifact_service = Broken()
    chat.say("Write.")
    assert "a.txt (1 bytes)" in texts(chat.model.requests[-1])[-1]


def texts(request: LlmRequest) -> list[str]:
    """All the texts of the messages of a request."""
    found: list[str] = []
    for part in (part for content in request.contents for part in content.parts or ()):
        found += [part.text] if part.text else []
        found += [part.function_response.response["result"]] if part.function_response else []
    return found


def whole(request: LlmRequest) -> str:
    return "\n".join([str(request.config.system_instruction), *texts(request)])


def tool_names(request: LlmRequest) -> list[str]:
    return [declaration.name for tool in request.config.tools or () for declaration in tool.function_declarations or ()]


def test_a_turn_without_tools_is_saved(folder: Path) -> None:
    """A user names a skill for the user only, and its files can be read in the next turn."""
    secret = use("read_skill_file", name="secret", path="SKILL.md")
    chat = Chat(discover_project(folder), "Done.", secret, "Done.")
    chat.say("Use $secret.")
    (record,) = chat.session().ledger
    assert (record.name, record.by, record.turn) == ("secret", "user", 1)
    chat.say("Go on")
    assert "Whisper." in texts(chat.model.requests[2])[-1]


def test_tools_of_one_answer_are_all_recorded(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """ADK calls them at once and merges what each saves, in the order of the calls; the first one ends last."""
    activate, others = Session.activate, threading.Event()

    def slow(session: Session, name: str, *arguments: Any) -> Any:
        if name == "three":
            others.wait(10)
        activation = activate(session, name, *arguments)
        if len(session.ledger) == 3:
            others.set()
        return activation

    monkeypatch.setattr(Session, "activate", slow)
    for name in ("one", "two", "three"):
        skill(folder / ".agents/skills" / name, body=f"Body of {name}.")
    names = ["three", "pages", "one", "two"]
    chat = Chat(discover_project(folder), [use("activate_skill", name=name) for name in names], "Done.")
    chat.say("All of them")
    assert sorted(record.name for record in chat.session().ledger) == sorted(names)
    (saved,) = (event for event in chat.saved().events if len(event.get_function_responses()) == 4)
    rows = json.loads(saved.actions.state_delta["prowess:counter"]["session"])["ledger"]
    assert sorted(row["name"] for row in rows) == sorted(names)


@pytest.mark.filterwarnings("ignore:.EXPERIMENTAL. ResumabilityConfig")
@pytest.mark.parametrize("resumable", [False, True])
def test_a_turn_that_continues_after_a_confirmation_keeps_its_mention(
    folder: Path, tmp_path: Path, resumable: bool
) -> None:
    """In a new process, whose first message has no text, only the user's answer."""

    def wipe() -> str:
        """Delete everything."""
        return "Wiped."

    write_many_skills(folder / ".agents/skills")
    model = Scripted(script=[use("wipe"), "Done."], requests=[])

    async def turn(part: types.Part, **options: Any) -> list[Event]:
        """Do a turn as a new process would."""
        skills = Skills(discover_project(folder), budget=4000)
        agent = LlmAgent(name="counter", model=model, tools=[skills, FunctionTool(wipe, require_confirmation=True)])
        app = App(name="books", root_agent=agent, resumability_config=ResumabilityConfig(is_resumable=resumable))
        runner = Runner(app=app, session_service=service, auto_create_session=True)
        message = types.Content(role="user", parts=[part])
        run = runner.run_async(user_id="me", session_id="1", new_message=message, **options)
        return [event async for event in run]

    service = SqliteSessionService(str(tmp_path / "sessions.db"))

    async def confirm() -> Any:
        events = await turn(types.Part(text=f"Use $pages. {GARDEN_MESSAGE}"))
        (question,) = (
            call for event in events for call in event.get_function_calls() if call.name == "adk_request_confirmation"
        )
        answer = types.FunctionResponse(id=question.id, name=question.name, response={"confirmed": True})
        options = {"invocation_id": events[-1].invocation_id} if resumable else {}
        await turn(types.Part(function_response=answer), **options)
        return await service.get_session(app_name="books", user_id="me", session_id="1")

    saved = asyncio.run(confirm())
    assert [BODY in str(request.contents) for request in model.requests] == [True, True]
    assert len({request.config.system_instruction for request in model.requests}) == 1
    assert Skills(discover_project(folder)).session(saved.state, "counter").turn == 1
    assert BODY not in saved.model_dump_json()


@pytest.mark.filterwarnings("ignore:ParallelAgent is deprecated")
def test_agents_that_run_at_once_in_one_conversation_save_their_skills(folder: Path, tmp_path: Path) -> None:
    """ADK's databases refuse an event if another process changed the session; here nothing did."""
    skills = Skills(discover_project(folder))
    agents = [
        LlmAgent(name=name, model=Scripted(script=[PAGES, "Done."] * 2, requests=[]), tools=[skills])
        for name in ("one", "two", "three", "four")
    ]
    service = SqliteSessionService(str(tmp_path / "sessions.db"))
    chat = Chat(skills, agent=ParallelAgent(name="all", sub_agents=agents), service=service)
    chat.say("Count $pages")
    chat.say("Count again")
    sessions = [skills.session(chat.saved().state, agent.name) for agent in agents]
    assert [(session.turn, len(session.ledger)) for session in sessions] == [(2, 1)] * 4


def test_a_session_that_adk_is_saving_at_that_moment_is_saved_again(folder: Path, tmp_path: Path) -> None:
    """Between what it writes and what it notes, ADK's databases refuse the event with which a turn begins."""

    class Busy(SqliteSessionService):  # type: ignore[misc]
        refused = 0

        async def append_event(self, session: Any, event: Event) -> Event:
            if event.content is None and self.refused < 3:
                self.refused += 1
                raise ValueError("stale")
            return await super().append_event(session, event)

    skills, service = Skills(discover_project(folder)), Busy(str(tmp_path / "sessions.db"))
    agent = LlmAgent(name="counter", model=Scripted(script=[PAGES, "Done."], requests=[]), tools=[skills])
    chat = Chat(skills, agent=agent, service=service)
    assert chat.say("Count $pages") == "Done."
    assert (service.refused, skills.session(chat.saved().state, "counter").turn) == (3, 1)


@pytest.mark.filterwarnings("ignore:The `plugins` argument is deprecated")  # ADK itself uses it
def test_an_agent_that_is_a_tool_has_skills_of_its_own(folder: Path) -> None:
    """In each call of the tool; ADK gives it a conversation of its own."""
    inner = Scripted(script=[PAGES, "Counted.", "Counted again."], requests=[])
    child = LlmAgent(name="child", model=inner, tools=[Skills(discover_project(folder))])
    outer = Scripted(script=[use("child", request="Count"), use("child", request="Again"), "Done."], requests=[])
    skills = Skills(discover_project(folder))
    chat = Chat(skills, agent=LlmAgent(name="counter", model=outer, tools=[skills, AgentTool(child)]))
    assert chat.say("Hello") == "Done."
    assert [whole(request).count(BODY) for request in inner.requests] == [0, 1, 1]
    assert chat.session().ledger == ()


def test_a_service_that_keeps_the_conversation_is_sent_nothing_twice(folder: Path) -> None:
    """With the Interactions API: a named skill once; a result of a tool is kept by the service."""

    class Interactions(Gemini):  # type: ignore[misc]
        use_interactions_api: bool = True
        scripted: Any = None

        async def generate_content_async(
            self,
            llm_request: LlmRequest,
            stream: bool = False,
        ) -> AsyncGenerator[LlmResponse, None]:
            async for response in self.scripted.generate_content_async(llm_request, stream):
                yield response.model_copy(update={"interaction_id": "kept"})

    scripted = Scripted(script=[PAGES, "Done.", "Done.", PAGES, "Done."], requests=[])
    skills = Skills(discover_project(folder))
    agent = LlmAgent(name="counter", model=Interactions(scripted=scripted), tools=[skills])
    chat = Chat(skills, agent=agent)
    for text in ("Use $pages.", "Go on", "Use $pages again."):
        chat.say(text)
    assert [request.previous_interaction_id for request in scripted.requests] == [None, *["kept"] * 4]
    assert [whole(request).count(BODY) for request in scripted.requests] == [1, 0, 0, 1, 0]


class Stream(BaseLlmConnection):  # type: ignore[misc]
    """A live connection whose model activates a skill and answers."""

    def __init__(self) -> None:
        self.history: list[types.Content] = []
        self.received: asyncio.Queue[types.Content] = asyncio.Queue()

    async def send_history(self, history: list[types.Content]) -> None:
        self.history = history

    async def send_content(self, content: types.Content) -> None:
        self.received.put_nowait(content)

    async def send_realtime(self, blob: Any) -> None:
        """Get no audio."""

    async def receive(self) -> AsyncGenerator[LlmResponse, None]:
        while not (content := await self.received.get()).parts[0].function_response:
            call = types.Part(function_call=types.FunctionCall(id="1", **PAGES))
            yield LlmResponse(content=types.Content(role="model", parts=[call]))
        done = types.Part(text=content.parts[0].function_response.response["result"])
        yield LlmResponse(content=types.Content(role="model", parts=[done]), turn_complete=True)

    async def close(self) -> None:
        """Have nothing to close."""


def test_a_live_stream_has_the_catalog_the_tools_and_the_active_skills(folder: Path) -> None:
    """In its instructions: a live model would answer a message at the end of the history."""

    class Live(Scripted):
        streams: list[Any] = []  # noqa: RUF012 - each model has its own

        @asynccontextmanager
        async def connect(self, llm_request: LlmRequest) -> AsyncIterator[Stream]:
            self.streams.append((llm_request, Stream()))
            yield self.streams[-1][1]

    model = Live(streams=[])
    skills = Skills(discover_project(folder))
    chat = Chat(skills, agent=LlmAgent(name="counter", model=model, tools=[skills]))

    async def stream(thread: str) -> None:
        queue = LiveRequestQueue()
        queue.send_content(types.Content(role="user", parts=[types.Part(text="How many?")]))
        config = RunConfig(response_modalities=["TEXT"])
        async for event in chat.runner.run_live(
            user_id="me", session_id=thread, live_request_queue=queue, run_config=config
        ):
            if event.turn_complete:
                queue.close()
                break

    asyncio.run(stream("1"))
    state = {"prowess:counter": chat.saved().state["prowess:counter"]}
    asyncio.run(chat.service.create_session(app_name="books", user_id="me", session_id="2", state=state))
    asyncio.run(stream("2"))
    (first, _), (second, connection) = model.streams
    assert tool_names(first) == ["activate_skill", "read_skill_file"]
    assert "- pages: " in first.config.system_instruction
    assert [BODY in request.config.system_instruction for request in (first, second)] == [False, True]
    assert connection.history == []
    assert [record.name for record in chat.session().ledger] == ["pages"]


def two_agents(first: Skills, second: Skills, *script: Any) -> tuple[Chat, Scripted, Scripted]:
    """An agent that hands over to another one in its first turn."""
    models = (
        Scripted(script=[*script, use("transfer_to_agent", agent_name="watcher")], requests=[]),
        Scripted(script=[*script, "Done."], requests=[]),
    )
    watcher = LlmAgent(name="watcher", model=models[1], tools=[second])
    counter = LlmAgent(name="counter", model=models[0], tools=[first], sub_agents=[watcher])
    return Chat(first, agent=counter), *models


def test_agents_of_one_conversation_have_their_own_skills(folder: Path, tmp_path: Path) -> None:
    """A skill that the user names is given to each agent that has it, also in turns after a transfer."""
    skill(tmp_path / "other/.agents/skills/birds", body="Listen first.")
    chat, first, second = two_agents(Skills(discover_project(folder)), Skills(discover_project(tmp_path / "other")))
    chat.say("Use $pages and $birds.")
    assert [BODY in whole(model.requests[0]) for model in (first, second)] == [True, False]
    assert ["Listen first." in whole(model.requests[0]) for model in (first, second)] == [False, True]
    chat.say("Go on")
    chat.say("Use $birds again.")
    assert ["Listen first." in whole(request) for request in second.requests] == [True, False, True]


def test_one_toolset_may_serve_two_agents_of_an_invocation(folder: Path) -> None:
    """The tools of each are bound to its own session."""
    skills = Skills(discover_project(folder))
    chat, *_ = two_agents(skills, skills, PAGES)
    chat.say("Count")
    state = chat.saved().state
    assert [record.name for record in skills.session(state, "counter").ledger] == ["pages"]
    assert [record.name for record in skills.session(state, "watcher").ledger] == ["pages"]


@pytest.mark.parametrize("text", ["", "{", json.dumps({"version": 9})], ids=repr)
def test_an_invalid_record_starts_a_new_session(folder: Path, text: str) -> None:
    """At worst a skill is given a second time."""
    skills = Skills(discover_project(folder))
    records: list[Any] = [text, {"session": text, "invocation": 3}, {"session": 3}, [], None]
    for record in records:
        assert skills.session({"prowess:counter": record}, "counter").ledger == ()


def test_the_tools_may_be_filtered_and_prefixed(folder: Path) -> None:
    chat = Chat(
        discover_project(folder),
        use("book_activate_skill", name="pages"),
        tool_filter=["activate_skill"],
        tool_name_prefix="book",
    )
    chat.say("How many?")
    assert tool_names(chat.model.requests[0]) == ["book_activate_skill"]
    assert BODY in texts(chat.model.requests[1])[-1]


def test_two_toolsets_of_one_agent_need_different_names(folder: Path, tmp_path: Path) -> None:
    """With a prefix each has its own session; otherwise ADK would call the tools of the last one only."""
    skill(tmp_path / "other/.agents/skills/birds", body="Listen first.")
    model = Scripted(script=[use("bird_activate_skill", name="birds"), "Done."], requests=[])
    first, same = Skills(discover_project(folder)), Skills(discover_project(tmp_path / "other"))
    second = Skills(discover_project(tmp_path / "other"), tool_name_prefix="bird")
    chat = Chat(first, agent=LlmAgent(name="counter", model=model, tools=[first, second]))
    chat.say("Use $pages.")
    state = chat.saved().state
    assert [record.name for record in first.session(state, "counter").ledger] == ["pages"]
    assert [record.name for record in second.session(state, "counter").ledger] == ["birds"]
    with pytest.raises(ConfigError, match="the agent `counter` has two `Skills`"):
        Chat(first, agent=LlmAgent(name="counter", model=model, tools=[first, same])).say("Hello")


def test_conversations_do_not_mix_if_their_clients_choose_the_same_invocation(folder: Path) -> None:
    """ADK's server takes the id of an invocation from its client."""

    async def turns() -> list[list[str]]:
        skills, service = Skills(discover_project(folder)), InMemorySessionService()
        agent = LlmAgent(name="counter", tools=[skills])
        found = []
        for text in ("Use $pages.", "Hello"):
            session = await service.create_session(app_name="books", user_id=text)
            content = types.Content(role="user", parts=[types.Part(text=text)])
            context = InvocationContext(
                invocation_id="same", agent=agent, session=session, session_service=service, user_content=content
            )
            tools = await skills.get_tools(ReadonlyContext(context))
            found.append([record.name for record in tools[0]._turn.session.ledger])
        return found

    assert asyncio.run(turns()) == [["pages"], []]


def pickled(value: Any) -> Any:
    return pickle.loads(pickle.dumps(value))  # noqa: S301 - our own bytes


@pytest.mark.parametrize("copied", [pickled, copy.deepcopy])
def test_an_agent_can_be_pickled_and_copied(folder: Path, monkeypatch: pytest.MonkeyPatch, copied: Any) -> None:
    """As deployments do; a directory is then read where the agent runs."""
    monkeypatch.chdir(folder)
    skills = copied(Skills(".", scripts=True, tool_name_prefix="book", budget=4000))
    tools = [tool.name for tool in asyncio.run(skills.get_tools_with_prefix())]
    assert {"book_activate_skill", "book_read_skill_file", "book_run_skill_script"} <= {*tools}
    assert "pages" in [entry.name for entry in skills.session({}, "counter").catalog.skills]


def test_the_tools_are_listed_without_a_conversation(folder: Path) -> None:
    """As agent cards and user interfaces do."""
    tools = asyncio.run(Skills(discover_project(folder)).get_tools_with_prefix())
    assert [tool.name for tool in tools] == ["activate_skill", "read_skill_file"]
