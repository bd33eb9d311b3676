"""Talk to a role: each prompt becomes a turn with the answer, the tool calls, the activations and the usage.

Each conversation has its own session of skills and its own history, so many can run at the same time. A turn reports
whatever fails in it as its error; only a cancellation is raised.
"""

from __future__ import annotations

import asyncio
import os
import re
import warnings
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Any

from prowess import __version__
from prowess._internal.frozen import EMPTY
from prowess._internal.installer import missing_extra
from prowess._internal.text import neutral, quoted
from prowess.errors import ProwessError
from prowess.session import RECORDED_TOOLS, Trajectory, message, recorded_call

from ._threads import run_in_thread
from ._turn import ToolCall, Turn, listing_notes, parse_arguments, usage_counts
from .policy import ToolFailedError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Self

    from prowess.session import Session

    from .assembly import Assembly, Toolbox
    from .policy import AgentTool
    from .role import Role

__all__ = ["Confirm", "Conversation"]

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
    raise ImportError(missing_extra("pydantic-ai-slim", "agent", "this agent")) from error

from prowess.adapters.pydantic_ai import Skills, to_toolset_tools

# The turn's notes say it, in the role's words.
warnings.filterwarnings("ignore", message="Some responses omitted usage information")


Confirm = Callable[[str, Mapping[str, Any]], Awaitable[bool]]
"""Ask the user whether to allow a call, given the tool's name and its arguments."""
OnText = Callable[[str], None]
OnCall = Callable[[ToolCall], None]

_MAX_RESULT_CHARS = 20_000
"""Characters of a tool's result in the transcript."""


class Conversation:
    """One conversation with a role.

    Args:
        assembly: the role's.
        model: a model of Pydantic AI.
        confirm: asks the user before a call that needs confirmation; without it, such calls are refused.
        instrument: whether Pydantic AI reports to OpenTelemetry.
        trajectory: the file or folder in which it is recorded, as for a `Session`.

    Raises:
        ConfigError: the trajectory cannot be written.
    """

    def __init__(
        self,
        assembly: Assembly,
        model: Any,
        *,
        confirm: Confirm | None = None,
        instrument: bool = False,
        trajectory: str | None = None,
    ) -> None:
        self.assembly, self.model, self.confirm, self.instrument = assembly, model, confirm, instrument
        self._trajectory_option = trajectory
        self._trajectory: Trajectory | None = None
        """Without a session."""
        if trajectory is not None:
            name, agent = os.urandom(16).hex(), {"name": "initrunner", "version": __version__}
            self._trajectory = Trajectory(trajectory, lambda: (name, agent, list))
            self._trajectory.warns = False  # the notes of the turn say it
        self.session = self.new_session()
        self.history: list[Any] = []
        self.lost_tokens = 0
        """Tokens of turns that failed, which the history does not have."""
        self.mcp_names: dict[tuple[str, str], str] = {}
        """The names under which tools of MCP servers are offered, by server and the server's own name."""

    def new_session(self, ledger: str | None = None) -> Session | None:
        """Return a session for the conversation; see `Assembly.new_session`."""
        session = self.assembly.new_session(ledger, trajectory=self._trajectory_option)
        if session is not None and session.trajectory is not None:
            session.trajectory.warns = False
        return session

    @property
    def trajectory(self) -> Trajectory | None:
        """What is recorded of the conversation; `None` if nothing is."""
        return self._trajectory if self.session is None else self.session.trajectory

    def update_assembly(self, assembly: Assembly) -> None:
        """Use another assembly from the next turn on, for example after a change of the role or of a skill."""
        self.assembly = assembly
        if assembly.catalog is None or self.session is None:
            self.session = self.new_session()
        else:
            self.session.update(assembly.catalog)

    async def ask(
        self,
        prompt: str,
        *,
        on_text: OnText | None = None,
        on_call: OnCall | None = None,
        settings: Mapping[str, Any] = EMPTY,
    ) -> Turn:
        """Send a prompt and return the turn.

        Args:
            prompt: the user's message.
            on_text: called with each part of the answer as it arrives.
            on_call: called with each tool call when it has ended.
            settings: for the model, in place of the role's; of `max_tokens`, the smaller number counts.
        """
        run = _RunningTurn(self, on_text, on_call)
        timeout = self.assembly.role.guardrails.timeout_seconds
        budget = tokens_left(self.assembly.role, self.history, self.lost_tokens)
        if budget is not None and budget <= 0:
            return run.finish(None, "the conversation has used all its tokens (`guardrails.session_token_budget`)")
        output = error = public_error = None
        if self.session is None and self.trajectory is not None:  # a session records the prompt itself
            self.trajectory.say("user", prompt)
        try:
            agent = self._make_agent(run, settings)
            # Entered, the model closes its connections when the last turn that needs them ends.
            async with (
                self.model,
                asyncio.timeout(timeout),
                agent.run_stream_events(
                    prompt, message_history=self.history or None, usage_limits=usage_limits(self.assembly.role, budget)
                ) as events,
            ):
                async for event in events:
                    if isinstance(event, AgentRunResultEvent):
                        output = str(event.result.output)
                        self.history = event.result.all_messages()
                        run.usage = event.result.usage
                    else:
                        run.record_event(event)
        except asyncio.CancelledError:
            raise
        except TimeoutError:
            error = f"the run took longer than {timeout:g} seconds (`guardrails.timeout_seconds`)"
        except Exception as problem:  # noqa: BLE001 - a model server can fail in any way
            error, public_error = describe_run_error(problem), describe_publicly(problem)
        if error is not None:
            self.lost_tokens += usage_counts(run.usage)["total_tokens"]
        return run.finish(output, error, public_error)

    def _make_agent(self, run: _RunningTurn, settings: Mapping[str, Any]) -> Any:
        agent: Any = Agent(
            self.model,
            instructions=self.assembly.instructions or None,
            toolsets=[run.toolset],
            capabilities=[] if self.session is None else [Skills(self.session)],
            model_settings=model_settings(self.assembly.role, settings),
            retries=2,
        )
        agent.instrument = self.instrument
        return agent


