"""Skills in several runs and several agents of one conversation, with the OpenAI Agents SDK."""

from __future__ import annotations

import asyncio
import base64
import json
import pickle
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("agents")

from agents import (
    Agent,
    GuardrailFunctionOutput,
    InputGuardrail,
    RunContextWrapper,
    Runner,
    RunState,
    SQLiteSession,
    function_tool,
    handoff,
    set_tracing_disabled,
)
from agents.extensions.handoff_filters import remove_all_tools
from agents.models.chatcmpl_converter import Converter
from agents.run import ModelInputData
from agents.testing import ScriptedModel, assistant_message, function_call

from prowess import LiveCatalog, Scripts, Session, discover
from prowess.adapters.openai_agents import Skills, SkillWarning
from prowess.errors import ConfigError
from support.growth import END
from support.media import PNG, write_media
from support.sessions import discover_project
from support.skills import skill

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop
    from pathlib import Path


BODY, OTHER = "Count the pages twice.", "Water the roses."
DONE = [assistant_message("Done.")]

pytestmark = pytest.mark.usefixtures("loop")


@pytest.fixture(autouse=True)
def _no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    set_tracing_disabled(True)


@pytest.fixture
def garden(tmp_path: Path) -> Path:
    """Another project, with a skill `roses`."""
    skill(tmp_path / "garden/.agents/skills/roses", body=OTHER)
    return tmp_path / "garden"


def call(name: str, arguments: Any, call_id: str = "1") -> list[Any]:
    """What a model says to call one tool."""
    return [function_call(name, arguments, call_id=call_id)]


def activate(name: str, call_id: str = "1") -> list[Any]:
    return call("activate_skill", {"name": name}, call_id)


def sent(model: ScriptedModel) -> list[str]:
    """The whole text of each request."""
    return [f"{request.system_instructions}\n{request.input}" for request in model.calls]


def counts(model: ScriptedModel, text: str) -> list[int]:
    return [request.count(text) for request in sent(model)]


def outputs(request: Any) -> list[Any]:
    return [item["output"] for item in request.input if item.get("type") == "function_call_output"]


def agent_of(skills: Skills, model: ScriptedModel, name: str = "Counter", **options: Any) -> Agent[Any]:
    tools = [*skills.tools(), *options.pop("tools", ())]
    return Agent(name=name, instructions=skills.instructions(f"You are {name}."), tools=tools, model=model, **options)


class Chat:
    """One conversation with an agent, whose history the SDK keeps."""

    def __init__(self, skills: Skills, agent: Agent[Any], **options: Any) -> None:
        self.agent, self.options = agent, options
        self.skills, self.session = skills, skills.session()
        self.memory = SQLiteSession("test")

    def say(self, text: str, **options: Any) -> Any:
        config = self.skills.run_config(**options)
        return Runner.run_sync(self.agent, text, context=self.session, run_config=config, session=self.memory)


def agent_with(skills: Skills, *steps: Any) -> tuple[Agent[Any], ScriptedModel]:
    model = ScriptedModel(steps)
    return agent_of(skills, model), model


# ── turns ────────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("way", ["in one coroutine", "in a task", "streamed"])
def test_each_run_after_one_with_a_tool_call_begins_a_turn(folder: Path, loop: AbstractEventLoop, way: str) -> None:
    """Four runs one after the other, in one event loop, with one context and the configuration of the first."""
    skills = Skills(discover_project(folder))
    model = ScriptedModel([call("read_skill_file", {"name": "pages", "path": "notes.md"}), *[DONE] * 4])
    agent, session, config = agent_of(skills, model), skills.session(), skills.run_config()

    async def run() -> None:
        for text in ("Use $pages.", "Thanks.", "Use $pages.", "Use /secret."):
            if way == "streamed":
                async for _ in Runner.run_streamed(agent, text, context=session, run_config=config).stream_events():
                    pass
                continue
            running = Runner.run(agent, text, context=session, run_config=config)
            await (asyncio.create_task(running) if way == "in a task" else running)

    loop.run_until_complete(run())
    assert counts(model, BODY) == [1, 1, 0, 1, 0]
    assert counts(model, "Whisper.") == [0, 0, 0, 0, 1]
    assert session.turn == 4


