"""Conversations of CAMEL's `ChatAgent`: one agent each, whose memory is the conversation."""

from __future__ import annotations

import json
import tempfile
import warnings
from pathlib import Path
from typing import Any, ClassVar

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from camel.agents import ChatAgent
    from camel.models.openai_compatible_model import OpenAICompatibleModel
    from camel.models.stub_model import StubTokenCounter

from adapters import drivers
from prowess import Session
from prowess.adapters.camel import attach


class Conversation:
    def __init__(self, shared: tuple[Any, str, Any, dict[str, Any]], saved: str | None) -> None:
        catalog, url, scripts, options = shared
        # Counting tokens needs the network, and a connection that stays open would outlive the event loop of its claim.
        counter, headers = StubTokenCounter(), {"Connection": "close"}
        model = OpenAICompatibleModel(
            "gpt-4o", api_key="none", url=url, token_counter=counter, max_retries=0, default_headers=headers
        )
        self.agent = ChatAgent("Help.", model=model, retry_attempts=1)
        record, memory = (None, "") if saved is None else json.loads(saved)
        self.session = Session(catalog, **options)
        if record is not None:
            self.session.restore(record)
        attach(self.agent, self.session, catalog=True, scripts=scripts)
        if memory:
            self.agent.memory.clear()
            with tempfile.TemporaryDirectory() as folder:
                file = Path(folder, "memory.json")
                file.write_text(memory, encoding="utf-8")
                self.agent.load_memory_from_path(str(file))

    async def send(self, text: str) -> str:
        response = await self.agent.astep(text)
        return str(response.msgs[0].content)

    def save(self) -> str:
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder, "memory.json")
            self.agent.save_memory(str(file))
            return json.dumps([self.session.to_json(), file.read_text(encoding="utf-8")])

    def compact(self) -> None:
        self.agent.clear_memory()


class Driver(drivers.Driver):
    name, package, begin = "CAMEL", "camel-ai", Conversation
    differs: ClassVar[dict[str, str]] = {
        "wrong-options": "The application makes the session, and restores its record.",
        "lost-skill": "CAMEL's application gets a `SkillWarning`.",
        "tool-that-is-gone": "CAMEL looks for a tool among those that it offers now.",
        "directory": "The application makes the session, and restores its record.",
        "invalid-record": "The application makes the session, and restores its record.",
    }

    def make(self, catalog: Any, model_url: str, *, scripts: Any = False, **options: Any) -> Any:
        return catalog, model_url, scripts, options
