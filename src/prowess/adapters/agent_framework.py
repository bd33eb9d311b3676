"""Adapt a catalog to Microsoft Agent Framework: a context provider that gives an agent skills.

An agent of the framework is shared by many conversations, so the session of a conversation is in the state of the
framework's `AgentSession`, as JSON. A run is a turn. Active skills are added to each request of the model and are never
part of the stored history.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from copy import copy
from functools import partial
from typing import TYPE_CHECKING, Any

from prowess._internal.installer import missing_extra
from prowess.session import FileAnswer, Session, read_media

from ._base import (
    CatalogSkills,
    Source,
    added_texts,
    call_and_list_files,
    call_in_order,
    merge_sessions,
    shown_skills,
    unsent_texts,
)

try:
    from agent_framework import (
        ChatMiddleware,
        Content,
        ContextProvider,
        FunctionTool,
        Message,
        Skill,
        SkillFrontmatter,
        SkillResource,
        SkillScript,
        SkillsSource,
    )
    from pydantic import BaseModel, ConfigDict
except ImportError as error:
    raise ImportError(missing_extra("agent-framework-core", "agent-framework")) from error

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence

    from agent_framework import AgentSession, ChatContext, SessionContext, SkillsSourceContext

    from prowess.session import Scripts, Tool, WrittenFile

__all__ = ["CatalogSkillsSource", "Skills"]

_MAX_DESCRIPTION = 1024
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
        skills: Source = ".",
        *,
        scripts: bool | Scripts = False,
        approve_scripts: bool = False,
        source_id: str = "prowess",
        **options: Any,
    ) -> None:
        super().__init__(source_id)
        self._skills = CatalogSkills(skills, options, scripts)
        self.catalog = self._skills.catalog
        """The skills to choose from."""
        self._needs_approval = ("run_skill_script",) if approve_scripts else ()

    def session(self, state: Mapping[str, Any]) -> Session:
        """Return the session of a conversation, or a new one if there is no valid record.

        Args:
            state: of the framework's session.
        """
        return _load_session(state.get(self.source_id), self._skills)

    async def before_run(
        self,
        *,
        agent: Any,
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
        _save_session(state, skills)
        if prompt:  # a catalog that is shortened depends on it
            state["prompt"] = prompt if skills.shortened else ""
        block = await asyncio.to_thread(skills.block, str(state.get("prompt", "")))
        if block:
            context.extend_instructions(self.source_id, block)
        tools = self._skills.tools(skills)
        functions = [_as_function(tool, skills, state, approve=tool.name in self._needs_approval) for tool in tools]
        context.extend_tools(self.source_id, functions)
        is_saved_at_once = bool(getattr(agent, "require_per_service_call_history_persistence", False))
        requests = _Requests(skills, named, self.source_id, is_saved_at_once=is_saved_at_once)
        context.extend_middleware(self.source_id, requests)

    def _begin(self, state: Mapping[str, Any], prompt: str) -> tuple[Session, list[str]]:
        session = _load_session(state, self._skills)
        named = [message["content"] for message in session.inject(prompt)] if prompt else []
        return session, named


class _Requests(ChatMiddleware):  # type: ignore[misc]
    """Adds the active skills to each request of a run.

    Args:
        session: of the conversation.
        named: the texts for the skills that the user's message names.
        source_id: marks what is added; the framework does not store it.
        is_saved_at_once: whether the framework saves the messages of each request after every middleware has run.
    """

    def __init__(self, session: Session, named: Sequence[str], source_id: str, *, is_saved_at_once: bool) -> None:
        self._session, self._named, self._source_id = session, named, source_id
        self._first, self._is_saved_at_once = True, is_saved_at_once

    async def process(self, context: ChatContext, call_next: Callable[[], Awaitable[None]]) -> None:
        """Add them after compaction, so that a skill that it removes is sent again."""
        conversation = (context.options or {}).get("conversation_id")
        is_stored = conversation not in (None, _LOCAL_CONVERSATION)
        compact = context.kwargs.get("compaction_strategy") or getattr(context.client, "compaction_strategy", None)
        if compact is None and not self._is_saved_at_once:
            text = await self._addition(context.messages, is_stored=is_stored)
            context.messages = self._with_text(_without_written_files(context.messages), text)
        else:

            async def compact_and_add(messages: list[Message]) -> bool:
                changed = compact is not None and await compact(messages)
                sent = [message for message in messages if not message.additional_properties.get("_excluded")]
                text = await self._addition(sent, is_stored=is_stored)
                messages[:] = self._with_text(_without_written_files(messages), text)
                return bool(changed)

            context.kwargs["compaction_strategy"] = compact_and_add
        await call_next()

    async def _addition(self, messages: Sequence[Message], *, is_stored: bool) -> str:
        """Return the text to add to a request.

        Args:
            messages: of the request.
            is_stored: whether the model's service keeps what it was sent: then nothing is sent twice.
        """
        first, self._first = self._first, False
        visible = list(_visible_texts(messages))
        if is_stored:
            texts = unsent_texts(self._named, visible) if first else []
        else:
            texts = await asyncio.to_thread(added_texts, self._session, visible)
        return "\n\n".join(filter(None, texts))

    def _with_text(self, messages: Sequence[Message], text: str) -> list[Message]:
        """Return the messages of a request with a text in the last one of a user or a tool; the given ones stay."""
        if not text:
            return [*messages]
        last = messages[-1] if messages else None
        if last is None or last.role not in ("user", "tool") or not last.contents:
            mark = {"_attribution": {"source_id": self._source_id}}
            return [*messages, Message("user", [text], additional_properties=mark)]
        changed = copy(last)
        changed.contents = [*last.contents[:-1], *_append_text(last.contents[-1], text)]
        return [*messages[:-1], changed]


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

    async def call(**arguments: Any) -> Any:
        result = await call_in_order(session, tool.name, _call, session, tool, arguments)
        _save_session(state, session)
        return result

    return _SkillFunction(
        approval_mode="always_require" if approve else "never_require",
        name=tool.name,
        description=tool.description,
        func=call,
        input_model=_AnyArguments,
        schema=tool.parameters,
    )


def _call(session: Session, tool: Tool, arguments: Mapping[str, Any]) -> str | list[Content]:
    """Call a tool and return its result: a text, and the files that belong to it."""
    text, files = call_and_list_files(session, tool.name, partial(tool.call, **arguments))
    if isinstance(text, FileAnswer):
        # A client whose service accepts only text leaves the second out.
        return [Content.from_text(str(text)), Content.from_data(text.file.data, text.file.media_type)]
    if not files:
        return text
    properties = {_FILES: [file.as_dict() for file in files]}
    return [Content.from_text(text, additional_properties=properties), *_written_media(files)]


_FILES = "prowess_files"
"""In the properties of a content: the files that a script wrote."""
_MAX_BYTES = 4 * 1024 * 1024
"""Of the images and documents in one result; the framework stores them as base64."""


def _written_media(files: Iterable[WrittenFile]) -> Iterator[Content]:
    """Return the images and documents of what a script wrote, for the application."""
    space = _MAX_BYTES
    for file in files:
        media = None
        if file.size <= space:
            with suppress(OSError):  # a later script may have removed it
                media = read_media(file.folder, file.name)
        if media is not None:
            space -= len(media.data)
            properties = {_FILES: [file.as_dict()]}
            yield Content.from_data(media.data, media.media_type, name=media.name, additional_properties=properties)


def _without_written_files(messages: Iterable[Message]) -> list[Message]:
    """Return messages without the files that scripts wrote: a model without images would refuse the request."""
    return [_without_files(message) if message.role == "tool" else message for message in messages]


def _without_files(message: Message) -> Message:
    changed = copy(message)
    changed.contents = [copy(content) for content in message.contents]
    for content in changed.contents:
        if content.items:
            content.items = [
                item for item in content.items if item.type != "data" or _FILES not in item.additional_properties
            ]
    return changed


def _append_text(content: Content, text: str) -> list[Content]:
    """Return a content with a text at its end: of a message, or of the result of a tool."""
    if content.type == "text":
        return [Content.from_text(f"{content.text}\n\n{text}")]
    if content.type != "function_result":
        return [content, Content.from_text(text)]
    changed = copy(content)
    changed.result = f"{content.result or ''}\n\n{text}"
    changed.items = [*(content.items or ()), Content.from_text(text)]
    return [changed]


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


# ── the record of a conversation ────────────────────────────────────────────────────────────────────────────────────


def _load_session(state: object, skills: CatalogSkills) -> Session:
    """Return the session of a catalog in a conversation's state, or a new one if there is no valid record."""
    session = skills.new_session()
    records = state.get("sessions") if isinstance(state, dict) else None
    record = records.get(_key(session)) if isinstance(records, dict) else None
    return session if record is None else skills.restored(record, session)


