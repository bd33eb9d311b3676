"""Adapt skills to Pydantic AI, as a capability of an agent.

The catalog is static text in the instructions, and active skills are added to each request. So the message history
contains neither, and neither is lost when the history is compacted.
"""

from __future__ import annotations

import json
import sys
from contextvars import ContextVar
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import TYPE_CHECKING, Any

from prowess._internal.installer import missing_extra
from prowess.catalog import Catalog, LiveCatalog, live_catalog
from prowess.errors import ConfigError
from prowess.session import FileAnswer, Scripts, Session, Tool, escape_tags, scripts_option

from ._base import (
    HINT,
    SCRIPT_TOOLS,
    JoinedCatalogs,
    Source,
    call_in_thread,
    call_tool,
    catalog_argument,
    merge_sessions,
)

try:
    from pydantic_ai import RunContext, ToolDefinition
    from pydantic_ai.capabilities import AbstractCapability, durable_operation
    from pydantic_ai.messages import (
        BinaryContent,
        CompactionPart,
        InstructionPart,
        ModelMessage,
        ModelRequest,
        ModelResponse,
        TextContent,
        ToolReturnPart,
        UserPromptPart,
    )
    from pydantic_ai.models.wrapper import WrapperModel
    from pydantic_ai.toolsets import AbstractToolset, CombinedToolset, ToolsetTool
except ImportError as error:
    raise ImportError(missing_extra("pydantic-ai-slim", "pydantic-ai")) from error

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pydantic_ai.capabilities.abstract import WrapToolExecuteHandler
    from pydantic_ai.messages import ToolCallPart
    from pydantic_ai.models import ModelRequestContext

__all__ = ["Skills", "to_toolset_tools"]


