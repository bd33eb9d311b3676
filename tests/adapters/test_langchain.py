"""Skills in an agent of LangChain, with a model that follows a script."""

from __future__ import annotations

import asyncio
import json
import re
import runpy
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("langchain")

from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware, HumanInTheLoopMiddleware, SummarizationMiddleware
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.utils.function_calling import convert_to_openai_tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command, interrupt

from prowess import ConfigError, LiveCatalog, Scripts, Trust, UntrustedSkill, discover
from prowess.adapters._session_records import merge_sessions
from prowess.adapters.langchain import SkillsMiddleware
from support.skills import BANK_MESSAGE, GARDEN_MESSAGE, skill, write_many_skills

if TYPE_CHECKING:
    from prowess.catalog import Catalog

TOP = Path(__file__).parent.parent.parent
BODY = "Count the pages twice."
DONE = AIMessage("Done.")
LINE = "The skill `pages` is already active since turn 1; its instructions have not changed."


class Scripted(BaseChatModel):  # type: ignore[misc]
    """A model that follows a script and records its requests."""

    script: list[Any]
    calls: list[Any] = []  # noqa: RUF012 - each model has its own
    tools: list[Any] = []  # noqa: RUF012
    before: dict[int, Any] = {}  # noqa: RUF012
    """What to do before an answer, by its index."""

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Any, **_: Any) -> Any:
        self.tools = [*tools]
        return self

    def _generate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
        self.before.get(len(self.calls), lambda: None)()
        self.calls.append(list(messages))
        said = self.script[len(self.calls) - 1]
        return ChatResult(generations=[ChatGeneration(message=said.model_copy(update={"id": None}))])


@pytest.fixture(autouse=True)
def _no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LANGSMITH_TRACING", "false")


def catalog_of(folder: Path) -> Catalog:
    return discover(folder, home=folder.parent / "home", cache=False)


def use(name: str, arguments: dict[str, Any], call_id: str = "1") -> dict[str, Any]:
    """One call of a tool."""
    return {"name": name, "args": arguments, "id": call_id, "type": "tool_call"}


def asks(*calls: dict[str, Any]) -> AIMessage:
    """What a model says to call tools."""
    return AIMessage("", tool_calls=[*calls])


PAGES = asks(use("activate_skill", {"name": "pages"}))


class Agent:
    """An agent with a checkpointer."""

    def __init__(self, folder: Path, *script: BaseMessage, middleware: tuple[Any, ...] = (), **options: Any) -> None:
        self.model = Scripted(script=[*script])
        self.middleware = SkillsMiddleware(catalog_of(folder), **options)
        self.graph = create_agent(
            self.model,
            system_prompt="You count pages.",
            middleware=[*middleware, self.middleware],
            checkpointer=InMemorySaver(),
        )

    def say(self, text: str, thread: str = "1") -> Any:
        config = {"configurable": {"thread_id": thread}}
        return self.graph.invoke({"messages": [{"role": "user", "content": text}]}, config)


def whole(messages: list[BaseMessage]) -> str:
    """All the text that one call of the model was sent."""
    return "\n".join(message.text for message in messages)


def results(messages: list[BaseMessage]) -> list[str]:
    return [message.text for message in messages if isinstance(message, ToolMessage)]


def test_a_model_reads_a_skill_it_chose(folder: Path) -> None:
    """The body comes as the tool's result, once, and its files after it."""
    notes = asks(use("read_skill_file", {"name": "pages", "path": "notes.md"}, "2"))
    agent = Agent(folder, PAGES, notes, DONE)
    assert agent.say("How many?")["messages"][-1].text == "Done."
    content, text = results(agent.model.calls[2])
    assert content.startswith(f'<skill_content name="pages">\n{BODY}\n')
    assert text == "Page 3 is blank."
    assert [whole(call).count(BODY) for call in agent.model.calls] == [0, 1, 1]


