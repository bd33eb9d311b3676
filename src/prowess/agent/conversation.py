"""an assembly + a model -> a conversation: turns, each with what was answered, activated, called and used

Every conversation has its own session of skills and its own history, so many may be held at once. Whatever goes wrong
in a turn is told in it; only the user's own interruption is raised.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import warnings
from typing import TYPE_CHECKING, Any

from prowess._internal.frozen import EMPTY, Frozen
from prowess._internal.text import neutral, quoted
from prowess.adapters import missing_extra
from prowess.errors import ProwessError
from prowess.session import Session

from ._threads import run_in_thread
from .policy import ToolFailedError

# It would print an advertisement between the answers.
os.environ.setdefault("PYDANTIC_AI_NO_BANNER", "1")
try:
    from pydantic_ai import Agent, RunContext
    from pydantic_ai.exceptions import (
        AgentRunError,
        ModelHTTPError,
        UnexpectedModelBehavior,
        UsageLimitExceeded,
        UserError,
    )
    from pydantic_ai.messages import (
        FunctionToolCallEvent,
        FunctionToolResultEvent,
        PartDeltaEvent,
        PartStartEvent,
        TextPart,
        TextPartDelta,
        ToolCallPart,
    )
    from pydantic_ai.run import AgentRunResultEvent
    from pydantic_ai.settings import ModelSettings
    from pydantic_ai.toolsets import AbstractToolset, ToolsetTool
    from pydantic_ai.usage import UsageLimits
except ImportError as error:
    raise ImportError(missing_extra("pydantic-ai-slim", "agent")) from error

from prowess.adapters.pydantic_ai import Skills, to_toolset_tools

# It is told in the turn's notes, in the role's own words.
warnings.filterwarnings("ignore", message="Some responses omitted usage information")

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from .assembly import Assembly, Toolbox
    from .policy import AgentTool

    Confirm = Callable[[str, Mapping[str, Any]], Awaitable[bool]]
    OnText = Callable[[str], None]

__all__ = ["Conversation", "ToolCall", "Turn"]

_MAX_ERROR_CHARS = 500
"""Characters of what a server or a framework says went wrong."""
_MAX_RESULT_CHARS = 20_000
"""Characters of a result in the transcript."""


class ToolCall(Frozen):
    """A tool that was called."""

    tool: str
    arguments: Any
    result: str | None = None
    error: str | None = None

    def as_dict(self) -> dict[str, object]:
        """Return it in the shape of `run --json`."""
        return {"tool": self.tool, "arguments": self.arguments, "result": self.result, "error": self.error}


class Turn(Frozen):
    """What came of one thing the user said."""

    output: str | None
    """The answer; None where there is none."""
    error: str | None = None
    """Why there is none, and what to do."""
    activations: tuple[Mapping[str, object], ...] = ()
    """Skills that are active in the conversation: name, digest, turn."""
    tool_calls: tuple[ToolCall, ...] = ()
    usage: Mapping[str, int] = EMPTY
    notes: tuple[str, ...] = ()
    """What the user should know: tools of skills that are not offered, and why."""

    def as_dict(self) -> dict[str, object]:
        """Return it in the shape of `run --json`."""
        return {
            "output": self.output,
            "error": self.error,
            "activations": [dict(row) for row in self.activations],
            "tool_calls": [call.as_dict() for call in self.tool_calls],
            "usage": dict(self.usage),
            "notes": [*self.notes],
        }


class Conversation:
    """One conversation with a role.

    Args:
        assembly: what the agent is made of.
        model: of Pydantic AI.
        confirm: asked before a call that wants its user's word: given the tool's name and its arguments; None where
            nobody can be asked, so that such calls are refused.
        instrument: whether Pydantic AI reports to OpenTelemetry.
    """

    def __init__(
        self, assembly: Assembly, model: Any, *, confirm: Confirm | None = None, instrument: bool = False
    ) -> None:
        self.assembly, self.model, self.confirm, self.instrument = assembly, model, confirm, instrument
        self.session = None if assembly.catalog is None else Session(assembly.catalog, env=assembly.env)
        self.history: list[Any] = []

    def update_assembly(self, assembly: Assembly) -> None:
        """Go on with another assembly from the next turn on, as after a change of the role or of a skill."""
        self.assembly = assembly
        if assembly.catalog is None:
            self.session = None
        elif self.session is None:
            self.session = Session(assembly.catalog, env=assembly.env)
        else:
            self.session.update(assembly.catalog)

    async def ask(self, prompt: str, *, on_text: OnText | None = None) -> Turn:
        """Say something, and return what came of it.

        Args:
            prompt: what the user says.
            on_text: given each part of the answer as it comes.
        """
        run = _RunningTurn(self)
        limits = self.assembly.role.guardrails
        output = error = None
        try:
            agent: Any = Agent(
                self.model,
                instructions=self.assembly.instructions or None,
                toolsets=[run.tools, *run.mcp_servers()],
                capabilities=[] if self.session is None else [Skills(self.session)],
                model_settings=_model_settings(self.assembly),
                retries=2,
            )
            agent.instrument = self.instrument
            # Entered, the model closes its connections when the last turn that needs them ends.
            async with (
                self.model,
                asyncio.timeout(limits.timeout_seconds),
                agent.run_stream_events(
                    prompt,
                    message_history=self.history or None,
                    usage_limits=UsageLimits(
                        request_limit=limits.max_requests,
                        tool_calls_limit=limits.max_tool_calls,
                        total_tokens_limit=limits.max_tokens_per_run,
                    ),
                ) as events,
            ):
                async for event in events:
                    if isinstance(event, AgentRunResultEvent):
                        output = str(event.result.output)
                        self.history = event.result.all_messages()
                        run.usage = event.result.usage
                    else:
                        run.record_event(event, on_text)
        except asyncio.CancelledError:
            raise
        except TimeoutError:
            error = f"the time of a run is up: {limits.timeout_seconds:g} seconds (`guardrails.timeout_seconds`)"
        except Exception as problem:  # noqa: BLE001 - a model's server, and what it says, may fail in any way
            error = _describe_error(problem)
        return run.turn(output, error)


_LIMIT_NAMES = {
    "request_limit": "max_requests",
    "tool_calls_limit": "max_tool_calls",
    "total_tokens_limit": "max_tokens_per_run",
}
"""What Pydantic AI calls a limit, and what a role does."""


def _model_settings(assembly: Assembly) -> ModelSettings:
    model = assembly.role.model
    given = {name: getattr(model, name) for name in ("temperature", "top_p", "max_tokens")}
    return ModelSettings(**{name: value for name, value in given.items() if value is not None})


def _describe_error(problem: Exception) -> str:
    """Say what went wrong, and what to do."""
    said = neutral(" ".join(str(problem).split()))[:_MAX_ERROR_CHARS]
    if isinstance(problem, ModelHTTPError):
        hints = {
            401: "it does not take the key: see whether it is right",
            403: "it does not take the key for this model",
            404: "it does not know the model: see how it is spelt",
            429: "it is asked too often, or what was paid for is used up: try again later",
        }
        hint = hints.get(problem.status_code, "try again later" if problem.status_code >= 500 else "see what it says")
        return f"the model's server answered {problem.status_code}: {hint}; it says: {said}"
    if isinstance(problem, UsageLimitExceeded):
        named = re.sub("|".join(_LIMIT_NAMES), lambda match: f"`guardrails.{_LIMIT_NAMES[match[0]]}`", said)
        return f"a limit of the role is reached: {named}"
    if isinstance(problem, UnexpectedModelBehavior):
        return f"the model did what cannot be gone on with: {said}"
    if isinstance(problem, ProwessError):
        return f"{problem}{f' ({problem.hint})' if problem.hint else ''}"
    if isinstance(problem, AgentRunError):
        url = getattr(getattr(problem.__cause__, "request", None), "url", None)
        server = "its server" if url is None else f"`{url.scheme}://{neutral(url.netloc.decode('ascii', 'replace'))}`"
        hint = f"see whether {server} is the right address and runs, or try again later"
        return f"the model cannot be asked: {said.rstrip('.')}: {hint}"
    if isinstance(problem, UserError):
        return f"the role and its tools do not fit together: {said}"
    return f"the model's server broke off: {type(problem).__name__}: {said}"


class _RunningTurn:
    """One turn: its tools as they were when it began, and what happens."""

    def __init__(self, conversation: Conversation) -> None:
        self.conversation, self.assembly = conversation, conversation.assembly
        self.tools = _RoleToolset(self)
        self.calls: dict[str, ToolCall] = {}
        self.errors: dict[str, str] = {}
        self.started_calls = 0
        self.notes: dict[str, None] = {}
        self.confirm_lock = asyncio.Lock()
        """Calls of one answer are made at the same time; the user is asked of one after the other."""
        self.usage: Any = None
        """As Pydantic AI counts it, also while the run goes on."""

    def mcp_servers(self) -> list[Any]:
        """Return the servers of MCP, each as a toolset."""
        # Those of a skill that is activated now come with the next turn: a run's toolsets are fixed when it begins.
        mcp_servers = self.current_toolbox().mcp_servers
        if not mcp_servers:
            return []
        from prowess.agent.tools.mcp import make_toolset

        return [make_toolset(config.options, context, permit=self.permit) for _, config, context in mcp_servers]

    def record_event(self, event: Any, on_text: OnText | None) -> None:
        """Take down what happens."""
        if isinstance(event, PartStartEvent) and isinstance(event.part, ToolCallPart):
            self._count_call()
        if isinstance(event, FunctionToolCallEvent):
            part = event.part
            self.calls[part.tool_call_id] = ToolCall(tool=part.tool_name, arguments=_parsed_arguments(part.args))
        elif isinstance(event, FunctionToolResultEvent):
            key = event.tool_call_id
            call = self.calls.get(key) or ToolCall(tool="?", arguments={})
            content = getattr(event, "result", None) or getattr(event, "part", None)
            text = str(getattr(content, "content", ""))[:_MAX_RESULT_CHARS]
            # Tools that are none of the role's say in their text that they failed.
            foreign = call.tool not in self.tools.offered and text.startswith("error: ")
            wrong = foreign or getattr(content, "outcome", "success") != "success"
            failed = self.errors.get(key) or (text if wrong else None)
            self.calls[key] = call.with_changes(result=None if failed else text, error=failed)
        elif on_text is not None:
            if isinstance(event, PartStartEvent) and isinstance(event.part, TextPart) and event.part.content:
                on_text(event.part.content)
            elif isinstance(event, PartDeltaEvent) and isinstance(event.delta, TextPartDelta):
                on_text(event.delta.content_delta)

    def _count_call(self) -> None:
        """Count a call as soon as the model begins to write it: ten thousand in one answer take minutes to read.

        Raises:
            UsageLimitExceeded: there are more than the role allows.
        """
        self.started_calls += 1
        most = self.assembly.role.guardrails.max_tool_calls
        if most is not None and self.started_calls > most:
            raise UsageLimitExceeded(f"The next tool call(s) would exceed the tool_calls_limit of {most}")

    def turn(self, output: str | None, error: str | None) -> Turn:
        """Return what came of the turn."""
        session = self.conversation.session
        ledger = () if session is None else session.ledger
        if getattr(self.usage, "unmeasured_requests", 0):
            words = "the model's server did not say how many tokens were used: `max_tokens_per_run` cannot be kept"
            self.notes[words] = None
        return Turn(
            output=output,
            error=error,
            activations=tuple({"name": row.name, "digest": row.digest, "turn": row.turn} for row in ledger),
            tool_calls=tuple(self.calls.values()),
            usage=_usage_counts(self.usage),
            notes=tuple(self.notes),
        )

    def current_toolbox(self) -> Toolbox:
        """Return the tools that are offered now: the role's, and those of skills that are active."""
        current_toolbox, session = self.assembly.toolbox, self.conversation.session
        if session is None or not session.ledger:
            return current_toolbox
        grown = current_toolbox.copy()
        active = {record.path for record in session.ledger}
        for entry in session.catalog.skills:
            if entry.path in active:
                self.assembly.add_discovered_tools(entry, grown)
        self.notes |= dict.fromkeys(grown.notes)
        return grown

    async def call(self, tool: AgentTool, arguments: dict[str, Any], key: str) -> str:
        """Call a tool, if the policy and the user let it."""
        policy = self.assembly.toolbox.context.policy
        try:
            await self.permit(tool.name, policy.permission(tool.kind, tool.name, ask=tool.ask) == "ask", arguments)
            result = await run_in_thread(tool.call, **arguments)
        except ProwessError as error:
            words = f"{error}{f' ({error.hint})' if error.hint else ''}"
        except Exception as error:  # noqa: BLE001 - one tool that fails must not end the conversation
            words = f"the tool failed: {type(error).__name__}: {neutral(str(error))[:_MAX_ERROR_CHARS]}"
        else:
            return result[: policy.max_result_bytes]
        self.errors[key] = words
        return f"error: {words}"

    async def permit(self, name: str, ask: bool, arguments: Mapping[str, Any]) -> None:
        """Ask the user, if that is wanted before a call.

        Raises:
            ToolFailedError: the user says no, or cannot be asked.
        """
        if not ask:
            return
        confirm = self.conversation.confirm
        if confirm is None:
            words = f"{quoted(name)} wants its user's word, and nobody can be asked here"
            raise ToolFailedError(words, hint="go on without it")
        async with self.confirm_lock:
            allowed = await confirm(name, arguments)
        if not allowed:
            raise ToolFailedError(f"the user does not want {quoted(name)} to be called so", hint="ask what to do")