class _RunningTurn:
    """A turn while it runs: the assembly it began with, and the calls so far."""

    def __init__(self, conversation: Conversation, on_text: OnText | None, on_call: OnCall | None) -> None:
        self.conversation, self.assembly = conversation, conversation.assembly
        self.on_text, self.on_call = on_text, on_call
        self.toolset = _RoleToolset(self)
        self.calls: dict[str, ToolCall] = {}
        self.errors: dict[str, str] = {}
        self.started_calls = 0
        self.notes: dict[str, None] = {}
        self.confirm_lock = asyncio.Lock()
        """The calls of one answer run at the same time; the user confirms one after the other."""
        self.usage: Any = None
        """Pydantic AI's count, up to date during the run."""

    def mcp_servers(self) -> list[Any]:
        """Return the MCP servers."""
        # A run's toolsets are fixed when it begins: the servers of a skill that it activates come with the next turn.
        servers = self.current_toolbox().mcp_servers
        if not servers:
            return []
        from .tools import make_mcp_toolset

        def note(text: str) -> None:
            self.notes[text] = None

        return [
            make_mcp_toolset(config.options, context, permit=self.permit, origin=origin, note=note)
            for origin, config, context in servers
        ]

    def record_event(self, event: Any) -> None:
        """Record an event of Pydantic AI, and pass on text and calls."""
        if isinstance(event, PartStartEvent) and isinstance(event.part, ToolCallPart):
            self._count_call()
        if isinstance(event, FunctionToolCallEvent):
            part = event.part
            self.calls[part.tool_call_id] = ToolCall(tool=part.tool_name, arguments=parse_arguments(part.args))
        elif isinstance(event, FunctionToolResultEvent):
            self._record_result(event)
        elif self.on_text is not None:
            if isinstance(event, PartStartEvent) and isinstance(event.part, TextPart) and event.part.content:
                self.on_text(event.part.content)
            elif isinstance(event, PartDeltaEvent) and isinstance(event.delta, TextPartDelta):
                self.on_text(event.delta.content_delta)

    def _record_result(self, event: Any) -> None:
        call_id = event.tool_call_id
        call = self.calls.get(call_id) or ToolCall(tool="?", arguments={})
        part = getattr(event, "result", None) or getattr(event, "part", None)
        text = str(getattr(part, "content", ""))[:_MAX_RESULT_CHARS]
        # Tools of a session and of MCP servers report a failure in their text.
        is_error_text = call.tool not in self.toolset.offered and text.startswith("error: ")
        failed = is_error_text or getattr(part, "outcome", "success") != "success"
        error = self.errors.get(call_id) or (text if failed else None)
        self.calls[call_id] = call.with_changes(result=None if error else text, error=error)
        if self.on_call is not None:
            self.on_call(self.calls[call_id])
        trajectory = self.conversation.trajectory
        if trajectory is not None and call.tool not in RECORDED_TOOLS:
            arguments = call.arguments if isinstance(call.arguments, dict) else {}
            trajectory.add(recorded_call(call.tool, arguments, text, **({"skill": None} if error else {})))

    def _count_call(self) -> None:
        """Count a call as soon as the model begins to write it: ten thousand in one answer take minutes to read.

        Raises:
            UsageLimitExceeded: there are more calls than the role allows.
        """
        self.started_calls += 1
        limit = self.assembly.role.guardrails.max_tool_calls
        if limit is not None and self.started_calls > limit:
            raise UsageLimitExceeded(f"The next tool call(s) would exceed the tool_calls_limit of {limit}")

    def finish(self, output: str | None, error: str | None, public_error: str | None = None) -> Turn:
        """Return the turn."""
        session = self.conversation.session
        ledger = () if session is None else session.ledger
        if session is not None:
            self.notes |= dict.fromkeys(listing_notes(session))
        self._record_end(output, error)
        if getattr(self.usage, "unmeasured_requests", 0):
            self.notes["the model server did not report token usage: `max_tokens_per_run` is not enforced"] = None
        return Turn(
            output=output,
            error=error,
            public_error=public_error,
            activations=tuple({"name": record.name, "digest": record.digest, "turn": record.turn} for record in ledger),
            tool_calls=tuple(self.calls.values()),
            usage=usage_counts(self.usage),
            notes=tuple(self.notes),
        )

    def _record_end(self, output: str | None, error: str | None) -> None:
        """Record the answer, or what failed, and the tokens."""
        if (trajectory := self.conversation.trajectory) is None:
            return
        usage = usage_counts(self.usage)
        said = message("system", f"error: {error}") if output is None else message("agent", output)
        trajectory.add(said, tokens=(usage["input_tokens"], usage["output_tokens"]))
        file = trajectory.file
        if trajectory.failure is not None:
            self.notes[trajectory.failure] = None
        elif file.path not in (None, file.option) and not os.path.isdir(file.option):
            words = f"the conversation is recorded in {file.path}: {os.path.basename(file.option)} has something else"
            self.notes[neutral(words)] = None

    def current_toolbox(self) -> Toolbox:
        """Return the tools that are offered now: the role's, and those of active skills."""
        toolbox = self.assembly.toolbox_with(self.conversation.session)
        if toolbox is not self.assembly.toolbox:
            self.notes |= dict.fromkeys(toolbox.notes)
        return toolbox

    async def call(self, tool: AgentTool, arguments: dict[str, Any], call_id: str) -> str:
        """Call a tool if the policy and the user allow it, and return its result or its error as text."""
        policy = self.assembly.toolbox.context.policy
        try:
            await self.permit(tool.name, policy.permission(tool.kind, tool.name, ask=tool.ask) == "ask", arguments)
            result = await run_in_thread(tool.call, **arguments)
        except ProwessError as error:
            message = f"{error}{f' ({error.hint})' if error.hint else ''}"
        except Exception as error:  # noqa: BLE001 - a tool that fails must not end the conversation
            message = f"the tool failed: {type(error).__name__}: {neutral(str(error))[:MAX_ERROR_CHARS]}"
        else:
            return result[: policy.max_result_bytes]
        self.errors[call_id] = message
        return f"error: {message}"

    async def permit(self, name: str, ask: bool, arguments: Mapping[str, Any]) -> None:
        """Ask the user to confirm a call, if it needs that.

        Raises:
            ToolFailedError: the user refuses, or cannot be asked.
        """
        if not ask:
            return
        confirm = self.conversation.confirm
        if confirm is None:
            message = f"{quoted(name)} needs the user's confirmation, and the user cannot be asked here"
            raise ToolFailedError(message, hint="go on without it")
        async with self.confirm_lock:
            allowed = await confirm(name, arguments)
        if not allowed:
            raise ToolFailedError(f"the user refused this call of {quoted(name)}", hint="ask what to do")