def test_a_run_that_waits_for_an_approval_continues_its_turn(folder: Path, loop: AbstractEventLoop) -> None:
    """Also from the state of the run and the record of the session in another process."""
    approved: list[str] = []

    @function_tool(needs_approval=True)
    def delete() -> str:
        """Delete it."""
        approved.append("yes")
        return "deleted"

    skills = Skills(discover_project(folder))
    model = ScriptedModel([call("delete", {}), DONE])
    agent, session = agent_of(skills, model, tools=[delete]), skills.session()

    async def run() -> None:
        result = await Runner.run(agent, "Use $pages.", context=session, run_config=skills.run_config())
        record, state = session.to_json(), result.to_state().to_json(context_serializer=lambda _: {})
        later = await RunState.from_json(agent, json.loads(json.dumps(state)), context_override=skills.session(record))
        later.approve(later.get_interruptions()[0])
        await Runner.run(agent, later, run_config=skills.run_config())

    loop.run_until_complete(run())
    assert approved == ["yes"]
    assert counts(model, BODY) == [1, 1]


def test_a_message_that_is_added_to_a_waiting_run_begins_a_turn(folder: Path, loop: AbstractEventLoop) -> None:
    @function_tool(needs_approval=True)
    def delete() -> str:
        """Delete it."""
        return "deleted"

    skills = Skills(discover_project(folder))
    model = ScriptedModel([call("delete", {}), DONE])
    agent, session = agent_of(skills, model, tools=[delete]), skills.session()

    async def run() -> None:
        result = await Runner.run(agent, "Use $pages.", context=session, run_config=skills.run_config())
        state = result.to_state()
        state.approve(state.get_interruptions()[0])
        state.add_input("Use /secret.")
        await Runner.run(agent, state, run_config=skills.run_config())

    loop.run_until_complete(run())
    assert (session.turn, counts(model, BODY), counts(model, "Whisper.")) == (2, [1, 0], [0, 1])


def test_text_that_a_tool_passes_to_another_run_names_no_skill(folder: Path, loop: AbstractEventLoop) -> None:
    """If the tool passes its own context on, as `as_tool` does."""
    skills = Skills(discover_project(folder))
    inner = ScriptedModel([DONE])
    other = agent_of(skills, inner, "Other")

    @function_tool
    async def ask(context: RunContextWrapper[Any], text: str) -> str:
        """Ask the other agent."""
        result = await Runner.run(other, text, context=context, run_config=skills.run_config())
        return str(result.final_output)

    model = ScriptedModel([call("ask", {"text": "Use /secret."}), DONE])
    session, agent = skills.session(), agent_of(skills, model, tools=[ask])
    run = Runner.run(agent, "Use $pages.", context=session, run_config=skills.run_config())
    loop.run_until_complete(run)
    assert (session.turn, counts(inner, "Whisper."), counts(inner, BODY)) == (1, [0], [1])


def test_a_run_that_a_finished_one_started_begins_a_turn(folder: Path, loop: AbstractEventLoop) -> None:
    """In a task that a tool started."""
    skills = Skills(discover_project(folder))
    session, config, tasks, ended = skills.session(), skills.run_config(), [], asyncio.Event()

    async def later() -> None:
        await ended.wait()
        await Runner.run(agent, "Use /secret.", context=session, run_config=config)

    @function_tool
    async def remind() -> str:
        """Go on later."""
        tasks.append(asyncio.create_task(later()))
        return "later"

    model = ScriptedModel([call("remind", {}), DONE, DONE])
    agent = agent_of(skills, model, tools=[remind])

    async def run() -> None:
        await Runner.run(agent, "Use $pages.", context=session, run_config=config)
        ended.set()
        await tasks[0]

    loop.run_until_complete(run())
    assert (session.turn, counts(model, "Whisper.")) == (2, [0, 0, 1])


def test_guardrails_of_the_configuration_are_kept(folder: Path, loop: AbstractEventLoop) -> None:
    seen: list[str] = []

    async def check(_: Any, __: Any, text: Any) -> GuardrailFunctionOutput:
        seen.append(text)
        return GuardrailFunctionOutput(output_info=None, tripwire_triggered=False)

    skills = Skills(discover_project(folder))
    model = ScriptedModel([DONE])
    config = skills.run_config(input_guardrails=[InputGuardrail(check)])
    loop.run_until_complete(Runner.run(agent_of(skills, model), "Hm.", context=skills.session(), run_config=config))
    assert seen == ["Hm."]


