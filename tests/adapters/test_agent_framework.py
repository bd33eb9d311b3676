"""Skills in an agent of Microsoft Agent Framework, with a model that follows a script."""

from __future__ import annotations

import asyncio
import base64
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("agent_framework")

from agent_framework import (
    Agent,
    AgentSession,
    BaseChatClient,
    ChatMiddlewareLayer,
    ChatResponse,
    ChatResponseUpdate,
    Content,
    FunctionInvocationLayer,
    FunctionTool,
    InMemoryHistoryProvider,
    Message,
    ResponseStream,
    SlidingWindowStrategy,
)
from agent_framework.openai import OpenAIChatClient
from openai import AsyncOpenAI

from adapters.test_docs_as_installed import Model
from prowess import Scripts, Session, Trust
from prowess.adapters.agent_framework import Skills
from support.media import PNG, write_media
from support.sessions import discover_project
from support.skills import GARDEN_MESSAGE, skill, write_many_skills

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping, Sequence


BODY = "Count the pages twice."


class Scripted(FunctionInvocationLayer, ChatMiddlewareLayer, BaseChatClient):  # type: ignore[misc]
    """A model that follows a script and records its requests."""

    def __init__(self, *script: Any, stores: bool = False, **options: Any) -> None:
        super().__init__(**options)
        self.script, self.stores = script, stores
        self.requests: list[list[Message]] = []
        self.options: list[Mapping[str, Any]] = []

    def _inner_get_response(
        self, *, messages: Sequence[Message], stream: bool, options: Mapping[str, Any], **_: Any
    ) -> Any:
        self.requests.append([*messages])
        self.options.append(options)
        said = self.script[len(self.requests) - 1] if len(self.requests) <= len(self.script) else "Done."
        said = said(messages) if callable(said) else said
        calls = said if isinstance(said, list) else [said] if isinstance(said, dict) else []
        contents = [Content.from_function_call(str(number), **call) for number, call in enumerate(calls)]
        contents += [Content.from_text(said)] if isinstance(said, str) else []
        conversation = "stored" if self.stores else None
        if stream:

            async def updates() -> AsyncIterator[ChatResponseUpdate]:
                yield ChatResponseUpdate(contents=contents, role="assistant", conversation_id=conversation)

            return ResponseStream(updates(), finalizer=ChatResponse.from_updates)

        async def response() -> ChatResponse:
            await asyncio.sleep(0)
            return ChatResponse(messages=[Message("assistant", contents)], conversation_id=conversation)

        return response()


def use(tool: str, /, **arguments: Any) -> dict[str, Any]:
    """One call of a tool."""
    return {"name": tool, "arguments": json.dumps(arguments)}


PAGES = use("activate_skill", name="pages")


class Chat:
    """Conversations with one agent."""

    def __init__(
        self, skills: Any, *script: Any, client: Any = None, agent: dict[str, Any] | None = None, **options: Any
    ) -> None:
        self.model = client or Scripted(*script)
        self.skills = skills if isinstance(skills, Skills) else Skills(skills, **options)
        options = {"context_providers": [self.skills], **(agent or {})}
        self.agent = Agent(self.model, "You count pages.", **options)
        self.conversation = self.agent.create_session()

    def say(self, text: Any) -> str:
        return str(asyncio.run(self.agent.run(text, session=self.conversation)).text)

    def session(self) -> Session:
        return self.skills.session(self.conversation.state)


def texts(messages: Sequence[Message]) -> list[str]:
    """All the texts of the messages of a request."""
    found: list[str] = []
    for content in (content for message in messages for content in message.contents):
        found += [content.text] if content.text else []
        found += [content.result] if content.type == "function_result" else []
    return found


def whole(chat: Chat, number: int) -> str:
    """All the text of a request."""
    return "\n".join([chat.model.options[number].get("instructions", ""), *texts(chat.model.requests[number])])


def counts(chat: Chat, text: str) -> list[int]:
    """How often each request contains a text."""
    return [whole(chat, number).count(text) for number in range(len(chat.model.requests))]