class _RoleToolset(AbstractToolset[Any]):
    """The role's tools, and those of its MCP servers, as a toolset of Pydantic AI.

    One toolset has them all, since two that offer the same name end the run.
    """

    def __init__(self, run: _RunningTurn) -> None:
        self.run = run
        self.offered: dict[str, AgentTool] = {}
        self.servers: list[Any] = []
        self._entered = AsyncExitStack()

    async def __aenter__(self) -> Self:
        self.servers = self.run.mcp_servers()
        async with AsyncExitStack() as stack:
            for server in self.servers:
                await stack.enter_async_context(server)
            self._entered = stack.pop_all()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._entered.aclose()

    @property
    def id(self) -> str:
        return "role"

    @property
    def label(self) -> str:
        return "the role"

    async def get_tools(self, ctx: RunContext[Any]) -> dict[str, ToolsetTool[Any]]:
        self.run.usage = ctx.usage
        toolbox = await run_in_thread(self.run.current_toolbox)
        self.offered = {tool.name: tool for tool in toolbox.tools}
        tools = to_toolset_tools(self, toolbox.tools)
        for server in [*self.servers]:
            try:
                tools |= await server.offer(ctx, toolbox.names, self.run.conversation.mcp_names)
            except ProwessError as error:
                self.servers.remove(server)
                self.run.notes[str(error)] = None
        return tools

    async def call_tool(
        self,
        name: str,
        tool_args: dict[str, Any],
        ctx: RunContext[Any],
        tool: ToolsetTool[Any],
    ) -> Any:
        if tool.toolset is not self:
            return await tool.toolset.call_tool(name, tool_args, ctx, tool)
        return await self.run.call(self.offered[name], tool_args, ctx.tool_call_id or "")


