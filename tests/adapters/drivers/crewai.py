"""Conversations with an agent of CrewAI, for the suite of claims."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

os.environ |= {"CREWAI_DISABLE_TELEMETRY": "true", "CREWAI_DISABLE_TRACKING": "true", "OTEL_SDK_DISABLED": "true"}

from crewai import LLM, Agent

from prowess.adapters.crewai import Skills

if TYPE_CHECKING:
    from prowess.session import Session


class CrewAIConversation:
    """A session, and the messages of the last run without its system prompt."""

    def __init__(self, skills: Skills, agent: Agent, saved: str | None) -> None:
        record, self.messages = json.loads(saved) if saved else (None, [])
        self.skills, self.agent = skills, agent
        self.session: Session = skills.session(record)

    async def send(self, text: str) -> str:
        """Run the agent in the conversation."""
        with self.skills.conversation(self.session):
            result = await self.agent.kickoff_async([*self.messages, {"role": "user", "content": text}])
        # As CrewAI has written them, so that the next request begins with the same bytes.
        self.messages = [
            {key: value for key, value in message.items() if key != "cache_breakpoint"}
            for message in result.messages
            if message["role"] != "system"
        ]
        return str(result.raw)

    def save(self) -> str:
        """Return the record of the session and the messages."""
        return json.dumps([self.session.to_json(), self.messages])

    def compact(self) -> None:
        """Drop the messages."""
        self.messages = []


class CrewAIAdapter:
    """Makes conversations that share an agent."""

    name = "CrewAI"

    def __init__(self) -> None:
        self._agents: dict[Any, tuple[Skills, Agent]] = {}

    def conversation(
        self, catalog: Any, *, model_url: str, saved: str | None = None, scripts: Any = False
    ) -> CrewAIConversation:
        """Begin or go on with a conversation."""
        key = (id(catalog), model_url, id(scripts))
        if key not in self._agents:
            skills = Skills(catalog, scripts=scripts)
            llm = LLM(model="openai/any", base_url=model_url, api_key="none", max_retries=0)
            agent = Agent(role="Reader", goal="Answer.", backstory="You read.", llm=llm, tools=skills.tools())
            self._agents[key] = skills, agent
        return CrewAIConversation(*self._agents[key], saved)