def test_an_agent_may_run_asynchronously(folder: Path) -> None:
    """With the same messages."""
    agents = [Agent(folder, PAGES, DONE), Agent(folder, PAGES, DONE)]
    agents[0].say("Use $pages.")
    config = {"configurable": {"thread_id": "1"}}
    asyncio.run(agents[1].graph.ainvoke({"messages": [{"role": "user", "content": "Use $pages."}]}, config))
    one, other = ([[message.text for message in call] for call in agent.model.calls] for agent in agents)
    assert one == other
    assert [text.count(BODY) for text in map(whole, agents[1].model.calls)] == [1, 1]


def test_the_catalog_is_sent_once_and_always_the_same_bytes(folder: Path) -> None:
    """In the system message of every call, and nowhere else."""
    agent = Agent(folder, PAGES, DONE, DONE)
    agent.say("How many?")
    agent.say("And now, with the pages skill?")
    catalog = agent.middleware.session({}).static_block()
    assert {call[0].text for call in agent.model.calls} == {f"You count pages.\n\n{catalog}"}
    assert [whole(call).count("<available_skills>") for call in agent.model.calls] == [1, 1, 1]


@pytest.mark.parametrize(
    ("prompt", "content"),
    [
        (None, "{}"),
        (
            SystemMessage([{"type": "text", "text": "A"}]),
            [{"type": "text", "text": "A"}, {"type": "text", "text": "\n\n{}"}],
        ),
    ],
    ids=["none", "blocks"],
)
def test_the_catalog_follows_any_system_message(folder: Path, prompt: Any, content: Any) -> None:
    """Which may be missing, or blocks that a provider caches separately."""
    middleware, model = SkillsMiddleware(catalog_of(folder)), Scripted(script=[DONE])
    create_agent(model, system_prompt=prompt, middleware=[middleware]).invoke({"messages": [HumanMessage("Hm?")]})
    catalog = json.dumps(middleware.session({}).static_block())[1:-1]
    assert model.calls[0][0].content == json.loads(json.dumps(content).replace("{}", catalog))


@pytest.mark.parametrize("kind", [str, LiveCatalog], ids=["directory", "live catalog"])
def test_a_changed_skill_is_seen_in_the_next_turn(tmp_path: Path, kind: Any) -> None:
    """In all conversations with an agent that was created before its first skill, and not in the middle of a turn."""
    steps = [
        lambda: skill(tmp_path / ".agents/skills/late", body="Count late."),
        lambda: skill(tmp_path / ".agents/skills/late", description="Counts later.", body="Count later."),
    ]

    def work() -> str:
        """Change a skill during a turn."""
        steps.pop(0)()
        return "done"

    again = asks(use("work", {}))
    model = Scripted(script=[again, DONE, again, asks(use("activate_skill", {"name": "late"}, "2")), DONE, DONE])
    middleware = SkillsMiddleware(kind(tmp_path))
    graph = create_agent(model, [work], middleware=[middleware], checkpointer=InMemorySaver())
    for thread in ("1", "1", "2"):
        graph.invoke({"messages": [HumanMessage("How many?")]}, {"configurable": {"thread_id": thread}})
    shown = [call[0].text if isinstance(call[0], SystemMessage) else "" for call in model.calls]
    assert ["<name>late</name>" in text for text in shown] == [False, False, True, True, True, True]
    assert shown[2] == shown[3] == shown[4]
    assert "Does late." in shown[4]
    assert "Counts later." in shown[5]
    assert "Count later." in results(model.calls[4])[-1]


def test_the_tools_of_a_turn_are_those_of_its_skills(tmp_path: Path) -> None:
    """A search is added when the skills do not fit any more, and works; other tools stay first."""

    def work() -> str:
        """Work."""
        return ""

    (tmp_path / "project").mkdir()
    script = [DONE, asks(use("search_skills", {"query": "late"})), DONE, DONE]
    model = Scripted(script=script)
    middleware = SkillsMiddleware(LiveCatalog(tmp_path / "project", home=tmp_path), budget=100)
    graph = create_agent(model, [work], middleware=[middleware])
    graph.invoke({"messages": [HumanMessage("How many?")]})
    assert [tool.name for tool in model.tools] == ["work"]
    skill(tmp_path / "project/.agents/skills/late")
    graph.invoke({"messages": [HumanMessage("How many?")]})
    names = ["work", "activate_skill", "read_skill_file", "search_skills"]
    assert [tool.name for tool in model.tools] == names
    assert results(model.calls[2]) == ["- late: Does late. Use it for late."]
    (tmp_path / "project/.agents/skills/late/SKILL.md").unlink()
    graph.invoke({"messages": [HumanMessage("How many?")]})
    assert [tool.name for tool in model.tools] == ["work"]