def model_settings(role: Role, given: Mapping[str, Any]) -> ModelSettings:
    """Return the settings of each request: those that are given for this turn, and the role's.

    Of `max_tokens` the smaller number counts, so that a client of the role cannot raise it.
    """
    own = {name: getattr(role.model, name) for name in ("temperature", "top_p", "max_tokens")}
    settings: dict[str, Any] = {name: value for name, value in own.items() if value is not None} | dict(given)
    if "max_tokens" in settings:
        settings["max_tokens"] = min(settings["max_tokens"], own["max_tokens"] or settings["max_tokens"])
    return ModelSettings(**settings)  # type: ignore[typeddict-item]


def usage_limits(role: Role, left: int | None) -> UsageLimits:
    """Return the limits of a run; `left` are the tokens that the conversation may still use."""
    guardrails = role.guardrails
    totals = [limit for limit in (guardrails.max_tokens_per_run, left) if limit is not None]
    return UsageLimits(
        request_limit=guardrails.max_requests,
        tool_calls_limit=guardrails.max_tool_calls,
        total_tokens_limit=min(totals, default=None),
        input_tokens_limit=guardrails.input_tokens_limit,
        per_request_input_tokens_limit=guardrails.per_request_input_tokens_limit,
    )


def tokens_left(role: Role, history: Iterable[Any], lost: int) -> int | None:
    """Return the tokens that a conversation may still use; `None` if it has no budget.

    Args:
        role: its budget is `session_token_budget`.
        history: the messages of the turns that succeeded.
        lost: the tokens of the others.
    """
    budget = role.guardrails.session_token_budget
    if budget is None:
        return None
    used = sum(message.usage.total_tokens for message in history if message.kind == "response")
    return int(budget - lost - used)


MAX_ERROR_CHARS = 500
"""Characters of a server's or a framework's own message."""
_GUARDRAIL_NAMES = {
    "request_limit": "max_requests",
    "tool_calls_limit": "max_tool_calls",
    "total_tokens_limit": "max_tokens_per_run",
}
"""Pydantic AI's name of a limit, and the role's."""
_HTTP_HINTS = {
    401: "the API key is invalid: check it",
    403: "the API key has no access to this model",
    404: "the model does not exist: check its name",
    429: "too many requests, or no credit left: try again later",
}


def describe_publicly(error: Exception) -> str | None:
    """Return what failed without the address of the model's server and without its own message.

    `None` if what `describe_run_error` returns has neither.
    """
    if isinstance(error, ModelHTTPError):
        status = error.status_code
        return f"the model server answered {status}{': try again later' if status == 429 or status >= 500 else ''}"
    if isinstance(error, UsageLimitExceeded | ProwessError | UserError):
        return None
    if isinstance(error, UnexpectedModelBehavior):
        return "the model returned an invalid response"
    return "no answer from the model: try again later"


def describe_run_error(error: Exception) -> str:
    """Return what failed, and what to do, as one line."""
    detail = neutral(" ".join(str(error).split()))[:MAX_ERROR_CHARS]
    if isinstance(error, ModelHTTPError):
        status = error.status_code
        hint = _HTTP_HINTS.get(status, "try again later" if status >= 500 else "see its message")
        return f"the model server answered {status}: {hint}; its message: {detail}"
    if isinstance(error, UsageLimitExceeded):
        limit = re.sub("|".join(_GUARDRAIL_NAMES), lambda match: f"`guardrails.{_GUARDRAIL_NAMES[match[0]]}`", detail)
        return f"the run reached a limit of the role: {limit}"
    if isinstance(error, UnexpectedModelBehavior):
        return f"the model returned an invalid response: {detail}"
    if isinstance(error, ProwessError):
        return f"{error}{f' ({error.hint})' if error.hint else ''}"
    if isinstance(error, AgentRunError):
        url = getattr(getattr(error.__cause__, "request", None), "url", None)
        server = "its server" if url is None else f"`{url.scheme}://{neutral(url.netloc.decode('ascii', 'replace'))}`"
        hint = f"check that {server} is right and running, or try again later"
        return f"no answer from the model: {detail.rstrip('.')}: {hint}"
    if isinstance(error, ImportError):
        return detail  # it names the tool and what to install
    if isinstance(error, UserError):
        return f"the role's tools cannot be used together: {detail}"
    return f"the connection to the model server failed: {type(error).__name__}: {detail}"
