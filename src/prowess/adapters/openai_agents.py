"""Adapt a catalog to the OpenAI Agents SDK.

An `Agent` is created once and shared by many conversations. So the skills are part of its instructions and tools, and
the session of a conversation is the context of each run.
"""

from __future__ import annotations

import asyncio
import inspect
import json
import warnings
from typing import TYPE_CHECKING, Any

from prowess.errors import ConfigError
from prowess.session import Session

from ._call_tool import call_tool
from ._catalog_argument import catalog_argument
from ._extras import missing_extra
from ._openai_conversation import Conversation, RootSession
from ._tool_threads import call_in_thread

try:
    from agents import FunctionTool, GuardrailFunctionOutput, InputGuardrail, RunConfig, Tool
    from agents.run import CallModelData, ModelInputData
    from agents.tool_context import ToolContext
except ImportError as error:
    raise ImportError(missing_extra("openai-agents", "openai-agents")) from error

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable

    from agents import Agent, RunContextWrapper

    from prowess.catalog import Catalog, LiveCatalog
    from prowess.session import Scripts

__all__ = ["SkillWarning", "Skills"]


class SkillWarning(UserWarning):
    """A run was started without what its skills need."""


class Skills:
    """Gives the skills of a catalog to an agent and its runs.

    Args:
        catalog: a directory, whose skills each turn gets as they are then, or a catalog.
        scripts: whether a model may run the scripts of active skills that the user trusts, and how.
        options: as for a `Session`.

    Raises:
        ConfigError: neither a directory nor a catalog, or an invalid option.
    """

    def __init__(
        self,
        catalog: str | os.PathLike[str] | Catalog | LiveCatalog = ".",
        *,
        scripts: bool | Scripts = False,
        **options: Any,
    ) -> None:
        self.catalog = catalog_argument(catalog)
        self._scripts = scripts
        self._options = options
        self._template_session = Session(self.catalog, **options)
        self._template_tools = self._template_session.tools(scripts=scripts)

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
                on_invoke_tool=_ToolCall(self._call_tool, self._add_skills),
                strict_json_schema=False,  # strict schemas do not allow optional arguments
                is_enabled=True if number else _warn_without_configuration,
            )
            for number, tool in enumerate(self._template_tools)
        ]

    def session(self, text: str | None = None) -> Session:
        """Return the session of a conversation, to use as the context of all its runs.

        Agents with other skills may take part in the conversation: each catalog has its own session inside this one.

        Args:
            text: the result of `Session.to_json`, to continue a conversation; by default a new one starts.

        Raises:
            ConfigError: the text is not a result of `to_json`.
        """
        session = RootSession(self.catalog, **self._options) if text is None else self._restore(text)
        Conversation.of(session).set_source(self.catalog)
        return session

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
            conversation = _require_conversation(data.context)
            # After a handoff the agent may have the skills of another catalog.
            own = next((call.add_skills for call in _tool_calls(data.agent)), None)
            add_skills = own or self._add_skills
            return await asyncio.to_thread(add_skills, conversation, data.model_data, has_tools=own is not None)

        # Run once for each run, before its first request. A filter does not know to which run a request belongs.
        begin = InputGuardrail(_begin_run, name="prowess_begin_turn", run_in_parallel=False)
        guardrails = [begin, *(options.pop("input_guardrails", None) or ())]
        return RunConfig(call_model_input_filter=filter_input, input_guardrails=guardrails, **options)

    def _restore(self, text: str) -> Session:
        return RootSession.from_json(text, self.catalog, **self._options)

    def _add_skills(self, conversation: Conversation, data: ModelInputData, *, has_tools: bool) -> ModelInputData:
        """Append the skills of this call to the input, without saving them in the conversation.

        Args:
            conversation: that of the run.
            data: what the model would be sent.
            has_tools: whether the agent has the tools of these skills.
        """
        visible = [text for item in data.input for text in _item_texts(item)]
        session, added = conversation.begin_session_turn(self.catalog, self._restore, visible)
        tail = session.tail(visible=[*visible, *added])
        skill_items = [{"role": "user", "content": text} for text in (*added, tail) if text]
        instructions, block, shown = data.instructions, session.block(), self._template_session.static_block()
        if instructions and shown:
            instructions = instructions.replace(shown, block)
        elif block and has_tools and not shown:  # the first skill came after the agent
            instructions = f"{instructions}\n\n{block}" if instructions else block
        return ModelInputData(input=[*data.input, *skill_items], instructions=instructions)

    def _call_tool(self, conversation: Conversation, name: str, arguments: dict[str, Any]) -> str:
        session = conversation.session_of(self.catalog, self._restore)
        return call_tool(session.tools(scripts=self._scripts), name, arguments)


class _ToolCall:
    """Runs a tool for the model; errors are part of the returned text.

    Args:
        call_tool: takes the conversation, the tool's name and its arguments.
        add_skills: adds the skills that the tool is for to a request.
    """

    def __init__(self, call_tool: Callable[..., str], add_skills: Callable[..., ModelInputData]) -> None:
        self._call_tool, self.add_skills = call_tool, add_skills

    async def __call__(self, context: ToolContext[Any], arguments: str) -> str:
        try:
            conversation = _require_conversation(context.context)
        except ConfigError as error:
            return f"error: {error}\nhint: {error.hint}"
        try:
            parsed = json.loads(arguments or "{}")
        except (ValueError, RecursionError):
            parsed = None
        if not isinstance(parsed, dict):
            return "error: the arguments are not a JSON object"
        return await call_in_thread(self._call_tool, conversation, context.tool_name, parsed)


def _tool_calls(agent: Agent[Any]) -> Iterable[_ToolCall]:
    calls = (getattr(tool, "on_invoke_tool", None) for tool in agent.tools)
    return (call for call in calls if isinstance(call, _ToolCall))


def _require_conversation(context: object) -> Conversation:
    conversation = Conversation.in_context(context)
    if conversation is None:
        raise ConfigError(
            "this run has no session for its skills",
            hint="use `Runner.run(..., context=skills.session())`, or a context with the session as `skills`",
        )
    return conversation


async def _begin_run(
    context: RunContextWrapper[Any],
    agent: Agent[Any],  # noqa: ARG001 - the signature of the SDK
    run_input: str | list[Any],
) -> GuardrailFunctionOutput:
    """Begin a turn with the input of a run, unless a model wrote it: that of an agent that is a tool."""
    conversation = _require_conversation(context.context)
    if not isinstance(context, ToolContext):
        conversation.runs.add(context)
        last = {"role": "user", "content": run_input} if isinstance(run_input, str) else (run_input or [None])[-1]
        if _get_field(last, "role") == "user":
            conversation.begin_turn("\n".join(_item_texts(last)))
    return GuardrailFunctionOutput(output_info=None, tripwire_triggered=False)


def _warn_without_configuration(context: RunContextWrapper[Any], agent: object) -> bool:  # noqa: ARG001
    """Enable a tool; warn if the first request of a run is made without the configuration, which came before."""
    if not isinstance(context, ToolContext) and not context.usage.requests:
        conversation = Conversation.in_context(context.context)
        if conversation is None or context not in conversation.runs:
            warnings.warn(
                "this run ignores the skills that its user names: start it with "
                "`Runner.run(..., context=skills.session(), run_config=skills.run_config())`",
                SkillWarning,
                stacklevel=2,
            )
    return True


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
