"""Conversations with an agent of Haystack, for the contract of adapters."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from haystack.components.agents import Agent
from haystack.components.generators.chat import OpenAIChatGenerator
from haystack.dataclasses import ChatMessage
from haystack.utils import Secret

from prowess.adapters.haystack import Skills

if TYPE_CHECKING:
    from prowess.catalog import Catalog, LiveCatalog
    from prowess.session import Scripts


class Conversation:
    """What the last run of a shared agent returned, and the next run takes."""

    def __init__(self, agent: Agent, saved: str | None) -> None:
        record = json.loads(saved) if saved else {"skills": None, "messages": []}
        self.agent, self.skills = agent, record["skills"]
        self.messages = [ChatMessage.from_dict(message) for message in record["messages"]]

    async def send(self, text: str) -> str:
        """Run the agent."""
        result = await self.agent.run_async([*self.messages, ChatMessage.from_user(text)], skills=self.skills)
        self.skills = result["skills"]
        self.messages = [message for message in result["messages"] if not message.is_from("system")]
        return str(result["last_message"].text)

    def save(self) -> str:
        """Return the record and the messages."""
        return json.dumps({"skills": self.skills, "messages": [message.to_dict() for message in self.messages]})

    def compact(self) -> None:
        """Forget the messages."""
        self.messages = []


class Driver:
    """Conversations that share an agent for each catalog and model."""

    name = "Haystack"

    def __init__(self) -> None:
        self._last: tuple[Any, ...] = ()

    def conversation(
        self,
        catalog: Catalog | LiveCatalog,
        *,
        model_url: str,
        saved: str | None = None,
        scripts: bool | Scripts = False,
    ) -> Conversation:
        """Begin a conversation, or go on with one."""
        if self._last[:3] != (catalog, model_url, scripts):
            skills = Skills(catalog, scripts=scripts)
            # A connection that stays open would outlive the event loop of its claim.
            generator = OpenAIChatGenerator(
                Secret.from_token("none"),
                model="any",
                api_base_url=model_url,
                generation_kwargs={"extra_headers": {"Connection": "close"}},
            )
            agent = Agent(
                chat_generator=generator,
                system_prompt="You help.",
                tools=[skills],
                hooks=skills.hooks(),
                state_schema=skills.state_schema,
            )
            self._last = (catalog, model_url, scripts, agent)
        return Conversation(self._last[3], saved)
