"""Adapt skills to Pydantic AI, as a capability of an agent.

The catalog is static text in the instructions, and active skills are added to each request. So the message history
contains neither, and neither is lost when the history is compacted.
"""

from __future__ import annotations

import asyncio
import json
from dataclasses import KW_ONLY, dataclass, replace
from typing import TYPE_CHECKING, Any

from prowess.catalog import Catalog, LiveCatalog, live_catalog
from prowess.session import Session, Tool

from ._extras import missing_extra

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

    Each run has its own session. To continue a conversation, pass its session, which replaces the agent's `Skills`:
    `agent.run(prompt, capabilities=[Skills(session)])`. A capability that compacts the history in
    `prepare_model_request` must come before this one.
    """

    skills: str | os.PathLike[str] | Catalog | LiveCatalog | Session = "."
    """The directory whose skills each run gets as they are then, a catalog, or the session of one conversation."""
    _: KW_ONLY
    budget: float | None = None
    """The most characters of the catalog; `None` is 8,000 tokens, `math.inf` no limit. A session has its own budget."""
    id: str | None = "prowess"
    """An agent has only one capability with this id."""

    async def for_run(self, ctx: RunContext[Any]) -> Skills:
        """Begin a turn: activate the skills that the user's prompt names."""
        session = self.skills
        if not isinstance(session, Session):
            catalog = session if isinstance(session, Catalog | LiveCatalog) else live_catalog(session)
            session = Session(catalog if isinstance(catalog, Catalog) else catalog.current(), budget=self.budget)
        session.inject(_user_prompt(ctx))
        return replace(self, skills=session)

    def get_instructions(self) -> str | None:
        """Return the catalog, the same bytes at each request of a run, or `None` if there are no skills."""
        return self.skills.block() or None if isinstance(self.skills, Session) else None

    def get_toolset(self) -> AbstractToolset[Any] | None:
        """Return the tools for using skills, or `None` before a run starts."""
        return _SessionToolset(self.skills.tools()) if isinstance(self.skills, Session) else None

    async def prepare_model_request(
        self,
        ctx: RunContext[Any],  # noqa: ARG002 - the signature of the framework, here and below
        request_context: ModelRequestContext,
    ) -> ModelRequestContext:
        """Add the active skills that the messages do not contain; the history does not change."""
        *before, last = request_context.messages
        if isinstance(self.skills, Session) and isinstance(last, ModelRequest):
            tail = self.skills.tail(visible=_visible_texts(request_context.messages))
            if tail:
                request_context.messages = [*before, replace(last, parts=[*last.parts, UserPromptPart(tail)])]
        return request_context


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
                name=tool.name, description=tool.description, parameters_json_schema=dict(tool.parameters)
            ),
            max_retries=1,
            args_validator=_LenientArgumentsValidator(),
        )
        for tool in tools
    }


@dataclass
class _SessionToolset(AbstractToolset[Any]):
    """The tools of a session."""

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
        (session_tool,) = (tool for tool in self.tools if tool.name == name)
        return await asyncio.to_thread(session_tool.call, **tool_args)


class _LenientArgumentsValidator:
    """Accepts all arguments: the tool itself reports invalid ones, and too many retries would end the run."""

    def validate_json(self, input: str | bytes | bytearray, **_: Any) -> dict[str, Any]:  # noqa: A002 - the name in the protocol
        try:
            return self.validate_python(json.loads(input))
        except (ValueError, RecursionError):
            return {}

    def validate_python(self, input: Any, **_: Any) -> dict[str, Any]:  # noqa: A002 - the name in the protocol
        return input if isinstance(input, dict) else {}


def _user_prompt(ctx: RunContext[Any]) -> str:
    """Return the user's prompt of this run; without one, the run answers the last request of the history."""
    contents: list[Any] = [ctx.prompt]
    if ctx.prompt is None and ctx.messages and isinstance(ctx.messages[-1], ModelRequest):
        contents = [part.content for part in ctx.messages[-1].parts if isinstance(part, UserPromptPart)]
    items = [item for content in contents for item in ([content] if isinstance(content, str) else content or ())]
    return "\n".join(item.content if isinstance(item, TextContent) else item for item in items if _is_text(item))


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
