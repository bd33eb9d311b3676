"""Adapt skills to Haystack: a toolset and hooks for its `Agent`, and a store for its `SkillToolset`.

A Haystack agent is shared by many conversations, so the session of a conversation is in the agent's state, as JSON: a
run takes it and returns it. Hooks add the catalog and active skills to the messages before each call of the model and
remove them after it, so a run returns messages without them.
"""

from __future__ import annotations

import asyncio
import base64
import mimetypes
import os
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import replace
from functools import partial
from itertools import takewhile
from threading import get_ident
from typing import TYPE_CHECKING, Any
from weakref import ref

from prowess._internal.installer import missing_extra
from prowess.errors import ConfigError, SkillNotFoundError
from prowess.session import read_media

from ._base import CatalogSkills, KeptSessions, Source, added_texts, call_and_list_files, call_in_thread, shown_skills

try:
    from haystack.components.agents.state import State, replace_values
    from haystack.core.serialization import default_to_dict, generate_qualified_class_name, import_class_by_name
    from haystack.dataclasses import ChatMessage, FileContent, ImageContent, SkillInfo, TextContent
    from haystack.tools import SkillToolset, Tool
except ImportError as error:
    raise ImportError(missing_extra("haystack-ai", "haystack")) from error

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from prowess.session import Scripts, Session, Tool as SessionTool, WrittenFile


__all__ = ["CatalogSkillStore", "Skills", "SkillsHook"]

_PARTS = "use `Agent(..., hooks=skills.hooks(), state_schema=skills.state_schema)`"


class Skills(SkillToolset):
    """Gives skills to the conversations of an `Agent`.

    `Agent(generator, tools=[skills], hooks=skills.hooks(), state_schema=skills.state_schema)`

    Args:
        skills: a directory, whose skills each turn gets as they are then, or a catalog.
        scripts: whether a model may run the scripts of active skills that the user trusts, and how.
        options: as for a `Session`.

    Raises:
        ConfigError: neither a directory nor a catalog, or an invalid option.
    """

    state_schema: Mapping[str, Any] = {
        "skills": {"type": str},
        "files": {"type": list[ImageContent | FileContent]},
    }
    """What an agent's state needs.

    `skills` is the record of a conversation, which `run` takes and returns; `files` is what scripts wrote in a run.
    """

    def __init__(self, skills: Source = ".", *, scripts: bool | Scripts = False, **options: Any) -> None:
        super().__init__(CatalogSkillStore(skills, **options))
        self._source, self._scripts, self._options = skills, scripts, options
        self._made: dict[str, Any] = {}
        self._sessions = KeptSessions(skills, options, scripts, read=_read_record, write=_write_record)

    def hooks(self, hooks: Mapping[str, list[Any]] | None = None) -> dict[str, list[Any]]:
        """Return the hooks that an agent needs, with those of the caller, which see no message that they add."""
        own = dict(hooks or {})
        before_tool, remove = SkillsHook(tools=True), SkillsHook()
        first = {"before_tool": before_tool, "after_tool": remove, "on_exit": remove, "after_run": remove}
        return {
            **own,
            "before_llm": [*own.get("before_llm", ()), SkillsHook(self)],
            **{point: [hook, *own.get(point, ())] for point, hook in first.items()},
        }

    def session(self, text: str | None = None) -> Session:
        """Return the session of a conversation whose record is `text`; a new one if it is invalid or `None`."""
        return self._sessions.restored(text)

    # ── the toolset ──────────────────────────────────────────────────────────────────────────────────────────────────

    def __iter__(self) -> Iterator[Any]:
        return iter([self._haystack_tool(tool) for tool in self._sessions.tools()])

    def get_selectable_tools(self) -> list[Any]:
        """Return the tools, for a run that names some."""
        return list(self)

    def to_dict(self) -> dict[str, Any]:
        """Return the directory and the options, for the file of a pipeline.

        Raises:
            ConfigError: the skills are those of a catalog instead of a directory, or `scripts` is not a boolean.
        """
        if not isinstance(self._scripts, bool):
            raise ConfigError("`Scripts` cannot be saved in a pipeline's file", hint="pass `scripts=True`")
        data = {"skills": _directory_of(self._source), "scripts": self._scripts, **self._options}
        return {"type": generate_qualified_class_name(type(self)), "data": data}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Skills:
        """Return the toolset of a pipeline's file."""
        return cls(**data["data"])

    def _haystack_tool(self, tool: SessionTool) -> Any:
        known = self._made.get(tool.name)
        if known is None or (known.description, known.parameters) != (tool.description, dict(tool.parameters)):
            known = self._made[tool.name] = self._make_tool(tool)  # Haystack asks often, and checks a new schema
        return known

    def _make_tool(self, tool: SessionTool) -> Any:
        def call(state: State, **arguments: Any) -> str:
            session = self.run_session(state)
            if state.data.get("skills") is None:
                raise ConfigError("the agent has no hooks for its skills", hint=_PARTS)
            call_tool = partial(self._sessions.call, session, tool.name, arguments)
            text, files = call_and_list_files(session, tool.name, call_tool)
            self._sessions.save(state, session)
            if files and "files" in state.schema:  # and not in the result, which a converter may refuse
                state.set("files", _contents(files))
            return str(text)

        async def call_async(state: State, **arguments: Any) -> str:
            return await call_in_thread(call, state, **arguments)

        # Haystack runs tools that take the state one after the other.
        return Tool(
            name=tool.name,
            description=tool.description,
            parameters=dict(tool.parameters),
            function=call,
            async_function=call_async,
        )

    def run_session(self, state: State) -> Session:
        """Return the session of a run from its state.

        Raises:
            ConfigError: the agent was made without `state_schema`.
        """
        return self._sessions.get(state)

    def save(self, state: State, session: Session) -> None:
        """Save the session of a run in its state."""
        self._sessions.save(state, session)


