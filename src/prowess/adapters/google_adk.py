"""Adapt a catalog to Google's Agent Development Kit: a toolset that gives an agent skills.

An agent of ADK is shared by many conversations, so the session of a conversation is in the state of ADK's session,
as JSON, and its session service saves it. An invocation is a turn. Active skills are added to each request of the
model and are never part of the saved events.
"""

from __future__ import annotations

import asyncio
import mimetypes
import os
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

from prowess._internal.files import read_up_to, skill_files
from prowess._internal.fs import open_inside
from prowess._internal.installer import missing_extra
from prowess._internal.special_tokens import escape_special_tokens
from prowess._internal.text import neutral, quoted
from prowess.errors import ConfigError, SkillError
from prowess.session import escape_tags, resource_folder
from prowess.skill import load

from ._base import CatalogSkills, Source, added_texts, call_in_order, unsent_texts

try:
    from google.adk.events import Event, EventActions
    from google.adk.skills import Frontmatter, Resources, Script, Skill, SkillRegistry
    from google.adk.tools.base_tool import BaseTool
    from google.adk.tools.base_toolset import BaseToolset
    from google.genai import types
except ImportError as error:
    raise ImportError(missing_extra("google-adk", "google-adk")) from error

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from google.adk.agents.readonly_context import ReadonlyContext
    from google.adk.models.llm_request import LlmRequest
    from google.adk.tools.tool_context import ToolContext

    from prowess.catalog import Entry
    from prowess.session import Scripts, Session, Tool, WrittenFile

__all__ = ["CatalogSkillRegistry", "Skills"]


