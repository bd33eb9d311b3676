"""`prowess run --serve` with a role, used by OpenAI's own client."""

from __future__ import annotations

import asyncio
import json
import re
from typing import TYPE_CHECKING, Any

import pytest
from openai import APIError, AsyncOpenAI, OpenAI
from pydantic_ai.models.function import DeltaToolCall, FunctionModel

from prowess.agent import RoleReloader, make_model
from prowess.agent.server import RoleBackend
from prowess.testing import ScriptedModel
from support.chat_server import ChatServer
from support.growth import END
from support.openai_server import GARBAGE, NOTHING, ModelServer
from support.skills import skill

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

ROLE = "name: helper\nprompt: You help.\nmodel: openai:m\n"
WRITES = "tools:\n- type: filesystem\n  read_only: false\n  require_confirmation: true\n"
KINDS = 5
"""The number of skills; each conversation uses one."""


@pytest.fixture
def top(tmp_path: Path) -> Path:
    (tmp_path / "home").mkdir()
    (tmp_path / "role.yaml").write_text(ROLE)
    for kind in range(KINDS):
        skill(tmp_path / f"skills/kind-{kind}", body=f"Body {kind}.\n")
    return tmp_path.resolve()


def make_reloader(top: Path, more: str = "", **options: Any) -> RoleReloader:
    (top / "role.yaml").write_text(ROLE + more)
    return RoleReloader(str(top / "role.yaml"), home=str(top / "home"), env={}, **options)


def openai(chat: ChatServer) -> OpenAI:
    return OpenAI(base_url=f"{chat.url}/v1", api_key="none", max_retries=0, timeout=END)


def send(chat: ChatServer, *texts: str, system: str | None = None, **more: Any) -> str:
    """Send a conversation, texts of the user and the model in turn, and return the answer."""
    messages: list[Any] = [{"role": "system", "content": system}] if system else []
    messages += [{"role": "assistant" if at % 2 else "user", "content": text} for at, text in enumerate(texts)]
    answer = openai(chat).chat.completions.create(model="helper", messages=messages, **more)
    return answer.choices[0].message.content or ""


async def choose_own_skill(messages: list[Any], _info: Any) -> AsyncIterator[Any]:
    """Activate the speaker's skill, then answer with all speakers so far and the skills that were read."""
    text = str(messages)
    speakers = sorted(set(re.findall(r"I am (\d+)", text)))
    read = sorted(set(re.findall(r"Body (\d)\.", text)))
    if not read:
        yield {0: DeltaToolCall("activate_skill", json.dumps({"name": f"kind-{int(speakers[0]) % KINDS}"}))}
        return
    await asyncio.sleep(0.01)
    yield f"{speakers} "
    yield f"{read} {len(re.findall('I am', text))}"


def test_fifty_conversations_at_once_do_not_mix(top: Path) -> None:
    """Half of them streamed, each with three turns and its own skill."""

    async def one(client: AsyncOpenAI, at: int) -> list[str]:
        messages: list[Any] = []
        for _ in range(3):
            messages.append({"role": "user", "content": f"I am {at}"})
            if at % 2:
                stream = await client.chat.completions.create(model="helper", messages=messages, stream=True)
                text = "".join([chunk.choices[0].delta.content or "" async for chunk in stream])
            else:
                answer = await client.chat.completions.create(model="helper", messages=messages)
                text = answer.choices[0].message.content or ""
            messages.append({"role": "assistant", "content": text})
        return [message["content"] for message in messages[1::2]]

    async def all_of_them(url: str) -> list[list[str]]:
        async with AsyncOpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0, timeout=END) as client:
            return await asyncio.gather(*(one(client, at) for at in range(50)))

    with ChatServer(RoleBackend(make_reloader(top), FunctionModel(stream_function=choose_own_skill))) as chat:
        answers = asyncio.run(all_of_them(chat.url))
    assert answers == [[f"['{at}'] ['{at % KINDS}'] {turn}" for turn in (1, 2, 3)] for at in range(50)]


def test_the_role_is_served_as_a_model(top: Path) -> None:
    """Under its name, with the usage of its own model."""
    with ModelServer("Calm.") as server:
        role = make_reloader(top)
        model = make_model(role.current().role.model, server.model, {})[0]
        with ChatServer(RoleBackend(role, model)) as chat:
            assert [one.id for one in openai(chat).models.list()] == ["helper"]
            messages: Any = [{"role": "user", "content": "How is the sea?"}]
            answer = openai(chat).chat.completions.create(model="helper", messages=messages)
    assert answer.choices[0].message.content == "Calm."
    assert answer.usage is not None
    assert (answer.usage.prompt_tokens, answer.usage.completion_tokens) == (100, 10)