@dataclass
class Skills(AbstractCapability[Any]):
    """The skills of an agent: `Agent(model, capabilities=[Skills(".")])`.

    Each run has its own session. To continue a conversation, pass its session: `agent.run(prompt,
    capabilities=[Skills(session)])`, which replaces the agent's `Skills`, or as the `deps` of the run or their
    attribute `skills`. A capability that compacts the history in `prepare_model_request` must come before this one.
    Several `Skills` of one agent are one: of skills with the same name, the one of the first wins.

    Raises:
        ConfigError: `skills` is something else, or several `Skills` of one agent cannot be one.
    """

    skills: Source | Session = "."
    """The directory whose skills each run gets as they are then, a catalog, or the session of one conversation."""
    _: KW_ONLY
    budget: float | None = None
    """The most characters of the catalog; `None` is 8,000 tokens, `math.inf` no limit. A session has its own budget."""
    scripts: bool | Scripts = False
    """Whether a model may run the scripts of active skills that the user trusts, and how."""
    id: str | None = "prowess"
    """An agent has only one capability with this id."""
    turn: _Turn | None = field(default=None, init=False, repr=False, compare=False)
    """The turn that a run belongs to, `None` before it starts."""

    def __post_init__(self) -> None:
        if not isinstance(self.skills, Session | JoinedCatalogs):
            catalog_argument(self.skills, hint=f"{HINT}, or a `Session`")
        if self.scripts is not False:
            scripts_option(self.scripts)

    @classmethod
    def combine(cls, capabilities: Sequence[AbstractCapability[Any]]) -> AbstractCapability[Any]:
        """Make one of several `Skills` of an agent.

        Raises:
            ConfigError: one has a session, or they have different options.
        """
        parts = [part for part in capabilities if isinstance(part, Skills)]
        if any(_options(part) != _options(parts[0]) for part in parts):
            raise ConfigError(
                "the `Skills` of one agent have different options", hint="give all of them the same options"
            )
        sources = tuple(_source(part.skills) for part in parts)
        return replace(parts[0], skills=JoinedCatalogs(sources))  # type: ignore[arg-type]

    async def for_run(self, ctx: RunContext[Any]) -> Skills:
        """Begin a turn: activate the skills that the user's prompt names."""
        session = self._session(ctx)
        run = replace(self, skills=session)
        prompt, is_new = _user_prompt(ctx)
        if _session_of_tool.get() is session:  # a tool of a run with this session asks another agent
            run.turn = _Turn(None)
        elif is_new or session.turn == 0:
            session.inject(prompt)
            run.turn = _Turn(prompt, session.warnings)
        else:
            run.turn = _Turn(prompt)
        return run

    def _session(self, ctx: RunContext[Any]) -> Session:
        if isinstance(self.skills, Session):
            return self.skills
        for session in (ctx.deps, getattr(ctx.deps, "skills", None)):
            if isinstance(session, Session):
                return session
        catalog = self.skills
        if not isinstance(catalog, Catalog | LiveCatalog | JoinedCatalogs):
            # Not `catalog_argument`: a directory that was removed since has no skills, and the run goes on.
            catalog = live_catalog(catalog)
        return Session(catalog if isinstance(catalog, Catalog) else catalog.current(), budget=self.budget)

    def get_instructions(self) -> str | None:
        """Return the catalog, the same bytes at each request of a run, or `None` if there are no skills."""
        if not isinstance(self.skills, Session):
            return None
        return self.skills.block(None if self.turn is None else self.turn.prompt) or None

    def get_toolset(self) -> AbstractToolset[Any] | None:
        """Return the tools for using skills, or `None` before a run starts: no agent keeps those of another run."""
        if not isinstance(self.skills, Session) or self.turn is None:
            return None
        return _SessionToolset(self, self.skills.tools(scripts=self.scripts))

    def get_wrapper_toolset(self, toolset: AbstractToolset[Any]) -> AbstractToolset[Any] | None:
        """Add the tools for using skills where they are missing.

        That is so under `override(toolsets=...)`, which replaces the tools of capabilities too, and in a `DBOSAgent`,
        which keeps the tools that its agent had before any run.
        """
        own = self.get_toolset()
        found: list[_SessionToolset] = []
        toolset.apply(lambda leaf: found.append(leaf) if isinstance(leaf, _SessionToolset) else None)
        if any(leaf.capability.id != self.id for leaf in found):
            raise ConfigError("two `Skills` of one agent have different ids", hint="leave out `id`: they are then one")
        return None if own is None or found else CombinedToolset([toolset, own])

    async def prepare_model_request(
        self,
        ctx: RunContext[Any],
        request_context: ModelRequestContext,
    ) -> ModelRequestContext:
        """Add the active skills that the messages do not contain; the history does not change."""
        *before, last = request_context.messages
        if isinstance(self.skills, Session) and isinstance(last, ModelRequest):
            notes = () if self.turn is None else self.turn.notes(ctx.run_step)
            tail = self.skills.tail(visible=_visible_texts(request_context.messages))
            text = "\n\n".join(text for text in (*notes, tail) if text)
            if text and last.parts and (part := _append_text(last.parts[-1], text)):
                request_context.messages = [*before, replace(last, parts=[*last.parts[:-1], part])]
            elif text:  # some endpoints accept no message of a user after such a part
                parameters = request_context.model_request_parameters
                parts = [*(parameters.instruction_parts or ()), InstructionPart(text, dynamic=True)]
                request_context.model_request_parameters = replace(parameters, instruction_parts=parts)
        return request_context

    async def wrap_tool_execute(
        self,
        ctx: RunContext[Any],  # noqa: ARG002 - the framework's signature, here and below
        *,
        call: ToolCallPart,  # noqa: ARG002
        tool_def: ToolDefinition,  # noqa: ARG002
        args: dict[str, Any],
        handler: WrapToolExecuteHandler,
    ) -> Any:
        """Run a tool; the prompt of a run that it starts with the same session comes from a model."""
        token = _session_of_tool.set(self.skills if isinstance(self.skills, Session) else None)
        try:
            return await handler(args)
        finally:
            _session_of_tool.reset(token)

    @durable_operation(name="call_tool")
    async def call_tool(self, ctx: RunContext[Any], name: str, arguments: dict[str, Any]) -> tuple[str, str]:
        """Call a tool of the session; an engine for durable runs calls it once and keeps what it returned.

        Returns:
            the text for the model, and the record of the session after the call.
        """
        session = self._session(ctx)
        tools = session.tools(scripts=self.scripts)

        async def run() -> tuple[str, str]:
            text = await call_in_thread(call_tool, tools, name, arguments)
            return text, session.to_json()

        dbos = sys.modules.get("pydantic_ai.durable_exec.dbos")
        if dbos is not None and isinstance(ctx.model, dbos.DBOSModel):
            # A `DBOSAgent` runs tools in its workflow. It has no capability that would make this a step.
            from dbos import DBOS

            if DBOS.workflow_id is not None and DBOS.step_id is None:
                returned: tuple[str, str] = await DBOS.run_step_async({"name": f"{self.id}.call_tool"}, run)
                return returned
        return await run()


_session_of_tool: ContextVar[Session | None] = ContextVar("_session_of_tool", default=None)
"""The session of the run whose tool runs in this context."""


def _source(skills: Any) -> Any:
    if isinstance(skills, Session):
        hint = "pass it to the run: `agent.run(prompt, capabilities=[Skills(session)])`"
        raise ConfigError("one of several `Skills` of an agent has a session", hint=hint)
    return skills if isinstance(skills, JoinedCatalogs) else catalog_argument(skills)


def _options(skills: Skills) -> tuple[object, ...]:
    return skills.budget, skills.scripts, skills.description, skills.defer_loading


class _Turn:
    """A turn of a conversation: what its user wrote, and what only its first request contains."""

    def __init__(self, prompt: str | None, warnings: tuple[str, ...] = ()) -> None:
        self.prompt = prompt
        self._notes = tuple(escape_tags(f"warning: {warning}") for warning in warnings)
        self._step: int | None = None

    def notes(self, step: int) -> tuple[str, ...]:
        """Return what a request contains: the first step may send it more than once."""
        if self._step is None:
            self._step = step
        return self._notes if step == self._step else ()


