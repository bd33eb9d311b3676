"""Conversations of LangChain, for the contract of adapters."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from httpx2 import AsyncClient, Limits
from langchain.agents import create_agent
from langchain_core.messages import HumanMessage, messages_from_dict, messages_to_dict
from langchain_openai import ChatOpenAI

from prowess.adapters.langchain import SkillsMiddleware

if TYPE_CHECKING:
    from prowess.catalog import Catalog, LiveCatalog
    from prowess.session import Scripts


class Driver:
    """Begins conversations that share an agent if they have the same catalog, model and options."""

    name = "LangChain"

    def __init__(self) -> None:
        self._graph: tuple[tuple[object, ...], Any] | None = None

    def conversation(
        self,
        catalog: Catalog | LiveCatalog,
        *,
        model_url: str,
        saved: str | None = None,
        scripts: bool | Scripts = False,
    ) -> Conversation:
        key = (id(catalog), model_url, scripts)
        if self._graph is None or self._graph[0] != key:
            client = AsyncClient(limits=Limits(max_keepalive_connections=0))  # no connection outlives its event loop
            model = ChatOpenAI(model="any", base_url=model_url, api_key="none", max_retries=0, http_async_client=client)
            self._graph = key, create_agent(model, middleware=[SkillsMiddleware(catalog, scripts=scripts)])
        state = {} if saved is None else json.loads(saved)
        state["messages"] = messages_from_dict(state.get("messages", []))
        return Conversation(self._graph[1], state)


class Conversation:
    """The state of a graph, which each call continues."""

    def __init__(self, graph: Any, state: dict[str, Any]) -> None:
        self._graph, self._state = graph, state

    async def send(self, text: str) -> str:
        messages = [*self._state["messages"], HumanMessage(text)]
        self._state = await self._graph.ainvoke({**self._state, "messages": messages})
        answer: str = self._state["messages"][-1].text
        return answer

    def save(self) -> str:
        return json.dumps({**self._state, "messages": messages_to_dict(self._state["messages"])})

    def compact(self) -> None:
        self._state = {**self._state, "messages": []}
