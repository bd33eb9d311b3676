"""Skills in agents of LlamaIndex, whose model is a scripted endpoint on the loopback address."""

from __future__ import annotations

import asyncio
import json
import runpy
import shutil
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("llama_index.core")

from llama_index.core.agent.workflow import AgentWorkflow
from llama_index.core.llms import ChatMessage
from llama_index.core.workflow import Context
from llama_index.llms.openai_like import OpenAILike

from prowess import LiveCatalog, Scripts, Trust, UntrustedSkill, discover
from prowess.adapters._catalog_argument import HINT
from prowess.adapters.llama_index import Skills, SkillsFunctionAgent, SkillsReActAgent
from prowess.errors import ConfigError
from support.openai_server import HANG, ModelServer
from support.skills import BANK_MESSAGE, GARDEN_MESSAGE, skill, write_many_skills

if TYPE_CHECKING:
    from collections.abc import Iterator

    from llama_index.core.memory import ChatMemoryBuffer

    from prowess.catalog import Catalog
    from prowess.session import Session

pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),  # LlamaIndex reads all members of its models
    pytest.mark.filterwarnings("ignore:Skipping serialization of known unserializable key"),  # a memory
]

TOP = Path(__file__).parent.parent.parent
BODY = "Count the pages twice."
DONE = "Done."
PAGES: Any = [("activate_skill", {"name": "pages"})]


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer(DONE) as server:
        yield server


def catalog_of(folder: Path) -> Catalog:
    return discover(folder, home=folder.parent / "home", cache=False)


def model_of(server: ModelServer) -> OpenAILike:
    return OpenAILike(
        model="local",
        api_base=server.url,
        api_key="none",
        max_retries=0,
        is_chat_model=True,
        is_function_calling_model=True,
        context_window=100_000,
        default_headers={"Connection": "close"},  # the client of a model is never closed
    )


def agent_of(server: ModelServer, skills: Any, **options: Any) -> SkillsFunctionAgent:
    options = {"system_prompt": "You count pages.", "streaming": False, **options}
    return SkillsFunctionAgent(skills=skills, llm=model_of(server), **options)


class Talk:
    """A conversation with an agent, or with a workflow of agents."""

    def __init__(self, agent: Any, context: Context | None = None) -> None:
        self.agent = agent
        self.context = Context(agent) if context is None else context

    async def send(self, *texts: str) -> str:
        for text in texts:
            answer = await self.agent.run(text, ctx=self.context)
        return str(answer)

    async def turn(self) -> int:
        session: Session = await self.agent.skills.session(self.context)
        return session.turn

    async def memory(self) -> ChatMemoryBuffer:
        memory: ChatMemoryBuffer = await self.context.store.get("memory")
        return memory

    async def stored(self) -> str:
        return str(await (await self.memory()).aget_all())

    def saved(self) -> str:
        return json.dumps(self.context.to_dict())


def whole(request: dict[str, Any]) -> str:
    """All the text of the messages that one call of the model was sent."""
    return "\n".join(text for message in request["messages"] for text in texts(message))


def texts(message: dict[str, Any]) -> list[str]:
    content = message.get("content") or ""
    return [content] if isinstance(content, str) else [part["text"] for part in content]


def results(request: dict[str, Any]) -> list[str]:
    return ["".join(texts(message)) for message in request["messages"] if message["role"] == "tool"]


@pytest.mark.parametrize("streaming", [False, True])
def test_a_model_reads_a_skill_it_chose(folder: Path, server: ModelServer, streaming: bool) -> None:
    """The body comes as the tool's result, once, and its files after it."""
    server.answers = [PAGES, [("read_skill_file", {"name": "pages", "path": "notes.md"})], DONE]
    talk = Talk(agent_of(server, catalog_of(folder), streaming=streaming))
    assert asyncio.run(talk.send("How many?")) == DONE
    content, text = results(server.requests[2])
    assert content.startswith(f'<skill_content name="pages">\n{BODY}\n')
    assert text == "Page 3 is blank."
    assert [whole(request).count(BODY) for request in server.requests] == [0, 1, 1]


