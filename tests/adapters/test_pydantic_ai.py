"""Skills in agents of Pydantic AI: what its models are sent, with the real framework and no network."""

from __future__ import annotations

import asyncio
import shutil
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from pydantic_ai import Agent, DeferredToolRequests, DeferredToolResults, RunContext, ToolDefinition, ToolReturn, models
from pydantic_ai.capabilities import AbstractCapability, PrepareTools, ProcessHistory
from pydantic_ai.exceptions import ModelHTTPError, RetryModelRequest
from pydantic_ai.messages import (
    CompactionPart,
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    TextContent,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models.function import DeltaToolCall, FunctionModel
from pydantic_ai.models.openai import OpenAIResponsesModel
from pydantic_ai.models.test import TestModel
from pydantic_ai.models.wrapper import WrapperModel
from pydantic_ai.providers.openai import OpenAIProvider
from pydantic_ai.toolsets import FunctionToolset

from prowess import ConfigError, Scripts, Session, Trust, UntrustedSkill, discover
from prowess.adapters.pydantic_ai import _MODELS_WITH_FILES, Skills
from prowess.catalog import LiveCatalog
from support.media import PDF as PDF_FILE, PNG, write_media
from support.skills import skill

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from pydantic_ai.models.function import AgentInfo

pytestmark = pytest.mark.usefixtures("loop")


@pytest.fixture(autouse=True)
def _no_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    """No model is asked by mistake; other tests ask servers of their own."""
    monkeypatch.setattr(models, "ALLOW_MODEL_REQUESTS", False)


PDF, CSV, SECRET = "Turn every page.", "Count the rows.", "Only on the user's word."


def call(tool: str, **arguments: Any) -> ToolCallPart:
    return ToolCallPart(tool, arguments)


class Script:
    """A model that plays its lines one after the other, and keeps what it was sent."""

    def __init__(self, *lines: str | ToolCallPart | list[ToolCallPart]) -> None:
        self.lines = iter(lines)
        self.sent: list[tuple[list[ModelMessage], AgentInfo]] = []
        self.model = FunctionModel(self.answer, stream_function=self.stream)

    def answer(self, messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        self.sent.append((list(messages), info))
        line = next(self.lines, "done")
        return ModelResponse([TextPart(line)] if isinstance(line, str) else line if isinstance(line, list) else [line])

    async def stream(self, messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[Any]:
        for number, part in enumerate(self.answer(messages, info).parts):
            if isinstance(part, ToolCallPart):
                yield {number: DeltaToolCall(part.tool_name, part.args_as_json_str())}
            else:
                yield part.content

    @property
    def texts(self) -> list[str]:
        """All that each request holds, in one string."""
        return ["\n".join([info.instructions or "", *words(messages)]) for messages, info in self.sent]


def words(messages: list[ModelMessage]) -> list[str]:
    return [_text(getattr(part, "content", "")) for message in messages for part in message.parts]


def _text(content: Any) -> str:
    return "\n".join(
        str(getattr(item, "content", item)) for item in ([content] if isinstance(content, str) else content)
    )


def results(messages: list[ModelMessage]) -> list[Any]:
    return [part.content for message in messages for part in message.parts if isinstance(part, ToolReturnPart)]


@pytest.fixture
def here(tmp_path: Path) -> Path:
    """A project with three skills, one of them for its user alone."""
    skill(tmp_path / ".agents/skills/pdf", body=PDF)
    skill(tmp_path / ".agents/skills/csv", body=CSV)
    skill(tmp_path / ".agents/skills/secret", more="disable-model-invocation: true\n", body=SECRET)
    (tmp_path / ".agents/skills/pdf/notes.md").write_text("Pages have two sides.\n")
    return tmp_path


def agent(script: Script, *capabilities: Any) -> Agent[Any, str]:
    return Agent(script.model, capabilities=list(capabilities))


# ── what the model receives ──────────────────────────────────────────────────────────────────────────────────────────


def test_the_catalog_is_part_of_the_instructions(here: Path) -> None:
    """Static, so that a provider's prompt cache keeps it, and without what is the user's alone."""
    script = Script()
    agent(script, Skills(here)).run_sync("hello")
    ((_, info),) = script.sent
    assert info.instructions == Session(discover(here)).static_block().strip()
    assert "- pdf: " in info.instructions
    assert "secret" not in info.instructions
    assert [part.dynamic for part in info.model_request_parameters.instruction_parts or ()] == [False]


def test_a_directory_is_scanned_once_until_a_skill_changes(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """For all agents of a process; each run gets the skills as they are then."""
    scans: list[object] = []
    scan = LiveCatalog._discover

    def counted(live: LiveCatalog) -> Any:
        scans.append(live)
        return scan(live)

    monkeypatch.setattr(LiveCatalog, "_discover", counted)
    script = Script(*["ok"] * 5)
    agent(script, Skills(here)).run_sync("hello")
    first = len(scans)
    for _ in range(3):
        agent(script, Skills(here)).run_sync("hello")
    assert len(scans) == first
    (here / ".agents/skills/pdf/SKILL.md").write_text("---\nname: pdf\ndescription: Changed.\n---\n")
    agent(script, Skills(here)).run_sync("hello")
    assert "Changed." in script.sent[-1][1].instructions


# ── activating and reading ───────────────────────────────────────────────────────────────────────────────────────────


WRONG = {
    "absolute": ("read_skill_file", {"name": "pdf", "path": "/etc/passwd"}),
    "no file": ("read_skill_file", {"name": "pdf", "path": "none.md"}),
    "user-only file": ("read_skill_file", {"name": "secret", "path": "SKILL.md"}),
    "type": ("activate_skill", {"name": ["pdf"]}),
    "no json": ("activate_skill", '{"name": pdf'),
    "no object": ("activate_skill", "[1]"),
    "deep": ("activate_skill", "[" * 100_000),
}


@pytest.mark.parametrize(("tool", "arguments"), WRONG.values(), ids=WRONG)
def test_errors_are_reported_and_the_run_continues(here: Path, tool: str, arguments: Any) -> None:
    """However often, and as a plain result: a retry too many would end the run."""
    script = Script(*[ToolCallPart(tool, arguments)] * 5, call("activate_skill", name="pdf"))
    result = agent(script, Skills(here)).run_sync("hello")
    *errors, last = results(result.all_messages())
    assert len(errors) == 5
    assert all(text.startswith("error: ") for text in errors)
    assert PDF in last
    assert CSV not in script.texts[-1]
    assert SECRET not in script.texts[-1]


def test_a_model_that_calls_every_tool_finds_them_in_order(here: Path) -> None:
    """The framework's own test model, which makes arguments up from the schemas: a text is always `a`."""
    skill(here / ".agents/skills/a")
    with_test_model = Agent(TestModel(), capabilities=[Skills(here)])
    result = with_test_model.run_sync("hello")
    activated, read = results(result.all_messages())
    assert activated.startswith("<skill_content")
    assert read.startswith("error: ")


# ── the user's own words ─────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("said", ["$secret please", "use the secret skill", ["look:", TextContent(content="$secret")]])
def test_a_named_skill_is_sent_with_each_request_of_the_run_and_not_stored(here: Path, said: Any) -> None:
    """That is how a user activates a skill that is hidden from the model."""
    script = Script(call("activate_skill", name="pdf"))
    result = agent(script, Skills(here)).run_sync(said)
    assert [text.count(SECRET) for text in script.texts] == [1, 1]
    assert SECRET not in result.all_messages_json().decode()


def test_naming_a_skill_keeps_skills_the_model_activated(here: Path) -> None:
    """It is sent once while it is named, and once when the conversation has lost it, with the model's arguments."""
    script = Script(call("activate_skill", name="csv", arguments="orders.csv"))
    talk = agent(script, Skills(Session(discover(here))))
    history = talk.run_sync("hello").all_messages()
    talk.run_sync("$csv", message_history=history)
    talk.run_sync("go on")
    assert [text.count(CSV) for text in script.texts] == [0, 1, 1, 1]
    assert [text.count("Arguments: orders.csv") for text in script.texts] == [0, 1, 1, 1]


def test_a_run_without_a_prompt_answers_the_history_s_last_words(here: Path) -> None:
    """That is how web frontends begin a run."""
    script = Script()
    agent(script, Skills(here)).run_sync(message_history=[ModelRequest([UserPromptPart("$pdf")])])
    assert script.texts[0].count(PDF) == 1


def test_streamed_runs_are_the_same(here: Path) -> None:
    """A named skill is sent with each of their requests."""
    script = Script(call("activate_skill", name="csv"))

    async def run() -> str:
        async with agent(script, Skills(here)).run_stream("$pdf") as result:
            return str(await result.get_output())

    assert asyncio.run(run()) == "done"
    assert [text.count(PDF) for text in script.texts] == [1, 1]


# ── one session, one conversation ────────────────────────────────────────────────────────────────────────────────────


def test_a_conversation_continues_in_another_process(here: Path) -> None:
    """History and session as JSON: the agent's own skills make way for the conversation's."""
    script = Script(call("activate_skill", name="pdf"), "one", call("activate_skill", name="pdf"), "two")
    talk = agent(script, Skills(here))
    session = Session(discover(here))
    first = talk.run_sync("hello", capabilities=[Skills(session)])
    history = ModelMessagesTypeAdapter.validate_json(first.all_messages_json())
    session = Session.from_json(session.to_json(), discover(here))
    second = talk.run_sync("again", message_history=history, capabilities=[Skills(session)])
    (again,) = results(second.new_messages())
    assert again == "The skill `pdf` is already active since turn 1; its instructions have not changed."
    assert [len(info.function_tools) for _, info in script.sent] == [2] * 4
    assert [text.count(PDF) for text in script.texts] == [0, 1, 1, 1]


def test_each_run_reads_the_disk(here: Path) -> None:
    """A skill that came between two runs is there in the second."""
    script = Script()
    talk = agent(script, Skills(here))
    talk.run_sync("hello")
    skill(here / ".agents/skills/new")
    talk.run_sync("hello")
    assert ["- new: " in text for text in script.texts] == [False, True]


def test_a_directory_that_is_removed_has_no_skills(here: Path) -> None:
    """It may be on a disk that is away for a while."""
    script = Script()
    talk = agent(script, Skills(here))
    talk.run_sync("hello")
    shutil.rmtree(here)
    talk.run_sync("hello")
    assert ["- pdf: " in text for text in script.texts] == [True, False]


def ask_first(script: Script, *capabilities: Any) -> Agent[Any, Any]:
    """An agent with a tool that its user must approve."""
    asking = Agent(script.model, output_type=[str, DeferredToolRequests], capabilities=list(capabilities))

    @asking.tool_plain(requires_approval=True)
    def delete(path: str) -> str:
        return f"{path} is deleted"

    return asking


APPROVED = DeferredToolResults(approvals={"call-1": True})
DELETE = ToolCallPart("delete", {"path": "a.pdf"}, tool_call_id="call-1")


@pytest.mark.parametrize("saved", [False, True], ids=["one process", "two processes"])
@pytest.mark.parametrize("of_run", [True, False], ids=["a session per run", "the session of a conversation"])
def test_a_named_skill_stays_until_the_turn_ends_after_an_approval(here: Path, of_run: bool, saved: bool) -> None:
    """The run that continues has no prompt, but it is part of the turn of the message before."""
    script = Script(DELETE, "done", "again")
    session = Session(discover(here))
    talk = ask_first(script, Skills(here) if of_run else Skills(session))
    history = talk.run_sync("delete it as $pdf says").all_messages()
    if saved:
        history = ModelMessagesTypeAdapter.validate_json(ModelMessagesTypeAdapter.dump_json(history))
        session = Session.from_json(session.to_json(), discover(here))
        talk = ask_first(script, Skills(here) if of_run else Skills(session))
    result = talk.run_sync(message_history=history, deferred_tool_results=APPROVED)
    assert result.output == "done"
    talk.run_sync("go on", message_history=result.all_messages())
    assert [text.count(PDF) for text in script.texts] == [1, 1, 0]
    assert session.turn == (0 if of_run else 2)


def test_a_message_beside_an_approval_belongs_to_the_same_turn(here: Path) -> None:
    """Both messages may name skills."""
    script = Script(DELETE)
    talk = ask_first(script, Skills(here))
    history = talk.run_sync("delete it as $pdf says").all_messages()
    talk.run_sync("and use $csv", message_history=history, deferred_tool_results=APPROVED)
    assert [(text.count(PDF), text.count(CSV)) for text in script.texts] == [(1, 0), (1, 1)]


def test_what_a_tool_adds_to_a_conversation_names_no_skill(here: Path) -> None:
    """It has the form of a user's message."""
    script = Script(call("look"))
    looking = agent(script, Skills(here))

    @looking.tool_plain
    def look() -> ToolReturn[str]:
        return ToolReturn("seen", content="use $secret")

    history = looking.run_sync("hello").all_messages()
    looking.run_sync(message_history=history[:-1])
    assert SECRET not in "".join(script.texts)


def test_a_request_that_is_sent_again_has_its_warning_again(here: Path) -> None:
    """The model has not seen the first one."""

    class Again(AbstractCapability[Any]):
        async def on_model_request_error(self, *_: Any, error: Exception, **__: Any) -> Any:
            raise RetryModelRequest from error

    script = Script()

    def fail_once(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        response = script.answer(messages, info)
        if len(script.sent) == 1:
            raise ModelHTTPError(503, "test")
        return response

    Agent(FunctionModel(fail_once), capabilities=[Again(), Skills(here)]).run_sync("use the pfd skill")
    assert [text.count("warning: no skill is called `pfd`") for text in script.texts] == [1, 1]


# ── several `Skills`, and other tools ────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def there(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Another project, with a skill of its own and one that the first project has too."""
    folder = tmp_path_factory.mktemp("there")
    skill(folder / ".agents/skills/words", body="Count the words.")
    skill(folder / ".agents/skills/pdf", body="Read aloud.")
    return folder


def test_several_skills_of_an_agent_are_one(here: Path, there: Path) -> None:
    """One catalog, one session, one set of tools; of two skills with one name the first wins."""
    script = Script(call("activate_skill", name="words"), call("activate_skill", name="pdf"))
    talk = agent(script, Skills(here), Skills(discover(there)))
    result = talk.run_sync("use $csv")
    words_skill, pdf = results(result.all_messages())
    assert "Count the words." in words_skill
    assert PDF in pdf
    _, info = script.sent[0]
    assert [tool.name for tool in info.function_tools] == ["activate_skill", "read_skill_file"]
    assert [info.instructions.count(f"- {name}: ") for name in ("csv", "pdf", "words")] == [1, 1, 1]
    assert [text.count(CSV) for text in script.texts] == [1, 1, 1]


def test_several_skills_see_a_changed_skill_in_the_next_run(here: Path, there: Path) -> None:
    """As one does."""
    script = Script()
    talk = agent(script, Skills(here), Skills(there))
    talk.run_sync("hello")
    skill(there / ".agents/skills/late")
    talk.run_sync("hello")
    assert ["- late: " in text for text in script.texts] == [False, True]


WRONG_SKILLS: dict[str, tuple[Callable[[Path], list[Any]], str]] = {
    "nothing": (lambda _: [Skills(None)], "not a catalog: an object of type `NoneType`"),  # type: ignore[arg-type]
    "no folder": (lambda _: [Skills("no/such/folder")], "no such directory: `no/such/folder`"),
    "a session": (
        lambda here: [Skills(here), Skills(Session(discover(here)))],
        "one of several `Skills` of an agent has a session",
    ),
    "options": (
        lambda here: [Skills(here), Skills(here, budget=60)],
        "the `Skills` of one agent have different options",
    ),
    "scripts": (lambda here: [Skills(here, scripts="yes")], "`scripts` cannot be 'yes'"),  # type: ignore[arg-type]
    "other scripts": (
        lambda here: [Skills(here, scripts=True), Skills(here)],
        "the `Skills` of one agent have different options",
    ),
    "ids": (
        lambda here: [Skills(here, id="one"), Skills(here, id="two")],
        "two `Skills` of one agent have different ids",
    ),
}


@pytest.mark.parametrize(("make", "message"), WRONG_SKILLS.values(), ids=WRONG_SKILLS)
def test_skills_that_cannot_be_are_an_error_that_says_what_to_do(here: Path, make: Any, message: str) -> None:
    with pytest.raises(ConfigError) as raised:
        agent(Script(), *make(here)).run_sync("hello")
    assert str(raised.value) == message
    assert raised.value.hint


def test_tools_belong_to_the_session_when_toolsets_are_replaced(here: Path) -> None:
    """`override` replaces the tools of capabilities too, but not their instructions."""
    script = Script(call("activate_skill", name="pdf"))
    session = Session(discover(here))
    talk = agent(script, Skills(here))
    with talk.override(toolsets=[FunctionToolset([len])]):
        result = talk.run_sync("hello", capabilities=[Skills(session)])
    assert PDF in results(result.all_messages())[0]
    assert [record.name for record in session.ledger] == ["pdf"]
    assert [tool.name for tool in script.sent[0][1].function_tools] == ["len", "activate_skill", "read_skill_file"]


def test_no_agent_keeps_the_tools_of_a_session(here: Path) -> None:
    """A wrapper such as `DBOSAgent` would use them in all its runs."""
    script = Script(call("activate_skill", name="pdf"))
    first, second = Session(discover(here)), Session(discover(here))
    talk = agent(script, Skills(first))
    with talk.override(toolsets=talk.toolsets[1:]):
        talk.run_sync("hello", capabilities=[Skills(second)])
    assert ([*first.ledger], [record.name for record in second.ledger]) == ([], ["pdf"])
    assert [tool.name for tool in script.sent[0][1].function_tools] == ["activate_skill", "read_skill_file"]


@pytest.mark.parametrize("context", [lambda session: session, lambda session: SimpleNamespace(skills=session)])
def test_the_session_of_a_conversation_may_be_in_the_dependencies(here: Path, context: Any) -> None:
    """That is how a run in a durable workflow gets it: capabilities cannot be added there."""
    script = Script(call("activate_skill", name="pdf"), "one", call("activate_skill", name="pdf"))
    session = Session(discover(here))
    talk = agent(script, Skills(here))
    talk.run_sync("hello", deps=context(session))
    again = talk.run_sync("hello", deps=context(session))
    assert results(again.all_messages())[0].startswith("The skill `pdf` is already active since turn 1")


def test_a_run_inside_a_tool_belongs_to_the_turn_of_its_session(here: Path) -> None:
    """A model wrote its prompt, so it names no skills; it sees those that are active."""
    inner, outer = Script(call("activate_skill", name="csv"), "inner"), Script(call("ask", question="$secret"), "done")
    helper = Agent(inner.model, deps_type=Session, capabilities=[Skills(here)])
    talk = Agent(outer.model, deps_type=Session, capabilities=[Skills(here)])

    @talk.tool
    async def ask(ctx: RunContext[Session], question: str) -> str:
        return str((await helper.run(question, deps=ctx.deps)).output)

    session = Session(discover(here))
    talk.run_sync("use $pdf", deps=session)
    assert session.turn == 1
    assert [(text.count(PDF), text.count(SECRET)) for text in inner.texts + outer.texts] == [(1, 0)] * 4
    assert [text.count(CSV) for text in inner.texts + outer.texts] == [0, 1, 0, 1]
    talk.run_sync("and $secret", deps=session)
    assert (session.turn, outer.texts[-1].count(SECRET)) == (2, 1)


def test_a_tool_that_went_with_a_skill_is_an_answer(here: Path) -> None:
    """Another run of the same session may have begun a turn with other skills."""
    session = Session(discover(here), budget=60)
    script = Script(call("search_skills", query="csv"))
    talk = agent(script, Skills(session))

    @talk.instructions
    def change() -> str:
        session.update(discover(here.parent))
        return ""

    answer = "error: `search_skills` is not available now\nhint: go on without it"
    assert results(talk.run_sync("hello").all_messages()) == [answer]


# ── scripts ──────────────────────────────────────────────────────────────────────────────────────────────────────────


NOTE = (
    'import pathlib, sys\npath = pathlib.Path("note.txt")\npath.open("a").write(sys.argv[1])\nprint(path.read_text())\n'
)


def note(text: str) -> ToolCallPart:
    """One call of a script that adds to a file in its working folder."""
    return call("run_skill_script", skill="pdf", script="note.py", args=[text])


@pytest.mark.needs("bwrap")
def test_scripts_run_in_the_order_of_their_calls(here: Path, tmp_path: Path) -> None:
    """The framework runs other calls of one answer at the same time."""
    (here / ".agents/skills/pdf/note.py").write_text(NOTE)
    trust = Trust(str(tmp_path / "trust.json"))
    session = Session(discover(here), trust=trust)
    trust.allow(session.catalog.resolve("pdf"))
    read = call("read_script_file", path="note.txt")
    script = Script([call("activate_skill", name="pdf"), note("a"), read, note("b"), replace(read, tool_call_id="2")])
    result = agent(script, Skills(session, scripts=True)).run_sync("hello")
    _, _, first, _, second = results(result.all_messages())
    assert (first, second) == ("a", "ab")


@pytest.mark.needs("bwrap")
def test_each_run_of_a_script_can_wait_for_an_approval(here: Path, tmp_path: Path) -> None:
    """By the framework's own means; the approved call runs in the turn that it belongs to."""
    (here / ".agents/skills/pdf/note.py").write_text(NOTE)
    trust = Trust(str(tmp_path / "trust.json"))
    session = Session(discover(here), trust=trust)
    trust.allow(session.catalog.resolve("pdf"))

    def ask(_: Any, tools: list[ToolDefinition]) -> list[ToolDefinition]:
        return [replace(tool, kind="unapproved") if tool.name == "run_skill_script" else tool for tool in tools]

    script = Script(replace(note("a"), tool_call_id="call-1"))
    talk = Agent(
        script.model,
        output_type=[str, DeferredToolRequests],
        capabilities=[Skills(session, scripts=True), PrepareTools(ask)],
    )
    first = talk.run_sync("use $pdf")
    assert isinstance(first.output, DeferredToolRequests)
    second = talk.run_sync(message_history=first.all_messages(), deferred_tool_results=APPROVED)
    assert results(second.all_messages())[0].startswith("exit code 0\nstdout:\na\n")
    assert [text.count(PDF) for text in script.texts] == [1, 1]


@pytest.mark.needs("bwrap")
def test_the_application_can_ask_about_an_untrusted_skill(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each conversation once: without a session of its own, each run is one."""
    monkeypatch.setenv("PROWESS_CONFIG_DIR", str(here / "config"))
    (here / ".agents/skills/pdf/note.py").write_text(NOTE)
    asked: list[str] = []

    def ask(untrusted: UntrustedSkill) -> bool:
        asked.append(untrusted.script)
        return len(asked) == 1

    script = Script(note("a"), note("b"), "one", note("c"))
    talk = agent(script, Skills(here, scripts=Scripts(on_untrusted=ask)))
    one, two = (results(talk.run_sync("use $pdf").all_messages()) for _ in range(2))
    assert [text.split("\n")[0] for text in one] == ["exit code 0", "exit code 0"]
    assert two[0].startswith("error: `pdf` is not trusted")
    assert asked == ["note.py", "note.py"]


# ── compaction ───────────────────────────────────────────────────────────────────────────────────────────────────────

LINES = (
    call("read_skill_file", name="pdf", path="notes.md"),
    call("activate_skill", name="pdf"),
    call("activate_skill", name="csv", arguments="orders.csv"),
    call("read_skill_file", name="pdf", path="notes.md"),
    call("activate_skill", name="pdf"),
    call("activate_skill", name="csv", arguments="orders.csv"),
    "done",
)


def summed_up(messages: list[ModelMessage]) -> list[ModelMessage]:
    """Drop all but the last request, and what its results answer."""
    keep = 2 if any(isinstance(part, ToolReturnPart) for part in messages[-1].parts) else 1
    return [ModelRequest([UserPromptPart("earlier: this and that")]), *messages[-keep:]]


def cleared(messages: list[ModelMessage]) -> list[ModelMessage]:
    """Empty all results of tools, the last with them."""

    def empty(part: Any) -> Any:
        return replace(part, content="[cleared]") if isinstance(part, ToolReturnPart) else part

    return [
        replace(message, parts=[empty(part) for part in message.parts])
        if isinstance(message, ModelRequest)
        else message
        for message in messages
    ]


@pytest.mark.parametrize("compact", [summed_up, cleared])
@pytest.mark.parametrize("points", [{point} for point in range(7)] + [set(range(7)), set()], ids=str)
def test_however_history_is_compacted_each_active_skill_is_sent_once(
    here: Path, compact: Callable[[list[ModelMessage]], list[ModelMessage]], points: set[int]
) -> None:
    """And the catalog once; history never holds more bodies than the tools gave."""
    script = Script(*LINES)

    def process(messages: list[ModelMessage]) -> list[ModelMessage]:
        return compact(messages) if len(script.sent) in points else messages

    talk = agent(script, Skills(here), ProcessHistory(process))
    result = talk.run_sync("hello")
    assert [text.count(PDF) for text in script.texts] == [0, 0, 1, 1, 1, 1, 1]
    assert [text.count(CSV) for text in script.texts] == [0, 0, 0, 1, 1, 1, 1]
    assert [text.count("<available_skills>") for text in script.texts] == [1] * 7
    stored = "\n".join(words(result.all_messages()))
    assert "<active_skills>" not in result.all_messages_json().decode()
    assert stored.count(PDF) <= 1


def test_compacted_messages_do_not_count_as_visible(here: Path) -> None:
    """It is still in the list of messages, but providers do not send messages before the compaction."""
    session = Session(discover(here))
    script = Script(call("activate_skill", name="pdf"))
    talk = agent(script, Skills(session))
    history = talk.run_sync("hello").all_messages()
    history.append(ModelResponse([CompactionPart(content="earlier: a PDF", provider_name="test"), TextPart("so")]))
    talk.run_sync("go on", message_history=history)
    assert script.texts[-1].count(PDF) == 2
    assert "<active_skills>" in words(script.sent[-1][0])[-1]


def test_a_paused_answer_continues_unchanged(here: Path) -> None:
    """Nothing is added, because providers expect exactly the same messages."""
    session = Session(discover(here))
    session.activate("pdf")
    script = Script()
    paused = ModelResponse([TextPart("wait")], state="suspended")
    agent(script, Skills(session)).run_sync(message_history=[ModelRequest([UserPromptPart("hello")]), paused])
    assert PDF not in script.texts[0]


def test_the_tail_is_the_last_of_all(here: Path) -> None:
    """So that prompt caches keep everything before it; in the last message, as servers refuse one after it."""
    script = Script(call("activate_skill", name="csv"))
    agent(script, Skills(here)).run_sync("$pdf")
    (first, _), (second, _) = script.sent
    assert words(first)[-1].startswith('$pdf\n\n<skill_content name="pdf">\n')
    assert words(second)[0] == "$pdf"
    assert words(second)[-1].startswith('<skill_content name="csv">\n')
    assert words(second)[-1].partition("\n\n<skill_content")[2].startswith(' name="pdf">\n')


class Responses(OpenAIResponsesModel):
    """A model of OpenAI's responses API that follows a script."""

    def __init__(self, script: Script) -> None:
        super().__init__("gpt-5", provider=OpenAIProvider(api_key="none"))
        self.script = script

    async def request(self, messages: list[ModelMessage], *_: Any, **__: Any) -> ModelResponse:
        return self.script.answer(messages, SimpleNamespace(instructions=""))  # type: ignore[arg-type]


@pytest.mark.parametrize("accepts", [True, False])
def test_images_and_documents_are_binary_content_where_a_service_accepts_them(here: Path, accepts: bool) -> None:
    """Elsewhere Pydantic AI would add a message of the user, which some servers refuse after a tool."""
    write_media(here / ".agents/skills/pdf")
    script = Script(*(call("read_skill_file", name="pdf", path=path) for path in ("map.png", "map.pdf")))
    model = WrapperModel(Responses(script)) if accepts else script.model
    Agent(model, capabilities=[Skills(discover(here))]).run_sync("Show them.")
    image, document = results(script.sent[-1][0])
    if not accepts:
        assert (image.partition(" (")[0], document.partition(" (")[0]) == (
            "`map.png` is an image",
            "`map.pdf` is a document",
        )
        return
    assert [content[1].media_type for content in (image, document)] == ["image/png", "application/pdf"]
    assert [content[1].data for content in (image, document)] == [PNG, PDF_FILE]


def test_models_that_get_files_are_models_of_pydantic_ai() -> None:
    folder = Path(models.__file__).parent
    text = "\n".join(file.read_text(encoding="utf-8") for file in folder.rglob("*.py"))
    assert all(f"class {name}(" in text for name in _MODELS_WITH_FILES)
