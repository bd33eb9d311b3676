"""Skills in agents of LlamaIndex, whose model is a scripted endpoint on the loopback address."""

from __future__ import annotations

import asyncio
from importlib import import_module
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("llama_index.core")

from llama_index.core.agent.workflow import AgentWorkflow
from llama_index.core.llms import ChatMessage, MessageRole
from llama_index.core.memory import ChatMemoryBuffer
from llama_index.core.workflow import Context
from llama_index.llms.openai.utils import to_openai_responses_message_dict
from llama_index.llms.openai_like import OpenAILike

from adapters.drivers.llama_index import model_of
from prowess import Scripts
from prowess.adapters.llama_index import _MODEL_WITH_FILES, Skills, SkillsFunctionAgent, SkillsReActAgent
from support.media import write_media
from support.openai_server import ModelServer, results, texts, whole
from support.sessions import discover_project
from support.skills import skill

if TYPE_CHECKING:
    from pathlib import Path

    from prowess.session import Session

pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),  # LlamaIndex reads all members of its models
    pytest.mark.filterwarnings("ignore:Skipping serialization of known unserializable key"),  # a memory
]

BODY = "Count the pages twice."
DONE = "Done."
PAGES: Any = [("activate_skill", {"name": "pages"})]


def agent_of(server: ModelServer, skills: Any, **options: Any) -> SkillsFunctionAgent:
    options = {"system_prompt": "You count pages.", "streaming": False, **options}
    return SkillsFunctionAgent(skills=skills, llm=model_of(server.url), **options)


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


@pytest.mark.parametrize("system_prompt", [None, "", "Count."])
def test_any_system_prompt_gets_the_catalog(folder: Path, server: ModelServer, system_prompt: str | None) -> None:
    asyncio.run(Talk(agent_of(server, discover_project(folder), system_prompt=system_prompt)).send("How many?"))
    assert whole(server.requests[0]).count("<available_skills>") == 1


def test_the_state_of_a_workflow_names_no_skill(folder: Path, server: ModelServer) -> None:
    """LlamaIndex writes it into the user's message."""
    talk = Talk(agent_of(server, discover_project(folder), initial_state={"note": "use $secret"}))
    asyncio.run(talk.send("How many?"))
    assert "use $secret" in whole(server.requests[0])
    assert "Whisper." not in whole(server.requests[0])


def test_an_agent_that_takes_over_shares_the_skills_of_the_conversation(folder: Path, server: ModelServer) -> None:
    """Also the one that the user named, in the turn in which it was named."""
    server.answers = [PAGES, [("handoff", {"to_agent": "second", "reason": "it"})], PAGES, DONE]
    skills = Skills(discover_project(folder))
    agents = [
        agent_of(server, skills, name=name, description=f"The {name}.", can_handoff_to=["second"][: name == "first"])
        for name in ("first", "second")
    ]
    talk = Talk(AgentWorkflow(agents=agents, root_agent="first"))
    asyncio.run(talk.send("Use $secret."))
    assert server.counts("Whisper.") == [1, 1, 1, 1]
    assert whole(server.requests[-1]).count(BODY) == 1
    assert "already active" in results(server.requests[-1])[-1]


def test_agents_with_skills_of_the_same_directory_keep_each_other_s(folder: Path, server: ModelServer) -> None:
    """Although each has its own `Skills`: what one activates is not lost when the other one goes on."""
    skill(folder / ".agents/skills/words", body="Count words.")
    to = {name: ("handoff", {"to_agent": name, "reason": "it"}) for name in ("first", "second")}
    words: Any = [("activate_skill", {"name": "words"})]
    server.answers = [PAGES, [to["second"]], words, [to["first"]], PAGES, DONE, DONE]
    agents = [
        agent_of(server, discover_project(folder), name=name, description=f"The {name}.", can_handoff_to=[other])
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
        agent_of(server, Skills(discover_project(place), key=name), name=name, description=f"The {name}.")
        for name, place in (("first", folder), ("second", tmp_path / "other"))
    ]
    asyncio.run(Talk(AgentWorkflow(agents=agents, root_agent="first")).send("Use $pages and $words."))
    assert [BODY in whole(request) for request in server.requests] == [True, False]
    assert ["Count words." in whole(request) for request in server.requests] == [False, True]
    assert ["- words: " in whole(request) for request in server.requests] == [False, True]