def stored(chat: Chat) -> str:
    """The framework's own record of the conversation."""
    return json.dumps(chat.conversation.to_dict())


def test_an_agent_may_stream(folder: Path) -> None:
    """With the same requests."""
    chats = [Chat(discover_project(folder), PAGES, "Done."), Chat(discover_project(folder), PAGES, "Done.")]
    chats[0].say("Use $pages.")

    async def stream() -> str:
        return "".join(
            [str(update.text) async for update in chats[1].agent.run("Use $pages.", stream=True, session=None)]
        )

    assert asyncio.run(stream()) == "Done."
    one, other = ([texts(request) for request in chat.model.requests] for chat in chats)
    assert one == other
    assert counts(chats[1], BODY) == [1, 1]


@pytest.mark.parametrize("where", ["agent", "client"])
def test_an_active_skill_is_sent_again_when_a_strategy_drops_it(folder: Path, where: str) -> None:
    """The framework compacts after every middleware has run."""
    strategy = {"compaction_strategy": SlidingWindowStrategy(keep_last_groups=1, preserve_system=True)}
    client = Scripted(PAGES, "Done.", "Done.", "Done.", **(strategy if where == "client" else {}))
    chat = Chat(discover_project(folder), client=client, agent=strategy if where == "agent" else {})
    for text in ("How many?", "And then?", "Go on"):
        chat.say(text)
    assert counts(chat, BODY) == [0, 1, 1, 1]
    assert [message.role for message in client.requests[-1]] == ["user"]
    assert stored(chat).count(BODY) <= 2  # of the tool's result, as text and as items


def test_runs_of_one_conversation_at_once_keep_what_each_activated(folder: Path) -> None:
    skill(folder / ".agents/skills/birds", body="Listen first.")

    def load_once(messages: Sequence[Message]) -> Any:
        found = texts(messages)
        return use("activate_skill", name=found[0]) if len(found) == 1 else "Done."

    chat = Chat(discover_project(folder), *[load_once] * 4)

    async def both() -> None:
        await asyncio.gather(*(chat.agent.run(name, session=chat.conversation) for name in ("pages", "birds")))

    asyncio.run(both())
    assert sorted(record.name for record in chat.session().ledger) == ["birds", "pages"]


def test_a_turn_that_continues_after_an_approval_keeps_its_mention(folder: Path) -> None:
    """In a new process, whose first run has no text, only the user's approval of a tool."""
    ask = FunctionTool(name="wipe", func=lambda: "Wiped.", approval_mode="always_require")
    write_many_skills(folder / ".agents/skills")
    model, tools = Scripted(use("wipe"), "Done."), {"tools": [ask]}
    chat = Chat(discover_project(folder), client=model, agent=tools, budget=4000)
    answer = asyncio.run(chat.agent.run(f"Use $pages. {GARDEN_MESSAGE}", session=chat.conversation))
    (request,) = answer.user_input_requests
    saved = stored(chat)
    chat = Chat(discover_project(folder), client=model, agent=tools, budget=4000)
    chat.conversation = AgentSession.from_dict(json.loads(saved))
    chat.say(Message("user", [request.to_function_approval_response(approved=True)]))
    assert counts(chat, BODY) == [1, 1]
    assert chat.session().turn == 1
    assert len({options["instructions"] for options in model.options}) == 1


def test_a_script_may_need_an_approval_beside_the_trust(folder: Path, tmp_path: Path) -> None:
    """The framework asks before each run; the approval does not replace the trust."""
    scripts = folder / ".agents/skills/pages/scripts"
    scripts.mkdir()
    (scripts / "count.sh").write_text("#!/bin/sh\necho COUNTED\n")
    catalog, trust = discover_project(folder), Trust(str(tmp_path / "trust.json"))
    count = use("run_skill_script", skill="pages", script="scripts/count.sh")
    options: dict[str, Any] = {"scripts": Scripts(sandbox="none"), "approve_scripts": True, "trust": trust}
    chat = Chat(catalog, PAGES, count, "Done.", count, "Done.", **options)
    for expected in ("prowess trust", "COUNTED"):
        answer = asyncio.run(chat.agent.run("Count", session=chat.conversation))
        (request,) = answer.user_input_requests
        assert request.function_call.name == "run_skill_script"
        chat.say(Message("user", [request.to_function_approval_response(approved=True)]))
        assert expected in texts(chat.model.requests[-1])[-1]
        trust.allow(catalog.resolve("pages"))