def test_a_skill_outlives_the_messages_it_came_with(folder: Path) -> None:
    """Whatever trims or sums up a conversation: the skill is there again, once, at the end."""
    skills = Skills(discover_project(folder))
    agent, model = agent_with(skills, call("activate_skill", {"name": "pages"}), DONE, DONE)
    chat = Chat(skills, agent)
    chat.say("How many?")
    chat.say("And now?", call_model_input_filter=lambda data: ModelInputData(data.model_data.input[-1:], "Count."))
    last = model.calls[-1]
    assert last.system_instructions == "Count."
    assert [item["content"].split("\n")[:3] for item in last.input] == [["And now?", "", "<active_skills>"]]
    assert counts(model, BODY)[-1] == 1


def test_text_of_a_model_to_another_agent_names_no_skill(folder: Path) -> None:
    """An agent that is a tool has the session of the run, but its first message is not the user's."""
    skills = Skills(discover_project(folder))
    other, asked = agent_with(skills, DONE)
    agent, model = agent_with(skills, call("other", {"input": "Use $secret."}), DONE)
    agent.tools.append(other.as_tool("other", "Ask another agent."))
    chat = Chat(skills, agent)
    chat.say("Use $pages.")
    assert chat.session.turn == 1
    assert counts(asked, "Whisper.") == [0]
    assert counts(model, BODY) + counts(asked, BODY) == [1, 1, 1]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("{", "error: the arguments are not a JSON object"),
        ("[]", "error: the arguments are not a JSON object"),
        ("", "error: `name` is missing\nhint: `activate_skill` takes `name`, `arguments`"),
    ],
    ids=["no JSON", "no object", "nothing"],
)
def test_errors_are_reported_to_the_model(folder: Path, arguments: str, message: str) -> None:
    """A run never ends by it."""
    skills = Skills(discover_project(folder))
    agent, model = agent_with(skills, call("activate_skill", arguments), DONE)
    assert Chat(skills, agent).say("How many?").final_output == "Done."
    assert outputs(model.calls[1]) == [message]


def test_a_context_of_one_s_own_has_the_session_as_skills(folder: Path) -> None:
    """Of any class."""

    class Mine:
        def __init__(self, session: Session) -> None:
            self.skills = session

    skills = Skills(discover_project(folder))
    agent, _ = agent_with(skills, call("activate_skill", {"name": "pages"}), DONE)
    mine = Mine(skills.session())
    Runner.run_sync(agent, "How many?", context=mine, run_config=skills.run_config())
    assert [record.name for record in mine.skills.ledger] == ["pages"]


def test_a_run_without_a_session_is_a_mistake_of_the_program(folder: Path) -> None:
    """It is an error before the model is called."""
    skills = Skills(discover_project(folder))
    agent, model = agent_with(skills, DONE)
    with pytest.raises(ConfigError) as caught:
        Runner.run_sync(agent, "How many?", run_config=skills.run_config())
    assert str(caught.value) == "this run has no session for its skills"
    assert model.calls == ()


def test_options_are_the_session_s(folder: Path) -> None:
    """A budget shortens the catalog and adds the search tool."""
    skills = Skills(discover_project(folder), budget=120)
    assert [tool.name for tool in skills.tools()] == [tool.name for tool in skills.session().tools()]
    assert skills.tools()[-1].name == "search_skills"
    assert skills.instructions() == skills.session().static_block()


# ── several catalogs in one conversation ─────────────────────────────────────────────────────────────────────────────


class Team:
    """An agent that hands conversations over to a gardener, who has another catalog."""

    def __init__(self, folder: Path, garden: Path, *steps: Any, **options: Any) -> None:
        self.skills, self.garden_skills = Skills(discover_project(folder)), Skills(discover_project(garden))
        self.model = ScriptedModel(steps)
        self.gardener = agent_of(self.garden_skills, self.model, "Gardener")
        to_gardener = handoff(self.gardener, **options)
        self.agent = agent_of(self.skills, self.model, handoffs=[to_gardener])

    def run(self, agent: Agent[Any], text: str, context: Any, **options: Any) -> Any:
        config = self.skills.run_config()
        return Runner.run_sync(agent, text, context=context, run_config=config, **options)


HANDOFF = call("transfer_to_gardener", {}, "h")