def _read_record(state: State) -> object:
    if "skills" not in state.schema:
        raise ConfigError("the agent has no `state_schema` for its skills", hint=_PARTS)
    return state.data.get("skills")


def _write_record(state: State, _: Session, record: str) -> None:
    state.set("skills", record)


_MAX_BYTES = 16 * 1024 * 1024
"""Of the files that one call of a script gives to the state."""


def _contents(files: Iterable[WrittenFile]) -> list[Any]:
    """Return what a script wrote as images and files of Haystack."""
    found: list[Any] = []
    space = _MAX_BYTES
    for file in files:
        if file.size <= space:
            with suppress(OSError):  # a process of the script may have removed it
                found.append(_content(file))
                space -= file.size
    return found


def _content(file: WrittenFile) -> Any:
    with file.open() as opened:
        encoded = base64.b64encode(opened.read(_MAX_BYTES)).decode()
    media = read_media(file.folder, file.name)
    if media is not None and media.is_image:
        return ImageContent(encoded, media.media_type, meta={"file_path": file.name})
    return FileContent(encoded, mimetypes.guess_type(file.name)[0] or "application/octet-stream", file.name)


# ── hooks ────────────────────────────────────────────────────────────────────────────────────────────────────────────

_ADDED = "prowess"
"""In the metadata of a message that a hook added or changed.

`None` if it is new; of the system message its text before, and of others the length of their last text before.
"""
_runs_in_tools: ContextVar[tuple[tuple[ref[Any], object], ...]] = ContextVar("_runs_in_tools", default=())
"""The states of the runs whose tools run now, the innermost last, each with the thread and task of its run."""


