"""Conversations of the OpenAI Agents SDK, for the contract of adapters."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from agents import Agent, OpenAIChatCompletionsModel, Runner, set_tracing_disabled
from openai import AsyncOpenAI

from prowess.adapters.openai_agents import Skills

if TYPE_CHECKING:
    from prowess.catalog import Catalog, LiveCatalog
    from prowess.session import Scripts


class Conversation:
    """One conversation with an agent that others share; its history is a list of items."""

    def __init__(self, skills: Skills, agent: Agent[Any], saved: str | None) -> None:
        record, self.items = (None, []) if saved is None else json.loads(saved)
        self.skills, self.agent, self.session = skills, agent, skills.session(record)

    async def send(self, text: str) -> str:
        """Do one turn."""
        items = [*self.items, {"role": "user", "content": text}]
        result = await Runner.run(self.agent, items, context=self.session, run_config=self.skills.run_config())
        self.items = result.to_input_list()
        return str(result.final_output)

    def save(self) -> str:
        """Return the record of the session and the history."""
        return json.dumps([self.session.to_json(), self.items])

    def compact(self) -> None:
        """Forget the history."""
        self.items = []


class Driver:
    """Agents of the OpenAI Agents SDK, one for each catalog and model."""

    name = "OpenAI Agents SDK"

    def __init__(self) -> None:
        set_tracing_disabled(True)
        self._agents: list[tuple[Any, Skills, Agent[Any]]] = []

    def conversation(
        self,
        catalog: Catalog | LiveCatalog,
        *,
        model_url: str,
        saved: str | None = None,
        scripts: bool | Scripts = False,
    ) -> Conversation:
        """Begin a conversation, or go on with one."""
        for key, skills, agent in self._agents:
            if key == (id(catalog), model_url, scripts):
                return Conversation(skills, agent, saved)
        skills = Skills(catalog, scripts=scripts)
        # A connection that stays open would outlive the event loop of its claim.
        client = AsyncOpenAI(base_url=model_url, api_key="none", default_headers={"Connection": "close"})
        model = OpenAIChatCompletionsModel("any", client)
        agent = Agent(name="Helper", instructions=skills.instructions("Help."), tools=skills.tools(), model=model)
        self._agents = [((id(catalog), model_url, scripts), skills, agent)]
        return Conversation(skills, agent, saved)