def test_a_service_that_keeps_the_conversation_is_sent_nothing_twice(folder: Path) -> None:
    """A named skill once; a skill that the model activated is in the result that the service keeps."""
    chat = Chat(discover_project(folder), client=Scripted(PAGES, "Done.", PAGES, "Done.", stores=True))
    chat.say("Use $pages.")
    chat.say("Go on")
    assert counts(chat, BODY) == [1, 0, 0, 0]
    chat.say("Use $pages.")
    assert counts(chat, BODY)[4:] == [1]


def test_the_responses_api_is_sent_a_named_skill_once(folder: Path) -> None:
    """The framework's own client, which lets the service keep the conversation."""
    with Model() as service:
        openai = AsyncOpenAI(base_url=f"{service.url}/v1", api_key="none", max_retries=0)
        chat = Chat(discover_project(folder), client=OpenAIChatClient("any", async_client=openai))

        async def two_runs() -> None:
            for text in ("Use $pages.", "Go on"):
                await chat.agent.run(text, session=chat.conversation)

        asyncio.run(two_runs())
    first, second = service.requests
    assert [json.dumps(request).count(BODY) for request in (first, second)] == [1, 0]
    assert second["previous_response_id"] == "r"


def test_a_history_that_is_saved_with_each_request_does_not_have_the_texts(folder: Path) -> None:
    history = InMemoryHistoryProvider()
    options = {"require_per_service_call_history_persistence": True}
    skills = Skills(discover_project(folder))
    chat = Chat(skills, PAGES, "Done.", "Done.", agent={"context_providers": [history, skills], **options})
    chat.say("Use $pages.")
    chat.say("Go on")
    assert counts(chat, BODY) == [1, 1, 1]
    assert "Use $pages." in stored(chat)
    assert BODY not in stored(chat)


INVALID: list[Any] = [
    None,
    3,
    "x",
    [],
    {"sessions": None},
    {"sessions": ["x"]},
    *({"sessions": {"KEY": text}} for text in ("", "{", "[]", 3, json.dumps({"version": 9}), "[" * 100_000)),
]


@pytest.mark.parametrize("record", INVALID, ids=lambda record: repr(record)[:40])
def test_an_invalid_record_starts_a_new_session(folder: Path, record: Any) -> None:
    """At worst a skill is given a second time."""
    chat = Chat(discover_project(folder), PAGES, "Done.")
    chat.say("Hello")
    (key,) = chat.conversation.state["prowess"]["sessions"]
    if isinstance(record, dict) and isinstance(record["sessions"], dict):
        record = {"sessions": {key: record["sessions"]["KEY"]}}
    chat.conversation.state["prowess"] = record
    assert chat.session().ledger == ()
    chat.model.requests.clear()
    chat.say("Hello")
    assert [entry.name for entry in chat.session().ledger] == ["pages"]


def test_agents_with_different_skills_may_share_a_conversation(folder: Path, tmp_path: Path) -> None:
    """One after the other; each has its own record, and sees nothing of the other's skills."""
    skill(tmp_path / "other/.agents/skills/birds", body="Listen first.")
    first = Chat(discover_project(folder), PAGES, "Done.", "Done.")
    second = Chat(discover_project(tmp_path / "other"), "Done.")
    second.conversation = first.conversation
    first.say("How many?")
    second.say("Use $birds.")
    first.say("Go on")
    assert ["Listen first." in whole(second, 0), "cannot be read" in whole(second, 0)] == [True, False]
    assert [(record.name, record.turn) for record in first.session().ledger] == [("pages", 1)]
    assert [(record.name, record.turn) for record in second.session().ledger] == [("birds", 1)]


