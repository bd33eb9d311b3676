"""Skills in an agent of LangChain, with a model that follows a script."""

from __future__ import annotations

import asyncio
import base64
import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("langchain")

from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware, HumanInTheLoopMiddleware, SummarizationMiddleware
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command, interrupt

from prowess import LiveCatalog, Scripts, Trust
from prowess.adapters.langchain import SkillsMiddleware
from prowess.filesystem import Question
from prowess.trajectory import read_sessions
from support.media import PDF, PNG, write_media
from support.sessions import discover_project
from support.skills import skill

BODY = "Count the pages twice."
DONE = AIMessage("Done.")


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
        self.middleware = SkillsMiddleware(discover_project(folder), **options)
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


def test_an_agent_may_run_asynchronously(folder: Path) -> None:
    """With the same messages."""
    agents = [Agent(folder, PAGES, DONE), Agent(folder, PAGES, DONE)]
    agents[0].say("Use $pages.")
    config = {"configurable": {"thread_id": "1"}}
    asyncio.run(agents[1].graph.ainvoke({"messages": [{"role": "user", "content": "Use $pages."}]}, config))
    one, other = ([[message.text for message in call] for call in agent.model.calls] for agent in agents)
    assert one == other
    assert [text.count(BODY) for text in map(whole, agents[1].model.calls)] == [1, 1]


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
    middleware, model = SkillsMiddleware(discover_project(folder)), Scripted(script=[DONE])
    create_agent(model, system_prompt=prompt, middleware=[middleware]).invoke({"messages": [HumanMessage("Hm?")]})
    catalog = json.dumps(middleware.session({}).static_block())[1:-1]
    assert model.calls[0][0].content == json.loads(json.dumps(content).replace("{}", catalog))


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
    assert [text.partition("\n\n<skill_content")[0] for text in results(model.calls[1])] == ["a.pdf is deleted"]
    assert [whole(call).count("Whisper.") for call in model.calls] == [1, 1, 0]
    assert ["- late: " in whole(call) for call in model.calls] == [False, not same, True]


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


@pytest.mark.parametrize("asynchronous", [False, True], ids=["invoke", "ainvoke"])
def test_scripts_of_one_message_run_in_its_order(with_script: Path, tmp_path: Path, asynchronous: bool) -> None:
    """A file is read when the script before it has ended, also in a graph that runs tools in threads."""
    (with_script / ".agents/skills/pages/note.py").write_text(f"import time\ntime.sleep(0.5)\n{NOTE}")
    read = use("read_script_file", {"path": "note.txt"}, "r")
    agent = Agent(
        with_script,
        PAGES,
        asks(note("a"), read, note("b", "m")),
        DONE,
        scripts=Scripts(sandbox="none", on_untrusted=lambda _: True),
        trust=Trust(str(tmp_path / "trust.json")),
    )
    config, given = {"configurable": {"thread_id": "1"}}, {"messages": [HumanMessage("How many?")]}
    _ = asyncio.run(agent.graph.ainvoke(given, config)) if asynchronous else agent.graph.invoke(given, config)
    first, second, third = results(agent.model.calls[2])[1:]
    assert "stdout:\na\n" in first
    assert second == "a"
    assert "stdout:\nab\n" in third


@pytest.mark.parametrize(
    ("profile", "kinds"),
    [
        ({"image_tool_message": True, "pdf_tool_message": True}, ["text", "image", "text", "file"]),
        ({"image_tool_message": True}, ["text", "image"]),
        (None, []),
    ],
    ids=["both", "image", "unknown"],
)
def test_a_model_gets_the_images_and_documents_that_its_profile_names(
    folder: Path, profile: Any, kinds: list[str]
) -> None:
    write_media(folder / ".agents/skills/pages")
    reads = [use("read_skill_file", {"name": "pages", "path": path}, path) for path in ("map.png", "map.pdf")]
    agent = Agent(folder, asks(*reads), DONE)
    agent.model.profile = profile
    agent.say("Show them.")
    contents = [message.content for message in agent.model.calls[-1] if isinstance(message, ToolMessage)]
    parts = [part for content in contents if not isinstance(content, str) for part in content]
    assert [part["type"] for part in parts] == kinds
    assert all(base64.b64decode(part["base64"]) in (PNG, PDF) for part in parts if "base64" in part)
    image, document = results(agent.model.calls[-1])
    assert image.startswith("`map.png` is an image")
    assert document.startswith("`map.pdf` is a document")


