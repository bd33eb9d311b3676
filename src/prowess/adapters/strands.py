"""Adapt skills to Strands Agents, as a plugin of an agent.

Strands has a plugin for skills of its own, `AgentSkills`. `Skills` is that plugin with the rules, the budget, the trust
and the ledger of Prowess. A Strands agent is one conversation, so the session is in its state, which a session manager
and a snapshot save. The catalog and active skills are added to each call of the model and are never in the history.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from prowess._internal.installer import missing_extra
from prowess.errors import SkillError
from prowess.sandbox import CommandScope
from prowess.session import FileAnswer

from ._base import CatalogSkills, KeptSessions, Source, added_texts, call_in_order, require_free_names, shown_skills

try:
    from strands.hooks import AfterInvocationEvent, AfterToolCallEvent, BeforeInvocationEvent, BeforeToolCallEvent
    from strands.middleware import InvokeModelStage
    from strands.tools.tools import PythonAgentTool
    from strands.vended_plugins.skills import AgentSkills, Skill
except ImportError as error:
    raise ImportError(missing_extra("strands-agents", "strands")) from error

if TYPE_CHECKING:
    from collections.abc import Iterable

    from strands import Agent
    from strands.middleware import InvokeModelContext

    from prowess.session import Scripts, Session

__all__ = ["Skills", "catalog_skills"]


_STATE_KEY = "agent_skills"
"""Where `AgentSkills` keeps the names of activated skills in the state of an agent."""


class Skills(AgentSkills):
    """Gives skills to agents: `Agent(plugins=[Skills(".")])`.

    Args:
        skills: a directory, whose skills each turn gets as they are then, or a catalog.
        scripts: whether a model may run the scripts of active skills that the user trusts, and how.
        options: as for a `Session`.

    Raises:
        ConfigError: neither a directory nor a catalog, or an invalid option.
    """

    def __init__(self, skills: Source = ".", *, scripts: bool | Scripts = False, **options: Any) -> None:
        self._sessions = KeptSessions(skills, options, scripts, read=_read_record, write=_write_record)
        self._tool_calls = _ToolCalls()
        super().__init__([], state_key=_STATE_KEY)

    def session(self, agent: Agent) -> Session:
        """Return the session of an agent's conversation, or a new session if its state has no valid record."""
        return self._sessions.get(agent)

    # ── the plugin ───────────────────────────────────────────────────────────────────────────────────────────────────

    async def init_agent(self, agent: Agent) -> None:
        """Add the skills to each turn of an agent, and to each call of its model.

        Raises:
            ConfigError: the agent has a tool of the same name, which Strands would replace.
        """
        require_free_names((tool.tool_name for tool in self.tools), agent.tool_registry.registry)
        self._tool_calls.watch(agent)
        agent.add_hook(self._begin_turn, BeforeInvocationEvent)
        agent.add_middleware(InvokeModelStage.Input, self._add_skills)

    @property
    def hooks(self) -> list[Any]:
        """An empty list: `init_agent` adds what replaces the hooks of `AgentSkills`."""
        return []

    @property
    def tools(self) -> list[Any]:
        """The tools for using skills, in place of the one of `AgentSkills`; an empty list if there are no skills."""
        return [self._agent_tool(tool) for tool in self._sessions.tools()]

    def _agent_tool(self, tool: Any) -> Any:
        def call_and_save(agent: Agent, arguments: dict[str, Any]) -> str:
            session = self.session(agent)
            text = self._sessions.call(session, tool.name, arguments)
            self._sessions.save(agent, session)
            return text

        async def call(tool_use: dict[str, Any], **invocation_state: Any) -> dict[str, Any]:
            agent, arguments = invocation_state["agent"], tool_use["input"]
            with CommandScope() as scope:
                watch = asyncio.create_task(_stop_when_cancelled(agent, scope))
                try:
                    arguments = arguments if isinstance(arguments, dict) else {}
                    text = await call_in_order(agent, tool.name, call_and_save, agent, arguments)
                finally:
                    watch.cancel()
            content = [{"text": str(text)}, *_file_blocks(text, agent.model)]
            return {"toolUseId": tool_use["toolUseId"], "status": "success", "content": content}

        spec = {"name": tool.name, "description": tool.description, "inputSchema": {"json": dict(tool.parameters)}}
        return PythonAgentTool(tool.name, spec, call)

    async def _begin_turn(self, event: BeforeInvocationEvent) -> None:
        """Begin a turn with the user's message; a run that continues another one begins none."""
        messages = event.messages or event.agent.messages[-1:]
        texts = [text for message in messages if message["role"] == "user" for text in _block_texts(message)]
        if not texts or any("toolResult" in block for message in messages for block in message["content"]):
            return
        session = self.session(event.agent)
        # In a tool of another agent, a model wrote the message: it names no skills.
        await asyncio.to_thread(session.inject, "" if _is_in_tool() else "\n".join(texts))
        self._sessions.save(event.agent, session)
        registry = event.agent.tool_registry
        for tool in self._sessions.tools(session):  # a live catalog may need other tools than when the agent was made
            if tool.name not in registry.registry:
                registry.register_tool(self._agent_tool(tool))

    async def _add_skills(self, context: InvokeModelContext) -> InvokeModelContext:
        """Add the catalog to the system prompt, and active skills that the messages do not contain to the last one."""
        session = self.session(context.agent)
        texts = [text for message in context.messages for text in _block_texts(message)]
        added = await asyncio.to_thread(added_texts, session, texts)
        context = context.replace(system_prompt=_append_to_system(context.system_prompt, session.block()))
        if not added or not context.messages:
            return context
        *before, last = context.messages
        *others, block = last["content"] or [{}]
        text = "\n\n".join(added)
        if "toolResult" in block:  # some endpoints accept no message of a user after it
            result = block["toolResult"]
            block = {**block, "toolResult": {**result, "content": [*result["content"], {"text": text}]}}
            content = [*others, block]
        else:
            content = [*last["content"], {"text": f"\n\n{text}"}]
        return context.replace(
            messages=[*before, {**last, "content": content}],
            dynamic_trailing_blocks=context.dynamic_trailing_blocks + 1,
        )

    # ── what AgentSkills offers ──────────────────────────────────────────────────────────────────────────────────────

    def get_available_skills(self, agent: Agent | None = None) -> list[Any]:
        """Return the skills that a model may choose, in the form of Strands; their instructions are not read."""
        session = self._sessions.template if agent is None else self.session(agent)
        return [
            Skill(name=entry.name, description=entry.description, path=Path(entry.path).parent)
            for entry in session.catalog.active
        ]

    def get_activated_skills(self, agent: Agent) -> list[str]:
        """Return the names of the skills that were activated, most recent last."""
        return [record.name for record in self.session(agent).ledger]

    def set_available_skills(self, skills: Source) -> None:  # type: ignore[override]
        """Replace the skills of all agents; conversations keep what was activated.

        Raises:
            ConfigError: neither a directory nor a catalog.
        """
        self._sessions.replace_catalog(skills)


