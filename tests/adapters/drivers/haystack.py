"""Conversations of Haystack: what the last run of a shared agent returned, and the next run takes."""

from __future__ import annotations

import json
from typing import Any, ClassVar

from haystack.components.agents import Agent
from haystack.components.generators.chat import OpenAIChatGenerator
from haystack.dataclasses import ChatMessage
from haystack.utils import Secret

from adapters import drivers
from prowess.adapters.haystack import Skills


class Conversation:
    def __init__(self, agent: Agent, saved: str | None) -> None:
        record = json.loads(saved) if saved else {"skills": None, "messages": []}
        self.agent, self.skills = agent, record["skills"]
        self.messages = [ChatMessage.from_dict(message) for message in record["messages"]]

    async def send(self, text: str) -> str:
        result = await self.agent.run_async([*self.messages, ChatMessage.from_user(text)], skills=self.skills)
        self.skills = result["skills"]
        self.messages = [message for message in result["messages"] if not message.is_from("system")]
        return str(result["last_message"].text)

    def save(self) -> str:
        return json.dumps({"skills": self.skills, "messages": [message.to_dict() for message in self.messages]})

    def compact(self) -> None:
        self.messages = []


class Driver(drivers.Driver):
    name, package = "Haystack", "haystack-ai"
    differs: ClassVar[dict[str, str]] = {
        "tool-that-is-gone": "Haystack looks for a tool among those that it offers now.",
    }
    begin = Conversation

    def make(self, catalog: Any, model_url: str, **options: Any) -> Any:
        skills = Skills(catalog, **options)
        # A connection that stays open would outlive the event loop of its claim.
        generator = OpenAIChatGenerator(
            Secret.from_token("none"),
            model="any",
            api_base_url=model_url,
            generation_kwargs={"extra_headers": {"Connection": "close"}},
            max_retries=0,
        )
        return Agent(
            chat_generator=generator,
            system_prompt="You help.",
            tools=[skills],
            hooks=skills.hooks(),
            state_schema=skills.state_schema,
        )
