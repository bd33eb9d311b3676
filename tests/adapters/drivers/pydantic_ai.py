"""Conversations of Pydantic AI, for the contract of adapters."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelMessagesTypeAdapter
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

from prowess import Session
from prowess.adapters.pydantic_ai import Skills

if TYPE_CHECKING:
    from prowess.catalog import Catalog, LiveCatalog
    from prowess.session import Scripts


class Driver:
    """Begins conversations that share an agent if they have the same catalog, model and options."""

    name = "Pydantic AI"

    def __init__(self) -> None:
        self._agent: tuple[tuple[object, ...], Agent[Session, str]] | None = None

    def conversation(
        self,
        catalog: Catalog | LiveCatalog,
        *,
        model_url: str,
        saved: str | None = None,
        scripts: bool | Scripts = False,
    ) -> Conversation:
        key = (id(catalog), model_url, scripts)
        if self._agent is None or self._agent[0] != key:
            model = OpenAIChatModel("any", provider=OpenAIProvider(base_url=model_url, api_key="none"))
            self._agent = key, Agent(model, deps_type=Session, capabilities=[Skills(catalog, scripts=scripts)])
        if saved is None:
            return Conversation(self._agent[1], Session(catalog), [])
        record, history = json.loads(saved)
        messages = ModelMessagesTypeAdapter.validate_python(history)
        return Conversation(self._agent[1], Session.from_json(record, catalog), messages)


class Conversation:
    """A session, and a history that each run continues."""

    def __init__(self, agent: Agent[Session, str], session: Session, history: list[ModelMessage]) -> None:
        self._agent, self._session, self._history = agent, session, history

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
