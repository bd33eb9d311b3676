"""Skills in CAMEL's `ChatAgent`: what its models are sent and what its memory keeps, with the real framework."""

from __future__ import annotations

import asyncio
import json
import os
import re
import runpy
import warnings
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from camel.agents import ChatAgent
    from camel.memories import ChatHistoryMemory, ScoreBasedContextCreator
    from camel.messages import BaseMessage
    from camel.models import StubModel
    from camel.storages import JsonStorage
    from camel.types import ChatCompletion, ChatCompletionChunk, ModelType, OpenAIBackendRole

from skills import skill

from prowess import Session, discover
from prowess.adapters.camel import (
    FilesystemSkillProvider,
    SkillDocument,
    SkillError,
    SkillLoader,
    SkillLoadOutcome,
    SkillManager,
    SkillMetadata,
    SkillProvider,
    SkillWarning,
    attach,
    detach,
)
from prowess.errors import ActivationError, ConfigError, SkillNotFoundError
from prowess.host import load_host

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

TOP = Path(__file__).parent.parent.parent
PDF, CSV = "Turn every page.", "Count the rows."


def chunk(delta: dict[str, Any], finish: str | None = None) -> ChatCompletionChunk:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return ChatCompletionChunk(id="stub", choices=[choice], created=0, model="stub", object="chat.completion.chunk")


def answer(line: Any) -> ChatCompletion:
    """What a model says: a text, or calls of tools."""
    message: dict[str, Any] = {"role": "assistant", "content": line if isinstance(line, str) else ""}
    if not isinstance(line, str):
        message["tool_calls"] = [
            {"id": f"call_{name}", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
            for name, arguments in line
        ]
    choice = {"index": 0, "finish_reason": "stop", "message": message}
    usage = {"prompt_tokens": 5000, "completion_tokens": 10, "total_tokens": 5010}
    return ChatCompletion(id="stub", choices=[choice], created=0, model="stub", object="chat.completion", usage=usage)


class Script(StubModel):  # type: ignore[misc]
    """A model that plays its lines one after the other, and keeps what it was sent."""

    def __init__(self, *lines: Any, stream: bool = False) -> None:
        super().__init__(ModelType.STUB, {"stream": stream})
        self.lines = list(lines)
        self.sent: list[list[dict[str, Any]]] = []
        self.tools: list[list[str]] = []

    def _next(self, messages: Any, tools: Any) -> Any:
        self.sent.append([dict(message) for message in messages])
        self.tools.append([tool["function"]["name"] for tool in tools or ()])
        line = self.lines.pop(0) if self.lines else "done"
        if isinstance(line, Exception):
            raise line
        return line(self) if callable(line) else line

    def _run(self, messages: Any, response_format: Any = None, tools: Any = None) -> Any:
        line = self._next(messages, tools)
        return self._chunks(line) if self.model_config_dict["stream"] else answer(line)

    async def _arun(self, messages: Any, response_format: Any = None, tools: Any = None) -> Any:
        line = self._next(messages, tools)
        if not self.model_config_dict["stream"]:
            return answer(line)

        async def chunks() -> Any:
            for part in self._chunks(line):
                yield part

        return chunks()

    def _chunks(self, line: Any) -> Iterator[ChatCompletionChunk]:
        if isinstance(line, str):
            for word in re.findall(r"\S+\s*", line):
                yield chunk({"role": "assistant", "content": word})
            yield chunk({}, "stop")
            return
        calls = [
            {
                "index": index,
                "id": f"call_{name}",
                "type": "function",
                "function": {"name": name, "arguments": json.dumps(given)},
            }
            for index, (name, given) in enumerate(line)
        ]
        yield chunk({"role": "assistant", "tool_calls": calls})
        yield chunk({}, "tool_calls")

    @property
    def texts(self) -> list[list[str]]:
        """Of each request, its messages as `role: text`."""
        return [[f"{message['role']}: {message.get('content')}" for message in sent] for sent in self.sent]


class World:
    """A project with two skills, and whom to ask about it."""

    def __init__(self, top: Path) -> None:
        self.top, self.cwd, self.home = top, top / "project", top / "home"
        self.pdf = skill(self.cwd / ".camel/skills/pdf", body=PDF)
        self.csv = skill(self.home / ".camel/skills/tables/csv", body=CSV)

    def session(self, **options: Any) -> Session:
        return Session(discover(self.cwd, host="camel", home=self.home), **options)

    def loader(self, *skill_dirs: Path) -> SkillLoader:
        host = load_host("camel")
        roots = tuple(
            replace(root, path=str(self.top) + root.path) if root.path.startswith("/etc/") else root
            for root in host.roots
        )
        return SkillLoader(skill_dirs, home=self.home, env={}, host=replace(host, roots=roots))


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def memory_of(agent: ChatAgent) -> str:
    """All that an agent keeps: its records as they are stored, and its history as it is shown."""
    records = [record.memory_record.to_dict() for record in agent.memory.retrieve()]
    return json.dumps([records, agent.chat_history], default=str)


def steps(agent: ChatAgent, way: str, text: Any) -> Any:
    """Take one step in one of the four ways."""
    if way == "step":
        return agent.step(text)
    if way == "astep":
        return asyncio.run(agent.astep(text))
    if way == "stream":
        return list(agent.step(text))[-1]

    async def stream() -> Any:
        return [part async for part in await agent.astep(text)][-1]

    return asyncio.run(stream())


WAYS = ["step", "astep", "stream", "astream"]


def agent_of(model: Script, **options: Any) -> ChatAgent:
    return ChatAgent("Be kind.", model=model, stream_accumulate=False, **options)


@pytest.mark.parametrize("way", WAYS)
def test_a_mentioned_skill_stands_before_the_users_message_and_is_not_kept(world: World, way: str) -> None:
    """In all four ways to take a step."""
    model = Script("one two", "three", stream="stream" in way)
    agent = attach(agent_of(model), world.session())
    steps(agent, way, "use $pdf now")
    system, injected, user = model.texts[0]
    assert (system, user) == ("system: Be kind.", "user: use $pdf now")
    assert injected.startswith('user: <skill_content name="pdf">\n' + PDF)
    assert PDF not in memory_of(agent)
    assert "use $pdf now" in memory_of(agent)
    steps(agent, way, "and now?")
    assert PDF not in str(model.sent[1])