_MODELS_WITH_FILES = frozenset({"AnthropicModel", "BedrockModel"})
"""Models whose services accept files in the result of a tool; for OpenAI's, Strands adds a message of the user."""


def _file_blocks(answer: str, model: Any) -> list[dict[str, Any]]:
    """Return the image or the document of an answer in the form of Strands, if a model gets it."""
    if not isinstance(answer, FileAnswer) or all(
        kind.__name__ not in _MODELS_WITH_FILES for kind in type(model).__mro__
    ):
        return []
    kind, _, form = answer.file.media_type.partition("/")
    block = {"format": form, "source": {"bytes": answer.file.data}}
    # Some services refuse names with other characters.
    return [{"image": block} if kind == "image" else {"document": {**block, "name": "document"}}]


async def _stop_when_cancelled(agent: Agent, scope: CommandScope) -> None:
    """Stop the scripts of a call when its agent is cancelled; the signal cannot be awaited, so Strands polls it too."""
    while not agent.cancel_signal.is_set():
        await asyncio.sleep(0.05)
    scope.stop()


def _read_record(agent: Agent) -> object:
    state = agent.state.get(_STATE_KEY)
    return state.get("session") if isinstance(state, dict) else None


def _write_record(agent: Agent, session: Session, record: str) -> None:
    names = [row.name for row in session.ledger]
    agent.state.set(_STATE_KEY, {"activated_skills": names, "session": record})