class Skills(BaseToolset):  # type: ignore[misc]
    """The skills of an agent: `LlmAgent(..., tools=[Skills(".")])`.

    Args:
        skills: a directory, whose skills each turn gets as they are then, or a catalog.
        scripts: whether a model may run the scripts of active skills that the user trusts, and how.
        tool_filter: the tools to offer, as for any toolset.
        tool_name_prefix: what the names of the tools begin with, as for any toolset.
        options: as for a `Session`.

    Raises:
        ConfigError: neither a directory nor a catalog, or an invalid option.
    """

    def __init__(
        self,
        skills: Source = ".",
        *,
        scripts: bool | Scripts = False,
        tool_filter: Any = None,
        tool_name_prefix: str | None = None,
        **options: Any,
    ) -> None:
        super().__init__(tool_filter=tool_filter, tool_name_prefix=tool_name_prefix)
        self._skills = CatalogSkills(skills, options, scripts)
        self.catalog = self._skills.catalog
        """The skills to choose from."""
        self._arguments = skills, scripts
        self._turns: WeakValueDictionary[tuple[str, ...], _Turn] = WeakValueDictionary()
        # The base class keeps the tools of an invocation, but an invocation may reach several agents.
        self._use_invocation_cache = False

    def __reduce__(self) -> tuple[Any, ...]:
        """Let an agent be pickled, as for a deployment: the skills are then those of the new process."""
        skills, scripts = self._arguments
        options = {"tool_filter": self.tool_filter, "tool_name_prefix": self.tool_name_prefix, **self._skills.options}
        return partial(type(self), skills, scripts=scripts, **options), ()

    def session(self, state: Mapping[str, Any], agent_name: str) -> Session:
        """Return the session of an agent in a conversation, or a new one if there is no valid record.

        Args:
            state: of ADK's session.
            agent_name: of the agent that has these skills.
        """
        record = state.get(self._state_key(agent_name))
        return self._skills.restored(record.get("session") if isinstance(record, dict) else None)

    async def get_tools(self, readonly_context: ReadonlyContext | None = None) -> list[BaseTool]:
        """Return the tools for using skills, bound to the conversation; an empty list if there are no skills."""
        if readonly_context is None:
            turn = _Turn(await asyncio.to_thread(self._skills.new_session))
        else:
            turn = await self._turn(readonly_context)
        tools = (_SkillTool(tool, turn) for tool in self._skills.tools(turn.session))
        return [tool for tool in tools if self._is_tool_selected(tool, readonly_context)]

    async def process_llm_request(self, *, tool_context: ToolContext, llm_request: LlmRequest) -> None:
        """Add the catalog and the active skills to a request.

        Raises:
            ConfigError: the agent has other skills whose tools have the same names.
        """
        name = f"{self.tool_name_prefix}_activate_skill" if self.tool_name_prefix else "activate_skill"
        if isinstance(llm_request.tools_dict.get(name), _SkillTool):
            hint = "use one of them with all folders, or set `tool_name_prefix`"
            raise ConfigError(f"the agent {quoted(tool_context.agent_name)} has two `Skills`", hint=hint)
        turn = await self._turn(tool_context)
        await turn.begin(tool_context)
        visible = list(_visible_texts(llm_request.contents))
        # Google then keeps what it was sent in earlier requests.
        is_stored = llm_request.previous_interaction_id is not None
        texts = await asyncio.to_thread(turn.texts, visible, is_stored=is_stored)
        block = await asyncio.to_thread(turn.session.block, _text_of(tool_context.user_content))
        *before, last = llm_request.contents or [None]
        is_live = tool_context.get_invocation_context().live_request_queue is not None
        if texts and not is_live and last is not None and last.role != "model" and last.parts:
            llm_request.contents = [*before, _append_text(last, "\n\n".join(texts))]
        elif texts:  # a live model would answer a message at the end of the history that a stream begins with
            block = "\n\n".join(filter(None, (block, *texts)))
        if block:
            llm_request.append_instructions([block])

    async def _turn(self, context: ReadonlyContext) -> _Turn:
        """Return the turn of an invocation; its requests share one session, so that a turn has one catalog."""
        session = context.session
        # A client may choose the id of its invocation, so the id alone does not identify a conversation.
        key = (session.app_name, session.user_id, session.id, context.invocation_id, context.agent_name)
        turn = self._turns.get(key)
        if turn is None:
            turn = self._turns[key] = await asyncio.to_thread(self._load_turn, context)
        return turn

    def _load_turn(self, context: ReadonlyContext) -> _Turn:
        session, state_key = self.session(context.state, context.agent_name), self._state_key(context.agent_name)
        record = context.state.get(state_key)
        known = record.get("invocation") if isinstance(record, dict) else None
        # The answer to a question of a tool continues the invocation that asked.
        files = record.get("files") if isinstance(record, dict) else None
        if known == context.invocation_id:
            return _Turn(session, state_key, context.invocation_id, files=files)
        named = [message["content"] for message in session.inject(_text_of(context.user_content))]
        return _Turn(session, state_key, context.invocation_id, named, files=files)

    def _state_key(self, agent_name: str) -> str:
        """Return where the state has the session of an agent: agents of one conversation may have different skills.

        A key with a colon does not need to be part of an application's state schema.
        """
        return ":".join(filter(None, ("prowess", agent_name, self.tool_name_prefix)))


class _Turn:
    """One turn of an agent in a conversation.

    Args:
        session: of the conversation.
        state_key: where ADK's session keeps it; empty outside a conversation.
        invocation_id: of the turn.
        named: the texts for the skills that the user's message names, if the turn begins; it has not been saved yet.
        files: the digests of the artifacts that were saved, by the names of their files.
    """

    def __init__(
        self,
        session: Session,
        state_key: str = "",
        invocation_id: str = "",
        named: Sequence[str] | None = None,
        *,
        files: object = None,
    ) -> None:
        self.session = session
        self._state_key, self._begins = state_key, named is not None
        self._named: Sequence[str] = named or ()
        self._invocation_id = invocation_id
        self._files: dict[str, Any] = dict(files) if isinstance(files, dict) else {}

    async def begin(self, context: ToolContext) -> None:
        """Save the turn if it begins: the context of a request has no event of its own."""
        if not self._begins:
            return
        self._begins = False
        invocation = context.get_invocation_context()
        event = Event(
            invocation_id=context.invocation_id,
            author=context.agent_name,
            branch=invocation.branch,
            actions=EventActions(state_delta={self._state_key: self._record()}),
        )
        for _ in range(_APPEND_TRIES):
            with suppress(ValueError):  # what ADK saves for an agent that runs at the same time is not noted yet
                await invocation.session_service.append_event(session=invocation.session, event=event)
                return
            await asyncio.sleep(_APPEND_PAUSE)
        await invocation.session_service.append_event(session=invocation.session, event=event)

    def save(self, context: ToolContext) -> None:
        """Save the session with the event of a tool's result; of tools that run at once, ADK keeps what was last."""
        if self._state_key:
            context.state[self._state_key] = self._record()

    async def save_artifacts(self, context: ToolContext) -> None:
        """Save what scripts wrote and is new as artifacts of the conversation, if the application keeps artifacts."""
        if context.get_invocation_context().artifact_service is None:
            return
        for file in await asyncio.to_thread(self.session.files):
            if self._files.get(file.name) == file.digest or file.size > _MAX_BYTES:
                continue
            with suppress(Exception):  # of any service; the script has run, and its answer says what it wrote
                data = await asyncio.to_thread(_read_whole, file)
                kind = mimetypes.guess_type(file.name)[0] or "application/octet-stream"
                # A script chooses the name, and one that begins with `user:` would be in all conversations of the user.
                await context.save_artifact(f"scripts/{file.name}", types.Part.from_bytes(data=data, mime_type=kind))
                self._files[file.name] = file.digest

    def _record(self) -> dict[str, Any]:
        return {"invocation": self._invocation_id, "session": self.session.to_json(), "files": self._files}

    def texts(self, visible: Sequence[str], *, is_stored: bool) -> list[str]:
        """Return what to add to a request.

        Args:
            visible: the texts of the request.
            is_stored: whether the model's service keeps what it was sent: then nothing is sent twice.
        """
        named, self._named = self._named, ()
        if is_stored:
            return unsent_texts(named, visible)
        return added_texts(self.session, visible)


