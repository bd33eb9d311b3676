"""Adapt skills to agents of CrewAI.

An agent is created once and shared by many runs, and nothing in CrewAI is a conversation. So a conversation is a `with`
block, like the scope of CrewAI's hooks: the agents, crews and flows that run in it have its session. The catalog and
active skills are added to each request of the model, and removed from the messages after it.

CrewAI has skills of its own: `Agent(skills=...)`. They are read once, listed without a budget, and not recorded;
`Skills.native` is a source for them.
"""

from __future__ import annotations

import sys
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from prowess.errors import ConfigError
from prowess.session import Session, scripts_option

from ._call_tool import call_tool
from ._catalog_argument import catalog_argument
from ._crewai_conversation import Conversation
from ._extras import missing_extra

try:
    from crewai.hooks import get_before_llm_call_hooks, register_before_llm_call_hook
    from crewai.hooks.dispatch import HookAborted, InterceptionPoint, get_scoped_hooks, scoped_hooks
    from crewai.skills import Skill
    from crewai.skills.parser import load_skill_metadata
    from crewai.tools import BaseTool
    from pydantic import BaseModel, ConfigDict, Field, WithJsonSchema, create_model
except ImportError as error:
    raise ImportError(missing_extra("crewai", "crewai")) from error

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Mapping

    from prowess.catalog import Catalog, LiveCatalog
    from prowess.session import Scripts, Tool

__all__ = ["Skills"]


class Skills:
    """Gives the skills of a catalog to agents and tasks.

    Args:
        skills: a directory, whose skills each turn gets as they are then, or a catalog.
        scripts: whether a model may run the scripts of active skills that the user trusts, and how.
        options: as for a `Session`.

    Raises:
        ConfigError: neither a directory nor a catalog, or an invalid option.
    """

    def __init__(
        self,
        skills: str | os.PathLike[str] | Catalog | LiveCatalog = ".",
        *,
        scripts: bool | Scripts = False,
        **options: Any,
    ) -> None:
        self.catalog = catalog_argument(skills)
        self._options = options
        # One object keeps the working folders of all conversations.
        self._scripts = scripts if scripts is False else scripts_option(scripts)
        self._template_session = Session(self.catalog, **options)

    def tools(self) -> list[BaseTool]:
        """Return the tools for using skills, for an `Agent` or a `Task`; an empty list if there are no skills."""
        return [_SkillTool.of(self, tool) for tool in self.session_tools(self._template_session)]

    def session_tools(self, session: Session) -> tuple[Tool, ...]:
        """Return the tools of a session as these skills allow them."""
        return session.tools(scripts=self._scripts)

    def native(self) -> list[Skill]:
        """Return the skills that a model can choose, for the `skills` of an `Agent` or a `Crew`.

        CrewAI lists and reads these; what it cannot read is left out. A conversation records those that the model
        loads, and adds the ones that the user names.
        """
        result: list[Skill] = []
        shown = set(self._template_session.listing.shown)
        for entry in self._template_session.catalog.active:
            if entry.name in shown:
                with suppress(Exception):  # CrewAI's errors have no common class
                    loaded = load_skill_metadata(Path(entry.path).parent)
                    result.append(_NativeSkill(**dict(loaded), owner=self))
        return result

    def session(self, text: str | None = None) -> Session:
        """Return the session of a conversation.

        Args:
            text: the result of `Session.to_json`, to continue a conversation; by default a new one starts.

        Raises:
            ConfigError: the text is not a result of `to_json`.
        """
        if text is None:
            return Session(self.catalog, **self._options)
        return Session.from_json(text, self.catalog, **self._options)

    @contextmanager
    def conversation(self, session: Session | str | None = None) -> Iterator[Session]:
        """Give a session to what runs in a `with` block; agents with the tools of these skills need one.

        Args:
            session: of the conversation, or the result of its `to_json`; by default a new one starts.

        Raises:
            ConfigError: neither a session nor a result of `to_json`.
        """
        if session is not None and not isinstance(session, Session | str):
            raise ConfigError(
                f"not a session: an object of type `{type(session).__name__}`",
                hint="pass a `Session`, what its `to_json` returned, or nothing for a new conversation",
            )

        def has_skills(executor: Any) -> bool:
            # A block inside this one replaces it, and has the hooks of both.
            is_current = _conversations.get().get(self) is conversation
            return is_current and self in (*_tool_owners(executor), *_native_owners(executor))

        conversation = Conversation(
            session if isinstance(session, Session) else self.session(session),
            has_skills,
            lambda executor: self in _native_owners(executor),
        )
        hooks: dict[InterceptionPoint, list[Any]] = {point: get_scoped_hooks(point) for point in InterceptionPoint}
        hooks[InterceptionPoint.PRE_MODEL_CALL].append(conversation.before_request)
        hooks[InterceptionPoint.POST_MODEL_CALL].append(conversation.after_request)
        hooks[InterceptionPoint.PRE_TOOL_CALL].append(conversation.after_request)
        token = _conversations.set({**_conversations.get(), self: conversation})
        try:
            with scoped_hooks(hooks):
                yield conversation.session
        finally:
            _conversations.reset(token)
            conversation.after_request(None)