def test_after_a_handoff_the_tools_are_those_of_the_other_catalog(folder: Path, garden: Path) -> None:
    """And the catalog in the instructions is its own."""
    team = Team(folder, garden, HANDOFF, activate("roses"), activate("pages", "2"), DONE)
    team.run(team.agent, "How are the roses?", team.skills.session())
    *_, last = team.model.calls
    assert OTHER in outputs(last)[1]
    assert outputs(last)[2].startswith("error: no skill is called `pages`")
    blocks = [("- pages: " in text, "- roses: " in text) for text in sent(team.model)]
    assert blocks == [(True, False), (False, True), (False, True), (False, True)]


@pytest.mark.parametrize("whose", ["the session", "an object of one's own", "a dictionary"])
def test_the_second_agent_of_a_handoff_goes_on_with_the_same_context(folder: Path, garden: Path, whose: str) -> None:
    """A mention of one of its skills in the next run counts; the session of the first agent stays the context's."""
    team = Team(folder, garden, HANDOFF, DONE, activate("roses"), DONE, DONE)
    session = team.skills.session()
    contexts = {"the session": session, "a dictionary": {"skills": session}}
    context = contexts.get(whose, SimpleNamespace(skills=session))
    result = team.run(team.agent, "Ask the gardener.", context)
    assert result.last_agent is team.gardener
    team.run(result.last_agent, "Use $roses.", context)
    assert counts(team.model, OTHER) == [0, 0, 1, 1]
    team.run(team.gardener, "Thanks.", context)
    assert counts(team.model, OTHER)[-1] == 1, "the model activated it, so it is active for the conversation"


def test_a_mention_reaches_the_agent_that_has_the_skill_after_the_handoff(folder: Path, garden: Path) -> None:
    """In the run of the message that names it."""
    team = Team(folder, garden, HANDOFF, DONE)
    team.run(team.agent, "Hand over: use $roses.", team.skills.session())
    assert counts(team.model, OTHER) == [0, 1]


def test_a_filter_of_the_handoff_begins_no_second_turn(folder: Path, garden: Path) -> None:
    """`remove_all_tools` leaves the user's message as the last item of the input."""
    team = Team(folder, garden, HANDOFF, DONE, input_filter=remove_all_tools)
    session = team.skills.session()
    team.run(team.agent, "Use $pages and ask the gardener.", session)
    assert (session.turn, counts(team.model, BODY)[0]) == (1, 1)


def test_the_record_of_a_conversation_has_the_skills_of_all_its_agents(folder: Path, garden: Path) -> None:
    """In another process each agent's skills find their own, with whichever of them the session is made."""
    script = [activate("pages"), HANDOFF, activate("roses", "2"), DONE]
    team = Team(folder, garden, *script)
    session = team.skills.session()
    team.run(team.agent, "Both.", session)
    record = session.to_json()
    for of_gardener in (False, True):
        again = Team(folder, garden, activate("roses", "3"), activate("pages", "4"), DONE, activate("pages", "5"), DONE)
        restored = (again.garden_skills if of_gardener else again.skills).session(record)
        again.run(again.gardener, "Go on.", restored)
        assert outputs(again.model.calls[2])[0].startswith("The skill `roses` is already active since turn 1;")
        assert outputs(again.model.calls[2])[1].startswith("error: no skill is called `pages`")
        again.run(again.agent, "And you?", restored)
        assert outputs(again.model.calls[4])[0].startswith("The skill `pages` is already active since turn 1;")
        rows = json.loads(restored.to_json())
        names = {row["name"] for row in [*rows["ledger"], *rows["other_catalogs"]]}
        assert names == {"pages", "roses"}


def test_a_new_conversation_and_a_copy_of_it_have_all_catalogs(folder: Path, garden: Path) -> None:
    """`restart` clears each ledger; a pickled session has each record."""
    team = Team(folder, garden, HANDOFF, activate("roses"), DONE, activate("roses", "2"), DONE)
    session = team.skills.session()
    team.run(team.agent, "Hm.", session)
    copy = pickle.loads(pickle.dumps(session))  # noqa: S301 - it is ours
    assert json.loads(copy.to_json()) == {**json.loads(session.to_json()), "turn": 1}
    session.restart()
    assert "roses" not in session.to_json()
    team.run(team.gardener, "Again.", session)
    assert (session.turn, OTHER in outputs(team.model.calls[-1])[0]) == (0, True)