def test_images_and_documents_are_content_of_the_framework(folder: Path) -> None:
    write_media(folder / ".agents/skills/pages")
    reads = [use("read_skill_file", name="pages", path=path) for path in ("map.png", "map.pdf")]
    chat = Chat(discover_project(folder), *reads)
    chat.say("Show them.")
    contents = [content for message in chat.model.requests[-1] for content in message.contents]
    items = [item for content in contents if content.type == "function_result" for item in content.items or ()]
    assert [(item.type, item.media_type) for item in items] == [
        ("text", None),
        ("data", "image/png"),
        ("text", None),
        ("data", "application/pdf"),
    ]


@pytest.mark.parametrize("strategy", [None, SlidingWindowStrategy(keep_last_groups=9)], ids=["whole", "compacted"])
def test_what_a_script_wrote_is_content_of_its_result_that_no_model_is_sent(
    folder: Path, tmp_path: Path, strategy: Any
) -> None:
    """Once, in the message that the application gets and the framework stores."""
    pages = folder / ".agents/skills/pages"
    write_media(pages)
    code = "import pathlib, sys\nhere = pathlib.Path(__file__).parent\n"
    code += "for name in sys.argv[1:]:\n    pathlib.Path(name).write_bytes((here / name).read_bytes())\n"
    (pages / "write.py").write_text(code)

    def write(*names: str) -> dict[str, Any]:
        return use("run_skill_script", skill="pages", script="write.py", args=names)

    scripts, trust = Scripts(sandbox="none", on_untrusted=lambda _: True), Trust(str(tmp_path / "trust.json"))
    model = Scripted(write("map.png", "write.py"), write("map.pdf"), write("map.pdf"), compaction_strategy=strategy)
    chat = Chat(discover_project(folder), client=model, scripts=scripts, trust=trust)
    chat.say("Write.")
    chat.say("Go on.")
    sent = [content for request in chat.model.requests for message in request for content in message.contents]
    assert {item.type for content in sent for item in content.items or ()} == {"text"}
    assert "map.png (" in texts(chat.model.requests[1])[-1]
    loaded = AgentSession.from_dict(json.loads(stored(chat)))
    messages = loaded.state["in_memory"]["messages"]
    results = [content for message in messages for content in message.contents if content.type == "function_result"]
    assert [[(item.type, item.name, item.media_type) for item in content.items] for content in results] == [
        [("text", None, None), ("data", "map.png", "image/png")],
        [("text", None, None), ("data", "map.pdf", "application/pdf")],
        [("text", None, None)],
    ]
    assert base64.b64decode(results[0].items[1].uri.partition(",")[2]) == PNG
    files = results[0].items[0].additional_properties["prowess_files"]
    assert [(file["name"], file["size"]) for file in files] == [("map.png", len(PNG)), ("write.py", len(code))]
    assert (Path(files[1]["folder"]) / files[1]["name"]).read_text() == code


def test_images_that_do_not_fit_into_one_result_are_only_named(folder: Path, tmp_path: Path) -> None:
    code = "for name in 'ab':\n    open(name + '.gif', 'wb').write(b'GIF89a' + bytes(3 << 20))\n"
    (folder / ".agents/skills/pages/write.py").write_text(code)
    scripts, trust = Scripts(sandbox="none", on_untrusted=lambda _: True), Trust(str(tmp_path / "trust.json"))
    chat = Chat(
        discover_project(folder),
        use("run_skill_script", skill="pages", script="write.py"),
        scripts=scripts,
        trust=trust,
    )
    answer = asyncio.run(chat.agent.run("Write.", session=chat.conversation))
    (result,) = (
        content for message in answer.messages for content in message.contents if content.type == "function_result"
    )
    text, *images = result.items
    assert len(images) == 1
    assert [file["name"] for file in text.additional_properties["prowess_files"]] == ["a.gif", "b.gif"]
