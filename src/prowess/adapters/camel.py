"""Adapt a `Session` to one CAMEL agent: skills that a message names reach the model in that turn.

Skills are added to the messages of a request to the model, after everything that stores messages: the agent's memory,
its storage and `chat_history` never contain them. The classes of CAMEL's own design of skills (issue 3711, `Chatagent
support Skill`, phase 1) are here too; they find skills by the rules of the host `camel`.
"""

from __future__ import annotations

import inspect
import os
import warnings
from contextlib import aclosing, closing, contextmanager
from contextvars import ContextVar
from functools import partial, wraps
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from prowess._internal.files import real_path
from prowess._internal.frozen import Frozen
from prowess._internal.installer import missing_extra
from prowess._internal.text import neutral, normalize_name, quoted
from prowess.catalog import (
    REACHABLE,
    Entry,
    FilesystemSkillProvider as _FilesystemSkillProvider,
    SkillProvider as _SkillProvider,
    State,
)
from prowess.errors import ActivationError, ConfigError, ProwessError, SkillNotFoundError
from prowess.findings import Severity
from prowess.session import Session, escape_tags, find_mentions
from prowess.skill import Requirements, Skill, load

from ._base import call_in_thread, join_text, require_free_names, stopped_after, unsent_texts

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence

    from prowess.catalog import Catalog
    from prowess.hosts import Host
    from prowess.session import Scripts, Tool

__all__ = [
    "attach",
    "detach",
    "SkillManager",
    "SkillProvider",
    "FilesystemSkillProvider",
    "SkillLoader",
    "SkillMetadata",
    "SkillDocument",
    "SkillLoadOutcome",
    "SkillError",
    "SkillWarning",
]


def attach(agent: Any, session: Session, *, catalog: bool = False, scripts: bool | Scripts = False) -> Any:
    """Let a `ChatAgent` use the skills of a session: a skill that a user's message names is active for that turn.

    Attaching the same session again changes nothing. `agent.reset()` restarts the conversation of the session, and
    `agent.clone()` attaches a session of its own to the clone, with the same catalog and options.

    Args:
        agent: the CAMEL agent, which is returned.
        session: the session of the agent's conversation.
        catalog: whether the model may choose skills itself: then the system message lists them, and the agent gets
            the tools of the session.
        scripts: with `catalog`, whether the model may run the scripts of skills that the user trusts, and how; see
            `Session.tools`.

    Raises:
        ImportError: CAMEL is not installed.
        ConfigError: not a session, or `scripts` without `catalog`; or the agent has another session, is too old, or has
            a tool of the same name.
    """
    camel = _import_camel()
    _check_session(session)
    missing = [name for name in _REQUIRED_ATTRIBUTES if not hasattr(agent, name)]
    if missing:
        hint = "this adapter supports `ChatAgent` of camel-ai 0.2.90 and later"
        raise ConfigError(f"the agent has no `{missing[0]}`", hint=hint)
    attachment = vars(agent).get(_ATTACHMENT)
    if attachment is not None:
        if (attachment.session, attachment.catalog, attachment.scripts) == (session, catalog, scripts):
            return agent
        raise ConfigError("the agent already has a session", hint="call `detach(agent)` first")
    if scripts is not False and not catalog:
        raise ConfigError("`scripts` needs the tools of the session", hint="attach with `catalog=True`")
    tools = session.tools(scripts=scripts) if catalog else ()
    require_free_names((tool.name for tool in tools), agent.tool_dict, "attach without `catalog=True`")
    _Attachment(agent, session, camel.FunctionTool, catalog=catalog, scripts=scripts).install()
    return agent


def _check_session(value: object) -> None:
    """Raise an error if a value is no session.

    Raises:
        ConfigError: it is not.
    """
    if not isinstance(value, Session):
        message = f"not a session: an object of type {quoted(type(value).__name__)}"
        raise ConfigError(message, hint="pass a session, such as `Session(live_catalog('.'))`")


def detach(agent: Any) -> Any:
    """Remove the session and its tools from an agent, and return the agent. Its memory does not change."""
    attachment = vars(agent).get(_ATTACHMENT)
    if attachment is not None:
        attachment.remove()
    return agent


# ── an attached session ──────────────────────────────────────────────────────────────────────────────────────────────