def test_a_call_of_a_tool_that_is_gone_is_an_answer(tmp_path: Path) -> None:
    """A model may remember it from an earlier turn."""
    model = Scripted(script=[asks(use("activate_skill", {"name": "late"})), DONE])
    middleware = SkillsMiddleware(LiveCatalog(tmp_path, home=tmp_path))
    create_agent(model, middleware=[middleware]).invoke({"messages": [HumanMessage("How many?")]})
    assert results(model.calls[1]) == ["error: `activate_skill` is not available now\nhint: go on without it"]


@pytest.mark.parametrize("same", [True, False], ids=["one process", "two processes"])
def test_a_turn_goes_on_after_an_approval(folder: Path, same: bool) -> None:
    """With the skill that its message named. In the same process also with the catalog of its beginning."""

    def delete(path: str) -> str:
        """Delete a file."""
        return f"{path} is deleted"

    def graph() -> Any:
        asking = HumanInTheLoopMiddleware({"delete": True})
        return create_agent(model, [delete], middleware=[asking, SkillsMiddleware(folder)], checkpointer=saver)

    saver = InMemorySaver()
    model = Scripted(script=[asks(use("delete", {"path": "a.pdf"})), DONE, DONE])
    agent, config = graph(), {"configurable": {"thread_id": "1"}}
    agent.invoke({"messages": [HumanMessage("Delete it as $secret says.")]}, config)
    skill(folder / ".agents/skills/late")
    agent = agent if same else graph()
    agent.invoke(Command(resume={"decisions": [{"type": "approve"}]}), config)
    agent.invoke({"messages": [HumanMessage("Go on.")]}, config)
    assert results(model.calls[1]) == ["a.pdf is deleted"]
    assert [whole(call).count("Whisper.") for call in model.calls] == [1, 1, 0]
    assert ["<name>late</name>" in whole(call) for call in model.calls] == [False, not same, True]


def test_a_stream_of_states_is_json(folder: Path) -> None:
    """Servers send it to their clients."""
    graph = create_agent(Scripted(script=[PAGES, DONE]), middleware=[SkillsMiddleware(folder)])
    question = {"messages": [HumanMessage("How many?")]}
    for _, chunk in graph.stream(question, stream_mode=["values", "updates"]):
        json.dumps(chunk, default=lambda value: value.model_dump())


def test_a_tool_that_another_middleware_removes_stays_removed(folder: Path) -> None:
    """For example one that selects tools."""

    class Select(AgentMiddleware):  # type: ignore[misc]
        def wrap_model_call(self, request: Any, handler: Any) -> Any:
            return handler(request.override(tools=[tool for tool in request.tools if tool.name != "read_skill_file"]))

    agent = Agent(folder, DONE, middleware=(Select(),))
    agent.say("Hm?")
    assert [tool.name for tool in agent.model.tools] == ["activate_skill"]


@pytest.mark.parametrize(
    ("catalog", "options", "message"),
    [
        (None, {}, "not a catalog: an object of type `NoneType`"),
        ("no/such/folder", {}, "no such directory: `no/such/folder`"),
        (".", {"scripts": "yes"}, "`scripts` cannot be 'yes'"),
    ],
)
def test_a_wrong_argument_is_an_error_that_says_what_to_pass(catalog: Any, options: Any, message: str) -> None:
    """When the middleware is made, not in the first run."""
    with pytest.raises(ConfigError) as raised:
        SkillsMiddleware(catalog, **options)
    assert str(raised.value) == message
    assert raised.value.hint


# ── scripts ──────────────────────────────────────────────────────────────────────────────────────────────────────────

NOTE = (
    'import pathlib, sys\npath = pathlib.Path("note.txt")\npath.open("a").write(sys.argv[1])\nprint(path.read_text())\n'
)