@pytest.mark.parametrize("others", [None, 3, {}, [3], [{"path": "x"}], ["x" * 10] * 3], ids=repr)
def test_a_record_with_other_rows_than_its_own_is_a_mistake(folder: Path, others: Any) -> None:
    skills = Skills(discover_project(folder))
    text = json.dumps({**json.loads(skills.session().to_json()), "other_catalogs": others})
    with pytest.raises(ConfigError, match="this is not the record of a session"):
        skills.session(text)


def test_agents_with_the_same_catalog_share_its_session(folder: Path) -> None:
    """Also if each has its own `Skills`, so the second does not read what the conversation contains."""
    first, second = Skills(folder), Skills(folder)
    model = ScriptedModel([activate("pages"), call("transfer_to_other", {}, "h"), activate("pages", "2"), DONE])
    other = agent_of(second, model, "Other")
    agent, session = agent_of(first, model, handoffs=[other]), first.session()
    Runner.run_sync(agent, "Hm.", context=session, run_config=first.run_config())
    assert outputs(model.calls[-1])[-1].startswith("The skill `pages` is already active since turn 1;")
    assert "other_catalogs" not in session.to_json()


def test_a_skill_of_both_catalogs_is_active_after_the_handoff(folder: Path, garden: Path) -> None:
    """The conversation contains its text."""
    both = discover(garden, home=garden.parent / "home", skill_dirs=[folder / ".agents/skills"], cache=False)
    assert {"pages", "roses"} <= {entry.name for entry in both.skills}
    first, second = Skills(discover_project(folder)), Skills(both)
    model = ScriptedModel([activate("pages"), call("transfer_to_other", {}, "h"), DONE, DONE])
    other = agent_of(second, model, "Other")
    agent, session = agent_of(first, model, handoffs=[other]), first.session()
    result = Runner.run_sync(agent, "Hm.", context=session, run_config=first.run_config())
    Runner.run_sync(result.last_agent, "And now?", context=session, run_config=first.run_config())
    assert counts(model, BODY) == [0, 1, 1, 1]


def test_an_agent_that_is_a_tool_has_its_own_catalog(folder: Path, garden: Path) -> None:
    """Named by the user's message, not by what the model writes to it."""
    team = Team(folder, garden)
    inner = ScriptedModel([activate("roses"), DONE, DONE])
    team.gardener.model = inner
    model = ScriptedModel(
        [call("gardener", {"input": "Use /secret."}), DONE, call("gardener", {"input": "$roses"}), DONE]
    )
    agent = agent_of(team.skills, model, tools=[team.gardener.as_tool("gardener", "Asks the gardener.")])
    session = team.skills.session()
    team.run(agent, "Hm.", session)
    assert OTHER in outputs(inner.calls[1])[0]
    assert session.turn == 1
    team.run(agent, "And now?", team.skills.session())
    assert counts(inner, OTHER)[-1] == 0


def test_a_session_made_without_the_adapter_serves_its_own_catalog(folder: Path, garden: Path) -> None:
    """The others get sessions beside it."""
    team = Team(folder, garden, activate("pages"), HANDOFF, activate("roses", "2"), DONE)
    session = Session(discover_project(folder))
    team.run(team.agent, "Both.", session)
    assert [record.name for record in session.ledger] == ["pages"]
    assert OTHER in outputs(team.model.calls[-1])[-1]


# ── catalogs that change, and mistakes ───────────────────────────────────────────────────────────────────────────────


def test_a_run_without_the_configuration_is_a_warning_before_the_first_answer(folder: Path) -> None:
    """Nothing else would tell that a mention is ignored."""
    skills = Skills(discover_project(folder))
    agent = agent_of(skills, ScriptedModel([DONE]))
    with pytest.warns(SkillWarning, match=r"run_config=skills\.run_config\(\)") as caught:
        Runner.run_sync(agent, "Use $pages.", context=skills.session())
    assert len(caught) == 1


def test_a_tool_without_a_session_answers_what_the_program_has_to_pass(folder: Path) -> None:
    """The run goes on."""
    skills = Skills(discover_project(folder))
    model = ScriptedModel([activate("pages"), DONE])
    with pytest.warns(SkillWarning):
        result = Runner.run_sync(agent_of(skills, model), "Hm.")
    assert result.final_output == "Done."
    (answer,) = outputs(model.calls[1])
    assert answer.splitlines() == [
        "error: this run has no session for its skills",
        "hint: use `Runner.run(..., context=skills.session())`, or a context with the session as `skills`",
    ]


