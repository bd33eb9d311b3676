"""Skills in an agent of the OpenAI Agents SDK, with a model that follows a script."""

from __future__ import annotations

import asyncio
import re
import runpy
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("agents")

from agents import Agent, Runner, SQLiteSession, set_tracing_disabled
from agents.run import ModelInputData
from agents.testing import ScriptedModel, assistant_message, function_call

from prowess import LiveCatalog, discover
from prowess.adapters.openai_agents import Skills
from prowess.errors import ConfigError
from support.skills import BANK_MESSAGE, GARDEN_MESSAGE, skill, write_many_skills

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop

    from prowess.catalog import Catalog
    from prowess.session import Session

TOP = Path(__file__).parent.parent.parent
BODY = "Count the pages twice."
DONE = [assistant_message("Done.")]

pytestmark = pytest.mark.usefixtures("loop")


@pytest.fixture(autouse=True)
def _no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    set_tracing_disabled(True)


def catalog_of(folder: Path) -> Catalog:
    return discover(folder, home=folder.parent / "home", cache=False)


def use(name: str, arguments: Any, call_id: str = "1") -> list[Any]:
    """What a model says to call one tool."""
    return [function_call(name, arguments, call_id=call_id)]


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
    instructions = skills.instructions("You count pages.")
    return Agent(name="Counter", instructions=instructions, tools=[*skills.tools()], model=model), model


def outputs(call: Any) -> list[str]:
    return [item["output"] for item in call.input if item.get("type") == "function_call_output"]


def whole(call: Any) -> str:
    """All the text that one call of the model was sent, as it was."""
    texts = [str(item.get("content", item.get("output", ""))) for item in call.input]
    return "\n".join([call.system_instructions, *texts])


def test_a_model_reads_a_skill_it_chose(folder: Path) -> None:
    """The body comes as the tool's result, once, and its files after it."""
    skills = Skills(catalog_of(folder))
    agent, model = agent_with(
        skills,
        use("activate_skill", {"name": "pages"}),
        use("read_skill_file", {"name": "pages", "path": "notes.md"}, "2"),
        DONE,
    )
    assert Chat(skills, agent).say("How many?").final_output == "Done."
    content, notes = outputs(model.calls[2])
    assert content.startswith(f'<skill_content name="pages">\n{BODY}\n')
    assert notes == "Page 3 is blank."
    assert [whole(call).count(BODY) for call in model.calls] == [0, 1, 1]


def test_the_catalog_is_sent_once_and_always_the_same_bytes(folder: Path) -> None:
    """In the instructions of every call, and nowhere else."""
    skills = Skills(catalog_of(folder))
    agent, model = agent_with(skills, use("activate_skill", {"name": "pages"}), DONE, DONE)
    chat = Chat(skills, agent)
    chat.say("How many?")
    chat.say("And now, with the pages skill?")
    assert len({call.system_instructions for call in model.calls}) == 1
    assert [whole(call).count("<available_skills>") for call in model.calls] == [1, 1, 1]
    assert model.calls[0].system_instructions == f"You count pages.\n\n{chat.session.static_block()}"


def test_a_live_catalog_is_as_it_is_when_a_turn_begins(tmp_path: Path) -> None:
    """For all conversations with an agent that was made before its first skill."""
    with LiveCatalog(tmp_path, home=tmp_path / "home") as live:
        skills = Skills(live)
        agent, model = agent_with(skills, DONE, use("activate_skill", {"name": "late"}), DONE, DONE)
        chat = Chat(skills, agent)
        chat.say("How many?")
        skill(tmp_path / ".agents/skills/late", body="Count late.")
        chat.say("And now?")
        Chat(skills, agent).say("And here?")
    shown = [call.system_instructions.count("<name>late</name>") for call in model.calls]
    assert shown == [0, 1, 1, 1]
    assert "Count late." in outputs(model.calls[2])[0]


def test_the_schema_of_tools_is_the_session_s(folder: Path) -> None:
    """As it is, with what may be left out."""
    skills = Skills(catalog_of(folder))
    schemas = [(tool.name, tool.description, tool.params_json_schema) for tool in skills.tools()]
    assert schemas == [(tool.name, tool.description, tool.parameters) for tool in skills.session().tools()]
    assert schemas[0][2]["properties"]["name"]["enum"] == ["pages"]