_ATTACHMENT = "_prowess"
"""The attribute of an agent that holds its attachment."""
_TURN_METHODS = ("_step_impl", "_astep_non_streaming_task", "_stream", "_astream")
"""The methods that run one turn: plain, asynchronous, streamed, and asynchronously streamed."""
_REQUIRED_ATTRIBUTES = (*_TURN_METHODS, "update_memory", "clone", "reset", "model_backend")
_SIDE_REQUEST_METHODS = (
    "_get_context_with_summarization",
    "_get_context_with_summarization_async",
    "_execute_tool",
    "_aexecute_tool",
    "_execute_tool_from_stream_data",
    "_aexecute_tool_from_stream_data",
    "_format_response_if_needed",
    "_aformat_response_if_needed",
)
"""Methods that may ask the same models something else during a turn: to summarize, run tools, or format."""


class _Turn:
    """One turn of one agent, with the skills to show in it."""

    def __init__(self, attachment: _Attachment, text: str, messages: list[dict[str, Any]]) -> None:
        self.attachment, self.text = attachment, text
        self.injected = [message["content"] for message in messages]

    def with_skills(self, messages: list[Any]) -> list[Any]:
        """Return the messages of one request with the skills added; the given list does not change."""
        messages = _with_all_results(messages)
        texts = [_message_text(message) for message in messages]
        session, has_catalog = self.attachment.session, self.attachment.catalog
        named = "\n\n".join(unsent_texts(self.injected, texts))
        tail = session.tail(visible=[*texts, named]) if has_catalog else ""
        block = session.block(self.text) if has_catalog else ""
        # Some endpoints accept no other messages than those that are there.
        users = [index for index, message in enumerate(messages) if message.get("role") == "user"]
        index = next((index for index in reversed(users) if self.text in texts[index]), users[-1] if users else None)
        if named and index is not None:
            messages[index] = join_text(messages[index], named, first=True)
        elif named:
            block = "\n\n".join(filter(None, (block, named)))
        if tail and messages and messages[-1].get("role") in ("user", "tool", "function"):
            messages[-1] = join_text(messages[-1], tail)
        elif tail:
            block = f"{block}\n\n{tail}"
        return _append_to_system(messages, block)


_CURRENT_TURN: ContextVar[_Turn | None] = ContextVar("prowess_camel_turn", default=None)
"""The running turn; CAMEL runs each turn in its own thread or task."""
_END = object()


@contextmanager
def _running(turn: _Turn | None) -> Iterator[None]:
    """Let requests to models have the skills of a turn."""
    token = _CURRENT_TURN.set(turn)
    try:
        yield
    finally:
        _CURRENT_TURN.reset(token)