def test_the_catalog_is_in_each_request_the_same_bytes_and_not_in_the_memory(folder: Path, server: ModelServer) -> None:
    """At the end of the system prompt, as one message."""
    server.answers = [PAGES, DONE, DONE]
    skills = Skills(catalog_of(folder))
    talk = Talk(agent_of(server, skills))

    async def run() -> str:
        await talk.send("How many?", "And now, with the pages skill?")
        return await talk.stored()

    stored = asyncio.run(run())
    systems = [
        [texts(message) for message in request["messages"] if message["role"] == "system"]
        for request in server.requests
    ]
    block = skills._template_session.static_block()
    assert systems == [[[f"You count pages.\n\n{block}"]]] * 3
    assert "<available_skills>" not in stored


@pytest.mark.parametrize("system_prompt", [None, "", "Count."])
def test_any_system_prompt_gets_the_catalog(folder: Path, server: ModelServer, system_prompt: str | None) -> None:
    asyncio.run(Talk(agent_of(server, catalog_of(folder), system_prompt=system_prompt)).send("How many?"))
    assert whole(server.requests[0]).count("<available_skills>") == 1


def test_the_schema_of_tools_is_the_session_s(folder: Path, server: ModelServer) -> None:
    skills = Skills(catalog_of(folder))
    asyncio.run(Talk(agent_of(server, skills)).send("Hm?"))
    assert [row["function"]["parameters"] for row in server.requests[0]["tools"]] == [
        tool.parameters for tool in skills._template_session.tools()
    ]


def test_a_skill_that_the_user_names_is_in_that_turn_only_and_never_in_the_memory(
    folder: Path, server: ModelServer
) -> None:
    """Also one that is only for its user. Each request of the turn has the same bytes before the model's answers."""
    server.answers = [[("read_skill_file", {"name": "pages", "path": "notes.md"})], DONE, DONE, DONE]
    talk = Talk(agent_of(server, catalog_of(folder)))

    async def run() -> str:
        await talk.send("Use $pages.", "Go on.", "Now /secret please.")
        return await talk.stored()

    stored = asyncio.run(run())
    assert [whole(request).count(BODY) for request in server.requests] == [1, 1, 0, 0]
    assert [whole(request).count("Whisper.") for request in server.requests] == [0, 0, 0, 1]
    assert server.requests[1]["messages"][:3] == server.requests[0]["messages"]
    assert BODY not in stored
    assert "Whisper." not in stored


def test_a_name_that_no_skill_has_is_reported_once(folder: Path, server: ModelServer) -> None:
    server.answers = [PAGES, DONE]
    asyncio.run(Talk(agent_of(server, catalog_of(folder))).send("Use the pagse skill."))
    assert [whole(request).count("warning: ") for request in server.requests] == [1, 1]


def test_an_active_skill_survives_a_memory_that_is_cut(folder: Path, server: ModelServer) -> None:
    """The record is in the store of the context, and the text is rendered again."""
    server.answers = [PAGES, DONE, DONE, DONE]
    talk = Talk(agent_of(server, catalog_of(folder)))

    async def run() -> None:
        await talk.send("How many?")
        (await talk.memory()).reset()
        await talk.send("And now?", "And then?")

    asyncio.run(run())
    assert results(server.requests[-1]) == []
    assert [whole(request).count(BODY) for request in server.requests] == [0, 1, 1, 1]


