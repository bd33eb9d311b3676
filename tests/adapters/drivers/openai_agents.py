"""Conversations of the OpenAI Agents SDK, whose history is a list of items."""

from __future__ import annotations

import json
from typing import Any, ClassVar

from agents import Agent, OpenAIChatCompletionsModel, Runner, set_tracing_disabled
from openai import AsyncOpenAI

from adapters import drivers
from prowess.adapters.openai_agents import Skills


class Conversation:
    def __init__(self, shared: tuple[Skills, Agent[Any]], saved: str | None) -> None:
        self.skills, self.agent = shared
        record, self.items = (None, []) if saved is None else json.loads(saved)
        self.session = self.skills.session(record)

    async def send(self, text: str) -> str:
        items = [*self.items, {"role": "user", "content": text}]
        result = await Runner.run(self.agent, items, context=self.session, run_config=self.skills.run_config())
        self.items = result.to_input_list()
        return str(result.final_output)

    def save(self) -> str:
        return json.dumps([self.session.to_json(), self.items])

    def compact(self) -> None:
        self.items = []


class Driver(drivers.Driver):
    name, package = "OpenAI Agents SDK", "openai-agents"
    differs: ClassVar[dict[str, str]] = {
        "tool-that-is-new": "The tools are those that the agent was made with.",
        "invalid-record": "The application makes the session, and restores its record.",
    }
    begin = Conversation

    def make(self, catalog: Any, model_url: str, **options: Any) -> Any:
        set_tracing_disabled(True)
        skills = Skills(catalog, **options)
        # A connection that stays open would outlive the event loop of its claim.
        client = AsyncOpenAI(base_url=model_url, api_key="none", max_retries=0, default_headers={"Connection": "close"})
        model = OpenAIChatCompletionsModel("any", client)
        return skills, Agent(
            name="Helper", instructions=skills.instructions("Help."), tools=skills.tools(), model=model
        )