def test_without_skills_there_are_no_tools_and_no_text(tmp_path: Path) -> None:
    """The agent is as it would be without Prowess."""
    (tmp_path / "project").mkdir()
    skills = Skills(catalog_of(tmp_path / "project"))
    agent, model = agent_with(skills, DONE)
    assert (agent.tools, agent.instructions) == ([], "You count pages.")
    Chat(skills, agent).say("How many pages?")
    assert model.calls[0].input == [{"content": "How many pages?", "role": "user"}]


def test_a_skill_the_user_names_is_read_at_once_and_not_remembered(folder: Path, loop: AbstractEventLoop) -> None:
    """The model sees it behind the user's words; the SDK's history has only the words."""
    skills = Skills(catalog_of(folder))
    agent, model = agent_with(skills, DONE)
    chat = Chat(skills, agent)
    result = chat.say("Use $pages on this.")
    said, injected = model.calls[0].input
    assert said == {"content": "Use $pages on this.", "role": "user"}
    assert injected["role"] == "user"
    assert injected["content"].startswith('<skill_content name="pages">')
    assert BODY not in str(result.to_input_list())
    assert BODY not in str(loop.run_until_complete(chat.memory.get_items()))


def test_a_named_skill_stays_while_tools_run(folder: Path) -> None:
    """Once in every call of its turn."""
    skills = Skills(catalog_of(folder))
    notes = use("read_skill_file", {"name": "pages", "path": "notes.md"})
    agent, model = agent_with(skills, notes, use("activate_skill", {"name": "pages"}, "2"), DONE)
    Chat(skills, agent).say("Use $pages on this.")
    assert [whole(call).count(BODY) for call in model.calls] == [1, 1, 1]
    assert outputs(model.calls[2])[1].startswith("The skill `pages` is already active since turn 1;")


def test_a_skill_in_the_conversation_is_not_injected_again(folder: Path) -> None:
    """Neither where its user names it, nor where the model asks for it again afterwards."""
    skills = Skills(catalog_of(folder))
    again = use("activate_skill", {"name": "pages"}, "2")
    agent, model = agent_with(skills, use("activate_skill", {"name": "pages"}), DONE, DONE, again, DONE)
    chat = Chat(skills, agent)
    chat.say("How many?")
    chat.say("Use $pages again.")
    chat.say("And now?")
    assert [whole(call).count(BODY) for call in model.calls] == [0, 1, 1, 1, 1]


def test_only_its_user_reaches_a_skill_that_is_user_only(folder: Path) -> None:
    """The model gets an error; a mention by the user activates it."""
    skills = Skills(catalog_of(folder))
    agent, model = agent_with(skills, use("activate_skill", {"name": "secret"}), DONE, DONE)
    chat = Chat(skills, agent)
    chat.say("Hm?")
    assert outputs(model.calls[1]) == [
        "error: only the user can activate the skill `secret`\nhint: ask the user to name it in a message"
    ]
    assert "Whisper." not in whole(model.calls[1])
    chat.say("/secret now")
    assert whole(model.calls[2]).count("Whisper.") == 1


def test_a_second_activation_is_one_line(folder: Path) -> None:
    """In the same run, even beside the first."""
    skills = Skills(catalog_of(folder))
    both = [*use("activate_skill", {"name": "pages"}), *use("activate_skill", {"name": "pages"}, "2")]
    agent, model = agent_with(skills, both, use("activate_skill", {"name": "pages"}, "3"), DONE)
    Chat(skills, agent).say("How many?")
    lines = sorted(outputs(model.calls[2]), key=len)
    line = "The skill `pages` is already active since turn 1; its instructions have not changed."
    assert lines[:2] == [line, line]
    assert whole(model.calls[2]).count(BODY) == 1


def test_a_skill_outlives_the_messages_it_came_with(folder: Path) -> None:
    """Whatever trims or sums up a conversation: the skill is there again, once, at the end."""
    skills = Skills(catalog_of(folder))
    agent, model = agent_with(skills, use("activate_skill", {"name": "pages"}), DONE, DONE)
    chat = Chat(skills, agent)
    chat.say("How many?")
    chat.say("And now?", call_model_input_filter=lambda data: ModelInputData(data.model_data.input[-1:], "Count."))
    last = model.calls[-1]
    assert last.system_instructions == "Count."
    assert [item["content"][:15] for item in last.input] == ["And now?", "<active_skills>"]
    assert whole(last).count(BODY) == 1


