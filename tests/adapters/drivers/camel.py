"""Conversations of CAMEL's `ChatAgent`, for the contract of adapters."""

from __future__ import annotations

import json
import tempfile
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from camel.agents import ChatAgent
    from camel.models.openai_compatible_model import OpenAICompatibleModel
    from camel.models.stub_model import StubTokenCounter

from prowess import Session
from prowess.adapters.camel import attach

if TYPE_CHECKING:
    from prowess.catalog import Catalog, LiveCatalog
    from prowess.session import Scripts


class Conversation:
    """One agent, whose memory is the conversation."""

    def __init__(
        self, catalog: Catalog | LiveCatalog, model_url: str, saved: str | None, scripts: bool | Scripts
    ) -> None:
        # Counting tokens needs the network, and a connection that stays open would outlive the event loop of its claim.
        counter, headers = StubTokenCounter(), {"Connection": "close"}
        model = OpenAICompatibleModel(
            "gpt-4o", api_key="none", url=model_url, token_counter=counter, default_headers=headers
        )
        self.agent = ChatAgent("Help.", model=model)
        record, memory = (None, "") if saved is None else json.loads(saved)
        self.session = Session(catalog) if record is None else Session.from_json(record, catalog)
        attach(self.agent, self.session, catalog=True, scripts=scripts)
        if memory:
            self.agent.memory.clear()
            with tempfile.TemporaryDirectory() as folder:
                file = Path(folder, "memory.json")
                file.write_text(memory, encoding="utf-8")
                self.agent.load_memory_from_path(str(file))

    async def send(self, text: str) -> str:
        """Do one turn."""
        response = await self.agent.astep(text)
        return str(response.msgs[0].content)

    def save(self) -> str:
        """Return the record of the session and the memory."""
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder, "memory.json")
            self.agent.save_memory(str(file))
            return json.dumps([self.session.to_json(), file.read_text(encoding="utf-8")])

    def compact(self) -> None:
        """Clear the memory but the system message."""
        self.agent.clear_memory()


class Driver:
    """Agents of CAMEL, one for each conversation."""

    name = "CAMEL"

    def conversation(
        self,
        catalog: Catalog | LiveCatalog,
        *,
        model_url: str,
        saved: str | None = None,
        scripts: bool | Scripts = False,
    ) -> Conversation:
        """Begin a conversation, or go on with one."""
        return Conversation(catalog, model_url, saved, scripts)
