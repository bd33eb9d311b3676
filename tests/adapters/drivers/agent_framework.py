"""Conversations with an agent of Microsoft Agent Framework, for the suite of claims."""

from __future__ import annotations

import json
from typing import Any

from agent_framework import Agent, AgentSession
from agent_framework.openai import OpenAIChatCompletionClient
from openai import AsyncOpenAI

from prowess.adapters.agent_framework import Skills


class AgentFrameworkConversation:
    """A session of the framework."""

    def __init__(self, agent: Agent, saved: str | None) -> None:
        self.agent = agent
        self.session = AgentSession.from_dict(json.loads(saved)) if saved else agent.create_session()

    async def send(self, text: str) -> str:
        """Run the agent."""
        return str((await self.agent.run(text, session=self.session)).text)

    def save(self) -> str:
        """Return the session as the framework writes it."""
        return json.dumps(self.session.to_dict())

    def compact(self) -> None:
        """Empty the history."""
        self.session.state["in_memory"]["messages"] = []


class AgentFrameworkAdapter:
    """Makes conversations that share an agent."""

    name = "Microsoft Agent Framework"

    def __init__(self) -> None:
        self._agents: dict[Any, Agent] = {}

    def conversation(
        self, catalog: Any, *, model_url: str, saved: str | None = None, scripts: Any = False
    ) -> AgentFrameworkConversation:
        """Begin or go on with a conversation."""
        key = (id(catalog), model_url, id(scripts))
        if key not in self._agents:
            openai = AsyncOpenAI(
                base_url=model_url, api_key="none", max_retries=0, default_headers={"Connection": "close"}
            )
            client = OpenAIChatCompletionClient("any", async_client=openai)
            self._agents[key] = Agent(client, context_providers=[Skills(catalog, scripts=scripts)])
        return AgentFrameworkConversation(self._agents[key], saved)
