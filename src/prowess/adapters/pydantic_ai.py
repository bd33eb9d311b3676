"""Session -> a capability of Pydantic AI

What a model is told of its skills is static text, what it has activated is added to each request on its way out. So
history holds neither, and neither is lost when history is compacted.
"""

from __future__ import annotations

import asyncio
import json
from dataclasses import KW_ONLY, dataclass, replace
from typing import TYPE_CHECKING, Any

from prowess.adapters import missing_extra
from prowess.catalog import Catalog, discover
from prowess.session import Session, Tool

try:
    from pydantic_ai import RunContext, ToolDefinition
    from pydantic_ai.capabilities import AbstractCapability
    from pydantic_ai.messages import CompactionPart, ModelMessage, ModelRequest, TextContent, UserPromptPart
    from pydantic_ai.toolsets import AbstractToolset, ToolsetTool
except ImportError as error:
    raise ImportError(missing_extra("pydantic-ai-slim", "pydantic-ai")) from error

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable

    from pydantic_ai.models import ModelRequestContext

__all__ = ["Skills", "to_toolset_tools"]


@dataclass
class Skills(AbstractCapability[Any]):
    """The skills of an agent: `Agent(model, capabilities=[Skills(".")])`.

    Each run has a session of its own, unless it is given one: `agent.run(prompt, capabilities=[Skills(session)])` goes
    on with a conversation, and takes the place of the agent's own `Skills`. A capability that compacts history in
    `prepare_model_request` belongs before this one.
    """

    skills: str | os.PathLike[str] | Catalog | Session = "."
    """The directory they are looked for from, at each run; a catalog; or the session of one conversation."""
    _: KW_ONLY
    budget: int | None = None
    """Characters that the catalog may take; None is no limit. A session has its own."""
    id: str | None = "prowess"
    """An agent has one of these."""

    async def for_run(self, ctx: RunContext[Any]) -> Skills:
        """Begin a turn of the conversation with what the user says, and with the skills named in it."""
        session = self.skills
        if not isinstance(session, Session):
            catalog = session if isinstance(session, Catalog) else discover(session)
            session = Session(catalog, budget=self.budget)
        session.inject(_user_prompt(ctx))
        return replace(self, skills=session)

    def get_instructions(self) -> str | None:
        """Return the catalog, the same bytes at each request; nothing where there are no skills."""
        return self.skills.static_block() or None if isinstance(self.skills, Session) else None

    def get_toolset(self) -> AbstractToolset[Any] | None:
        """Return the tools with which the model uses its skills; none where there are no skills."""
        return _SessionToolset(self.skills.tools()) if isinstance(self.skills, Session) else None

    async def prepare_model_request(
        self,
        ctx: RunContext[Any],  # noqa: ARG002 - the framework's signature, here and below
        request_context: ModelRequestContext,
    ) -> ModelRequestContext:
        """Add the active skills that are not, or no longer, among the messages; history never sees them."""
        *before, last = request_context.messages
        if isinstance(self.skills, Session) and isinstance(last, ModelRequest):
            tail = self.skills.tail(visible=_visible_texts(request_context.messages))
            if tail:
                request_context.messages = [*before, replace(last, parts=[*last.parts, UserPromptPart(tail)])]
        return request_context


def to_toolset_tools(toolset: AbstractToolset[Any], tools: Iterable[Any]) -> dict[str, ToolsetTool[Any]]:
    """Return tools as Pydantic AI has them.

    Args:
        toolset: that calls them.
        tools: each with `name`, `description` and `parameters`, a JSON Schema.
    """
    return {
        tool.name: ToolsetTool(
            toolset=toolset,
            tool_def=ToolDefinition(
                name=tool.name, description=tool.description, parameters_json_schema=dict(tool.parameters)
            ),
            max_retries=1,
            args_validator=_LenientArgumentsValidator(),
        )
        for tool in tools
    }


@dataclass
class _SessionToolset(AbstractToolset[Any]):
    """The tools of a session as they are."""

    tools: tuple[Tool, ...]

    @property
    def id(self) -> str:
        return "prowess"

    async def get_tools(self, ctx: RunContext[Any]) -> dict[str, ToolsetTool[Any]]:  # noqa: ARG002
        return to_toolset_tools(self, self.tools)

    async def call_tool(
        self,
        name: str,
        tool_args: dict[str, Any],
        ctx: RunContext[Any],  # noqa: ARG002
        tool: ToolsetTool[Any],  # noqa: ARG002
    ) -> str:
        (chosen,) = (tool for tool in self.tools if tool.name == name)
        return await asyncio.to_thread(chosen.call, **tool_args)


class _LenientArgumentsValidator:
    """What a model gives is judged by the tool, which tells what is wrong; a retry too many would end the run."""

    def validate_json(self, input: str | bytes | bytearray, **_: Any) -> dict[str, Any]:  # noqa: A002 - its own name
        try:
            return self.validate_python(json.loads(input))
        except (ValueError, RecursionError):
            return {}

    def validate_python(self, input: Any, **_: Any) -> dict[str, Any]:  # noqa: A002 - its own name
        return input if isinstance(input, dict) else {}


def _user_prompt(ctx: RunContext[Any]) -> str:
    """Return what the user says in this run; a run without a prompt answers the request that history ends with."""
    said: list[Any] = [ctx.prompt]
    if ctx.prompt is None and ctx.messages and isinstance(ctx.messages[-1], ModelRequest):
        said = [part.content for part in ctx.messages[-1].parts if isinstance(part, UserPromptPart)]
    items = [item for content in said for item in ([content] if isinstance(content, str) else content or ())]
    return "\n".join(item.content if isinstance(item, TextContent) else item for item in items if _is_text(item))


def _is_text(item: object) -> bool:
    return isinstance(item, str | TextContent)


def _visible_texts(messages: list[ModelMessage]) -> list[str]:
    """Return the texts the model has before it; what a provider has compacted is still in the list, but not sent."""
    texts: list[str] = []
    for part in (part for message in messages for part in message.parts):
        if isinstance(part, CompactionPart):
            texts.clear()
        elif isinstance(content := getattr(part, "content", None), str):
            texts.append(content)
    return texts
