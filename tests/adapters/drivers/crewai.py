"""Conversations of CrewAI: a session, and the messages of the last run without its system prompt."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any, ClassVar

os.environ |= {"CREWAI_DISABLE_TELEMETRY": "true", "CREWAI_DISABLE_TRACKING": "true", "OTEL_SDK_DISABLED": "true"}

from crewai import LLM, Agent

from adapters import drivers
from prowess.adapters.crewai import Skills

if TYPE_CHECKING:
    from prowess.session import Session


class Conversation:
    def __init__(self, shared: tuple[Skills, Agent], saved: str | None) -> None:
        self.skills, self.agent = shared
        record, self.messages = json.loads(saved) if saved else (None, [])
        self.session: Session = self.skills.session(record)

    async def send(self, text: str) -> str:
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
        return json.dumps([self.session.to_json(), self.messages])

    def compact(self) -> None:
        self.messages = []


class Driver(drivers.Driver):
    name, package = "CrewAI", "crewai"
    differs: ClassVar[dict[str, str]] = {
        "schemas": "CrewAI lets a model leave out an argument by null.",
        "tool-that-is-new": "The tools are those that the agent was made with.",
        "invalid-record": "The application makes the session, and restores its record.",
    }
    begin = Conversation

    def make(self, catalog: Any, model_url: str, **options: Any) -> Any:
        skills = Skills(catalog, **options)
        llm = LLM(model="openai/any", base_url=model_url, api_key="none", max_retries=0)
        return skills, Agent(role="Reader", goal="Answer.", backstory="You read.", llm=llm, tools=skills.tools())