@pytest.fixture
def with_script(folder: Path) -> Path:
    """The project, whose skill has a script that adds to a file in its working folder."""
    (folder / ".agents/skills/pages/note.py").write_text(NOTE)
    return folder


def note(text: str, call_id: str = "n") -> dict[str, Any]:
    """One call of the script."""
    return use("run_skill_script", {"skill": "pages", "script": "note.py", "args": [text]}, call_id)


def test_scripts_are_off_by_default(with_script: Path) -> None:
    agent = Agent(with_script, DONE)
    agent.say("Hm?")
    assert [tool.name for tool in agent.model.tools] == ["activate_skill", "read_skill_file"]


@pytest.mark.needs("bwrap")
def test_a_script_is_refused_until_its_skill_is_trusted(with_script: Path, tmp_path: Path) -> None:
    """The model gets the command that trusts it."""
    trust = Trust(str(tmp_path / "trust.json"))
    agent = Agent(with_script, PAGES, asks(note("a")), asks(note("b")), DONE, scripts=True, trust=trust)
    agent.model.before[2] = lambda: trust.allow(agent.middleware.session({}).catalog.resolve("pages"))
    agent.say("How many?")
    _, refused, ran = results(agent.model.calls[3])
    assert refused.startswith("error: `pages` is not trusted: review it, then type `prowess trust ")
    assert ran.startswith("exit code 0\nstdout:\nb\n")


@pytest.mark.needs("bwrap")
def test_the_folder_of_scripts_belongs_to_the_conversation(with_script: Path, tmp_path: Path) -> None:
    """It stays between calls and turns; another conversation has another one. The user is asked once in each."""
    asked: list[str] = []

    def ask(untrusted: UntrustedSkill) -> bool:
        asked.append(untrusted.entry.name)
        return True

    agent = Agent(
        with_script,
        asks(use("activate_skill", {"name": "pages"}), note("a")),
        asks(note("b"), use("read_script_file", {"path": "note.txt"}, "r")),
        DONE,
        asks(note("c")),
        DONE,
        asks(use("activate_skill", {"name": "pages"}), note("x")),
        DONE,
        scripts=Scripts(on_untrusted=ask),
        trust=Trust(str(tmp_path / "trust.json")),
    )
    for text, thread in (("How many?", "1"), ("And now?", "1"), ("How many?", "2")):
        agent.say(text, thread)
    texts = [text.split("\n")[2] for text in results(agent.model.calls[4]) if text.startswith("exit code 0")]
    assert texts == ["a", "ab", "abc"]
    assert "stdout:\nx\n" in results(agent.model.calls[6])[-1]
    assert asked == ["pages", "pages"]


@pytest.mark.needs("bwrap")
@pytest.mark.parametrize("allowed", [True, False])
@pytest.mark.parametrize("asynchronous", [False, True], ids=["invoke", "ainvoke"])
def test_the_question_about_an_untrusted_skill_can_interrupt_the_graph(
    with_script: Path, tmp_path: Path, allowed: bool, asynchronous: bool
) -> None:
    """As questions to users do in LangGraph: the answer comes in another call, perhaps days later."""
    agent = Agent(
        with_script,
        PAGES,
        asks(note("a"), note("b", "m")),
        DONE,
        scripts=Scripts(on_untrusted=lambda skill: interrupt(f"{skill.script} of {skill.entry.name}?")),
        trust=Trust(str(tmp_path / "trust.json")),
    )
    config = {"configurable": {"thread_id": "1"}}
    given: Any = {"messages": [HumanMessage("How many?")]}
    asked: list[Any] = []
    while given is not None:
        state = asyncio.run(agent.graph.ainvoke(given, config)) if asynchronous else agent.graph.invoke(given, config)
        questions = state.get("__interrupt__", ())
        asked += [question.value for question in questions]
        given = Command(resume={question.id: allowed for question in questions}) if questions else None
    assert set(asked) == {"note.py of pages?"}
    texts = results(agent.model.calls[2])[1:]
    assert [text.startswith("exit code 0") for text in texts] == [allowed] * 2
    assert allowed or all(text.startswith("error: `pages` is not trusted") for text in texts)


