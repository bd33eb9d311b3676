"""A framework in one file: a loop over chat completions, and its adapter, for the tests of `adapter_suite`."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from prowess import Scripts, Session, Tool
from prowess.sandbox import CommandScope
from support.growth import END

if TYPE_CHECKING:
    from prowess import Catalog, LiveCatalog

Message = dict[str, Any]


class TinyConversation:
    """A conversation; each method is a part that an adapter can get wrong."""

    def __init__(self, session: Session, url: str, history: list[Message], scripts: bool | Scripts = False) -> None:
        self.session, self.url, self.history, self.scripts = session, url, history, scripts

    async def send(self, text: str) -> str:
        """Call the model until it calls no tool. A cancelled turn leaves no message."""
        messages = [*self.history, {"role": "user", "content": text}]
        added = self.begin(text)
        while True:
            answer = await asyncio.to_thread(self.request, messages, added)
            messages.append(answer)
            if not answer.get("tool_calls"):
                self.end(messages, added)
                return str(answer["content"])
            messages += await self.call_in_thread(answer["tool_calls"])

    async def call_in_thread(self, calls: list[Any]) -> list[Message]:
        """Call the tools of a message; a script ends if the turn is cancelled."""
        with CommandScope():
            return await asyncio.to_thread(self.call_all, calls)

    def call_all(self, calls: list[Any]) -> list[Message]:
        """Call the tools of a message, and return their results."""
        return [
            {
                "role": "tool",
                "tool_call_id": call["id"],
                "content": self.call_tool(call["function"]["name"], json.loads(call["function"]["arguments"])),
            }
            for call in calls
        ]

    def begin(self, text: str) -> list[str]:
        """Begin a turn, and return the texts for this turn only."""
        return [message["content"] for message in self.session.inject(text, visible=self.visible(self.history))]

    def end(self, messages: list[Message], added: list[str]) -> None:  # noqa: ARG002 - for broken ones
        """Store the messages of a turn."""
        self.history = messages

    def system(self) -> str:
        """Return the system message."""
        return f"Be brief.\n\n{self.session.block()}"

    def tail(self, messages: list[Message], added: list[str]) -> str:
        """Return the active skills that the messages have lost."""
        return self.session.tail(visible=[*self.visible(messages), *added])

    def call_tool(self, name: str, arguments: dict[str, Any]) -> str:
        """Call a tool of the model."""
        tools = {tool.name: tool for tool in self.tools()}
        return tools[name].call(**arguments) if name in tools else f"error: no tool is called {name}"

    def tools(self) -> tuple[Tool, ...]:
        """Return the tools of the model."""
        return self.session.tools(scripts=self.scripts)

    def visible(self, messages: list[Message]) -> list[str]:
        """Return the texts of messages."""
        return [str(message["content"]) for message in messages]

    def all_messages(self, messages: list[Message], added: list[str]) -> list[Message]:
        """Return what a request contains."""
        system = {"role": "system", "content": self.system()}
        *before, last = messages
        parts = [str(last["content"]), *added, self.tail(messages, added)]
        return [system, *before, {**last, "content": "\n\n".join(filter(None, parts))}]

    def request(self, messages: list[Message], added: list[str]) -> Message:
        """Call the model once."""
        tools = [
            {"name": tool.name, "description": tool.description, "parameters": dict(tool.parameters)}
            for tool in self.tools()
        ]
        body = {
            "model": "any",
            "messages": self.all_messages(messages, added),
            "tools": [{"type": "function", "function": tool} for tool in tools],
        }
        request = Request(f"{self.url}/chat/completions", json.dumps(body).encode())  # noqa: S310 - loopback
        try:
            with urlopen(request, timeout=END) as response:  # noqa: S310
                message: Message = json.load(response)["choices"][0]["message"]
        except HTTPError as error:
            with error:
                raise RuntimeError(json.load(error)["error"]["message"]) from None
        return message

    def save(self) -> str:
        """Return what a new process needs."""
        return json.dumps({"session": self.session.to_json(), "history": self.history})

    def compact(self) -> None:
        """Drop the messages."""
        self.history = []


class TinyAdapter:
    """Makes conversations; a broken variant replaces a part."""

    name = "tiny"
    conversation_type = TinyConversation

    def conversation(
        self,
        catalog: Catalog | LiveCatalog,
        *,
        model_url: str,
        saved: str | None = None,
        scripts: bool | Scripts = False,
    ) -> TinyConversation:
        """Begin a conversation, or go on with one."""
        if saved is None:
            return self.conversation_type(Session(catalog), model_url, [], scripts)
        record = json.loads(saved)
        session = Session.from_json(record["session"], catalog)
        return self.conversation_type(session, model_url, record["history"], scripts)
