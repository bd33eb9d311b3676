"""Conversations of LlamaIndex: a context, and a memory of its messages, which cannot always be written as JSON."""

from __future__ import annotations

import asyncio
import json
import warnings
from typing import Any, ClassVar

from llama_index.core.llms import ChatMessage
from llama_index.core.memory import ChatMemoryBuffer
from llama_index.core.workflow import Context
from llama_index.llms.openai_like import OpenAILike

from adapters import drivers
from prowess.adapters.llama_index import Skills, SkillsFunctionAgent


def model_of(url: str) -> OpenAILike:
    """Return the model at a URL."""
    return OpenAILike(
        model="any",
        api_base=url,
        api_key="none",
        max_retries=0,
        is_chat_model=True,
        is_function_calling_model=True,
        context_window=100_000,
        default_headers={"Connection": "close"},  # the client of a model is never closed
    )


class Conversation:
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
            await self._begin_context()
            raise
        except Exception:
            await self._begin_context()
            raise

    async def _begin_context(self) -> None:
        cancelled, self.context = self.context, Context(self.agent)
        await self.context.store.set("skills", await cancelled.store.get("skills"))

    def save(self) -> str:
        messages = [message.model_dump(mode="json") for message in self.memory.get_all()]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it cannot write the memory
            return json.dumps({"context": self.context.to_dict(), "messages": messages})

    def compact(self) -> None:
        self.memory.reset()


class Driver(drivers.Driver):
    name, package = "LlamaIndex", "llama-index-core"
    differs: ClassVar[dict[str, str]] = {
        "tool-that-is-new": "The tools are those that the agent was made with.",
    }
    begin = Conversation

    def make(self, catalog: Any, model_url: str, **options: Any) -> Any:
        return SkillsFunctionAgent(skills=Skills(catalog, **options), llm=model_of(model_url))