# ── deepagents ───────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def backend(tmp_path: Path) -> Any:
    """A file system for deepagents, with a skill that only its own middleware knows."""
    filesystem = pytest.importorskip("deepagents.backends").FilesystemBackend
    skill(tmp_path / "deep/skills/stars", body="Count the stars.")
    return filesystem(root_dir=str(tmp_path / "deep"), virtual_mode=True)


def both_kinds(call: list[BaseMessage]) -> list[bool]:
    """Whether one call of the model has our skills, and those of deepagents."""
    text = whole(call)
    return ["<name>pages</name>" in text, "**stars**" in text]


def test_an_agent_may_have_the_skills_of_deepagents_too(folder: Path, backend: Any) -> None:
    """Its middleware has a class of the same name; LangChain refuses two of one name."""
    from deepagents.middleware.skills import SkillsMiddleware as Deep

    model = Scripted(script=[PAGES, DONE])
    middleware = [Deep(backend=backend, sources=["/skills/"]), SkillsMiddleware(catalog_of(folder))]
    create_agent(model, middleware=middleware).invoke({"messages": [HumanMessage("How many?")]})
    assert [both_kinds(call) for call in model.calls] == [[True, True], [True, True]]
    assert BODY in results(model.calls[1])[0]


def test_a_deep_agent_keeps_its_own_skills(folder: Path, backend: Any) -> None:
    """`create_deep_agent` replaces its middleware by one of the same name."""
    from deepagents import create_deep_agent

    model = Scripted(script=[PAGES, DONE, DONE])
    deep = create_deep_agent(
        model,
        skills=["/skills/"],
        backend=backend,
        middleware=[SkillsMiddleware(catalog_of(folder))],
        checkpointer=InMemorySaver(),
    )
    for text in ("How many?", "And with $secret?"):
        deep.invoke({"messages": [HumanMessage(text)]}, {"configurable": {"thread_id": "1"}})
    assert [both_kinds(call) for call in model.calls] == [[True, True]] * 3
    assert [whole(call).count(BODY) for call in model.calls] == [0, 1, 1]
    assert [whole(call).count("Whisper.") for call in model.calls] == [0, 0, 1]


def test_the_schema_of_tools_is_the_session_s(folder: Path) -> None:
    """As it is, with what may be left out."""
    agent = Agent(folder, DONE)
    agent.say("Hm?")
    schemas = [convert_to_openai_tool(tool)["function"] for tool in agent.model.tools]
    tools = agent.middleware.session({}).tools()
    assert schemas == [
        {"name": tool.name, "description": tool.description, "parameters": tool.parameters} for tool in tools
    ]


def test_without_skills_there_are_no_tools_and_no_text(tmp_path: Path) -> None:
    """The agent is as it would be without Prowess."""
    (tmp_path / "project").mkdir()
    agent = Agent(tmp_path / "project", DONE)
    agent.say("How many pages?")
    assert agent.model.tools == []
    assert [message.text for message in agent.model.calls[0]] == ["You count pages.", "How many pages?"]


def test_a_skill_the_user_names_is_read_at_once_and_not_remembered(folder: Path) -> None:
    """The model sees it behind the user's words; the state's messages hold only the words."""
    agent = Agent(folder, DONE)
    state = agent.say("Use $pages on this.")
    _, said, injected = agent.model.calls[0]
    assert said.text == "Use $pages on this."
    assert isinstance(injected, HumanMessage)
    assert injected.text.startswith('<skill_content name="pages">')
    assert [message.text for message in state["messages"]] == ["Use $pages on this.", "Done."]


def test_a_named_skill_stays_while_tools_run(folder: Path) -> None:
    """Once in every call of its turn."""
    notes = asks(use("read_skill_file", {"name": "pages", "path": "notes.md"}))
    agent = Agent(folder, notes, PAGES, DONE)
    agent.say("Use $pages on this.")
    assert [whole(call).count(BODY) for call in agent.model.calls] == [1, 1, 1]
    assert results(agent.model.calls[2])[-1] == LINE


def test_a_skill_in_the_conversation_is_not_injected_again(folder: Path) -> None:
    """Neither where its user names it, nor where the model asks for it again afterwards."""
    agent = Agent(folder, PAGES, DONE, DONE, PAGES, DONE)
    for text in ("How many?", "Use $pages again.", "And now?"):
        agent.say(text)
    assert [whole(call).count(BODY) for call in agent.model.calls] == [0, 1, 1, 1, 1]


