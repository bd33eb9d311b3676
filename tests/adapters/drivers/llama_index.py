"""Conversations with an agent of LlamaIndex, for the suite of claims."""

from __future__ import annotations

import asyncio
import json
import warnings
from typing import Any

from llama_index.core.llms import ChatMessage
from llama_index.core.memory import ChatMemoryBuffer
from llama_index.core.workflow import Context
from llama_index.llms.openai_like import OpenAILike

from prowess.adapters.llama_index import Skills, SkillsFunctionAgent


class LlamaIndexConversation:
    """A context, and the memory of its messages, which LlamaIndex cannot always write as JSON."""

    def __init__(self, agent: SkillsFunctionAgent, saved: str | None) -> None:
        record = json.loads(saved) if saved else {"context": None, "messages": []}
        messages = [ChatMessage.model_validate(message) for message in record["messages"]]
        self.agent = agent
        self.context = Context.from_dict(agent, record["context"]) if saved else Context(agent)
        self.memory = ChatMemoryBuffer.from_defaults(chat_history=messages)

    async def send(self, text: str) -> str:
        """Run the agent; after a cancellation go on in a new context, as LlamaIndex would resume the cancelled run."""
        handler = self.agent.run(text, ctx=self.context, memory=self.memory)
        try:
            return str(await handler)
        except asyncio.CancelledError:
            await handler.cancel_run()
            cancelled, self.context = self.context, Context(self.agent)
            await self.context.store.set("skills", await cancelled.store.get("skills"))
            raise

    def save(self) -> str:
        """Return the context and the messages."""
        messages = [message.model_dump(mode="json") for message in self.memory.get_all()]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it cannot write the memory
            return json.dumps({"context": self.context.to_dict(), "messages": messages})

    def compact(self) -> None:
        """Empty the memory."""
        self.memory.reset()


class LlamaIndexAdapter:
    """Makes conversations that share an agent."""

    name = "LlamaIndex"

    def __init__(self) -> None:
        self._agents: dict[Any, SkillsFunctionAgent] = {}

    def conversation(
        self, catalog: Any, *, model_url: str, saved: str | None = None, scripts: Any = False
    ) -> LlamaIndexConversation:
        """Begin or go on with a conversation."""
        key = (id(catalog), model_url, id(scripts))
        if key not in self._agents:
            llm = OpenAILike(
                model="any",
                api_base=model_url,
                api_key="none",
                max_retries=0,
                is_chat_model=True,
                is_function_calling_model=True,
                context_window=100_000,
                default_headers={"Connection": "close"},
            )
            self._agents[key] = SkillsFunctionAgent(skills=Skills(catalog, scripts=scripts), llm=llm)
        return LlamaIndexConversation(self._agents[key], saved)
