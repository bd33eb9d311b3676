"""Conversations of Microsoft Agent Framework: a session of the framework each."""

from __future__ import annotations

import json
from typing import Any, ClassVar

from agent_framework import Agent, AgentSession
from agent_framework.openai import OpenAIChatCompletionClient
from openai import AsyncOpenAI

from adapters import drivers
from prowess.adapters.agent_framework import Skills


class Conversation:
    def __init__(self, agent: Agent, saved: str | None) -> None:
        self.agent = agent
        self.session = AgentSession.from_dict(json.loads(saved)) if saved else agent.create_session()

    async def send(self, text: str) -> str:
        return str((await self.agent.run(text, session=self.session)).text)

    def save(self) -> str:
        return json.dumps(self.session.to_dict())

    def compact(self) -> None:
        self.session.state["in_memory"]["messages"] = []


class Driver(drivers.Driver):
    name, package = "Microsoft Agent Framework", "agent-framework-core"
    differs: ClassVar[dict[str, str]] = {
        "tool-that-is-gone": "The framework looks for a tool among those that it offers now.",
    }
    begin = Conversation

    def make(self, catalog: Any, model_url: str, **options: Any) -> Any:
        openai = AsyncOpenAI(base_url=model_url, api_key="none", max_retries=0, default_headers={"Connection": "close"})
        client = OpenAIChatCompletionClient("any", async_client=openai)
        return Agent(client, context_providers=[Skills(catalog, **options)])