def _save_session(state: dict[str, Any], session: Session) -> None:
    """Save a session in a conversation's state, with what other runs of the conversation saved meanwhile."""
    if not isinstance(state.get("sessions"), dict):
        state["sessions"] = {}
    old = state["sessions"].get(_key(session), "")
    state["sessions"][_key(session)] = merge_sessions(old, session.to_json())


def _key(session: Session) -> str:
    """Return the name of a session's catalog: agents with different skills may share a conversation."""
    return f"{session.catalog.host.name}:{session.catalog.cwd}"


# ── a source for the framework's own provider ────────────────────────────────────────────────────────────────────────
# Its tools load, read and run what a source returns. So each skill of this source uses the tools of a session of
# Prowess, which check the trust of the user and keep the ledger.


class CatalogSkillsSource(SkillsSource):  # type: ignore[misc]
    """The skills of a catalog for the framework's provider: `SkillsProvider(CatalogSkillsSource("."))`.

    Args:
        skills: a directory, whose skills each run gets as they are then, or a catalog.
        scripts: whether a model may run the scripts of active skills that the user trusts, and how.
        source_id: where the state of a conversation has its record.
        options: as for a `Session`; of the skills that do not fit into `budget`, some are left out.

    Raises:
        ConfigError: neither a directory nor a catalog, or an invalid option.
    """

    def __init__(
        self,
        skills: Source = ".",
        *,
        scripts: bool | Scripts = False,
        source_id: str = "prowess",
        **options: Any,
    ) -> None:
        # From this format the framework's own text is made.
        self._skills = CatalogSkills(skills, {**options, "format": "json"}, scripts)
        self.catalog = self._skills.catalog
        """The skills to choose from."""
        self.source_id = source_id

    async def get_skills(self, context: SkillsSourceContext) -> list[Skill]:
        """Return the skills that a model may activate in a run."""
        shared = {} if context.session is None else context.session.state
        state = shared.get(self.source_id)
        if not isinstance(state, dict):
            state = shared[self.source_id] = {}
        return await asyncio.to_thread(self._get_skills, state)

    def _get_skills(self, state: dict[str, Any]) -> list[Skill]:
        session = _load_session(state, self._skills)
        session.next_turn()
        conversation = _Conversation(session, state, self._skills)
        return [_CatalogSkill(name, description, conversation) for name, description in shown_skills(session).items()]


