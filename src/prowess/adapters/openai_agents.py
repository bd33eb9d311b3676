"""Adapt a catalog to the OpenAI Agents SDK.

An `Agent` is created once and shared by many conversations. So the skills are part of its instructions and tools, and
the session of a conversation is the context of each run.
"""

from __future__ import annotations

import asyncio
import inspect
import json
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from prowess.catalog import Catalog
from prowess.errors import ConfigError
from prowess.session import Session

from ._extras import missing_extra

try:
    from agents import FunctionTool, RunConfig, Tool
    from agents.run import CallModelData, ModelInputData
except ImportError as error:
    raise ImportError(missing_extra("openai-agents", "openai-agents")) from error

if TYPE_CHECKING:
    from collections.abc import Iterable

    from prowess.catalog import LiveCatalog

__all__ = ["Skills"]

_current_session: ContextVar[tuple[Session, asyncio.Task[Any] | None] | None] = ContextVar(
    "_current_session", default=None
)
"""The session of the last call of a model in this context, and the task that made the call."""


class Skills:
    """Gives the skills of a catalog to an agent and its runs.

    Args:
        catalog: the skills to choose from; with a `LiveCatalog`, a turn begins with those of that moment.
        options: as for a `Session`.

    Raises:
        ConfigError: unknown unit or format.
    """

    def __init__(self, catalog: Catalog | LiveCatalog, **options: Any) -> None:
        self.catalog = catalog
        self._options = options
        self._template_session = Session(catalog, **options)

    def instructions(self, base_instructions: str = "") -> str:
        """Return an agent's instructions followed by its skills: the same bytes for each run.

        If not all skills fit, `run_config` replaces them by those that the user's message needs.
        """
        return "\n\n".join(text for text in (base_instructions, self._template_session.static_block()) if text)

    def tools(self) -> list[Tool]:
        """Return the tools for using skills, as `Agent` takes them; an empty list if there are no skills."""
        return [
            FunctionTool(
                name=tool.name,
                description=tool.description,
                params_json_schema=dict(tool.parameters),
                on_invoke_tool=_invoke_tool,
                strict_json_schema=False,  # strict schemas do not allow optional arguments
            )
            for tool in self._template_session.tools()
        ]

    def session(self, text: str | None = None) -> Session:
        """Return the session of a conversation, to use as the context of all its runs.

        Args:
            text: the result of `Session.to_json`, to continue a conversation; by default a new one starts.

        Raises:
            ConfigError: the text is not a result of `to_json`.
        """
        if text is None:
            return Session(self.catalog, **self._options)
        return Session.from_json(text, self.catalog, **self._options)

    def run_config(self, **options: Any) -> RunConfig:
        """Return a run configuration that shows the model the skills a user names.

        Args:
            options: as for `RunConfig`. A `call_model_input_filter` is applied first.
        """
        own_filter = options.pop("call_model_input_filter", None)

        async def filter_input(data: CallModelData[Any]) -> ModelInputData:
            if own_filter is not None:
                filtered = own_filter(data)
                model_data = await filtered if inspect.isawaitable(filtered) else filtered
                data = CallModelData(model_data=model_data, agent=data.agent, context=data.context)
            session, task = _session_of(data.context), asyncio.current_task()
            last_session, caller = _current_session.get() or (None, None)
            # An agent that is a tool of another agent shares its session, and a model writes its first message.
            is_nested = last_session is session and caller is not None and caller is not task and not caller.done()
            _current_session.set((session, task))
            shown = (session if isinstance(self.catalog, Catalog) else self._template_session).static_block()
            return await asyncio.to_thread(_with_skills, session, data.model_data, shown, mentions=not is_nested)

        return RunConfig(call_model_input_filter=filter_input, **options)


def _session_of(context: object) -> Session:
    session = context if isinstance(context, Session) else getattr(context, "skills", None)
    if isinstance(session, Session):
        return session
    raise ConfigError(
        "this run has no session for its skills",
        hint="use `Runner.run(..., context=skills.session())`, or a context with the session as `skills`",
    )


async def _invoke_tool(context: Any, arguments: str) -> str:
    """Run a tool for the model; errors are part of the returned text."""
    tools = {tool.name: tool for tool in _session_of(context.context).tools()}
    try:
        parsed = json.loads(arguments or "{}")
    except ValueError:
        parsed = None
    if not isinstance(parsed, dict):
        return "error: the arguments are not a JSON object"
    if context.tool_name not in tools:
        return "error: this conversation has no skills\nhint: continue without them"
    return await asyncio.to_thread(tools[context.tool_name].call, **parsed)


def _with_skills(session: Session, data: ModelInputData, shown: str, *, mentions: bool) -> ModelInputData:
    """Append the skills of this call to the input, without saving them in the conversation.

    Args:
        session: of the conversation.
        data: what the model would be sent.
        shown: the catalog in the agent's instructions, which the one of this turn replaces.
        mentions: whether a user's message begins a turn.
    """
    visible = [text for item in data.input for text in _item_texts(item)]
    added: list[str] = []
    # A turn begins with the user's message; otherwise the last item is a tool result.
    if mentions and data.input and _get_field(data.input[-1], "role") == "user":
        prompt = "\n".join(_item_texts(data.input[-1]))
        added += [message["content"] for message in session.inject(prompt, visible=visible)]
        added += [f"warning: {warning}" for warning in session.warnings]
    tail = session.tail(visible=[*visible, *added])
    skill_items = [{"role": "user", "content": text} for text in (*added, tail) if text]
    instructions, block = data.instructions, session.block()
    if instructions and shown:
        instructions = instructions.replace(shown, block)
    elif block and not shown:  # the first skill came after the agent
        instructions = f"{instructions}\n\n{block}" if instructions else block
    return ModelInputData(input=[*data.input, *skill_items], instructions=instructions)


def _item_texts(item: Any) -> Iterable[str]:
    """Return the texts of an item: of a message or of a tool result."""
    for key in ("content", "output"):
        value = _get_field(item, key)
        if isinstance(value, str):
            yield value
        elif isinstance(value, list):
            yield from (text for part in value if isinstance(text := _get_field(part, "text"), str))


def _get_field(item: Any, key: str) -> Any:
    return item.get(key) if isinstance(item, dict) else getattr(item, key, None)