def test_only_its_user_reaches_a_skill_that_is_user_only(folder: Path) -> None:
    """The model gets an error; a mention by the user activates it."""
    agent = Agent(folder, asks(use("activate_skill", {"name": "secret"})), DONE, DONE)
    agent.say("Hm?")
    assert results(agent.model.calls[1]) == [
        "error: only the user can activate the skill `secret`\nhint: ask the user to name it in a message"
    ]
    assert "Whisper." not in whole(agent.model.calls[1])
    agent.say("/secret now")
    assert whole(agent.model.calls[2]).count("Whisper.") == 1


def test_a_second_activation_is_one_line(folder: Path) -> None:
    """In the same step, even beside the first, where tools do not know of each other."""
    both = asks(use("activate_skill", {"name": "pages"}), use("activate_skill", {"name": "pages"}, "2"))
    agent = Agent(folder, both, asks(use("activate_skill", {"name": "pages"}, "3")), DONE)
    agent.say("How many?")
    first, *others = results(agent.model.calls[2])
    assert (first.count(BODY), others) == (1, [LINE, LINE])


def test_tools_that_run_beside_each_other_lose_nothing(folder: Path) -> None:
    """What each of them leaves in the state is joined."""
    skill(folder / ".agents/skills/words")
    agent = Agent(
        folder,
        asks(
            use("activate_skill", {"name": "pages"}),
            use("read_skill_file", {"name": "pages", "path": "notes.md"}, "2"),
            use("activate_skill", {"name": "words"}, "3"),
        ),
        DONE,
    )
    session = agent.middleware.session(agent.say("How many?"))
    assert [(record.name, record.files) for record in session.ledger] == [("pages", ("notes.md",)), ("words", ())]


class Forgetful(AgentMiddleware):  # type: ignore[misc]
    """Sends the last message alone, as a middleware does that trims."""

    def wrap_model_call(self, request: Any, handler: Any) -> Any:
        return handler(request.override(messages=request.messages[-1:]))


def test_a_skill_outlives_the_messages_it_came_with(folder: Path) -> None:
    """Whatever trims or sums up a conversation: the skill is there again, once, at the end."""
    agent = Agent(folder, PAGES, DONE, DONE, middleware=(Forgetful(),))
    agent.say("How many?")
    agent.say("And now?")
    _, said, tail = agent.model.calls[-1]
    assert (said.text, tail.text[:15]) == ("And now?", "<active_skills>")
    assert whole(agent.model.calls[-1]).count(BODY) == 1


def test_a_skill_outlives_a_summary(folder: Path) -> None:
    """As LangChain's own middleware writes one; the record stays in the state."""
    short = SummarizationMiddleware(
        Scripted(script=[AIMessage("They count.")]), trigger=("messages", 4), keep=("messages", 1)
    )
    agent = Agent(folder, PAGES, DONE, DONE, middleware=(short,))
    agent.say("How many?")
    agent.say("And now?")
    summary, said, tail = agent.model.calls[-1][1:]
    assert "They count." in summary.text
    assert (said.text, tail.text[:15]) == ("And now?", "<active_skills>")
    assert whole(agent.model.calls[-1]).count(BODY) == 1


def test_conversations_with_one_agent_are_independent(folder: Path) -> None:
    """Both are given the body."""
    agent = Agent(folder, PAGES, DONE, PAGES, DONE)
    for thread in ("1", "2"):
        agent.say("How many?", thread)
    assert [whole(call).count(BODY) for call in agent.model.calls] == [0, 1, 0, 1]


def test_a_conversation_continues_without_a_checkpointer(folder: Path) -> None:
    """When the state is given back, record and messages."""
    model = Scripted(script=[PAGES, DONE, PAGES, DONE])
    graph = create_agent(model, middleware=[SkillsMiddleware(catalog_of(folder))])
    state = graph.invoke({"messages": [HumanMessage("How many?")]})
    graph.invoke({**state, "messages": [*state["messages"], HumanMessage("And now?")]})
    assert results(model.calls[3])[1] == LINE