def test_a_context_continues_in_a_new_process(folder: Path, server: ModelServer) -> None:
    """From JSON, which has no memory: the active skill is there, and a second activation is one line."""
    server.answers = [PAGES, DONE, PAGES, DONE]
    talk = Talk(agent_of(server, catalog_of(folder)))
    asyncio.run(talk.send("How many?"))
    saved = talk.saved()
    assert BODY not in saved.replace("\\", "").replace('"current_tool_calls"', "")
    agent = agent_of(server, catalog_of(folder))
    talk = Talk(agent, Context.from_dict(agent, json.loads(saved)))
    asyncio.run(talk.send("And now?"))
    assert results(server.requests[-1]) == [
        "The skill `pages` is already active since turn 1; its instructions have not changed."
    ]
    assert [whole(request).count(BODY) for request in server.requests] == [0, 1, 1, 1]
    assert asyncio.run(agent.skills.session(talk.context)).turn == 2


@pytest.mark.parametrize("record", [7, "{", None, {"turn": 1}, '{"version": 99}'])
def test_an_invalid_record_starts_a_new_session(folder: Path, server: ModelServer, record: Any) -> None:
    talk = Talk(agent_of(server, catalog_of(folder)))

    async def run() -> int:
        await talk.context.store.set("skills", record)
        await talk.send("Use $pages.")
        return await talk.turn()

    assert asyncio.run(run()) == 1
    assert whole(server.requests[0]).count(BODY) == 1


def test_skills_that_are_activated_in_parallel_are_all_recorded(folder: Path, server: ModelServer) -> None:
    names = [f"s{number}" for number in range(8)]
    for name in names:
        skill(folder / ".agents/skills" / name, body=f"Body of {name}.")
    server.answers = [[("activate_skill", {"name": name}) for name in names], DONE]
    talk = Talk(agent_of(server, catalog_of(folder)))

    async def run() -> list[str]:
        await talk.send("All of them.")
        return [record.name for record in (await talk.agent.skills.session(talk.context)).ledger]

    assert asyncio.run(run()) == names


def test_a_changed_and_a_new_skill_are_seen_in_the_next_turn_and_not_before(folder: Path, server: ModelServer) -> None:
    """With a live catalog, which may even begin without skills."""
    live = LiveCatalog(folder, home=folder.parent / "home")

    def write() -> str:
        """Change the skills."""
        skill(folder / ".agents/skills/pages", body="Count them once.")
        skill(folder / ".agents/skills/fresh", body="New.")
        return "written"

    server.answers = [[("write", {})], DONE, DONE]
    asyncio.run(Talk(agent_of(server, live, tools=[write])).send("Use $pages.", "Use $pages and $fresh."))
    first, second, third = map(whole, server.requests)
    assert [BODY in text for text in (first, second, third)] == [True, True, False]
    assert ["fresh" in text for text in (first, second)] == [False, False]
    assert "<name>fresh</name>" in third
    assert "Count them once." in third
    assert "New." in third


def test_a_search_that_a_live_catalog_does_not_need_any_more_is_an_error(folder: Path, server: ModelServer) -> None:
    """Tools are those of the time at which the agent was made."""
    write_many_skills(folder / ".agents/skills")
    live = LiveCatalog(folder, home=folder.parent / "home")
    talk = Talk(agent_of(server, Skills(live, budget=2000)))
    for path in (folder / ".agents/skills").iterdir():
        if path.name != "pages":
            shutil.rmtree(path)
    server.answers = [[("search_skills", {"query": "pages"})], DONE]
    asyncio.run(talk.send("How many?"))
    assert results(server.requests[-1]) == ["error: `search_skills` is not available now\nhint: go on without it"]


def test_what_a_tool_returns_begins_no_turn_and_names_no_skill(folder: Path, server: ModelServer) -> None:
    def look() -> str:
        """Look at something."""
        return "Use $secret now."

    server.answers = [[("look", {})], DONE]
    talk = Talk(agent_of(server, catalog_of(folder), tools=[look]))

    async def run() -> int:
        await talk.send("How many?")
        return await talk.turn()

    assert asyncio.run(run()) == 1
    assert "Whisper." not in whole(server.requests[1])


