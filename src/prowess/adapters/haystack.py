"""Adapt skills to Haystack: a toolset and hooks for its `Agent`, and a store for its `SkillToolset`.

A Haystack agent is shared by many conversations, so the session of a conversation is in the agent's state, as JSON: a
run takes it and returns it. Hooks add the catalog and active skills to the messages before each call of the model and
remove them after it, so a run returns messages without them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from prowess.errors import ConfigError
from prowess.session import escape_tags

from ._extras import missing_extra
from ._kept_sessions import KeptSessions

try:
    from haystack.components.agents.state import State, replace_values
    from haystack.core.serialization import default_to_dict, generate_qualified_class_name
    from haystack.dataclasses import ChatMessage
    from haystack.tools import SkillToolset, Tool
except ImportError as error:
    raise ImportError(missing_extra("haystack-ai", "haystack")) from error

from ._haystack_store import CatalogSkillStore, directory_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from prowess.session import Scripts, Session, Tool as SessionTool

    from ._haystack_store import Source

__all__ = ["CatalogSkillStore", "Skills", "SkillsHook"]

_ADDED = "prowess"
"""In the metadata of a message that a hook added or changed: the text it had before, or `None` if it is new."""
_PARTS = "use `Agent(..., hooks=skills.hooks(), state_schema=skills.state_schema)`"


class Skills(SkillToolset):
    """Gives skills to the conversations of an `Agent`.

    `Agent(generator, tools=[skills], hooks=skills.hooks(), state_schema=skills.state_schema)`

    Args:
        skills: the directory whose skills each turn gets as they are then, or a catalog.
        scripts: whether a model may run the scripts of trusted skills, and how; as for `Session.tools`.
        options: as for a `Session`.

    Raises:
        ConfigError: neither a directory nor a catalog, or an invalid option.
    """

    state_schema: Mapping[str, Any] = {"skills": {"type": str}}
    """What an agent's state needs: the record of a conversation, which `run` takes and returns as `skills`."""

    def __init__(self, skills: Source = ".", *, scripts: bool | Scripts = False, **options: Any) -> None:
        store = CatalogSkillStore(skills, **options)
        super().__init__(store)
        self._source, self._scripts, self._options = skills, scripts, options
        self._made: dict[str, Any] = {}
        self._sessions = KeptSessions(store.catalog, options, scripts, read=_read_record, write=_write_record)

    def hooks(self, hooks: Mapping[str, list[Any]] | None = None) -> dict[str, list[Any]]:
        """Return the hooks that an agent needs, with those of the caller, which see no message that they add."""
        own = dict(hooks or {})
        remove = SkillsHook()
        return {
            **own,
            "before_llm": [*own.get("before_llm", ()), SkillsHook(self)],
            **{point: [remove, *own.get(point, ())] for point in ("before_tool", "on_exit", "after_run")},
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
        data = {"skills": directory_of(self._source), "scripts": self._scripts, **self._options}
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
            tools = {tool.name: tool for tool in self._sessions.tools(session)}
            if tool.name not in tools:
                return "error: this conversation has no skills\nhint: continue without them"
            text = tools[tool.name].call(**arguments)
            self._sessions.save(state, session)
            return text

        # Haystack runs tools that take the state one after the other.
        return Tool(name=tool.name, description=tool.description, parameters=dict(tool.parameters), function=call)

    def run_session(self, state: State) -> Session:
        """Return the session of a run from its state.

        Raises:
            ConfigError: the agent was made without `state_schema`.
        """
        return self._sessions.get(state)

    def save(self, state: State, session: Session) -> None:
        """Save the session of a run in its state."""
        self._sessions.save(state, session)


class SkillsHook:
    """Adds skills to the messages before a call of the model, or removes them after it.

    Args:
        skills: what to add; `None` removes.
    """

    def __init__(self, skills: Skills | None = None) -> None:
        self.skills = skills

    def run(self, state: State) -> None:
        """Change the messages of an agent's state."""
        messages = [message for item in state.data["messages"] for message in _without_skills(item)]
        if self.skills is not None:
            messages = _with_skills(messages, state, self.skills)
        state.set("messages", messages, handler_override=replace_values)

    def to_dict(self) -> dict[str, Any]:
        """Return the hook for the file of a pipeline."""
        data: dict[str, Any] = default_to_dict(self, skills=self.skills and self.skills.to_dict())
        return data

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> SkillsHook:
        """Return the hook of a pipeline's file."""
        skills = data["init_parameters"]["skills"]
        return cls(Skills.from_dict(skills) if skills else None)


def _read_record(state: State) -> object:
    if "skills" not in state.schema:
        raise ConfigError("the agent has no `state_schema` for its skills", hint=_PARTS)
    return state.data.get("skills")


def _write_record(state: State, _: Session, record: str) -> None:
    state.set("skills", record)


def _with_skills(messages: list[Any], state: State, skills: Skills) -> list[Any]:
    session = skills.run_session(state)
    if state.data["step_count"] == 0 and messages and messages[-1].is_from("user"):
        session.inject("\n".join(messages[-1].texts))
    skills.save(state, session)
    tail = session.tail(visible=[text for message in messages for text in _texts(message)])
    added = [*(escape_tags(f"warning: {warning}") for warning in session.warnings), *([tail] if tail else [])]
    messages = _append_to_system(messages, session.block())
    return [*messages, *(ChatMessage.from_user(text, meta={_ADDED: None}) for text in added)]


def _without_skills(message: Any) -> list[Any]:
    """Return a message as it was before a hook changed it; an empty list if a hook added it."""
    if _ADDED not in message.meta:
        return [message]
    meta = {key: value for key, value in message.meta.items() if key != _ADDED}
    text = message.meta[_ADDED]
    return [] if text is None else [ChatMessage.from_system(text, meta=meta, name=message.name)]


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