def _block_texts(message: Any) -> Iterable[str]:
    """Return the texts of a message, and those of its tool results."""
    for block in message["content"]:
        if isinstance(text := block.get("text"), str):
            yield text
        for part in block.get("toolResult", {}).get("content", ()):
            if isinstance(text := part.get("text"), str):
                yield text


def _append_to_system(system: Any, block: str) -> Any:
    """Append a text to a system prompt, which may be missing, text, or content blocks."""
    if not block:
        return system
    if not system:
        return block
    if isinstance(system, str):
        return f"{system}\n\n{block}"
    *before, last = system
    if set(last) == {"text"}:  # some endpoints accept only one system message
        return [*before, {"text": f"{last['text']}\n\n{block}"}]
    return [*system, {"text": block}]


# ── tools that run ───────────────────────────────────────────────────────────────────────────────────────────────────
# In a tool of another agent, a model wrote the message of an agent.


class _ToolCall:
    """A call of a tool by an agent."""

    def __init__(self, call_id: str) -> None:
        self.call_id, self.is_running = call_id, True


_calls_around: ContextVar[tuple[_ToolCall, ...]] = ContextVar("_calls_around", default=())
"""The tool calls of agents in which this code runs, the innermost last; some may have ended in another context."""


def _is_in_tool() -> bool:
    """Return whether this code runs in a tool of an agent that is watched."""
    return any(call.is_running for call in _calls_around.get())


class _ToolCalls:
    """The tool calls of the agents that it watches."""

    def __init__(self) -> None:
        self._calls: WeakKeyDictionary[Agent, list[_ToolCall]] = WeakKeyDictionary()

    def watch(self, agent: Agent) -> None:
        """Note from now on which tools of an agent are running."""
        agent.add_hook(self._begin, BeforeToolCallEvent)
        agent.add_hook(self._end, AfterToolCallEvent)
        agent.add_hook(self._end_all, AfterInvocationEvent)

    def _begin(self, event: BeforeToolCallEvent) -> None:
        call = _ToolCall(event.tool_use["toolUseId"])
        self._calls.setdefault(event.agent, []).append(call)
        _calls_around.set((*(other for other in _calls_around.get() if other.is_running), call))

    def _end(self, event: AfterToolCallEvent) -> None:
        for call in self._calls.get(event.agent, ()):
            call.is_running = call.is_running and call.call_id != event.tool_use["toolUseId"]

    def _end_all(self, event: AfterInvocationEvent) -> None:
        """End the calls that have no end of their own, for example those that wait for a person."""
        for call in self._calls.pop(event.agent, ()):
            call.is_running = False


# ── skills for the plugin of Strands ─────────────────────────────────────────────────────────────────────────────────


def catalog_skills(skills: Source = ".", **options: Any) -> list[Any]:
    """Return the skills of a catalog as they are now, for `AgentSkills(skills=catalog_skills("."))`.

    Args:
        skills: a directory or a catalog.
        options: as for a `Session`; of skills that do not fit into the budget, none is returned.

    Raises:
        ConfigError: neither a directory nor a catalog, or an invalid option.
    """
    session = CatalogSkills(skills, {**options, "format": "json"}).template
    found: list[Any] = []
    for name, description in shown_skills(session).items():
        with suppress(SkillError, OSError):  # it has changed since it was found
            activation = session.activate(name)
            folder = Path(activation.path).parent
            found.append(Skill(name=name, description=description, instructions=activation.content, path=folder))
    return found