def test_conversations_with_one_agent_are_independent(folder: Path) -> None:
    """Both are given the body."""
    skills = Skills(catalog_of(folder))
    script = [use("activate_skill", {"name": "pages"}), DONE]
    agent, model = agent_with(skills, *script, *script)
    for _ in range(2):
        Chat(skills, agent).say("How many?")
    assert [whole(call).count(BODY) for call in model.calls] == [0, 1, 0, 1]


def test_a_conversation_continues_in_another_process(folder: Path) -> None:
    """From what `to_json` returned."""
    skills = Skills(catalog_of(folder))
    again = use("activate_skill", {"name": "pages"}, "2")
    agent, model = agent_with(skills, use("activate_skill", {"name": "pages"}), DONE, again, DONE)
    chat = Chat(skills, agent)
    chat.say("How many?")
    chat.session = skills.session(chat.session.to_json())
    chat.say("And now?")
    assert outputs(model.calls[3])[1].startswith("The skill `pages` is already active since turn 1;")


def test_a_run_may_be_streamed(folder: Path, loop: AbstractEventLoop) -> None:
    """With the same input."""
    skills = Skills(catalog_of(folder))
    agent, model = agent_with(skills, use("activate_skill", {"name": "pages"}), DONE)

    async def run() -> None:
        result = Runner.run_streamed(agent, "Hm, /pages?", context=skills.session(), run_config=skills.run_config())
        async for _ in result.stream_events():
            pass

    loop.run_until_complete(run())
    assert [whole(call).count(BODY) for call in model.calls] == [1, 1]


def test_each_run_of_a_task_begins_a_turn(folder: Path, loop: AbstractEventLoop) -> None:
    """One after the other, in one event loop, with the configuration of the first."""
    skills = Skills(catalog_of(folder))
    agent, model = agent_with(skills, DONE, DONE, DONE, DONE)
    session, config = skills.session(), skills.run_config()

    async def run() -> None:
        for text in ("Use $pages.", "Hm.", "Use $pages."):
            await Runner.run(agent, text, context=session, run_config=config)
        await asyncio.create_task(Runner.run(agent, "Use /secret.", context=session, run_config=config))

    loop.run_until_complete(run())
    assert [whole(call).count(BODY) for call in model.calls] == [1, 0, 1, 0]
    assert ("Whisper." in whole(model.calls[3]), session.turn) == (True, 4)


def test_text_of_a_model_to_another_agent_names_no_skill(folder: Path) -> None:
    """An agent that is a tool has the session of the run, but its first message is not the user's."""
    skills = Skills(catalog_of(folder))
    other, asked = agent_with(skills, DONE)
    agent, model = agent_with(skills, use("other", {"input": "Use $secret."}), DONE)
    agent.tools.append(other.as_tool("other", "Ask another agent."))
    chat = Chat(skills, agent)
    chat.say("Use $pages.")
    assert chat.session.turn == 1
    assert "Whisper." not in whole(asked.calls[0])
    assert [whole(call).count(BODY) for call in (*model.calls, *asked.calls)] == [1, 1, 1]


def test_a_missing_skill_is_reported_and_the_run_continues(folder: Path) -> None:
    """To the model that asked for it, and where its user named it."""
    skills = Skills(catalog_of(folder))
    agent, model = agent_with(skills, use("activate_skill", {"name": "pages"}), DONE)
    (folder / ".agents/skills/pages/SKILL.md").unlink()
    chat = Chat(skills, agent)
    assert chat.say("Use $pages on this.").final_output == "Done."
    assert outputs(model.calls[1])[0].startswith("error: the skill `pages` cannot be read now: ")
    assert model.calls[0].input[1]["content"].startswith("warning: the skill `pages` cannot be read now: ")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("{", "error: the arguments are not a JSON object"),
        ("[]", "error: the arguments are not a JSON object"),
        ("", "error: `name` is missing\nhint: `activate_skill` takes `name`, `arguments`"),
        ('{"name": 3}', "error: `name` must be of type string\nhint: `activate_skill` takes `name`, `arguments`"),
        ('{"name": "page"}', "error: no skill is called `page` for host `prowess`\nhint: did you mean `pages`?"),
    ],
    ids=["no JSON", "no object", "nothing", "a number", "a misspelt name"],
)
def test_errors_are_reported_to_the_model(folder: Path, arguments: str, message: str) -> None:
    """A run never ends by it."""
    skills = Skills(catalog_of(folder))
    agent, model = agent_with(skills, use("activate_skill", arguments), DONE)
    assert Chat(skills, agent).say("How many?").final_output == "Done."
    assert outputs(model.calls[1]) == [message]


