"""Conversations of LangChain: the state of a graph, which each call continues."""

from __future__ import annotations

import json
from typing import Any

from httpx2 import AsyncClient, Limits
from langchain.agents import create_agent
from langchain_core.messages import HumanMessage, messages_from_dict, messages_to_dict
from langchain_openai import ChatOpenAI

from adapters import drivers
from prowess.adapters.langchain import SkillsMiddleware


class Conversation:
    def __init__(self, graph: Any, saved: str | None) -> None:
        self._graph = graph
        self._state: dict[str, Any] = {} if saved is None else json.loads(saved)
        self._state["messages"] = messages_from_dict(self._state.get("messages", []))

    async def send(self, text: str) -> str:
        messages = [*self._state["messages"], HumanMessage(text)]
        self._state = await self._graph.ainvoke({**self._state, "messages": messages})
        answer: str = self._state["messages"][-1].text
        return answer

    def save(self) -> str:
        return json.dumps({**self._state, "messages": messages_to_dict(self._state["messages"])})

    def compact(self) -> None:
        self._state = {**self._state, "messages": []}


class Driver(drivers.Driver):
    name, package = "LangChain", "langchain"
    begin = Conversation

    def make(self, catalog: Any, model_url: str, **options: Any) -> Any:
        client = AsyncClient(limits=Limits(max_keepalive_connections=0))  # no connection outlives its event loop
        model = ChatOpenAI(model="any", base_url=model_url, api_key="none", max_retries=0, http_async_client=client)
        return create_agent(model, middleware=[SkillsMiddleware(catalog, **options)])