def test_a_record_that_cannot_be_read_begins_anew(folder: Path) -> None:
    """A thread that another version of Prowess wrote still runs."""
    model = Scripted(script=[PAGES, DONE])
    graph = create_agent(model, middleware=[SkillsMiddleware(catalog_of(folder))])
    state = graph.invoke({"messages": [HumanMessage("How many?")], "skills": '{"version": 99}'})
    assert BODY in results(model.calls[1])[0]
    assert json.loads(state["skills"])["version"] == 1


def test_a_missing_skill_is_reported_and_the_run_continues(folder: Path) -> None:
    """To the model that asked for it, and where its user named it."""
    agent = Agent(folder, PAGES, DONE)
    (folder / ".agents/skills/pages/SKILL.md").unlink()
    assert agent.say("Use $pages on this.")["messages"][-1].text == "Done."
    assert results(agent.model.calls[1])[0].startswith("error: the skill `pages` cannot be read now: ")
    assert agent.model.calls[0][2].text.startswith("warning: the skill `pages` cannot be read now: ")


def test_a_name_that_no_skill_has_is_reported_to_the_model_once(folder: Path) -> None:
    """In the whole conversation, and only in the request that begins the turn."""
    agent = Agent(folder, PAGES, DONE, DONE)
    agent.say("Use the pgaes skill.")
    agent.say("Use the pgaes skill now.")
    warning = "warning: no skill is called `pgaes`"
    assert [whole(call).count(warning) for call in agent.model.calls] == [1, 0, 0]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "error: `name` is missing\nhint: `activate_skill` takes `name`, `arguments`"),
        ({"name": 3}, "error: `name` must be of type string\nhint: `activate_skill` takes `name`, `arguments`"),
        ({"name": "page"}, "error: no skill is called `page` for host `prowess`\nhint: did you mean `pages`?"),
    ],
    ids=["nothing", "a number", "a misspelt name"],
)
def test_errors_are_reported_to_the_model(folder: Path, arguments: dict[str, Any], message: str) -> None:
    """A run never ends by it."""
    agent = Agent(folder, asks(use("activate_skill", arguments)), DONE)
    assert agent.say("How many?")["messages"][-1].text == "Done."
    assert results(agent.model.calls[1]) == [message]


def test_other_tools_run_as_before(folder: Path) -> None:
    """The middleware answers for its own alone."""

    def double(number: int) -> int:
        """Double a number."""
        return 2 * number

    model = Scripted(script=[asks(use("double", {"number": 4})), DONE])
    graph = create_agent(model, tools=[double], middleware=[SkillsMiddleware(catalog_of(folder))])
    graph.invoke({"messages": [HumanMessage("Hm?")]})
    assert results(model.calls[1]) == ["8"]


def test_options_are_the_session_s(folder: Path) -> None:
    """A budget shortens the catalog and adds the search tool."""
    agent = Agent(folder, asks(use("search_skills", {"query": "pages"})), DONE, budget=120)
    agent.say("Hm?")
    assert results(agent.model.calls[1])[0].startswith("- pages: ")


def test_300_skills_are_shown_within_8000_tokens_and_all_can_be_activated(many_skills: Path) -> None:
    agent = Agent(many_skills, asks(use("activate_skill", {"name": "s299"})), DONE)
    agent.say("Hm?")
    schemas = str([tool.args_schema for tool in agent.middleware.tools])
    assert "s299" not in agent.model.calls[0][0].text + schemas
    assert 4 * 7_000 < len(agent.model.calls[0][0].text) + len(schemas) < 4 * 8_600
    assert "Body of 299." in results(agent.model.calls[1])[0]