class _RoleToolset(AbstractToolset[Any]):
    """The tools of a run, for Pydantic AI."""

    def __init__(self, run: _RunningTurn) -> None:
        self.run = run
        self.offered: dict[str, AgentTool] = {}

    @property
    def id(self) -> str:
        return "role"

    @property
    def label(self) -> str:
        return "the role"

    async def get_tools(self, ctx: RunContext[Any]) -> dict[str, ToolsetTool[Any]]:
        self.run.usage = ctx.usage
        current_toolbox = await run_in_thread(self.run.current_toolbox)
        self.offered = {tool.name: tool for tool in current_toolbox.tools}
        return to_toolset_tools(self, current_toolbox.tools)

    async def call_tool(
        self,
        name: str,
        tool_args: dict[str, Any],
        ctx: RunContext[Any],
        tool: ToolsetTool[Any],  # noqa: ARG002
    ) -> str:
        return await self.run.call(self.offered[name], tool_args, ctx.tool_call_id or "")


def _usage_counts(usage: Any) -> dict[str, int]:
    """Return what a run has used, as far as it came."""
    used = {name: int(getattr(usage, name, 0) or 0) for name in ("requests", "input_tokens", "output_tokens")}
    total = used["input_tokens"] + used["output_tokens"]
    return {**used, "total_tokens": total, "tool_calls": int(getattr(usage, "tool_calls", 0) or 0)}


def _parsed_arguments(given: Any) -> Any:
    """Return the arguments a model gave, as JSON has them if they are JSON."""
    if isinstance(given, str):
        try:
            return json.loads(given)
        except (ValueError, RecursionError):
            return given
    return given