def test_what_scripts_wrote_is_the_artifact_of_the_message(with_script: Path, tmp_path: Path) -> None:
    """The application gets it, and the model does not."""
    scripts, trust = Scripts(sandbox="none", on_untrusted=lambda _: True), Trust(str(tmp_path / "trust.json"))
    agent = Agent(with_script, PAGES, asks(note("ab")), DONE, scripts=scripts, trust=trust)
    state = agent.say("How many?")
    artifacts = [message.artifact for message in state["messages"] if isinstance(message, ToolMessage)]
    assert artifacts[0] is None
    ((file,),) = artifacts[1:]
    assert (file["name"], file["size"]) == ("note.txt", 2)
    assert (Path(file["folder"]) / file["name"]).read_text() == "ab"


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
    return ["- pages: " in text, "**stars**" in text]


def test_an_agent_may_have_the_skills_of_deepagents_too(folder: Path, backend: Any) -> None:
    """Its middleware has a class of the same name; LangChain refuses two of one name."""
    from deepagents.middleware.skills import SkillsMiddleware as Deep

    model = Scripted(script=[PAGES, DONE])
    middleware = [Deep(backend=backend, sources=["/skills/"]), SkillsMiddleware(discover_project(folder))]
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
        middleware=[SkillsMiddleware(discover_project(folder))],
        checkpointer=InMemorySaver(),
    )
    for text in ("How many?", "And with $secret?"):
        deep.invoke({"messages": [HumanMessage(text)]}, {"configurable": {"thread_id": "1"}})
    assert [both_kinds(call) for call in model.calls] == [[True, True]] * 3
    assert [whole(call).count(BODY) for call in model.calls] == [0, 1, 1]
    assert [whole(call).count("Whisper.") for call in model.calls] == [0, 0, 1]


def test_a_skill_outlives_a_summary(folder: Path) -> None:
    """As LangChain's own middleware writes one; the record stays in the state."""
    short = SummarizationMiddleware(
        Scripted(script=[AIMessage("They count.")]), trigger=("messages", 4), keep=("messages", 1)
    )
    agent = Agent(folder, PAGES, DONE, DONE, middleware=(short,))
    agent.say("How many?")
    agent.say("And now?")
    summary, said = agent.model.calls[-1][1:]
    assert "They count." in summary.text
    assert said.text.startswith("And now?\n\n<active_skills>\n")
    assert whole(agent.model.calls[-1]).count(BODY) == 1


def test_other_tools_run_as_before(folder: Path) -> None:
    """The middleware answers for its own alone."""

    def double(number: int) -> int:
        """Double a number."""
        return 2 * number

    model = Scripted(script=[asks(use("double", {"number": 4})), DONE])
    graph = create_agent(model, tools=[double], middleware=[SkillsMiddleware(discover_project(folder))])
    graph.invoke({"messages": [HumanMessage("Hm?")]})
    assert results(model.calls[1]) == ["8"]


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
        middleware=[SkillsMiddleware(discover_project(folder))],
        subagents=[{**helper, "middleware": [SkillsMiddleware(discover_project(folder))]}],
        checkpointer=InMemorySaver(),
    )
    config = {"configurable": {"thread_id": "1"}}
    for text in ("Use $pages.", "And now?"):
        question = {"messages": [HumanMessage(text)]}
        asyncio.run(deep.ainvoke(question, config)) if asynchronous else deep.invoke(question, config)
    assert [whole(call).count(BODY) for call in model.calls] == [1, 1, 1, 1, 0]
    assert [whole(call).count("Whisper.") for call in model.calls] == [0] * 5
    assert [whole(call).count("Count the words.") for call in model.calls] == [0, 0, 1, 1, 1]


def test_a_thread_is_recorded_in_a_file(folder: Path, tmp_path: Path) -> None:
    """Each turn restores the session, and goes on in its file; another thread has another one."""
    (tmp_path / "runs").mkdir()
    agent = Agent(folder, PAGES, DONE, DONE, PAGES, DONE, trajectory=tmp_path / "runs")
    agent.say("Count the pages.")
    agent.say("Once more.")
    agent.say("Count others.", thread="2")
    recording = read_sessions(Question.about(tmp_path, tmp_path), agents=(), imports=[str(tmp_path / "runs")])
    assert [[used.name for used in session.activations] for session in recording.sessions] == [["pages"], ["pages"]]
    said = [
        [step["message"] for step in json.loads(file.read_text("utf-8"))["steps"] if step["source"] == "user"]
        for file in (tmp_path / "runs").iterdir()
    ]
    assert sorted(said) == [["Count others."], ["Count the pages.", "Once more."]]