def test_a_react_agent_has_the_same(folder: Path, server: ModelServer) -> None:
    """Its model writes calls as text."""
    server.answers = [
        'Thought: I need it.\nAction: activate_skill\nAction Input: {"name": "pages"}',
        "Thought: I know.\nAnswer: Twice.",
        "Thought: I know.\nAnswer: Still.",
    ]
    agent = SkillsReActAgent(
        skills=discover_project(folder), llm=model_of(server.url), system_prompt="Count.", streaming=False
    )
    talk = Talk(agent)

    async def run() -> str:
        await talk.send("How many? $secret")
        (await talk.memory()).reset()
        return await talk.send("And now?")

    assert asyncio.run(run()) == "Still."
    assert server.counts("<available_skills>") == [1, 1, 1]
    assert server.counts(BODY) == [0, 1, 1]
    assert server.counts("Whisper.") == [1, 1, 0]


def test_a_history_in_place_of_a_message_names_the_skill_of_its_last_message(folder: Path, server: ModelServer) -> None:
    history = [ChatMessage(role="system", content="Be brief."), ChatMessage(role="user", content="Use $pages.")]
    agent = agent_of(server, discover_project(folder), system_prompt=None)

    async def run() -> None:
        await agent.run(chat_history=history)

    asyncio.run(run())
    assert whole(server.requests[0]).count(BODY) == 1
    assert texts(server.requests[0]["messages"][0])[0].startswith("Be brief.\n\n")
    assert [message.content for message in history] == ["Be brief.", "Use $pages."]


@pytest.mark.slow
def test_a_script_runs_after_its_skill_was_activated_in_the_same_message(folder: Path, server: ModelServer) -> None:
    (folder / ".agents/skills/pages/count.sh").write_text("#!/bin/sh\necho counted\n")
    server.answers = [[*PAGES, ("run_skill_script", {"skill": "pages", "script": "count.sh"})], DONE]
    scripts = Scripts(sandbox="none", on_untrusted=lambda _: True)
    asyncio.run(Talk(agent_of(server, Skills(discover_project(folder), scripts=scripts))).send("How many?"))
    assert results(server.requests[1])[1] == "exit code 0\nstdout:\ncounted"


class OpenAIResponses(OpenAILike):  # type: ignore[misc]
    """A model of the name of the one that accepts files in the results of tools."""


@pytest.mark.parametrize("kind", [OpenAIResponses, OpenAILike])
def test_images_and_documents_are_blocks_where_a_service_accepts_them(
    folder: Path, server: ModelServer, kind: Any
) -> None:
    """The real `OpenAIResponses` sends these blocks as they are."""
    write_media(folder / ".agents/skills/pages")
    reads: list[Any] = [[("read_skill_file", {"name": "pages", "path": path})] for path in ("map.png", "map.pdf")]
    server.answers = [*reads, DONE]
    agent = agent_of(server, Skills(discover_project(folder)))
    given = {"model", "api_base", "api_key", "is_chat_model", "is_function_calling_model", "default_headers"}
    agent.llm = kind(**model_of(server.url).model_dump(include=given))
    memory = ChatMemoryBuffer.from_defaults()
    asyncio.run(_run(agent, memory))
    messages = [message for message in memory.get_all() if message.role == MessageRole.TOOL]
    items = [to_openai_responses_message_dict(message)["output"] for message in messages]
    if kind is OpenAILike:
        assert [item.partition(" (")[0] for item in items] == ["`map.png` is an image", "`map.pdf` is a document"]
    else:
        kinds = [[part["type"] for part in item] for item in items]
        assert kinds == [["input_text", "input_image"], ["input_text", "input_file"]]


async def _run(agent: Any, memory: Any) -> None:
    await agent.run("Show them.", ctx=Context(agent), memory=memory)


def test_the_model_that_gets_files_is_one_of_llama_index() -> None:
    assert hasattr(import_module("llama_index.llms.openai"), _MODEL_WITH_FILES)