def test_records_are_joined_whichever_comes_first() -> None:
    """A later turn wins, files add up, and nothing is no record."""
    row = {"path": "a", "turn": 1, "by": "user", "files": ["x"]}
    old = json.dumps({"version": 1, "turn": 1, "ledger": [row]})
    new = json.dumps({"version": 1, "turn": 2, "ledger": [{**row, "turn": 2, "files": ["y"]}]})
    for one, other, files in ((old, new, ["x", "y"]), (new, old, ["y", "x"])):
        rows = [{**row, "turn": 2, "files": files}]
        assert json.loads(merge_sessions(one, other)) == {"version": 1, "turn": 2, "ledger": rows}
    assert (merge_sessions("", new), merge_sessions(new, "")) == (new, new)
    other = json.dumps({"version": 1, "turn": 1, "ledger": [{**row, "path": "b"}]})
    first, later = json.loads(merge_sessions(old, other)), json.loads(merge_sessions(merge_sessions(old, other), new))
    assert [[item["path"] for item in record["ledger"]] for record in (first, later)] == [["a", "b"], ["b", "a"]]
    by_model = json.dumps({"version": 1, "turn": 1, "ledger": [{**row, "by": "model"}]})
    for one, other in ((old, by_model), (by_model, old)):
        assert [item["by"] for item in json.loads(merge_sessions(one, other))["ledger"]] == ["model"]
    foreign = json.dumps({"version": 9, "turn": 1, "ledger": [{**row, "path": "b"}]})
    assert json.loads(merge_sessions(foreign, new)) == json.loads(new)


@pytest.mark.parametrize("asynchronous", [False, True], ids=["invoke", "ainvoke"])
def test_a_subagent_belongs_to_the_turn_of_its_agent(folder: Path, backend: Any, asynchronous: bool) -> None:
    """It gets its agent's record. A model wrote its first message, so that message names no skills."""
    from deepagents import create_deep_agent

    skill(folder / ".agents/skills/words", body="Count the words.")
    task = {"description": "Use $secret.", "subagent_type": "helper"}
    model = Scripted(script=[asks(use("task", task)), asks(use("activate_skill", {"name": "words"}, "2")), *[DONE] * 3])
    helper = {"name": "helper", "description": "Helps.", "system_prompt": "You help."}
    deep = create_deep_agent(
        model,
        backend=backend,
        middleware=[SkillsMiddleware(catalog_of(folder))],
        subagents=[{**helper, "middleware": [SkillsMiddleware(catalog_of(folder))]}],
        checkpointer=InMemorySaver(),
    )
    config = {"configurable": {"thread_id": "1"}}
    for text in ("Use $pages.", "And now?"):
        question = {"messages": [HumanMessage(text)]}
        asyncio.run(deep.ainvoke(question, config)) if asynchronous else deep.invoke(question, config)
    assert [whole(call).count(BODY) for call in model.calls] == [1, 1, 1, 1, 0]
    assert [whole(call).count("Whisper.") for call in model.calls] == [0] * 5
    assert [whole(call).count("Count the words.") for call in model.calls] == [0, 0, 1, 1, 1]


def test_the_page_s_code_runs(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Block after block, with a model that follows a script."""
    page = (TOP / "docs/adapters/langchain.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)
    monkeypatch.chdir(folder)
    model = Scripted(script=[PAGES, *[DONE] * 9])
    monkeypatch.setattr("langchain.agents.factory.init_chat_model", lambda _: model)
    names: dict[str, Any] = {}
    for block in blocks:
        exec(compile(block, "langchain.md", "exec"), names)  # noqa: S102 - it is ours
    assert len(blocks) >= 2
    assert BODY in whole(model.calls[1])


def test_the_example_runs(capsys: pytest.CaptureFixture[str]) -> None:
    """Without a key, on the example skills."""
    runpy.run_path(str(TOP / "examples/adapters/langchain_agent.py"), run_name="__main__")
    assert "Conventional Commits" in capsys.readouterr().out


def test_a_message_chooses_the_skills_that_fit(folder: Path) -> None:
    """Once per turn: the same bytes in each call of it."""
    write_many_skills(folder / ".agents/skills")
    agent = Agent(folder, asks(use("activate_skill", {"name": "a-50"})), DONE, DONE, budget=1_500)
    agent.say(BANK_MESSAGE)
    agent.say(GARDEN_MESSAGE)
    first, again, other = (call[0].text for call in agent.model.calls)
    assert first == again
    assert ("z-books" in first, "y-garden" in first) == (True, False)
    assert ("z-books" in other, "y-garden" in other) == (False, True)