class _Attachment:
    """The connection of an agent and a session."""

    def __init__(
        self, agent: Any, session: Session, function_tool: Any, *, catalog: bool, scripts: bool | Scripts
    ) -> None:
        self.agent, self.session, self.catalog, self.scripts = agent, session, catalog, scripts
        self._function_tool = function_tool
        self._tools: list[str] = []
        self._original_attributes: dict[str, Any] = {}

    def install(self) -> None:
        """Wrap the methods of the agent, and give it the tools of the session."""
        turns = (self._wrap_turn, self._wrap_async_turn, self._wrap_stream, self._wrap_async_stream)
        wrappers = dict(zip(_TURN_METHODS, turns, strict=True))
        wrappers |= {name: _without_turn for name in _SIDE_REQUEST_METHODS if hasattr(self.agent, name)}
        wrappers |= {"update_memory": _without_skill_messages, "clone": self._wrap_clone, "reset": self._wrap_reset}
        attributes = vars(self.agent)
        for name, wrap in wrappers.items():
            self._original_attributes[name] = attributes.get(name)
            attributes[name] = wrap(getattr(self.agent, name))
        attributes[_ATTACHMENT] = self
        self._update_tools_and_models()

    def remove(self) -> None:
        """Restore the methods of the agent, and remove the tools of the session."""
        attributes = vars(self.agent)
        for name, original in self._original_attributes.items():
            del attributes[name]
            if original is not None:
                attributes[name] = original
        del attributes[_ATTACHMENT]
        self.agent.remove_tools(self._tools)

    def _update_tools_and_models(self) -> None:
        """Update the tools of the session, which may change, and wrap the agent's models, which may be new ones."""
        if self.catalog:
            self.agent.remove_tools(self._tools)
            tools = [self._camel_tool(tool) for tool in self.session.tools(scripts=self.scripts)]
            self.agent.add_tools(tools)
            self._tools = [tool.get_function_name() for tool in tools]
        models = vars(self.agent.model_backend)
        for name in ("run", "arun"):
            if not hasattr(models.get(name), _ATTACHMENT):
                models[name] = _with_turn_skills(getattr(self.agent.model_backend, name))
        for model in getattr(self.agent.model_backend, "models", ()):
            if not hasattr(vars(model).get("preprocess_messages"), _ATTACHMENT):
                vars(model)["preprocess_messages"] = _in_order(model.preprocess_messages)

    def _camel_tool(self, tool: Tool) -> Any:
        def call_plain(**arguments: Any) -> str:
            return str(tool.call(**arguments))

        def call(**arguments: Any) -> str:
            with stopped_after(self.agent.tool_execution_timeout):
                return call_plain(**arguments)

        call.__name__ = tool.name
        call.async_call = partial(call_in_thread, call_plain)  # type: ignore[attr-defined]  # CAMEL looks for it
        schema = {"name": tool.name, "description": tool.description, "parameters": dict(tool.parameters)}
        return self._function_tool(call, openai_tool_schema={"type": "function", "function": schema})

    def _begin_turn(self, message: Any) -> _Turn:
        text = message if isinstance(message, str) else message.content
        messages = self.session.inject(text)  # first, because it brings a live catalog up to date
        self._update_tools_and_models()
        self._warn(text)
        return _Turn(self, text, messages)

    def _warn(self, text: str) -> None:
        """Warn of skills that cannot be read; a name that no skill has is a matter of the user and the model."""
        if self.session.warnings:
            unknown = {mention.problem for mention in self.session.mentions(text) if mention.entry is None}
            for warning in self.session.warnings:
                if warning not in unknown:
                    warnings.warn(warning, SkillWarning, stacklevel=5)

    @contextmanager
    def _ending(self, turn: _Turn) -> Iterator[None]:
        """Clear the cached token count of the last request: the memory does not contain the added skills."""
        try:
            yield
        finally:
            creator = self.agent.memory.get_context_creator()
            if turn.injected and hasattr(creator, "clear_cache"):
                creator.clear_cache()

    def _wrap_turn(self, step: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(step)
        def run_turn(message: Any, *args: Any, **named: Any) -> Any:
            turn = self._begin_turn(message)
            with self._ending(turn), _running(turn), stopped_after(self.agent.step_timeout):
                return step(message, *args, **named)

        return run_turn

    def _wrap_async_turn(self, step: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(step)
        async def run_turn(message: Any, *args: Any, **named: Any) -> Any:
            turn = self._begin_turn(message)
            with self._ending(turn), _running(turn):
                return await step(message, *args, **named)

        return run_turn

    def _wrap_stream(self, stream: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(stream)
        def stream_turn(message: Any, *args: Any, **named: Any) -> Iterator[Any]:
            turn = self._begin_turn(message)
            with self._ending(turn), closing(stream(message, *args, **named)) as parts:
                while True:
                    with _running(turn):  # not while the caller uses the part
                        part = next(parts, _END)
                    if part is _END:
                        return
                    yield part

        return stream_turn

    def _wrap_async_stream(self, stream: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(stream)
        async def stream_turn(message: Any, *args: Any, **named: Any) -> AsyncIterator[Any]:
            turn = self._begin_turn(message)
            with self._ending(turn):
                async with aclosing(stream(message, *args, **named)) as parts:
                    while True:
                        with _running(turn):
                            part = await anext(parts, _END)
                        if part is _END:
                            return
                        yield part

        return stream_turn

    def _wrap_clone(self, clone: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(clone)
        def clone_with_session(with_memory: bool = False, **named: Any) -> Any:
            agent = clone(with_memory, **named)
            agent.remove_tools(self._tools)  # they belong to the conversation of the original
            session = self.session.fork()
            if with_memory:
                session.restore(self.session.to_json())
            _Attachment(agent, session, self._function_tool, catalog=self.catalog, scripts=self.scripts).install()
            return agent

        return clone_with_session

    def _wrap_reset(self, reset: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(reset)
        def restart_session(*args: Any, **named: Any) -> Any:
            self.session.restart()
            return reset(*args, **named)

        return restart_session


def _without_turn(call: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a method so that its requests to models do not contain the skills of the turn."""
    if inspect.iscoroutinefunction(call):

        @wraps(call)
        async def call_async_without_turn(*args: Any, **named: Any) -> Any:
            with _running(None):
                return await call(*args, **named)

        return call_async_without_turn

    @wraps(call)
    def call_without_turn(*args: Any, **named: Any) -> Any:
        with _running(None):
            return call(*args, **named)

    return call_without_turn


def _without_skill_messages(update: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap `update_memory` so that messages marked as skills are not stored."""

    @wraps(update)
    def update_without_skills(message: Any, *args: Any, **named: Any) -> Any:
        if (message.meta_dict or {}).get("skill") is True:
            return [] if named.get("return_records") else None
        return update(message, *args, **named)

    return update_without_skills


def _with_turn_skills(run: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a model so that its requests contain the skills of the running turn, if there is one."""

    @wraps(run)
    def run_with_skills(messages: list[Any], *args: Any, **named: Any) -> Any:
        turn = _CURRENT_TURN.get()
        return run(messages if turn is None else turn.with_skills(messages), *args, **named)

    setattr(run_with_skills, _ATTACHMENT, True)
    return run_with_skills


def _in_order(preprocess: Callable[[list[Any]], list[Any]]) -> Callable[[list[Any]], list[Any]]:
    """Wrap what prepares the messages of a request: it moves all calls of a turn but the first behind the answer.

    So it gets each message alone, with the results of its calls.
    """

    @wraps(preprocess)
    def preprocess_in_order(messages: list[Any]) -> list[Any]:
        if _CURRENT_TURN.get() is None:
            return preprocess(messages)
        calls = {call["id"] for message in messages for call in message.get("tool_calls") or ()}
        results = {message["tool_call_id"]: message for message in messages if message.get("tool_call_id") in calls}
        groups = [
            [message, *(results[call["id"]] for call in message.get("tool_calls") or () if call["id"] in results)]
            for message in messages
            if message.get("tool_call_id") not in results
        ]
        return [message for group in groups for message in preprocess(group)]

    setattr(preprocess_in_order, _ATTACHMENT, True)
    return preprocess_in_order


def _with_all_results(messages: list[Any]) -> list[Any]:
    """Return messages with a result for each call of a tool: of a cancelled call, CAMEL stores the call alone."""
    answered = {message.get("tool_call_id") for message in messages}
    complete: list[Any] = []
    for message in messages:
        missing = [call["id"] for call in message.get("tool_calls") or () if call["id"] not in answered]
        complete += [message, *({"role": "tool", "tool_call_id": name, "content": "cancelled"} for name in missing)]
    return complete


def _append_to_system(messages: list[Any], block: str) -> list[Any]:
    """Return messages with a text appended to the system message, which is created if missing."""
    if not block:
        return messages
    if messages and messages[0].get("role") == "system":
        return [{**messages[0], "content": f"{_message_text(messages[0])}\n\n{block}"}, *messages[1:]]
    return [{"role": "system", "content": block}, *messages]


def _message_text(message: Any) -> str:
    """Return the text of a message, without images."""
    content = message.get("content") or ""
    if isinstance(content, str):
        return content
    return "\n".join(part.get("text") or "" for part in content if isinstance(part, dict))


# ── CAMEL's design: the data model ───────────────────────────────────────────────────────────────────────────────────


class SkillWarning(UserWarning):
    """A skill that a message names cannot be read; the turn continues without it."""


class SkillMetadata(Frozen, kw_only=False, not_compared=("path", "scope")):
    """A skill without its body."""

    name: str
    description: str
    short_description: str | None = None
    """`metadata.short-description` of the front matter."""
    path: str = ""
    """The path of its SKILL.md, empty if it has no file."""
    scope: str = "external"
    """`repo`, `user`, `system` or `external`."""


class SkillDocument(Frozen, kw_only=False):
    """A skill with its body."""

    meta: SkillMetadata
    body: str
    """Without the front matter."""


class SkillError(Frozen, kw_only=False):
    """The reason why a skill is not listed: a value, never raised."""

    source: str
    """The path of its SKILL.md."""
    message: str


class SkillLoadOutcome(Frozen, kw_only=False):
    """The skills and errors that were found from a directory."""

    skills: tuple[SkillMetadata, ...] = ()
    """Highest precedence first: repo, user, system, external."""
    errors: tuple[SkillError, ...] = ()
    """Errors of skipped skills, except system skills, which the user cannot fix."""


_CAMEL_SCOPES = {"project": "repo", "extra": "external"}


class SkillLoader:
    """Finds skills by the rules of the host `camel`, as they are at each call. While nothing changes, nothing is read.

    Args:
        skill_dirs: more directories, of the scope `external`, highest precedence first.
        home: the user's home directory instead of `~`.
        env: the environment; by default that of this process.
        host: the host whose rules apply.
    """

    def __init__(
        self,
        skill_dirs: Iterable[str | os.PathLike[str]] = (),
        *,
        home: str | os.PathLike[str] | None = None,
        env: Mapping[str, str] | None = None,
        host: str | Host = "camel",
    ) -> None:
        self._files = _FilesystemSkillProvider(host, home=home, skill_dirs=skill_dirs, env=env)

    def list(self, cwd: str | os.PathLike[str]) -> SkillLoadOutcome:
        """Return the skills that are found from a directory, without their bodies."""
        catalog = self._files.catalog(cwd)
        listed = [entry for entry in catalog.skills if entry.state in REACHABLE]
        return SkillLoadOutcome(skills=tuple(map(_to_metadata, listed)), errors=tuple(_catalog_errors(catalog)))

    def refresh(self, cwd: str | os.PathLike[str]) -> None:
        """Read the disk at the next `list`, even if nothing seems to have changed."""
        self._files.refresh(os.fspath(cwd))

    def read(self, meta: SkillMetadata) -> SkillDocument:
        """Read the file of a skill.

        Raises:
            SkillNotFoundError: the skill has no file.
            ActivationError: the file is missing, unreadable, or not a valid skill.
        """
        if not meta.path:
            raise SkillNotFoundError(f"the skill {quoted(meta.name)} has no file", hint="list the skills again")
        skill = load(meta.path)
        problem = next((item.message for item in skill.findings if item.severity is Severity.ERROR), None)
        if skill.document is None or problem is not None:
            raise ActivationError(f"the skill {quoted(meta.name)} cannot be read now: {neutral(problem or meta.path)}")
        return SkillDocument(meta=meta, body=skill.body)


def _to_metadata(entry: Entry) -> SkillMetadata:
    return SkillMetadata(
        name=entry.name,
        description=entry.description,
        short_description=entry.skill.short_description,
        path=entry.path,
        scope=_CAMEL_SCOPES.get(entry.scope, entry.scope),
    )


def _catalog_errors(catalog: Catalog) -> Iterator[SkillError]:
    for entry in catalog.skills:
        if entry.state is State.REJECTED and entry.scope not in catalog.host.suppressed_scopes:
            yield SkillError(source=entry.path, message=entry.reason or entry.rule)
    for item in catalog.findings:
        if item.severity is not Severity.INFO:
            yield SkillError(source=item.path or catalog.cwd, message=item.message)


# ── providers and the manager ────────────────────────────────────────────────────────────────────────────────────────


SkillProvider = _SkillProvider[SkillMetadata, SkillDocument]
"""`prowess.SkillProvider` with the skill classes of this module."""


class FilesystemSkillProvider:
    """Provides the skills on this machine, as they are at each call.

    Args:
        skill_dirs: more directories, highest precedence first.
        loader: used instead of a loader for `skill_dirs`.
    """

    def __init__(self, skill_dirs: Iterable[str | os.PathLike[str]] = (), *, loader: SkillLoader | None = None) -> None:
        self._loader = SkillLoader(skill_dirs) if loader is None else loader

    def outcome(self, cwd: str | os.PathLike[str]) -> SkillLoadOutcome:
        """Return the skills that are found from a directory, and the errors of skipped ones."""
        return self._loader.list(real_path(cwd))

    def list(self, cwd: str | os.PathLike[str]) -> Sequence[SkillMetadata]:
        """Return the skills that are found from a directory."""
        return [*self.outcome(cwd).skills]

    def read(self, meta: SkillMetadata) -> SkillDocument:
        """Read the file of a skill.

        Raises:
            SkillNotFoundError: the skill has no file.
            ActivationError: the file is missing, unreadable, or not a valid skill.
        """
        return self._loader.read(meta)

    def refresh(self, cwd: str | os.PathLike[str]) -> None:
        """Read the disk at the next `list`, even if nothing seems to have changed."""
        self._loader.refresh(real_path(cwd))


class SkillManager:
    """Combines the skills of several providers, each asked at each call.

    Args:
        providers: highest precedence first; the file system by default.
    """

    def __init__(self, providers: Iterable[SkillProvider] | None = None) -> None:
        self.providers = (FilesystemSkillProvider(),) if providers is None else tuple(providers)
        self._provider_by_skill: dict[tuple[str, str], SkillProvider] = {}

    def list(self, cwd: str | os.PathLike[str]) -> Sequence[SkillMetadata]:
        """Return the skills that are found from a directory; if several have one name, only the first."""
        key = real_path(cwd)
        skills_by_name: dict[str, SkillMetadata] = {}
        for provider in self.providers:
            for meta in provider.list(key):
                if skills_by_name.setdefault(normalize_name(meta.name), meta) is meta:
                    self._provider_by_skill[meta.name, meta.path] = provider
        return [*skills_by_name.values()]

    def errors(self, cwd: str | os.PathLike[str]) -> Sequence[SkillError]:
        """Return the errors of skipped skills."""
        providers = [provider for provider in self.providers if isinstance(provider, FilesystemSkillProvider)]
        return [error for provider in providers for error in provider.outcome(cwd).errors]

    def refresh(self, cwd: str | os.PathLike[str]) -> None:
        """Let each provider look again at the next `list`."""
        key = real_path(cwd)
        for provider in self.providers:
            provider.refresh(key)

    def resolve_mentions(self, user_text: str, skills: Iterable[SkillMetadata]) -> Sequence[SkillMetadata]:
        """Return the skills that a user's text names, each once, in the order of the text."""
        metas = {entry.path: meta for meta in skills for entry in (_to_entry(meta),)}
        mentions = find_mentions(user_text, map(_to_entry, metas.values()))
        paths = dict.fromkeys(mention.entry.path for mention in mentions if mention.entry is not None)
        return [metas[path] for path in paths]

    def build_messages(self, mentions: Iterable[SkillMetadata]) -> Sequence[Any]:
        """Read skills, and return each as a CAMEL user message for one turn.

        The `meta_dict` of a message is `{"skill": True}`, so an agent with a session does not store it in its memory.
        For a skill that cannot be read there is a `SkillWarning` and no message.

        Raises:
            ImportError: CAMEL is not installed.
        """
        make = _import_camel().BaseMessage.make_user_message
        messages = []
        for meta in mentions:
            try:
                text = _render_document(self._read(meta))
            except ProwessError as error:
                warnings.warn(str(error), SkillWarning, stacklevel=2)
                continue
            messages.append(make(role_name="User", content=text, meta_dict=dict(_SKILL_META)))
        return messages

    def _read(self, meta: SkillMetadata) -> SkillDocument:
        provider = self._provider_by_skill.get((meta.name, meta.path))
        if provider is None:
            raise SkillNotFoundError(f"unknown skill {quoted(meta.name)}", hint="call `list` first")
        try:
            return provider.read(meta)
        except ProwessError:
            raise
        except Exception as error:
            message = f"the skill {quoted(meta.name)} cannot be read now: {neutral(str(error) or type(error).__name__)}"
            raise ActivationError(message) from error


_SKILL_META = {"skill": True}


def _to_entry(meta: SkillMetadata) -> Entry:
    """Return a skill as a catalog entry, for `find_mentions`."""
    path = meta.path or f"{meta.scope}:{meta.name}"
    return Entry(
        name=meta.name,
        frontmatter_name=meta.name,
        folder=os.path.basename(os.path.dirname(meta.path)) or meta.name,
        description=meta.description,
        path=path,
        real=path,
        scope=meta.scope,
        root="",
        state=State.ACTIVE,
        rule="found",
        requirements=Requirements(),
        skill=Skill(),
    )


def _render_document(document: SkillDocument) -> str:
    """Return the text of a skill in the format of the design; its content cannot close the tags."""
    meta, body = document.meta, document.body.strip("\n")
    name, path = (escape_tags(neutral(text), "skill", "name", "path") for text in (meta.name, meta.path))
    return f"<skill>\n<name>{name}</name>\n<path>{path}</path>\n{escape_tags(body, 'skill')}\n</skill>"


def _import_camel() -> Any:
    """Return the classes of CAMEL that this adapter uses.

    Raises:
        ImportError: CAMEL is not installed.
    """
    try:
        from camel.messages import BaseMessage
        from camel.toolkits import FunctionTool
    except ImportError as error:
        raise ImportError(missing_extra("camel-ai", "camel")) from error
    return SimpleNamespace(BaseMessage=BaseMessage, FunctionTool=FunctionTool)