def test_runs_with_the_configuration_do_not_warn(folder: Path, garden: Path, loop: AbstractEventLoop) -> None:
    """Warnings are errors in these tests: not with a handoff, an agent as a tool, or a history."""
    team = Team(folder, garden, HANDOFF, DONE, DONE)
    session = team.skills.session()
    history = SQLiteSession("test")
    team.run(team.agent, "Hm.", session, session=history)
    team.run(team.gardener, "Hm.", session, session=history)
    history.close()


# ── scripts and unknown names ────────────────────────────────────────────────────────────────────────────────────────


def add_script(folder: Path, text: str) -> None:
    file = folder / ".agents/skills/pages/scripts/count.py"
    file.parent.mkdir()
    file.write_text(text)


def run_script(call_id: str, *arguments: str) -> list[Any]:
    given = {"skill": "pages", "script": "scripts/count.py", "args": list(arguments)}
    return call("run_skill_script", given, call_id)


def test_a_script_that_waits_does_not_stop_other_conversations(folder: Path, loop: AbstractEventLoop) -> None:
    """Nor do more of them than `asyncio.to_thread` has threads."""
    go = folder / "go"
    add_script(folder, "import sys, time, pathlib\nwhile not pathlib.Path(sys.argv[1]).exists(): time.sleep(0.05)\n")
    options = Scripts(sandbox="none", timeout=END, on_untrusted=lambda _: True)
    skills = Skills(discover_project(folder), scripts=options)
    waiting = 3
    loop.set_default_executor(ThreadPoolExecutor(2))
    steps = [*[activate("pages")] * waiting, *[run_script("2", str(go))] * waiting, DONE, *[DONE] * waiting]
    model, config = ScriptedModel(steps), skills.run_config()
    agent = agent_of(skills, model)

    async def run() -> None:
        runs = [Runner.run(agent, "Count.", context=skills.session(), run_config=config) for _ in range(waiting)]
        tasks = [asyncio.create_task(run) for run in runs]
        while len(model.calls) < 2 * waiting:
            await asyncio.sleep(0.01)
        other = Runner.run(agent, "Use $pages.", context=skills.session(), run_config=config)
        assert (await asyncio.wait_for(other, 10)).final_output == "Done."
        assert not any(task.done() for task in tasks)
        go.touch()
        await asyncio.gather(*tasks)

    loop.run_until_complete(run())
    loop.run_until_complete(loop.shutdown_default_executor())
    assert outputs(model.calls[-1])[-1].startswith("exit code 0")


def test_a_name_that_no_skill_has_is_reported_once(folder: Path, garden: Path) -> None:
    """Not again to the second agent of a handoff, for which the skill of the first is no mistake of the user."""
    team = Team(folder, garden, HANDOFF, DONE, DONE)
    session = team.skills.session()
    team.run(team.agent, "Use $pages. Use the pagse skill.", session)
    result = team.run(team.gardener, "Use the pagse skill.", session)
    assert result.final_output == "Done."
    assert counts(team.model, "warning: ") == [1, 0, 0]
    assert "pagse" in str(team.model.calls[0].input[-1])


def test_a_live_catalog_may_be_closed(tmp_path: Path) -> None:
    """It opens again."""
    with LiveCatalog(tmp_path, home=tmp_path / "home") as live:
        skills = Skills(live)
    assert skills.session().catalog.skills == ()


def test_images_and_documents_are_what_the_sdk_calls_them(folder: Path) -> None:
    """A model of chat completions is sent the text alone."""
    write_media(folder / ".agents/skills/pages")
    skills = Skills(discover_project(folder))
    reads = [call("read_skill_file", {"name": "pages", "path": path}, path) for path in ("map.png", "map.pdf")]
    agent, model = agent_with(skills, *reads, DONE)
    Chat(skills, agent).say("Show them.")
    image, document = outputs(model.calls[-1])
    url = f"data:image/png;base64,{base64.b64encode(PNG).decode()}"
    assert [part["type"] for part in (*image, *document)] == ["input_text", "input_image", "input_text", "input_file"]
    assert image[1]["image_url"] == url
    assert document[1]["filename"] == "map.pdf"
    messages = Converter.items_to_messages(model.calls[-1].input)
    sent = [message["content"] for message in messages if message["role"] == "tool"]
    assert [[part["type"] for part in content] for content in sent] == [["text"], ["text"]]