class _SkillTool(BaseTool):  # type: ignore[misc]
    """A tool of a session."""

    def __init__(self, tool: Tool, turn: _Turn) -> None:
        super().__init__(name=tool.name, description=tool.description)
        self._tool, self._turn = tool, turn

    def _get_declaration(self) -> types.FunctionDeclaration:
        return types.FunctionDeclaration(
            name=self.name, description=self.description, parameters_json_schema=dict(self._tool.parameters)
        )

    async def run_async(self, *, args: dict[str, Any], tool_context: ToolContext) -> str:
        """Call the tool; errors are part of the returned text."""
        text = str(await call_in_order(self._turn, self._tool.name, self._tool.call, **args))
        if self._tool.name == "run_skill_script":
            await self._turn.save_artifacts(tool_context)
        self._turn.save(tool_context)
        return text


def _read_whole(file: WrittenFile) -> bytes:
    with file.open() as opened:
        return opened.read(_MAX_BYTES)


def _text_of(content: types.Content | None) -> str:
    return "\n".join(part.text for part in (content.parts or () if content else ()) if part.text)


def _append_text(content: types.Content, text: str) -> types.Content:
    """Return a content with a text at its end, in the result of a tool if that is last: both are sent together."""
    *before, last = content.parts or []
    if last.function_response is not None:
        response = dict(last.function_response.response or {})
        key = "result" if isinstance(response.get("result"), str) else "skills"
        response[key] = f"{response[key]}\n\n{text}" if key in response else text
        changed = last.function_response.model_copy(update={"response": response})
        parts = [last.model_copy(update={"function_response": changed})]
    elif last.text:
        parts = [last.model_copy(update={"text": f"{last.text}\n\n{text}"})]
    else:
        parts = [last, types.Part(text=text)]
    return content.model_copy(update={"parts": [*before, *parts]})


def _visible_texts(contents: Iterable[types.Content]) -> Iterator[str]:
    """Return the texts that the model gets: of messages and of tool results."""
    for part in (part for content in contents for part in content.parts or ()):
        if part.text:
            yield part.text
        if part.function_response is not None:
            yield from (value for value in (part.function_response.response or {}).values() if isinstance(value, str))


# ── a registry for ADK's own toolset ─────────────────────────────────────────────────────────────────────────────────
# ADK runs the scripts of a skill itself and trusts every skill. So a skill that the user does not trust comes without
# its scripts and without the metadata with which it would choose tools and read the state of the conversation.

_MAX_BYTES = 16 * 1024 * 1024
"""Of all files of a skill, as in ADK; those after it are left out."""
_MAX_DESCRIPTION = 1024
_APPEND_TRIES, _APPEND_PAUSE = 50, 0.01
"""How often, and after how many seconds, an event is saved again: more than the agents of one turn need."""