class SkillsHook:
    """Adds skills to the messages before a call of the model, or removes them after it.

    Args:
        skills: what to add; `None` removes.
        tools: whether tools run next.
    """

    def __init__(self, skills: Skills | None = None, *, tools: bool = False) -> None:
        self.skills, self.tools = skills, tools

    def run(self, state: State) -> None:
        """Change the messages of an agent's state."""
        self._change_messages(state, is_nested=_is_in_tool())
        _note_tools(state, running=self.tools)

    async def run_async(self, state: State) -> None:
        """Change the messages of an agent's state, without blocking other runs."""
        await asyncio.to_thread(self._change_messages, state, is_nested=_is_in_tool())
        _note_tools(state, running=self.tools)

    def _change_messages(self, state: State, *, is_nested: bool) -> None:
        messages = [message for item in state.data["messages"] for message in _without_skills(item)]
        if self.skills is not None:
            messages = _with_skills(messages, state, self.skills, is_nested=is_nested)
        state.set("messages", messages, handler_override=replace_values)

    def to_dict(self) -> dict[str, Any]:
        """Return the hook for the file of a pipeline."""
        skills = None if self.skills is None else self.skills.to_dict()
        data: dict[str, Any] = default_to_dict(self, skills=skills, tools=self.tools)
        return data

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> SkillsHook:
        """Return the hook of a pipeline's file."""
        given = data["init_parameters"]
        skills = given["skills"] and import_class_by_name(given["skills"]["type"]).from_dict(given["skills"])
        return cls(skills, tools=given["tools"])


def _note_tools(state: State, *, running: bool) -> None:
    """Note that tools of a run are running, or that they have ended."""
    runs = tuple(run for run in _runs_in_tools.get() if run[0]() is not None)
    outer = tuple(takewhile(lambda run: run[0]() is not state, runs))
    _runs_in_tools.set((*outer, (ref(state), _thread_and_task())) if running else outer)


def _is_in_tool() -> bool:
    """Return whether this code runs in a tool: Haystack runs tools in other threads or tasks.

    So a run that failed in this one, and did not note that its tools have ended, does not count.
    """
    here = _thread_and_task()
    return any(run() is not None and place != here for run, place in _runs_in_tools.get())


def _thread_and_task() -> object:
    try:
        task = asyncio.current_task()
    except RuntimeError:  # no event loop
        task = None
    return get_ident(), id(task)


def _with_skills(messages: list[Any], state: State, skills: Skills, *, is_nested: bool) -> list[Any]:
    session = skills.run_session(state)
    if "files" in state.schema and state.data.get("files") is None:
        state.set("files", [])
    if state.data["step_count"] == 0 and messages and messages[-1].is_from("user"):
        # In a tool of another agent, a model wrote the message: it names no skills.
        session.inject("" if is_nested else "\n".join(messages[-1].texts))
    skills.save(state, session)
    added = added_texts(session, [text for message in messages for text in _texts(message)])
    block, text = session.block(), "\n\n".join(added)
    if text and messages and (last := _with_text(messages[-1], text)):
        messages = [*messages[:-1], last]
    elif text:  # some endpoints accept no message after it
        block = "\n\n".join(filter(None, (block, text)))
    return _append_to_system(messages, block)


def _without_skills(message: Any) -> list[Any]:
    """Return a message as it was before a hook changed it; an empty list if a hook added it."""
    if _ADDED not in message.meta:
        return [message]
    meta = {key: value for key, value in message.meta.items() if key != _ADDED}
    text = message.meta[_ADDED]
    if text is None:
        return []
    # Stored messages may come from anywhere: a user's message never becomes one of the system.
    if message.is_from("system") and isinstance(text, str):
        return [ChatMessage.from_system(text, meta=meta, name=message.name)]
    return [_cut(message, text, meta)] if isinstance(text, int) and _is_open(message) else [message]


def _is_open(message: Any) -> bool:
    """Return whether a text can be part of a message: one of a user, or the result of a tool."""
    return bool(message.is_from("user") or (message.is_from("tool") and message.tool_call_results))


def _with_text(message: Any, text: str) -> Any:
    """Return a message with a text at its end, and in its metadata what undoes that; `None` of any other message."""
    if not _is_open(message):
        return None
    parts, rebuild = _parts(message)
    last = parts[-1] if parts else None
    own = last.text if isinstance(last, TextContent) else ""
    parts = [*(parts[:-1] if own else parts), TextContent(f"{own}\n\n{text}" if own else text)]
    return rebuild(parts, {**message.meta, _ADDED: len(own)})