def test_the_state_of_a_workflow_names_no_skill(folder: Path, server: ModelServer) -> None:
    """LlamaIndex writes it into the user's message."""
    talk = Talk(agent_of(server, catalog_of(folder), initial_state={"note": "use $secret"}))
    asyncio.run(talk.send("How many?"))
    assert "use $secret" in whole(server.requests[0])
    assert "Whisper." not in whole(server.requests[0])


@pytest.mark.parametrize(
    ("name", "arguments", "words"),
    [
        ("activate_skill", {"name": "nothing"}, "nothing"),
        ("activate_skill", {}, "`name` is missing"),
        ("activate_skill", {"name": 7, "x": 1}, "must be of type string"),
        ("activate_skill", {"name": "pages", "ctx": 1, "tool": 2}, "unknown argument `tool`"),
        ("read_skill_file", {"name": "pages", "path": "../../../secret"}, "error: "),
    ],
)
def test_a_tool_call_that_fails_is_text_and_the_run_goes_on(
    folder: Path, server: ModelServer, name: str, arguments: Any, words: str
) -> None:
    server.answers = [[(name, arguments)], DONE]
    assert asyncio.run(Talk(agent_of(server, catalog_of(folder))).send("How many?")) == DONE
    (text,) = results(server.requests[1])
    assert text.startswith("error: ")
    assert words in text


@pytest.mark.slow
def test_fifty_conversations_with_one_agent_at_once_do_not_mix(folder: Path, server: ModelServer) -> None:
    for number in range(50):
        skill(folder / f".agents/skills/k{number:02}", body=f"Body of k{number:02}.")
    agent = agent_of(server, catalog_of(folder))

    async def talk(number: int) -> list[str]:
        one = Talk(agent)
        await one.send(f"I am {number:02}. Use $k{number:02}.")
        return [record.name for record in (await agent.skills.session(one.context)).ledger]

    async def everyone() -> list[list[str]]:
        return await asyncio.gather(*(talk(number) for number in range(50)))

    assert asyncio.run(everyone()) == [[f"k{number:02}"] for number in range(50)]
    for request in server.requests:
        me = whole(request).rpartition("I am ")[2][:2]
        shown = [other for other in range(50) if f"Body of k{other:02}." in whole(request)]
        assert shown == [int(me)]


def test_a_conversation_goes_on_after_a_cancelled_run(folder: Path, server: ModelServer) -> None:
    """In a new context with the same memory and record, because LlamaIndex would resume the cancelled run."""
    server.answers = [PAGES, DONE, HANG, DONE]
    agent = agent_of(server, catalog_of(folder))
    context, fresh = Context(agent), Context(agent)

    async def run() -> int:
        await agent.run("How many?", ctx=context)
        server.request_received.clear()
        handler = agent.run("Use $secret.", ctx=context)
        await asyncio.to_thread(server.request_received.wait, 10)
        await handler.cancel_run()
        await asyncio.wait([asyncio.ensure_future(_result(handler))], timeout=10)
        await fresh.store.set("skills", await context.store.get("skills"))
        await agent.run("Go on.", ctx=fresh, memory=await context.store.get("memory"))
        return await Talk(agent, fresh).turn()

    assert asyncio.run(run()) == 3
    assert [whole(request).count(BODY) for request in server.requests] == [0, 1, 1, 1]
    assert [whole(request).count("Whisper.") for request in server.requests] == [0, 0, 1, 0]


async def _result(handler: Any) -> None:
    with suppress(Exception):
        await handler


def test_an_agent_that_takes_over_shares_the_skills_of_the_conversation(folder: Path, server: ModelServer) -> None:
    """Also the one that the user named, in the turn in which it was named."""
    server.answers = [PAGES, [("handoff", {"to_agent": "second", "reason": "it"})], PAGES, DONE]
    skills = Skills(catalog_of(folder))
    agents = [
        agent_of(server, skills, name=name, description=f"The {name}.", can_handoff_to=["second"][: name == "first"])
        for name in ("first", "second")
    ]
    talk = Talk(AgentWorkflow(agents=agents, root_agent="first"))
    asyncio.run(talk.send("Use $secret."))
    assert [whole(request).count("Whisper.") for request in server.requests] == [1, 1, 1, 1]
    assert whole(server.requests[-1]).count(BODY) == 1
    assert "already active" in results(server.requests[-1])[-1]


