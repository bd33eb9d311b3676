"""Session -> an agent of the OpenAI Agents SDK

An `Agent` there is made once and shared, so its skills are told with its instructions and tools, and a conversation's
session comes with each run, as its context.
"""

from __future__ import annotations

import asyncio
import inspect
import json
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from prowess.adapters import missing_extra
from prowess.errors import ConfigError
from prowess.session import Session

try:
    from agents import FunctionTool, RunConfig
    from agents.run import CallModelData, ModelInputData
except ImportError as error:
    raise ImportError(missing_extra("openai-agents", "openai-agents")) from error

if TYPE_CHECKING:
    from collections.abc import Iterable

    from prowess.catalog import Catalog

__all__ = ["Skills"]

_current_session: ContextVar[tuple[Session, asyncio.Task[Any] | None] | None] = ContextVar("_outer", default=None)
"""The session that a model was last called with here, and the task that did so."""


class Skills:
    """What an agent knows of its skills, and what its runs need for them.

    Args:
        catalog: what the model chooses from.
        options: as for a `Session`.

    Raises:
        ConfigError: an unknown unit or format.
    """

    def __init__(self, catalog: Catalog, **options: Any) -> None:
        self.catalog = catalog
        self._options = options
        self._template_session = Session(catalog, **options)

    def instructions(self, base_instructions: str = "") -> str:
        """Return an agent's instructions with its skills behind them: the same bytes for each run."""
        return "\n\n".join(text for text in (base_instructions, self._template_session.static_block()) if text)

    def tools(self) -> list[FunctionTool]:
        """Return the tools with which an agent uses its skills; none where there are no skills."""
        return [
            FunctionTool(
                name=tool.name,
                description=tool.description,
                params_json_schema=dict(tool.parameters),
                on_invoke_tool=_invoke_tool,
                strict_json_schema=False,  # the strict form has no arguments that may be left out
            )
            for tool in self._template_session.tools()
        ]

    def session(self, text: str | None = None) -> Session:
        """Return the session of one conversation: the context of all its runs.

        Args:
            text: what `Session.to_json` returned, where a conversation goes on; by default it begins.

        Raises:
            ConfigError: the text is not what `to_json` returned.
        """
        if text is None:
            return Session(self.catalog, **self._options)
        return Session.from_json(text, self.catalog, **self._options)

    def run_config(self, **options: Any) -> RunConfig:
        """Return the configuration of a run, with which the model sees the skills that its user names.

        Args:
            options: as for `RunConfig`. A `call_model_input_filter` among them is asked first.
        """
        first = options.pop("call_model_input_filter", None)

        async def both(data: CallModelData[Any]) -> ModelInputData:
            if first is not None:
                found = first(data)
                model_data = await found if inspect.isawaitable(found) else found
                data = CallModelData(model_data=model_data, agent=data.agent, context=data.context)
            session, task = _session_of(data.context), asyncio.current_task()
            last, caller = _current_session.get() or (None, None)
            # An agent that is another's tool has that one's session, and its first message is written by a model.
            within = last is session and caller is not None and caller is not task and not caller.done()
            _current_session.set((session, task))
            return await asyncio.to_thread(_with_skills, session, data.model_data, mentions=not within)

        return RunConfig(call_model_input_filter=both, **options)


def _session_of(context: object) -> Session:
    found = context if isinstance(context, Session) else getattr(context, "skills", None)
    if isinstance(found, Session):
        return found
    raise ConfigError(
        "this run has no session for its skills",
        hint="give it one: `Runner.run(..., context=skills.session())`, or a context that has it as `skills`",
    )


async def _invoke_tool(context: Any, arguments: str) -> str:
    """Do what a model asks of a tool; what goes wrong is told in the text."""
    tools = {tool.name: tool for tool in _session_of(context.context).tools()}
    try:
        given = json.loads(arguments or "{}")
    except ValueError:
        given = None
    if not isinstance(given, dict):
        return "error: the arguments are not a JSON object"
    if context.tool_name not in tools:
        return "error: there are no such skills in this conversation\nhint: go on without them"
    return await asyncio.to_thread(tools[context.tool_name].call, **given)


def _with_skills(session: Session, data: ModelInputData, *, mentions: bool) -> ModelInputData:
    """Add what belongs to this call of the model alone, behind what the conversation holds."""
    seen = [text for item in data.input for text in _item_texts(item)]
    added: list[str] = []
    if (
        mentions and data.input and _get_field(data.input[-1], "role") == "user"
    ):  # a turn begins; else tools told something
        said = "\n".join(_item_texts(data.input[-1]))
        added += [message["content"] for message in session.inject(said, visible=seen)]
        added += [f"warning: {warning}" for warning in session.warnings]
    tail = session.tail(visible=[*seen, *added])
    more = [{"role": "user", "content": text} for text in (*added, tail) if text]
    return ModelInputData(input=[*data.input, *more], instructions=data.instructions)


def _item_texts(item: Any) -> Iterable[str]:
    """Return the texts of an item: of a message, or of what a tool told."""
    for key in ("content", "output"):
        value = _get_field(item, key)
        if isinstance(value, str):
            yield value
        elif isinstance(value, list):
            yield from (text for part in value if isinstance(text := _get_field(part, "text"), str))


def _get_field(item: Any, key: str) -> Any:
    return item.get(key) if isinstance(item, dict) else getattr(item, key, None)