_conversations: ContextVar[Mapping[Skills, Conversation]] = ContextVar("_conversations", default={})  # noqa: B039
"""The conversation of each `Skills` in this context; CrewAI copies contexts to its threads."""


class _SkillTool(BaseTool):
    """A tool of the session of the current conversation."""

    owner: Any = Field(default=None, exclude=True)
    """Its skills; `None` if a checkpoint was restored, which then means those of the only conversation."""

    def model_post_init(self, context: Any, /) -> None:
        """Make sure that an agent with this tool stops without a conversation."""
        super().model_post_init(context)
        if _require_conversation not in get_before_llm_call_hooks():
            register_before_llm_call_hook(_require_conversation)

    @classmethod
    def of(cls, skills: Skills, tool: Tool) -> _SkillTool:
        return cls(
            name=tool.name,
            description=tool.description,
            args_schema=_arguments_model(tool),
            cache_function=_never,
            max_usage_count=sys.maxsize,  # with a limit, the calls of a message run one after the other, in its order
            owner=skills,
        )

    def _run(self, **arguments: Any) -> str:
        skills = _owner_of(self)
        conversation = _conversations.get().get(skills)
        session_tools = skills.session_tools(conversation.session) if conversation is not None else ()
        return call_tool(session_tools, self.name, arguments)


class _NativeSkill(Skill):
    """A skill of CrewAI whose instructions come from the session of the current conversation."""

    owner: Any = Field(exclude=True)

    def with_disclosure_level(self, level: Any, instructions: str | None = None, resource_files: Any = None) -> Skill:
        conversation = _conversations.get().get(self.owner)
        if conversation is not None and instructions is not None:
            instructions = conversation.session.activate(self.name).content
        return super().with_disclosure_level(level, instructions, resource_files)


def _arguments_model(tool: Tool) -> type[BaseModel]:
    """Return a model with the schema of a tool that accepts anything: the tool explains what is wrong."""
    fields: dict[str, Any] = {}
    for name, schema in tool.parameters["properties"].items():
        needed = name in tool.parameters["required"]
        shown = schema if needed else {"anyOf": [schema, {"type": "null"}]}
        fields[name] = (Annotated[Any, WithJsonSchema(shown)], Field(default=None))
    model: type[BaseModel] = create_model(tool.name, __config__=ConfigDict(extra="allow"), **fields)
    return model


def _never(_arguments: Any = None, _result: Any = None) -> bool:
    """Return that a result is not cached: the same call of another turn has another one."""
    return False


def _owner_of(tool: _SkillTool) -> Any:
    conversations = _conversations.get()
    return next(iter(conversations)) if tool.owner is None and len(conversations) == 1 else tool.owner


def _tool_owners(executor: Any) -> list[Skills]:
    return [_owner_of(tool) for tool in getattr(executor, "original_tools", ()) if isinstance(tool, _SkillTool)]


def _native_owners(executor: Any) -> list[Skills]:
    agent = getattr(executor, "agent", None)
    return [skill.owner for skill in getattr(agent, "skills", None) or () if isinstance(skill, _NativeSkill)]


def _require_conversation(context: Any) -> None:
    """Stop an agent whose tools have no conversation: it would run without its skills."""
    owners = _tool_owners(context.executor) if context.executor is not None else ()
    if any(owner not in _conversations.get() for owner in owners):
        message = "this agent has skills, and no conversation: use `with skills.conversation():`"
        raise HookAborted(message, source="prowess")
