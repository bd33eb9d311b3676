"""Adapt a catalog to Microsoft Agent Framework: a context provider that gives an agent skills.

An agent of the framework is shared by many conversations, so the session of a conversation is in the state of the
framework's `AgentSession`, as JSON. A run is a turn. Active skills are added to each request of the model and are never
part of the stored history.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from prowess.session import Session, scripts_option

from ._added_texts import added_texts
from ._catalog_argument import catalog_argument
from ._extras import missing_extra
from ._tool_threads import call_in_thread

try:
    from agent_framework import ChatMiddleware, ContextProvider, FunctionTool, Message
    from pydantic import BaseModel, ConfigDict

    from ._agent_framework_source import CatalogSkillsSource, load_session, save_session
except ImportError as error:
    raise ImportError(missing_extra("agent-framework-core", "agent-framework")) from error

if TYPE_CHECKING:
    import os
    from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence

    from agent_framework import AgentSession, ChatContext, SessionContext

    from prowess.catalog import Catalog, LiveCatalog
    from prowess.session import Scripts, Tool

__all__ = ["CatalogSkillsSource", "Skills"]

_LOCAL_CONVERSATION = "agent_framework_local_history_persistence"
"""The conversation id of a history that is not kept by the model's service."""


class Skills(ContextProvider):  # type: ignore[misc]
    """The skills of an agent: `Agent(client, context_providers=[Skills(".")])`.

    Args:
        skills: a directory, whose skills each turn gets as they are then, or a catalog.
        scripts: whether a model may run the scripts of active skills that the user trusts, and how.
        approve_scripts: whether each run of a script also needs an approval of the framework.
        source_id: where the state of a conversation has its record.
        options: as for a `Session`.

    Raises:
        ConfigError: neither a directory nor a catalog, or an invalid option.
    """

    def __init__(
        self,
        skills: str | os.PathLike[str] | Catalog | LiveCatalog = ".",
        *,
        scripts: bool | Scripts = False,
        approve_scripts: bool = False,
        source_id: str = "prowess",
        **options: Any,
    ) -> None:
        super().__init__(source_id)
        self.catalog = catalog_argument(skills)
        """The skills to choose from."""
        self._options, self._needs_approval = options, ("run_skill_script",) if approve_scripts else ()
        # One object for all conversations: it keeps a folder for each.
        self._scripts = scripts_option(scripts) if scripts is not False else False
        Session(self.catalog, **options)  # an invalid option is an error now, not in the first turn

    def session(self, state: Mapping[str, Any]) -> Session:
        """Return the session of a conversation, or a new one if there is no valid record.

        Args:
            state: of the framework's session.
        """
        return load_session(state.get(self.source_id), self.catalog, self._options)

    async def before_run(
        self,
        *,
        agent: Any,  # noqa: ARG002 - the signature of the framework
        session: AgentSession,
        context: SessionContext,
        state: Any,
    ) -> None:
        """Begin a turn: add the catalog, the tools and what the user's message names."""
        if not isinstance(state, dict):  # an application may have loaded it from anywhere
            state = session.state[self.source_id] = {}
        prompt = _prompt_of(context.input_messages)
        # Without a text the user answers a question of a tool, and the turn goes on.
        skills, named = await asyncio.to_thread(self._begin, state, prompt)
        save_session(state, skills)
        if prompt:  # a catalog that is shortened depends on it
            state["prompt"] = prompt if skills.shortened else ""
        block = await asyncio.to_thread(skills.block, str(state.get("prompt", "")))
        if block:
            context.extend_instructions(self.source_id, block)
        tools = skills.tools(scripts=self._scripts)
        functions = [_as_function(tool, skills, state, approve=tool.name in self._needs_approval) for tool in tools]
        context.extend_tools(self.source_id, functions)
        context.extend_middleware(self.source_id, _Requests(skills, named, self.source_id))

    def _begin(self, state: Mapping[str, Any], prompt: str) -> tuple[Session, list[str]]:
        session = load_session(state, self.catalog, self._options)
        named = [message["content"] for message in session.inject(prompt)] if prompt else []
        return session, named


class _Requests(ChatMiddleware):  # type: ignore[misc]
    """Adds the active skills to each request of a run.

    Args:
        session: of the conversation.
        named: the texts for the skills that the user's message names.
        source_id: marks what is added; the framework does not store it.
    """

    def __init__(self, session: Session, named: Sequence[str], source_id: str) -> None:
        self._session, self._named, self._source_id = session, named, source_id
        self._first = True

    async def process(self, context: ChatContext, call_next: Callable[[], Awaitable[None]]) -> None:
        """Add them after compaction, so that a skill that it removes is sent again."""
        conversation = (context.options or {}).get("conversation_id")
        is_stored = conversation not in (None, _LOCAL_CONVERSATION)
        compact = context.kwargs.get("compaction_strategy") or getattr(context.client, "compaction_strategy", None)
        if compact is None:
            context.messages = [*context.messages, *await self._additions(context.messages, is_stored=is_stored)]
        else:

            async def compact_and_add(messages: list[Message]) -> bool:
                changed = await compact(messages)
                sent = [message for message in messages if not message.additional_properties.get("_excluded")]
                messages += await self._additions(sent, is_stored=is_stored)
                return bool(changed)

            context.kwargs["compaction_strategy"] = compact_and_add
        await call_next()

    async def _additions(self, messages: Sequence[Message], *, is_stored: bool) -> list[Message]:
        """Return the messages to add to a request.

        Args:
            messages: of the request.
            is_stored: whether the model's service keeps what it was sent: then nothing is sent twice.
        """
        first, self._first = self._first, False
        visible = list(_visible_texts(messages))
        if is_stored:
            texts = [text for text in self._named if not any(text in seen for seen in visible)] if first else []
        else:
            texts = await asyncio.to_thread(added_texts, self._session, visible)
        mark = {"_attribution": {"source_id": self._source_id}}
        return [Message("user", [text], additional_properties=dict(mark)) for text in texts if text]


class _AnyArguments(BaseModel):  # type: ignore[misc]
    """Accepts all arguments: the tool itself says what is wrong with them, and what to do."""

    model_config = ConfigDict(extra="allow")


class _SkillFunction(FunctionTool):  # type: ignore[misc]
    """A tool of a session, with the schema of that tool."""

    schema: Mapping[str, Any]

    def parameters(self) -> dict[str, Any]:
        """Return the JSON schema of the arguments."""
        return dict(self.schema)


def _as_function(tool: Tool, session: Session, state: dict[str, Any], *, approve: bool) -> FunctionTool:
    """Return a tool in the form of the framework; it saves the session after each call."""

    async def call(**arguments: Any) -> str:
        text = await call_in_thread(tool.call, **arguments)
        save_session(state, session)
        return text

    return _SkillFunction(
        approval_mode="always_require" if approve else "never_require",
        name=tool.name,
        description=tool.description,
        func=call,
        input_model=_AnyArguments,
        schema=tool.parameters,
    )


def _prompt_of(messages: Sequence[Message]) -> str:
    """Return the text of the user's messages at the end of a run's input."""
    texts: list[str] = []
    for message in reversed(messages):
        if message.role != "user":
            break
        texts.insert(0, message.text)
    return "\n".join(text for text in texts if text)


def _visible_texts(messages: Iterable[Message]) -> Iterator[str]:
    """Return the texts that the model gets: of messages and of tool results."""
    for content in (content for message in messages for content in message.contents):
        for text in (content.text, content.result):
            if isinstance(text, str):
                yield text