class _Conversation:
    """The tools of a session, which is saved after each call."""

    def __init__(self, session: Session, state: dict[str, Any], skills: CatalogSkills) -> None:
        self._session, self._state = session, state
        self._calls: dict[str, Callable[..., str]] = {tool.name: tool.call for tool in skills.tools(session)}
        self.has_scripts = "run_skill_script" in self._calls
        _save_session(state, session)

    async def call(self, tool: str, **arguments: Any) -> str:
        """Call a tool; errors are part of the returned text."""
        text = str(await call_in_order(self._session, tool, self._calls[tool], **arguments))
        _save_session(self._state, self._session)
        return text

    async def activate(self, name: str) -> str:
        """Activate a skill; the framework adds no text after compaction, so the text is returned each time."""
        text = await self.call("activate_skill", name=name)
        if text.startswith("<skill_content"):
            return text
        return await asyncio.to_thread(self._again, name, text)

    def _again(self, name: str, text: str) -> str:
        fresh = {tool.name: tool for tool in Session(self._session.catalog).tools()}
        again = fresh["activate_skill"].call(name=name)
        return again if again.startswith("<skill_content") else text


class _CatalogSkill(Skill):  # type: ignore[misc]
    """A skill of a conversation."""

    def __init__(self, name: str, description: str, conversation: _Conversation) -> None:
        self._conversation = conversation
        # A host may accept names that the framework does not; what is assigned is not checked.
        self._frontmatter = SkillFrontmatter(name="skill", description="skill")
        self._frontmatter.name, self._frontmatter.description = name, description[:_MAX_DESCRIPTION]

    @property
    def frontmatter(self) -> SkillFrontmatter:
        return self._frontmatter

    async def get_content(self) -> str:
        return await self._conversation.activate(self._frontmatter.name)

    async def get_resource(self, name: str) -> SkillResource | None:
        return _File(self._frontmatter.name, name, self._conversation)

    async def get_script(self, name: str) -> SkillScript | None:
        return _Script(name=name, conversation=self._conversation) if self._conversation.has_scripts else None


class _File(SkillResource):  # type: ignore[misc]
    """A file of a skill."""

    def __init__(self, skill: str, path: str, conversation: _Conversation) -> None:
        super().__init__(name=path)
        self._skill, self._conversation = skill, conversation

    async def read(self, **_: Any) -> str:
        return await self._conversation.call("read_skill_file", name=self._skill, path=self.name)


class _Script(SkillScript):  # type: ignore[misc]
    """A script of a skill; whether it may run is decided when it runs."""

    def __init__(self, *, name: str, conversation: _Conversation) -> None:
        super().__init__(name=name)
        self._conversation = conversation

    async def run(self, skill: Skill, args: dict[str, Any] | list[str] | None = None, **_: Any) -> str:
        name = skill.frontmatter.name
        return await self._conversation.call("run_skill_script", skill=name, script=self.name, args=args)
