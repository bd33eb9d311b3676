"""Conversations with agents of Strands, for the contract of adapters."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from strands import Agent
from strands.models.openai import OpenAIModel
from strands.types._snapshot import Snapshot

from prowess.adapters.strands import Skills

if TYPE_CHECKING:
    from prowess.catalog import Catalog, LiveCatalog
    from prowess.session import Scripts


class Conversation:
    """An agent of Strands, which is one conversation."""

    def __init__(self, skills: Skills, model_url: str, saved: str | None) -> None:
        model = OpenAIModel(client_args={"base_url": model_url, "api_key": "none"}, model_id="any")
        self.agent = Agent(model=model, system_prompt="You help.", plugins=[skills], callback_handler=None)
        if saved is not None:
            self.agent.load_snapshot(Snapshot.from_dict(json.loads(saved)))

    async def send(self, text: str) -> str:
        """Invoke the agent."""
        return str(await self.agent.invoke_async(text))

    def save(self) -> str:
        """Return a snapshot of the agent."""
        return json.dumps(self.agent.take_snapshot(preset="session").to_dict())

    def compact(self) -> None:
        """Forget the messages."""
        self.agent.messages.clear()


class Driver:
    """Agents that share a plugin for each catalog."""

    name = "Strands"

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
        if self._last[:2] != (catalog, scripts):
            self._last = (catalog, scripts, Skills(catalog, scripts=scripts))
        return Conversation(self._last[2], model_url, saved)
