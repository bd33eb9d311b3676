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
from threading import RLock
from typing import TYPE_CHECKING, Annotated, Any

from prowess._internal.installer import missing_extra
from prowess.errors import ConfigError
from prowess.sandbox import CommandScope
from prowess.session import Session

from ._base import CatalogSkills, Source, call_tool, join_text, stopped_after

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
    from collections.abc import Callable, Iterator, Mapping, Sequence

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

    def __init__(self, skills: Source = ".", *, scripts: bool | Scripts = False, **options: Any) -> None:
        self._skills = CatalogSkills(skills, options, scripts)
        self.catalog = self._skills.catalog

    def tools(self) -> list[BaseTool]:
        """Return the tools for using skills, for an `Agent` or a `Task`; an empty list if there are no skills."""
        return [_SkillTool.of(self, tool) for tool in self._skills.template.tools(scripts=self._skills.scripts)]

    def session_tools(self, session: Session) -> tuple[Tool, ...]:
        """Return the tools of a session as these skills allow them."""
        return self._skills.tools(session)

    def native(self) -> list[Skill]:
        """Return the skills that a model can choose, for the `skills` of an `Agent` or a `Crew`.

        CrewAI lists and reads these; what it cannot read is left out. A conversation records those that the model
        loads, and adds the ones that the user names.
        """
        result: list[Skill] = []
        template = self._skills.template
        shown = set(template.listing.shown)
        for entry in template.catalog.active:
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
            return self._skills.new_session()
        return Session.from_json(text, self.catalog, **self._skills.options)

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

        conversation = _Conversation(
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
            # CrewAI runs tools in threads, with this context, and goes on if a run is cancelled.
            with scoped_hooks(hooks), CommandScope() as scope:
                try:
                    yield conversation.session
                finally:
                    scope.stop()
        finally:
            _conversations.reset(token)
            conversation.after_request(None)


_conversations: ContextVar[Mapping[Skills, _Conversation]] = ContextVar("_conversations", default={})  # noqa: B039
"""The conversation of each `Skills` in this context; CrewAI copies contexts to its threads."""


# ── the requests of a conversation ───────────────────────────────────────────────────────────────────────────────────

_TASK = "Current Task: "
_MEMORIES = "\n\n# Memories from past conversations:\n"
"""What CrewAI writes before and after a user's message."""


class _Execution:
    """What one execution of an agent gets: one task, or one `kickoff` of the agent itself."""

    def __init__(self, executor: Any) -> None:
        self.executor = executor
        self.first_message = executor.messages[0]
        self.block = ""
        self.added: list[str] = []
        """The skills that its message named."""
        self.undo: list[tuple[dict[str, Any], dict[str, Any] | None]] = []
        """Messages of ours, and what each has replaced."""
        self.sent = 0
        """Messages of the last request."""


class _Conversation:
    """The session of a `with` block, and what its executions get.

    Args:
        session: of the conversation.
        has_skills: whether the agent of an executor has its skills.
        lists_skills: whether that agent lists them itself.
    """

    def __init__(
        self, session: Session, has_skills: Callable[[Any], bool], lists_skills: Callable[[Any], bool]
    ) -> None:
        self.session = session
        self._has_skills, self._lists_skills = has_skills, lists_skills
        self._lock = RLock()
        self._executions: dict[int, _Execution] = {}

    @property
    def time_limit(self) -> float | None:
        """Seconds that its tasks may take; CrewAI waits for their tools also when the time is over."""
        executors = [execution.executor for execution in tuple(self._executions.values())]
        limits = [executor.agent.max_execution_time for executor in executors if executor.task is not None]
        return min((limit for limit in limits if limit is not None), default=None)

    def before_request(self, context: Any) -> None:
        """Add the catalog and active skills to the messages of a request."""
        executor = context.executor
        if executor is None or not self._has_skills(executor):
            return
        with self._lock:
            execution = self._execution_of(executor)
            messages, block = executor.messages, execution.block
            added = self._added_texts(execution, messages)
            if _is_too_long(executor, [block, *added]):
                # CrewAI next replaces all messages but those of the system by a summary, with our texts in them.
                if messages[0]["role"] == "system":
                    block, added = "\n\n".join(filter(None, [block, *self._added_texts(execution, ())])), []
                else:
                    with suppress(Exception):  # CrewAI tries again, and decides
                        executor.llm.summarize_messages(messages, executor.callbacks, verbose=False)
                    added = self._added_texts(execution, messages)
            if added:
                self._add_text(execution, messages, -1, "\n\n".join(added))
            if block:
                self._add_block(execution, messages, block)
            execution.sent = len(messages)

    def _added_texts(self, execution: _Execution, messages: Sequence[Any]) -> list[str]:
        """Return the skills of an execution that messages do not contain."""
        visible = [*map(_text_of, messages), *execution.added]
        return [text for text in (*execution.added, self.session.tail(visible=visible)) if text]

    def after_request(self, context: Any) -> None:
        """Remove them again, so that no history and no output contains them."""
        executor = getattr(context, "executor", None)
        with self._lock:
            for execution in self._executions.values():
                # Before a tool runs its executor is unknown; other executions may be waiting for the model.
                is_answered = len(execution.executor.messages) > execution.sent
                if executor is execution.executor or context is None or (executor is None and is_answered):
                    self._remove(execution)

    def _execution_of(self, executor: Any) -> _Execution:
        """Return the execution of a request; the first request of one begins a turn."""
        known = self._executions.get(id(executor))
        if known is not None:
            self._remove(known)
        # An agent keeps its executor for all its tasks. A summary replaces messages later than at the first request.
        if known is not None and (executor.iterations or known.first_message is executor.messages[0]):
            return known
        execution = self._executions[id(executor)] = _Execution(executor)
        prompt = _prompt_of(executor)
        visible = map(_text_of, executor.messages)
        execution.added = [message["content"] for message in self.session.inject(prompt, visible=visible)]
        execution.block = "" if self._lists_skills(executor) else self.session.block()
        return execution

    def _add_block(self, execution: _Execution, messages: list[Any], block: str) -> None:
        """Append the catalog to the system message, or put it first where an agent has no system message."""
        if messages[0]["role"] in ("system", "user"):
            self._add_text(execution, messages, 0, block, first=messages[0]["role"] == "user")
        else:
            messages.insert(0, {"role": "user", "content": block})
            execution.undo.append((messages[0], None))

    def _add_text(
        self, execution: _Execution, messages: list[Any], index: int, text: str, *, first: bool = False
    ) -> None:
        """Add a text at the end of a message, or before its own; after one of the model, add a message of the user."""
        old = messages[index]
        if old["role"] == "assistant":
            messages.append({"role": "user", "content": text})
            execution.undo.append((messages[-1], None))
            return
        messages[index] = join_text(old, text, first=first)
        execution.undo.append((messages[index], old))

    def _remove(self, execution: _Execution) -> None:
        messages = execution.executor.messages
        for ours, replaced in execution.undo:
            for index, message in enumerate(messages):
                if message is ours:
                    messages[index : index + 1] = [] if replaced is None else [replaced]
                    break
        execution.undo = []


def _is_too_long(executor: Any, added: Sequence[str]) -> bool:
    """Return whether CrewAI shortens the messages of a request to which texts are added; it keeps a single message."""
    others = [message for message in executor.messages if message["role"] != "system"]
    if not executor.respect_context_window or len(others) < 2:
        return False
    messages = [*executor.messages, *({"role": "user", "content": text} for text in added)]
    # A token has at least one character, and some models count only by a request.
    if sum(len(_text_of(message)) for message in messages) < executor.llm.get_context_window_size():
        return False
    return bool(executor.llm.is_context_window_overflowing_threshold(messages, None, executor.response_model))


def _prompt_of(executor: Any) -> str:
    """Return what a user wrote: the description of a task, or the last message of a user."""
    if executor.task is not None:
        return str(executor.task.description)
    text = next((_text_of(message) for message in reversed(executor.messages) if message["role"] == "user"), "")
    return (text.partition(_TASK)[2] or text).partition(_MEMORIES)[0]


def _text_of(message: Any) -> str:
    content = message.get("content")
    if isinstance(content, list):
        return "\n".join(part["text"] for part in content if isinstance(part, dict) and "text" in part)
    return content if isinstance(content, str) else ""


# ── tools and skills of CrewAI ───────────────────────────────────────────────────────────────────────────────────────


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
        if conversation is None:
            return call_tool((), self.name, arguments)
        with stopped_after(conversation.time_limit):
            return str(call_tool(skills.session_tools(conversation.session), self.name, arguments))


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
