"""Conversations with agents of smolagents, for the contract of adapters."""

from __future__ import annotations

import asyncio
import json
import time
from typing import TYPE_CHECKING, Any, ClassVar

from smolagents import ActionStep, CodeAgent, LogLevel, OpenAIModel, TaskStep, ToolCallingAgent
from smolagents.memory import ToolCall
from smolagents.monitoring import Timing

from adapters import drivers
from prowess import Session
from prowess.adapters.smolagents import attach
from prowess.testing import Call, Step

if TYPE_CHECKING:
    from prowess.session import Scripts


class Conversation:
    """An agent of smolagents, which is one conversation. It runs in a thread, because it has no asynchronous form."""

    def __init__(self, agent: Any, session: Session, saved: str | None, scripts: bool | Scripts) -> None:
        record, steps = (None, []) if saved is None else json.loads(saved)
        if record is not None:
            session.restore(record)
        self.agent, self.session = agent, attach(agent, session, scripts=scripts)
        agent.memory.steps = [_step(step) for step in steps]
        self._run: asyncio.Future[Any] | None = None

    async def send(self, text: str) -> str:
        """Run the agent; a run that is cancelled ends at its next step, and the next run waits for it."""
        if self._run is not None:
            await asyncio.wait([self._run])
        self._run = asyncio.ensure_future(asyncio.to_thread(self.agent.run, text, reset=False))
        try:
            return str(await asyncio.shield(self._run))
        except asyncio.CancelledError:
            self.agent.interrupt()
            raise

    def save(self) -> str:
        """Return the record of the session and the steps of the memory."""
        return json.dumps([self.session.to_json(), self.agent.memory.get_succinct_steps()], default=str)

    def compact(self) -> None:
        """Forget the steps."""
        self.agent.memory.steps.clear()


class Driver(drivers.Driver):
    """Tool calling agents, each with a session of its own."""

    name, package = "smolagents", "smolagents"
    differs: ClassVar[dict[str, str]] = {
        "wrong-options": "The application makes the session, and restores its record.",
        "schemas": "smolagents has a form of its own for the arguments of a tool.",
        "wrong-arguments": "smolagents checks the arguments of a call itself.",
        "directory": "The application makes the session, and restores its record.",
        "invalid-record": "The application makes the session, and restores its record.",
    }
    kind: Any = ToolCallingAgent

    def make(self, catalog: Any, model_url: str, *, scripts: Any = False, **options: Any) -> Any:
        return self.kind, catalog, model_url, scripts, options

    def begin(self, shared: Any, saved: str | None) -> Conversation:
        kind, catalog, url, scripts, options = shared
        client = {"max_retries": 0, "default_headers": {"Connection": "close"}}
        model = OpenAIModel("any", api_base=url, api_key="none", client_kwargs=client, retry=False)
        agent = kind(tools=[], model=model, verbosity_level=LogLevel.OFF)
        return Conversation(agent, Session(catalog, **options), saved, scripts)

    def model_step(self, step: Step) -> Step:
        """Return the step of a model that answers by a tool."""
        return step if step.calls else Step(calls=(Call(tool="final_answer", arguments={"answer": step.say}),))


class CodeDriver(Driver):
    """Agents that write code."""

    name = "smolagents (code)"
    differs: ClassVar[dict[str, str]] = {
        **Driver.differs,
        "tool-that-is-new": "Tools are part of the prompt that the agent was made with.",
    }
    del differs["wrong-arguments"]
    kind = CodeAgent

    def model_step(self, step: Step) -> Step:
        """Return the step of a model that calls tools in code."""
        calls = step.calls or (Call(tool="final_answer", arguments={"answer": step.say}),)
        lines = [
            f"print({call.tool}({', '.join(f'{key}={value!r}' for key, value in call.arguments.items())}))"
            if step.calls
            else f"{call.tool}({call.arguments['answer']!r})"
            for call in calls
        ]
        return Step(say="Thoughts: I do it.\n<code>\n" + "\n".join(lines) + "\n</code>")


def _step(saved: dict[str, Any]) -> Any:
    """Return a step of the memory, of which a user keeps what the model is sent."""
    if "task" in saved:
        return TaskStep(task=saved["task"])
    calls = [
        ToolCall(call["function"]["name"], call["function"]["arguments"], call["id"]) for call in saved["tool_calls"]
    ]
    return ActionStep(
        step_number=saved["step_number"],
        timing=Timing(start_time=time.time()),
        tool_calls=calls or None,
        model_output=saved["model_output"],
        observations=saved["observations"],
    )