class CatalogSkillRegistry(SkillRegistry):  # type: ignore[misc]
    """The skills of a catalog for ADK's toolset: `SkillToolset([], registry=CatalogSkillRegistry("."))`.

    Args:
        skills: a directory, whose skills are given as they are then, or a catalog.
        scripts: whether a skill that the user trusts comes with its scripts, which ADK's code executor runs.
        options: as for a `Session`.

    Raises:
        ConfigError: neither a directory nor a catalog, or an invalid option.
    """

    def __init__(self, skills: Source = ".", *, scripts: bool = False, **options: Any) -> None:
        self._skills = CatalogSkills(skills, options)
        self.catalog = self._skills.catalog
        """The skills to choose from."""
        self._argument, self._scripts = skills, scripts

    def __reduce__(self) -> tuple[Any, ...]:
        """Let an agent be pickled, as for a deployment: the skills are then those of the new process."""
        return partial(type(self), self._argument, scripts=self._scripts, **self._skills.options), ()

    async def get_skill(self, *, name: str) -> Skill:
        """Return a skill that a model may activate.

        Raises:
            SkillError: no skill has this name, or it cannot be read; the message names similar ones.
        """
        return await asyncio.to_thread(self._get_skill, name)

    async def search_skills(self, *, query: str) -> list[Frontmatter]:
        """Find skills by name, description and body, best first."""

        def search() -> list[Frontmatter]:
            hits = self._skills.new_session().search(query)
            return [_frontmatter(hit.entry, {}) for hit in hits]

        return await asyncio.to_thread(search)

    def _get_skill(self, name: str) -> Skill:
        session = self._skills.new_session()
        content = session.activate(name).content
        (path,) = (record.path for record in session.ledger)
        entry = next(entry for entry in session.catalog.skills if entry.path == path)
        if self._scripts:
            try:
                # What runs is what is trusted: all is read from a sealed copy.
                with session.trust.sealed_copy(entry) as copy:
                    metadata = load(os.path.join(copy.folder, os.path.basename(entry.path))).metadata
                    resources = _read_resources(copy.folder, trusted=True)
                    return Skill(frontmatter=_frontmatter(entry, metadata), instructions=content, resources=resources)
            except SkillError as error:
                content += escape_tags(f"\n\nIts scripts are not available: {error}")
        resources = _read_resources(resource_folder(entry), trusted=False)
        return Skill(frontmatter=_frontmatter(entry, {}), instructions=content, resources=resources)


def _frontmatter(entry: Entry, metadata: Mapping[str, Any]) -> Frontmatter:
    """Return what ADK shows of a skill; a host may accept names that ADK does not, so ADK does not check them."""
    tools, granted = metadata.get("adk_additional_tools"), dict[str, Any]()
    if isinstance(tools, list | tuple) and all(isinstance(tool, str) for tool in tools):
        granted["adk_additional_tools"] = list(tools)
    if metadata.get("adk_inject_state") in (True, "true"):
        granted["adk_inject_state"] = True
    description = neutral(entry.description)[:_MAX_DESCRIPTION]
    return Frontmatter.model_construct(name=neutral(entry.name), description=description, metadata=granted)


def _read_resources(folder: str | None, *, trusted: bool) -> Resources:
    """Read the files that ADK knows: in `references`, `assets` and, of a trusted skill, `scripts`."""
    kinds: dict[str, dict[str, Any]] = {"references": {}, "assets": {}, "scripts": {}}
    room = _MAX_BYTES
    for path, size in skill_files(folder) if folder is not None else ():
        kind, _, name = path.partition("/")
        if kind not in kinds or not name or size > room or (kind == "scripts" and not trusted):
            continue
        try:
            fd = open_inside(folder or "", path.split("/"))
        except (OSError, ValueError):  # it has changed meanwhile
            continue
        try:
            data = read_up_to(fd, room)
        finally:
            os.close(fd)
        if len(data) > room:  # it has grown meanwhile
            continue
        room -= len(data)
        try:
            text = data.decode()
        except ValueError:
            if kind != "scripts":
                kinds[kind][name] = data
            continue
        kinds[kind][name] = Script(src=text) if kind == "scripts" else text if trusted else escape_special_tokens(text)
    return Resources(**kinds)
