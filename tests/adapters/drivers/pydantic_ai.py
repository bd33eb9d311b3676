"""Conversations of Pydantic AI: a session, and a history that each run continues."""

from __future__ import annotations

import json
from typing import Any, ClassVar

from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessagesTypeAdapter
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

from adapters import drivers
from prowess import Session
from prowess.adapters.pydantic_ai import Skills


class Conversation:
    def __init__(self, shared: tuple[Agent[Session, str], Any, dict[str, Any]], saved: str | None) -> None:
        self._agent, catalog, options = shared
        record, history = (None, []) if saved is None else json.loads(saved)
        self._session = Session(catalog, **options) if record is None else Session.from_json(record, catalog, **options)
        self._history = ModelMessagesTypeAdapter.validate_python(history)

    async def send(self, text: str) -> str:
        async with self._agent:  # closes the connections of its model
            result = await self._agent.run(text, message_history=self._history, deps=self._session)
        self._history = result.all_messages()
        answer: str = result.output
        return answer

    def save(self) -> str:
        history = ModelMessagesTypeAdapter.dump_python(self._history, mode="json")
        return json.dumps([self._session.to_json(), history])

    def compact(self) -> None:
        self._history = []


class Driver(drivers.Driver):
    name, package = "Pydantic AI", "pydantic-ai-slim"
    differs: ClassVar[dict[str, str]] = {
        "saved-catalog": "Pydantic AI keeps the instructions of a request in its history.",
        "tool-that-is-gone": "Pydantic AI looks for a tool among those that it offers now.",
        "directory": "The application makes the session, and restores its record.",
        "invalid-record": "The application makes the session, and restores its record.",
    }
    begin = Conversation

    def make(self, catalog: Any, model_url: str, *, scripts: Any = False, **options: Any) -> Any:
        model = OpenAIChatModel("any", provider=OpenAIProvider(base_url=model_url, api_key="none"))
        return Agent(model, deps_type=Session, capabilities=[Skills(catalog, scripts=scripts)]), catalog, options
