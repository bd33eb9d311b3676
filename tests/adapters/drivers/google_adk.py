"""Conversations with an agent of Google's ADK, for the suite of claims."""

from __future__ import annotations

import json
import uuid
from typing import TYPE_CHECKING, Any, ClassVar

import httpx  # type: ignore[import-not-found]
from google.adk.agents import LlmAgent
from google.adk.events import Event, EventActions
from google.adk.events.event_actions import EventCompaction
from google.adk.models import BaseLlm, LlmResponse
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService, Session
from google.genai import types

from adapters import drivers
from prowess.adapters.google_adk import Skills
from support.growth import END

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterator

    from google.adk.models import LlmRequest

_APP, _USER = "claims", "me"


class ChatCompletions(BaseLlm):  # type: ignore[misc]
    """A model of OpenAI's chat completions; ADK has one only with LiteLLM."""

    model: str = "any"
    url: str

    async def generate_content_async(
        self,
        llm_request: LlmRequest,
        stream: bool = False,  # noqa: ARG002 - the framework's signature
    ) -> AsyncGenerator[LlmResponse, None]:
        """Send a request."""
        declarations = [
            declaration for tool in llm_request.config.tools or () for declaration in tool.function_declarations or ()
        ]
        system = {"role": "system", "content": str(llm_request.config.system_instruction or "")}
        body: dict[str, Any] = {"model": self.model, "messages": [system, *_messages(llm_request.contents)]}
        if declarations:
            body["tools"] = [
                {
                    "type": "function",
                    "function": {
                        "name": declaration.name,
                        "description": declaration.description,
                        "parameters": declaration.parameters_json_schema,
                    },
                }
                for declaration in declarations
            ]
        async with httpx.AsyncClient(timeout=END, trust_env=False) as client:
            response = await client.post(f"{self.url}/chat/completions", json=body)
        response.raise_for_status()
        said = response.json()["choices"][0]["message"]
        parts = [types.Part(text=said["content"])] if said.get("content") else []
        for call in said.get("tool_calls") or ():
            function = call["function"]
            function_call = types.FunctionCall(
                id=call["id"], name=function["name"], args=json.loads(function["arguments"])
            )
            parts.append(types.Part(function_call=function_call))
        yield LlmResponse(content=types.Content(role="model", parts=parts))


def _messages(contents: list[types.Content]) -> Iterator[dict[str, Any]]:
    for content in contents:
        parts = content.parts or []
        calls = [
            {
                "id": part.function_call.id,
                "type": "function",
                "function": {"name": part.function_call.name, "arguments": json.dumps(part.function_call.args)},
            }
            for part in parts
            if part.function_call
        ]
        text = "\n".join(part.text for part in parts if part.text)
        if calls or text:
            message = {"role": "assistant" if content.role == "model" else "user", "content": text}
            yield {**message, "tool_calls": calls} if calls else message
        for response in (part.function_response for part in parts if part.function_response):
            yield {"role": "tool", "tool_call_id": response.id, "content": response.response["result"]}


class Conversation:
    """A session of ADK, in memory."""

    def __init__(self, agent: LlmAgent, saved: str | None) -> None:
        self._service = InMemorySessionService()
        self._runner = Runner(app_name=_APP, agent=agent, session_service=self._service, auto_create_session=True)
        self._id, self._restore, self._saved, self._compact = uuid.uuid4().hex, saved, saved or "{}", False

    async def _session(self) -> Session:
        return await self._service.get_session(app_name=_APP, user_id=_USER, session_id=self._id)

    async def send(self, text: str) -> str:
        """Run the agent."""
        await self._prepare()
        message = types.Content(role="user", parts=[types.Part(text=text)])
        answer = ""
        async for event in self._runner.run_async(user_id=_USER, session_id=self._id, new_message=message):
            if event.is_final_response() and event.content:
                answer = "".join(part.text or "" for part in event.content.parts or ())
        self._saved = (await self._session()).model_dump_json()
        return answer

    async def _prepare(self) -> None:
        """Restore or compact, which ADK's services do asynchronously."""
        if self._restore:
            saved, self._restore = Session.model_validate_json(self._restore), None
            session = await self._service.create_session(
                app_name=_APP, user_id=_USER, session_id=self._id, state=saved.state
            )
            for event in saved.events:
                await self._service.append_event(session, event)
        if self._compact:
            self._compact = False
            session = await self._session()
            summary = EventCompaction(
                start_timestamp=session.events[0].timestamp,
                end_timestamp=session.events[-1].timestamp,
                compacted_content=types.Content(role="model", parts=[types.Part(text="They talked.")]),
            )
            await self._service.append_event(session, Event(author="user", actions=EventActions(compaction=summary)))

    def save(self) -> str:
        """Return the session as ADK writes it."""
        return self._saved

    def compact(self) -> None:
        """Replace all events by a summary, as ADK does it."""
        self._compact = True


class Driver(drivers.Driver):
    name, package = "Google ADK", "google-adk"
    differs: ClassVar[dict[str, str]] = {
        "tool-that-is-gone": "ADK looks for a tool among those that it offers now.",
    }
    begin = Conversation

    def make(self, catalog: Any, model_url: str, **options: Any) -> Any:
        model = ChatCompletions(url=model_url)
        return LlmAgent(name="helper", model=model, tools=[Skills(catalog, **options)])