def test_agents_with_skills_of_the_same_directory_keep_each_other_s(folder: Path, server: ModelServer) -> None:
    """Although each has its own `Skills`: what one activates is not lost when the other one goes on."""
    skill(folder / ".agents/skills/words", body="Count words.")
    to = {name: ("handoff", {"to_agent": name, "reason": "it"}) for name in ("first", "second")}
    words: Any = [("activate_skill", {"name": "words"})]
    server.answers = [PAGES, [to["second"]], words, [to["first"]], PAGES, DONE, DONE]
    agents = [
        agent_of(server, catalog_of(folder), name=name, description=f"The {name}.", can_handoff_to=[other])
        for name, other in (("first", "second"), ("second", "first"))
    ]
    talk = Talk(AgentWorkflow(agents=agents, root_agent="first"))

    async def run() -> list[str]:
        await talk.send("How many?")
        (await talk.memory()).reset()
        await talk.send("And now?")
        return [record.name for record in (await agents[1].skills.session(talk.context)).ledger]

    assert sorted(asyncio.run(run())) == ["pages", "words"]
    assert [whole(server.requests[-1]).count(text) for text in (BODY, "Count words.")] == [1, 1]


def test_an_agent_with_other_skills_takes_over(folder: Path, server: ModelServer, tmp_path: Path) -> None:
    """Its model is shown its own skills, and the user's message names them too."""
    skill(tmp_path / "other/.agents/skills/words", body="Count words.")
    server.answers = [[("handoff", {"to_agent": "second", "reason": "it"})], DONE]
    agents = [
        agent_of(server, Skills(catalog_of(place), key=name), name=name, description=f"The {name}.")
        for name, place in (("first", folder), ("second", tmp_path / "other"))
    ]
    asyncio.run(Talk(AgentWorkflow(agents=agents, root_agent="first")).send("Use $pages and $words."))
    assert [BODY in whole(request) for request in server.requests] == [True, False]
    assert ["Count words." in whole(request) for request in server.requests] == [False, True]
    assert ["<name>words</name>" in whole(request) for request in server.requests] == [False, True]


def test_a_react_agent_has_the_same(folder: Path, server: ModelServer) -> None:
    """Its model writes calls as text."""
    server.answers = [
        'Thought: I need it.\nAction: activate_skill\nAction Input: {"name": "pages"}',
        "Thought: I know.\nAnswer: Twice.",
        "Thought: I know.\nAnswer: Still.",
    ]
    agent = SkillsReActAgent(skills=catalog_of(folder), llm=model_of(server), system_prompt="Count.", streaming=False)
    talk = Talk(agent)

    async def run() -> str:
        await talk.send("How many? $secret")
        (await talk.memory()).reset()
        return await talk.send("And now?")

    assert asyncio.run(run()) == "Still."
    assert [whole(request).count("<available_skills>") for request in server.requests] == [1, 1, 1]
    assert [whole(request).count(BODY) for request in server.requests] == [0, 1, 1]
    assert [whole(request).count("Whisper.") for request in server.requests] == [1, 1, 0]


def test_a_history_in_place_of_a_message_names_the_skill_of_its_last_message(folder: Path, server: ModelServer) -> None:
    history = [ChatMessage(role="system", content="Be brief."), ChatMessage(role="user", content="Use $pages.")]
    agent = agent_of(server, catalog_of(folder), system_prompt=None)

    async def run() -> None:
        await agent.run(chat_history=history)

    asyncio.run(run())
    assert whole(server.requests[0]).count(BODY) == 1
    assert texts(server.requests[0]["messages"][0])[0].startswith("Be brief.\n\n")
    assert [message.content for message in history] == ["Be brief.", "Use $pages."]