def to_toolset_tools(toolset: AbstractToolset[Any], tools: Iterable[Any]) -> dict[str, ToolsetTool[Any]]:
    """Return tools in the form of Pydantic AI.

    Args:
        toolset: the toolset that calls them.
        tools: objects with `name`, `description` and `parameters` (a JSON Schema).
    """
    return {
        tool.name: ToolsetTool(
            toolset=toolset,
            tool_def=ToolDefinition(
                name=tool.name,
                description=tool.description,
                parameters_json_schema=dict(tool.parameters),
                sequential=tool.name in SCRIPT_TOOLS,
            ),
            max_retries=1,
            args_validator=_LenientArgumentsValidator(),
        )
        for tool in tools
    }


@dataclass
class _SessionToolset(AbstractToolset[Any]):
    """The tools of a session."""

    capability: Skills
    tools: tuple[Tool, ...]

    @property
    def id(self) -> str:
        return "prowess"

    async def get_tools(self, ctx: RunContext[Any]) -> dict[str, ToolsetTool[Any]]:  # noqa: ARG002 - the framework's signature
        return to_toolset_tools(self, self.tools)

    async def call_tool(
        self,
        name: str,
        tool_args: dict[str, Any],
        ctx: RunContext[Any],
        tool: ToolsetTool[Any],  # noqa: ARG002
    ) -> Any:
        text: str
        text, record = await self.capability.call_tool(ctx, name, tool_args)
        session = self.capability.skills
        if isinstance(session, Session) and record != (current := session.to_json()):
            session.restore(merge_sessions(record, current))  # the tool ran in an earlier process, or beside others
        if isinstance(text, FileAnswer) and _accepts_files(ctx.model):
            file = text.file
            return [str(text), BinaryContent(file.data, media_type=file.media_type, identifier=file.name)]
        return str(text)


_MODELS_WITH_FILES = frozenset({"AnthropicModel", "BedrockConverseModel", "GoogleModel", "OpenAIResponsesModel"})
"""Models whose services accept files in the result of a tool; for others Pydantic AI adds a message of the user."""


def _accepts_files(model: Any) -> bool:
    while isinstance(model, WrapperModel):
        model = model.wrapped
    return any(kind.__name__ in _MODELS_WITH_FILES for kind in type(model).__mro__)


class _LenientArgumentsValidator:
    """Accepts all arguments: the tool itself reports invalid ones, and too many retries would end the run."""

    def validate_json(self, input: str | bytes | bytearray, **_: Any) -> dict[str, Any]:  # noqa: A002 - the name in the protocol
        try:
            return self.validate_python(json.loads(input))
        except (ValueError, RecursionError):
            return {}

    def validate_python(self, input: Any, **_: Any) -> dict[str, Any]:  # noqa: A002 - the name in the protocol
        return input if isinstance(input, dict) else {}


def _user_prompt(ctx: RunContext[Any]) -> tuple[str, bool]:
    """Return the text of the user's message that a run answers, and whether the run begins with it.

    A run without a prompt answers the last request of the history. If tools of an earlier run were deferred, it
    continues the turn of the message before them.
    """
    last = ctx.messages[-1] if ctx.messages else None
    is_new = ctx.prompt is not None
    contents: list[Any] = [ctx.prompt]
    if ctx.prompt is None or (isinstance(last, ModelResponse) and last.tool_calls):
        for message in reversed(ctx.messages):
            if prompts := _user_contents(message):
                contents = [*prompts, ctx.prompt]
                is_new = is_new or message is last
                break
    items = [item for content in contents for item in ([content] if isinstance(content, str) else content or ())]
    return "\n".join(
        item.content if isinstance(item, TextContent) else item for item in items if _is_text(item)
    ), is_new


def _user_contents(message: ModelMessage) -> list[Any]:
    """Return what the user wrote in a message; what a tool adds to its result has the same form."""
    if not isinstance(message, ModelRequest) or any(isinstance(part, ToolReturnPart) for part in message.parts):
        return []
    return [part.content for part in message.parts if isinstance(part, UserPromptPart)]


def _append_text(part: Any, text: str) -> Any:
    """Return a user's prompt or the result of a tool with a text at its end; `None` of any other part."""
    if not isinstance(part, UserPromptPart | ToolReturnPart):
        return None
    if isinstance(part.content, str):
        return replace(part, content=f"{part.content}\n\n{text}")
    # Of a tool it may be any value, such as a list that is sent as JSON.
    return replace(part, content=[*part.content, text]) if isinstance(part, UserPromptPart) else None


def _is_text(item: object) -> bool:
    return isinstance(item, str | TextContent)


def _visible_texts(messages: list[ModelMessage]) -> list[str]:
    """Return the texts that the model gets; messages before a compaction are in the list but are not sent."""
    texts: list[str] = []
    for part in (part for message in messages for part in message.parts):
        if isinstance(part, CompactionPart):
            texts.clear()
        elif isinstance(content := getattr(part, "content", None), str):
            texts.append(content)
    return texts
