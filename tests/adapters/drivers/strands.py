"""Conversations of Strands: an agent each, with a plugin that all of a catalog share."""

from __future__ import annotations

import json
from typing import Any

from strands import Agent
from strands.models.openai import OpenAIModel
from strands.types._snapshot import Snapshot

from adapters import drivers
from prowess.adapters.strands import Skills


class Conversation:
    def __init__(self, shared: tuple[Skills, str], saved: str | None) -> None:
        skills, url = shared
        model = OpenAIModel(client_args={"base_url": url, "api_key": "none", "max_retries": 0}, model_id="any")
        self.agent = Agent(model=model, system_prompt="You help.", plugins=[skills], callback_handler=None)
        if saved is not None:
            self.agent.load_snapshot(Snapshot.from_dict(json.loads(saved)))

    async def send(self, text: str) -> str:
        return str(await self.agent.invoke_async(text))

    def save(self) -> str:
        return json.dumps(self.agent.take_snapshot(preset="session").to_dict())

    def compact(self) -> None:
        self.agent.messages.clear()


class Driver(drivers.Driver):
    name, package = "Strands", "strands-agents"
    begin = Conversation

    def make(self, catalog: Any, model_url: str, **options: Any) -> Any:
        return Skills(catalog, **options), model_url