def _cut(message: Any, length: int, meta: dict[str, Any]) -> Any:
    """Return a message as it was before `_with_text`."""
    parts, rebuild = _parts(message)
    if not parts or not isinstance(parts[-1], TextContent):
        return message
    return rebuild([*parts[:-1], *([TextContent(parts[-1].text[:length])] if length > 0 else [])], meta)


def _parts(message: Any) -> tuple[list[Any], Callable[[list[Any], dict[str, Any]], Any]]:
    """Return the parts of a message or of its last tool result, and what makes a message of other parts."""
    if message.is_from("user"):
        return list(message._content), lambda parts, meta: replace(message, _content=parts, _meta=meta)  # noqa: SLF001
    *before, result = message._content  # noqa: SLF001
    is_text = isinstance(result.result, str)

    def rebuild(parts: list[Any], meta: dict[str, Any]) -> Any:
        value = "".join(part.text for part in parts) if is_text else parts
        return replace(message, _content=[*before, replace(result, result=value)], _meta=meta)

    return [TextContent(result.result)] if is_text else list(result.result), rebuild


def _append_to_system(messages: list[Any], block: str) -> list[Any]:
    """Append a text to the system message, because some endpoints accept only one."""
    if not block:
        return messages
    if not messages or not messages[0].is_from("system"):
        return [ChatMessage.from_system(block, meta={_ADDED: None}), *messages]
    first, text = messages[0], "\n".join(messages[0].texts)
    changed = ChatMessage.from_system(f"{text}\n\n{block}", meta={**first.meta, _ADDED: text}, name=first.name)
    return [changed, *messages[1:]]


def _texts(message: Any) -> Iterator[str]:
    """Return the texts of a message, and those of its tool results."""
    yield from message.texts
    for result in message.tool_call_results:
        parts = [result.result] if isinstance(result.result, str) else result.result
        yield from (part if isinstance(part, str) else getattr(part, "text", "") for part in parts)


# ── a store for Haystack's own toolset ───────────────────────────────────────────────────────────────────────────────


class CatalogSkillStore:
    """The skills of a catalog as a store for `SkillToolset`, without a record of conversations.

    Args:
        skills: a directory, whose skills are those of the moment, or a catalog.
        options: as for a `Session`.

    Raises:
        ConfigError: neither a directory nor a catalog, or an invalid option.
    """

    def __init__(self, skills: Source = ".", **options: Any) -> None:
        self._source, self._options = skills, options
        self._skills = CatalogSkills(skills, {**options, "format": "json"})
        self.catalog = self._skills.catalog

    def list_skills(self) -> dict[str, Any]:
        """Return the skills that fit into the budget, by name."""
        shown = shown_skills(self._skills.new_session())
        return {name: SkillInfo(name, description) for name, description in shown.items()}

    def load_skill(self, name: str) -> tuple[str, list[str]]:
        """Return the instructions of a skill, and the names of its files.

        Raises:
            KeyError: no skill has this name.
        """
        try:
            activation = self._skills.new_session().activate(name)
        except SkillNotFoundError as error:
            raise KeyError(str(error)) from error
        return activation.content, list(activation.files)

    def read_skill_file(self, name: str, path: str) -> str:
        """Return the text of a file of a skill.

        Raises:
            KeyError: no skill has this name.
            OSError: the skill has no such text file.
        """
        try:
            return self._skills.new_session().read(name, path).text
        except SkillNotFoundError as error:
            raise KeyError(str(error)) from error

    def to_dict(self) -> dict[str, Any]:
        """Return the directory and the options, for the file of a pipeline.

        Raises:
            ConfigError: the store has a catalog instead of a directory.
        """
        data: dict[str, Any] = default_to_dict(self, skills=_directory_of(self._source), **self._options)
        return data

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> CatalogSkillStore:
        """Return the store of a pipeline's file."""
        return cls(**data["init_parameters"])


def _directory_of(source: Source) -> str:
    """Return the directory that an adapter was given, for the file of a pipeline.

    Raises:
        ConfigError: it was given a catalog.
    """
    if isinstance(source, str | os.PathLike):
        return os.fspath(source)
    raise ConfigError("a catalog cannot be saved in a pipeline's file", hint="pass the directory of the skills")