def test_a_context_of_one_s_own_has_the_session_as_skills(folder: Path) -> None:
    """Of any class."""

    class Mine:
        def __init__(self, session: Session) -> None:
            self.skills = session

    skills = Skills(catalog_of(folder))
    agent, _ = agent_with(skills, use("activate_skill", {"name": "pages"}), DONE)
    mine = Mine(skills.session())
    Runner.run_sync(agent, "How many?", context=mine, run_config=skills.run_config())
    assert [record.name for record in mine.skills.ledger] == ["pages"]


def test_a_run_without_a_session_is_a_mistake_of_the_program(folder: Path) -> None:
    """It is an error before the model is called."""
    skills = Skills(catalog_of(folder))
    agent, model = agent_with(skills, DONE)
    with pytest.raises(ConfigError) as caught:
        Runner.run_sync(agent, "How many?", run_config=skills.run_config())
    assert str(caught.value) == "this run has no session for its skills"
    assert model.calls == ()


def test_options_are_the_session_s(folder: Path) -> None:
    """A budget shortens the catalog and adds the search tool."""
    skills = Skills(catalog_of(folder), budget=120)
    assert [tool.name for tool in skills.tools()] == [tool.name for tool in skills.session().tools()]
    assert skills.tools()[-1].name == "search_skills"
    assert skills.instructions() == skills.session().static_block()


def test_300_skills_are_shown_within_8000_tokens_and_all_can_be_activated(many_skills: Path) -> None:
    skills = Skills(catalog_of(many_skills))
    agent, model = agent_with(skills, use("activate_skill", {"name": "s299"}), DONE)
    Runner.run_sync(agent, "Hm?", context=skills.session(), run_config=skills.run_config())
    schemas = str([tool.params_json_schema for tool in skills.tools()])
    assert "s299" not in skills.instructions() + schemas
    assert 4 * 7_000 < len(skills.instructions()) + len(schemas) < 4 * 8_600
    assert "Body of 299." in outputs(model.calls[1])[0]


def test_the_page_s_code_runs(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Block after block, with a model that follows a script."""
    page = (TOP / "docs/adapters/openai_agents.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)
    monkeypatch.chdir(folder)
    model = ScriptedModel([use("activate_skill", {"name": "pages"}), *[DONE] * 9])
    monkeypatch.setattr("agents.models.multi_provider.MultiProvider.get_model", lambda *_: model)
    names: dict[str, Any] = {}
    for block in blocks:
        exec(compile(block, "openai_agents.md", "exec"), names)  # noqa: S102 - it is ours
    assert len(blocks) >= 2
    assert BODY in str(model.calls[1].input)


def test_the_example_runs(capsys: pytest.CaptureFixture[str]) -> None:
    """Without a key, on the example skills."""
    runpy.run_path(str(TOP / "examples/adapters/openai_agents_agent.py"), run_name="__main__")
    assert "Conventional Commits" in capsys.readouterr().out


def test_a_message_chooses_the_skills_that_fit(folder: Path) -> None:
    """Once per turn: the same bytes in each call of it."""
    write_many_skills(folder / ".agents/skills")
    skills = Skills(catalog_of(folder), budget=1_500)
    agent, model = agent_with(skills, use("activate_skill", {"name": "a-50"}), DONE, DONE)
    chat = Chat(skills, agent)
    chat.say(BANK_MESSAGE)
    chat.say(GARDEN_MESSAGE)
    first, again, other = (call.system_instructions for call in model.calls)
    assert first == again
    assert first.startswith("You count pages.")
    assert ("z-books" in first, "y-garden" in first) == (True, False)
    assert ("z-books" in other, "y-garden" in other) == (False, True)