def test_the_catalog_of_a_small_budget_is_that_of_the_message(folder: Path, server: ModelServer) -> None:
    """And the model can search for the rest."""
    write_many_skills(folder / ".agents/skills")
    skills = Skills(catalog_of(folder), budget=2000)
    asyncio.run(Talk(agent_of(server, skills)).send(BANK_MESSAGE, GARDEN_MESSAGE))
    first, second = (whole(request).partition("</available_skills>")[0] for request in server.requests)
    assert first != second
    assert "search_skills" in [row["function"]["name"] for row in server.requests[0]["tools"]]


def test_without_skills_nothing_is_added(tmp_path: Path, server: ModelServer) -> None:
    asyncio.run(Talk(agent_of(server, catalog_of(tmp_path))).send("Hello."))
    assert not server.requests[0].get("tools")
    assert whole(server.requests[0]) == "You count pages.\nHello."


@pytest.mark.slow
@pytest.mark.needs("bwrap")
def test_a_script_runs_after_its_skill_was_activated_in_the_same_message(folder: Path, server: ModelServer) -> None:
    """Its files are in the folder of the conversation, also in a later turn; other conversations do not see them."""
    script = folder / ".agents/skills/pages/scripts/count.py"
    script.parent.mkdir()
    script.write_text("import sys\nopen('out.txt', 'w').write('written')\nprint(sys.argv[1:])\n")
    run: Any = ("run_skill_script", {"skill": "pages", "script": "scripts/count.py", "args": ["a b", "*"]})
    read: Any = [("read_script_file", {"path": "out.txt"})]
    server.answers = [[*PAGES, run], DONE, read, DONE, read, DONE]
    asked: list[str] = []

    def ask(untrusted: UntrustedSkill) -> bool:
        asked.append(untrusted.entry.name)
        return True

    trust = Trust(str(folder.parent / "trust.json"))
    agent = agent_of(server, Skills(catalog_of(folder), scripts=Scripts(on_untrusted=ask), trust=trust))
    asyncio.run(Talk(agent).send("How many?", "And what did it write?"))
    asyncio.run(Talk(agent).send("What is in the file?"))
    assert results(server.requests[1])[1].startswith("exit code 0\nstdout:\n['a b', '*']\n")
    assert results(server.requests[3])[-1] == "written"
    assert results(server.requests[5])[-1].startswith("error: ")
    assert asked == ["pages"]


def test_scripts_are_off_unless_allowed(folder: Path) -> None:
    catalog = catalog_of(folder)
    names = [[tool.metadata.name for tool in Skills(catalog, scripts=given).tools()] for given in (False, True)]
    assert names[0] == ["activate_skill", "read_skill_file"]
    assert names[1] == [*names[0], "run_skill_script", "read_script_file"]
    with pytest.raises(ConfigError, match="`scripts` cannot be 'yes'"):
        Skills(catalog, scripts="yes").tools()  # type: ignore[arg-type]


@pytest.mark.parametrize("wrong", [None, 7, b"."])
def test_a_wrong_argument_says_what_to_pass(wrong: Any) -> None:
    with pytest.raises(ConfigError, match="not a catalog") as error:
        SkillsFunctionAgent(skills=wrong)
    assert error.value.hint == HINT


def test_a_directory_is_a_live_catalog(folder: Path, server: ModelServer) -> None:
    asyncio.run(Talk(agent_of(server, folder)).send("Use $pages."))
    asyncio.run(Talk(agent_of(server, str(folder))).send("Use $pages."))
    assert [whole(request).count(BODY) for request in server.requests] == [1, 1]


def test_the_example_runs(capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(TOP / "examples/adapters/llama_index_agent.py"), run_name="__main__")
    assert "commit-message" in capsys.readouterr().out