def test_settings_reach_the_model_and_its_limit_stays(top: Path) -> None:
    """A client may ask for fewer tokens than the role allows, not for more."""
    (top / "role.yaml").write_text(
        ROLE.replace("openai:m", "{provider: openai, name: m, temperature: 1, max_tokens: 50}")
    )
    role = RoleReloader(str(top / "role.yaml"), home=str(top / "home"), env={})
    with (
        ModelServer("Calm.") as server,
        ChatServer(RoleBackend(role, make_model(role.current().role.model, server.model, {})[0])) as chat,
    ):
        send(chat, "One")
        send(chat, "Two", max_tokens=20, temperature=0, stop=["END"])
        send(chat, "Three", max_tokens=100)
        with openai(chat) as client:
            client.responses.create(model="helper", input="Four", max_output_tokens=9)
    names = ("temperature", "max_completion_tokens", "max_tokens", "stop")
    asked = [{name: one[name] for name in names if name in one} for one in server.requests]
    limit = "max_completion_tokens" if "max_completion_tokens" in asked[0] else "max_tokens"
    assert asked == [
        {"temperature": 1, limit: 50},
        {"temperature": 0, limit: 20, "stop": ["END"]},
        {"temperature": 1, limit: 50},
        {"temperature": 1, limit: 9},
    ]


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("answer", [401, 500, NOTHING, GARBAGE])
def test_an_error_names_no_address_of_the_model(top: Path, answer: int | str, stream: bool) -> None:
    """The user who serves the role reads it, and the model's own message."""
    notes: list[str] = []
    with ModelServer(answer) as server:
        role = make_reloader(top)
        model = make_model(role.current().role.model, server.model, {})[0]
        with ChatServer(RoleBackend(role, model, notify=notes.append)) as chat, openai(chat) as client:
            messages: Any = [{"role": "user", "content": "hello"}]
            with pytest.raises(APIError) as caught:
                client.chat.completions.create(model="helper", messages=messages, stream=stream)
            with pytest.raises(APIError):
                client.responses.create(model="helper", input="hello", stream=stream)
    text = str(caught.value)
    assert "the model" in text
    assert not re.search(r"127\.0\.0\.1|localhost|html|API key|had an error", text)
    assert len(notes) == 2
    assert notes[0].startswith(("the model server answered", "no answer from the model", "the model returned"))


def test_an_unknown_conversation_starts_with_the_client_s_messages(top: Path) -> None:
    """As after a restart, with its system messages too."""
    with ModelServer("Yes.") as server:
        role = make_reloader(top)
        with ChatServer(RoleBackend(role, make_model(role.current().role.model, server.model, {})[0])) as chat:
            send(chat, "Hello", "Hi", "Again?", system="Be short.")
    spoken = [(one["role"], one["content"]) for one in server.requests[0]["messages"]]
    assert ("system", "Be short.") in spoken
    assert spoken[-3:] == [("user", "Hello"), ("assistant", "Hi"), ("user", "Again?")]
    assert "You help." in str(spoken)


@pytest.mark.parametrize("stream", [False, True])
def test_a_failed_turn_can_be_repeated(top: Path, stream: bool) -> None:
    """The conversation is still there, also if only its ID identifies it."""
    with ModelServer("One.", 401, "Two.") as server:
        role = make_reloader(top)
        named: Any = {"extra_headers": {"X-Conversation-Id": "a"}}
        with ChatServer(RoleBackend(role, make_model(role.current().role.model, server.model, {})[0])) as chat:
            assert send(chat, "First", **named) == "One."
            with pytest.raises(APIError, match="the model server answered 401"):
                send(chat, "Second", stream=stream, **named)
            assert send(chat, "Third", **named) == "Two."
    spoken = [one["content"] for one in server.requests[-1]["messages"] if one["role"] in ("user", "assistant")]
    assert spoken == ["First", "One.", "Third"]


@pytest.mark.parametrize("yes", [False, True])
def test_calls_that_need_confirmation_are_refused(top: Path, yes: bool) -> None:
    """Unless `--yes` was given."""
    script: list[Any] = [{"call": "write_file", "with": {"path": "new.txt", "content": "x"}}, {"say": "Done."}]
    with ChatServer(RoleBackend(make_reloader(top, WRITES), ScriptedModel(script).pydantic_ai(), yes=yes)) as chat:
        assert send(chat, "Write it.") == "Done."
    assert (top / "new.txt").exists() is yes


def test_a_changed_role_is_used_from_the_next_turn_on(top: Path) -> None:
    """InitRunner: `run role.yaml --daemon --serve`; the history stays."""
    with ModelServer("One.", "Two.") as server:
        role = make_reloader(top, watch=True)
        with ChatServer(RoleBackend(role, make_model(role.current().role.model, server.model, {})[0])) as chat:
            assert send(chat, "First") == "One."
            (top / "role.yaml").write_text(ROLE.replace("You help.", "You help a lot."))
            assert send(chat, "First", "One.", "Second") == "Two."
    first, second = (str(asked["messages"]) for asked in server.requests)
    assert ("You help." in first, "You help a lot." in second, "You help." in second) == (True, True, False)
    assert "One." in second


def test_tools_that_are_not_offered_are_reported_once(top: Path) -> None:
    """To the user who serves the role, not to its clients."""
    skill(top / "skills/tides", more="tools:\n- type: filesystem\n  root_path: ../..\n")
    script: list[Any] = [{"call": "activate_skill", "with": {"name": "tides"}}, {"say": "One."}]
    notes: list[str] = []
    with ChatServer(RoleBackend(make_reloader(top), ScriptedModel(script).pydantic_ai(), notify=notes.append)) as chat:
        assert [send(chat, "First"), send(chat, "First", "One.", "Second"), send(chat, "Other")] == ["One."] * 3
    (note,) = notes
    assert note.startswith("a tool of `tides` is not offered: `tools[0]`: `root_path`")
