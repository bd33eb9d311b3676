"""Session -> skills in the turns of one CAMEL agent; and the names of CAMEL's own design (issue 3711, phase 1)

What is injected is put among the messages on their way to the model, behind everything that writes: the agent's memory,
its storage and `chat_history` never see it. The classes of the design need no CAMEL until they build messages.
"""

from __future__ import annotations

import inspect
import os
import warnings
from contextvars import ContextVar
from functools import wraps
from typing import TYPE_CHECKING, Any, Protocol

from prowess._frozen import Frozen
from prowess.activation import harmless
from prowess.adapters import missing_extra
from prowess.catalog import discover
from prowess.entry import Entry, State
from prowess.errors import ActivationError, ConfigError, ProwessError, SkillNotFoundError
from prowess.findings import Severity, neutral, quoted, same_name
from prowess.mentions import mentions
from prowess.skill import Requirements, Skill, load

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence

    from prowess.catalog import Catalog
    from prowess.host import Host
    from prowess.session import Session

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


class SkillWarning(UserWarning):
    """A skill that was named could not be read; the turn goes on without it."""


# ── the design's data model ──────────────────────────────────────────────────────────────────────────────────────────


class SkillMetadata(Frozen, kw_only=False, aside=("path", "scope")):
    """What is known of a skill before its body is read."""

    name: str
    description: str
    short_description: str | None = None
    """Its `metadata.short-description`."""
    path: str = ""
    """Of its SKILL.md; empty where it has none."""
    scope: str = "external"
    """`repo`, `user`, `system` or `external`."""


class SkillDocument(Frozen, kw_only=False):
    """A skill with its body."""

    meta: SkillMetadata
    body: str
    """Without the front matter."""


class SkillError(Frozen, kw_only=False):
    """A skill that is not listed, and why: a value, it is never raised."""

    source: str
    """The path of its SKILL.md."""
    message: str


class SkillLoadOutcome(Frozen, kw_only=False):
    """What was found from a directory."""

    skills: tuple[SkillMetadata, ...] = ()
    """Highest precedence first: repo, user, system, external."""
    errors: tuple[SkillError, ...] = ()
    """Of the skills that were skipped, but for those of the system, which its user could not mend."""


_SCOPES = {"project": "repo", "extra": "external"}
_REACHABLE = (State.ACTIVE, State.USER_ONLY, State.DEFERRED)


class SkillLoader:
    """Finds skills as the host `camel` does; each call looks at the disk.

    Args:
        skill_dirs: further directories, the scope `external`, highest precedence first.
        home: the user's home instead of `~`.
        env: the environment; the process's by default.
        host: whose rules find the skills.
    """

    def __init__(
        self,
        skill_dirs: Iterable[str | os.PathLike[str]] = (),
        *,
        home: str | os.PathLike[str] | None = None,
        env: Mapping[str, str] | None = None,
        host: str | Host = "camel",
    ) -> None:
        self._skill_dirs, self._home, self._env, self._host = tuple(skill_dirs), home, env, host

    def list(self, cwd: str | os.PathLike[str]) -> SkillLoadOutcome:
        """Return the skills that are seen from a directory, without their bodies."""
        catalog = discover(cwd, host=self._host, home=self._home, skill_dirs=self._skill_dirs, env=self._env)
        known = [entry for entry in catalog.skills if entry.state in _REACHABLE]
        return SkillLoadOutcome(skills=tuple(map(_metadata, known)), errors=tuple(_errors(catalog)))

    def read(self, meta: SkillMetadata) -> SkillDocument:
        """Read a skill's file now.

        Raises:
            SkillNotFoundError: it has no file.
            ActivationError: the file is gone, cannot be read, or is none that can be loaded.
        """
        if not meta.path:
            raise SkillNotFoundError(f"the skill {quoted(meta.name)} has no file", hint="list the skills again")
        skill = load(meta.path)
        wrong = next((item.message for item in skill.findings if item.severity is Severity.ERROR), None)
        if skill.document is None or wrong is not None:
            raise ActivationError(f"the skill {quoted(meta.name)} cannot be read now: {neutral(wrong or meta.path)}")
        return SkillDocument(meta=meta, body=skill.body)


def _metadata(entry: Entry) -> SkillMetadata:
    return SkillMetadata(
        name=entry.name,
        description=entry.description,
        short_description=entry.skill.short_description,
        path=entry.path,
        scope=_SCOPES.get(entry.scope, entry.scope),
    )


def _errors(catalog: Catalog) -> Iterator[SkillError]:
    for entry in catalog.skills:
        if entry.state is State.REJECTED and entry.scope not in catalog.host.suppressed_scopes:
            yield SkillError(source=entry.path, message=entry.reason or entry.rule)
    for item in catalog.findings:
        if item.severity is not Severity.INFO:
            yield SkillError(source=item.path or catalog.cwd, message=item.message)


# ── providers and their manager ──────────────────────────────────────────────────────────────────────────────────────


class SkillProvider(Protocol):
    """Where skills come from."""

    def list(self, cwd: str) -> Sequence[SkillMetadata]:
        """Return the skills that are seen from a directory, highest precedence first, without their bodies."""

    def read(self, meta: SkillMetadata) -> SkillDocument:
        """Return one of them with its body."""

    def refresh(self, cwd: str) -> None:
        """Forget what was seen from a directory."""


class FilesystemSkillProvider(SkillProvider):
    """The skills on this machine, looked for once for each directory until `refresh`.

    Args:
        skill_dirs: further directories, highest precedence first.
        loader: what finds and reads them, instead of one for `skill_dirs`.
    """

    def __init__(self, skill_dirs: Iterable[str | os.PathLike[str]] = (), *, loader: SkillLoader | None = None) -> None:
        self._loader = SkillLoader(skill_dirs) if loader is None else loader
        self._outcomes: dict[str, SkillLoadOutcome] = {}

    def outcome(self, cwd: str | os.PathLike[str]) -> SkillLoadOutcome:
        """Return the skills that are seen from a directory, and what is wrong with those that were skipped."""
        key = os.path.realpath(cwd)
        if key not in self._outcomes:
            self._outcomes[key] = self._loader.list(key)
        return self._outcomes[key]

    def list(self, cwd: str | os.PathLike[str]) -> Sequence[SkillMetadata]:
        """Return the skills that are seen from a directory."""
        return [*self.outcome(cwd).skills]

    def read(self, meta: SkillMetadata) -> SkillDocument:
        """Read a skill's file now.

        Raises:
            SkillNotFoundError: it has no file.
            ActivationError: the file is gone, cannot be read, or is none that can be loaded.
        """
        return self._loader.read(meta)

    def refresh(self, cwd: str | os.PathLike[str]) -> None:
        """Look again at the next `list`."""
        self._outcomes.pop(os.path.realpath(cwd), None)


class SkillManager:
    """The skills of several providers, listed once for each directory until `refresh`.

    Args:
        providers: highest precedence first; the file system by default.
    """

    def __init__(self, providers: Iterable[SkillProvider] | None = None) -> None:
        self.providers = (FilesystemSkillProvider(),) if providers is None else tuple(providers)
        self._skills: dict[str, dict[str, SkillMetadata]] = {}
        self._homes: dict[tuple[str, str], SkillProvider] = {}

    def list(self, cwd: str | os.PathLike[str]) -> Sequence[SkillMetadata]:
        """Return the skills that are seen from a directory; of several with one name the first."""
        key = os.path.realpath(cwd)
        if key not in self._skills:
            found: dict[str, SkillMetadata] = {}
            for provider in self.providers:
                for meta in provider.list(key):
                    if found.setdefault(same_name(meta.name), meta) is meta:
                        self._homes[meta.name, meta.path] = provider
            self._skills[key] = found
        return [*self._skills[key].values()]

    def errors(self, cwd: str | os.PathLike[str]) -> Sequence[SkillError]:
        """Return what is wrong with the skills that were skipped."""
        known = [provider for provider in self.providers if isinstance(provider, FilesystemSkillProvider)]
        return [error for provider in known for error in provider.outcome(cwd).errors]

    def refresh(self, cwd: str | os.PathLike[str]) -> None:
        """Look again at the next `list`."""
        key = os.path.realpath(cwd)
        self._skills.pop(key, None)
        for provider in self.providers:
            provider.refresh(key)

    def resolve_mentions(self, user_text: str, skills: Iterable[SkillMetadata]) -> Sequence[SkillMetadata]:
        """Return the skills a user's text names, each once, in the order of the text."""
        metas = {entry.path: meta for meta in skills for entry in (_entry(meta),)}
        found = mentions(user_text, map(_entry, metas.values()))
        named = dict.fromkeys(item.entry.path for item in found if item.entry is not None)
        return [metas[path] for path in named]

    def build_messages(self, mentions: Iterable[SkillMetadata]) -> Sequence[Any]:
        """Read skills, and return each as a CAMEL user message that belongs to one turn.

        The message's `meta_dict` is `{"skill": True}`, by which an agent with a session keeps it out of its memory. A
        skill that cannot be read is a `SkillWarning` and is left out.

        Raises:
            ImportError: CAMEL is not installed.
        """
        make = _framework().BaseMessage.make_user_message
        messages = []
        for meta in mentions:
            try:
                text = _wrapped(self._read(meta))
            except ProwessError as error:
                warnings.warn(str(error), SkillWarning, stacklevel=2)
                continue
            messages.append(make(role_name="User", content=text, meta_dict=dict(_MARK)))
        return messages

    def _read(self, meta: SkillMetadata) -> SkillDocument:
        home = self._homes.get((meta.name, meta.path))
        if home is None:
            raise SkillNotFoundError(f"no skill is listed as {quoted(meta.name)}", hint="list the skills first")
        try:
            return home.read(meta)
        except ProwessError:
            raise
        except Exception as error:
            words = f"the skill {quoted(meta.name)} cannot be read now: {neutral(str(error) or type(error).__name__)}"
            raise ActivationError(words) from error


_MARK = {"skill": True}


def _entry(meta: SkillMetadata) -> Entry:
    """Return a skill in the shape in which mentions are looked for."""
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


def _wrapped(document: SkillDocument) -> str:
    """Write a skill as the design does; nothing in it can close the wrapper."""
    meta, body = document.meta, document.body.strip("\n")
    name, path = (harmless(neutral(text), "skill", "name", "path") for text in (meta.name, meta.path))
    return f"<skill>\n<name>{name}</name>\n<path>{path}</path>\n{harmless(body, 'skill')}\n</skill>"


def _framework() -> Any:
    """Return what is needed of CAMEL.

    Raises:
        ImportError: it is not installed.
    """
    from types import SimpleNamespace

    try:
        from camel.messages import BaseMessage
        from camel.toolkits import FunctionTool
    except ImportError as error:
        raise ImportError(missing_extra("camel-ai", "camel")) from error
    return SimpleNamespace(BaseMessage=BaseMessage, FunctionTool=FunctionTool)


# ── an agent and a session ───────────────────────────────────────────────────────────────────────────────────────────


def attach(agent: Any, session: Session, *, catalog: bool = False) -> Any:
    """Let a `ChatAgent` use the skills of a session: those that the user's message of a turn names, for that turn.

    Attaching what is attached already changes nothing. `agent.reset()` begins the session's conversation again.

    Args:
        agent: of CAMEL; it is returned.
        session: of the conversation that the agent holds.
        catalog: whether the model may choose skills by itself: the system message then names them, and the agent has
            the session's tools.

    Raises:
        ImportError: CAMEL is not installed.
        ConfigError: the agent has another session, lacks what is needed, or has a tool of the same name.
    """
    camel = _framework()
    known = vars(agent).get(_KEPT)
    if known is not None:
        if known.session is session and known.catalog is catalog:
            return agent
        raise ConfigError("the agent has a session already", hint="call `detach(agent)` first")
    lacking = [name for name in (*_TURNS, *_OTHERS) if not hasattr(agent, name)]
    if lacking:
        raise ConfigError(
            f"the agent has no `{lacking[0]}`", hint="this adapter is made for `ChatAgent` of camel-ai 0.2.90 and later"
        )
    taken = [tool.name for tool in session.tools() if catalog and tool.name in agent.tool_dict]
    if taken:
        raise ConfigError(f"the agent has a tool `{taken[0]}` of its own", hint="attach without `catalog=True`")
    joined = _Joined(agent, session, camel.FunctionTool, catalog=catalog)
    joined.join()
    return agent


def detach(agent: Any) -> Any:
    """Take an agent's session away, with its tools; what is in the agent's memory stays. It is returned."""
    joined = vars(agent).get(_KEPT)
    if joined is not None:
        joined.part()
    return agent


_KEPT = "_prowess"
"""The attribute of an agent that holds what joins it with its session."""
_TURNS = ("_step_impl", "_astep_non_streaming_task", "_stream", "_astream")
"""What an agent does in one turn, in the four ways there are."""
_OTHERS = ("update_memory", "clone", "reset", "model_backend")
_ASIDES = (
    "_get_context_with_summarization",
    "_get_context_with_summarization_async",
    "_execute_tool",
    "_aexecute_tool",
    "_execute_tool_from_stream_data",
    "_aexecute_tool_from_stream_data",
    "_format_response_if_needed",
    "_aformat_response_if_needed",
)
"""What an agent does within a turn that may ask the same models something else: sum up, work, format."""


class _Turn:
    """What belongs to one turn of one agent."""

    def __init__(self, joined: _Joined, text: str, messages: list[dict[str, Any]]) -> None:
        self.joined, self.text = joined, text
        self.injected = [message["content"] for message in messages]

    def over(self, messages: list[Any]) -> list[Any]:
        """Return the messages of one request with what is rendered for it; what is given stays as it is."""
        texts = [_text(message) for message in messages]
        added = [text for text in self.injected if not any(text in other for other in texts)]
        session = self.joined.session
        if self.joined.catalog:
            added += [text for text in (session.tail(visible=[*texts, *added]),) if text]
        users = [index for index, message in enumerate(messages) if message.get("role") == "user"]
        mine = [index for index in users if self.text in texts[index]]
        place = (mine or users or [len(messages)])[-1]
        filled = [*messages[:place], *({"role": "user", "content": text} for text in added), *messages[place:]]
        return _told(filled, session.static_block()) if self.joined.catalog else filled


_TURN: ContextVar[_Turn | None] = ContextVar("prowess_camel_turn", default=None)
"""The turn that runs here; CAMEL gives each a thread or a task."""


class _Joined:
    """An agent and its session."""

    def __init__(self, agent: Any, session: Session, function_tool: Any, *, catalog: bool) -> None:
        self.agent, self.session, self.catalog = agent, session, catalog
        self._function_tool = function_tool
        self._tools: list[str] = []
        self._before: dict[str, Any] = {}

    def join(self) -> None:
        wraps = dict(zip(_TURNS, (self._turn, self._aturn, self._stream, self._astream), strict=True))
        wraps |= {name: _aside for name in _ASIDES if hasattr(self.agent, name)}
        wraps |= {"update_memory": _unmarked, "clone": self._clone, "reset": self._reset}
        attributes = vars(self.agent)
        for name, wrap in wraps.items():
            self._before[name] = attributes.get(name)
            attributes[name] = wrap(getattr(self.agent, name))
        attributes[_KEPT] = self
        self._prepare()

    def part(self) -> None:
        attributes = vars(self.agent)
        for name, before in self._before.items():
            del attributes[name]
            if before is not None:
                attributes[name] = before
        del attributes[_KEPT]
        self.agent.remove_tools(self._tools)

    def _prepare(self) -> None:
        """Give the agent the tools that the catalog asks for now, and listen to its models, which may be others now."""
        if self.catalog:
            self.agent.remove_tools(self._tools)
            tools = [_function_tool(self._function_tool, tool) for tool in self.session.tools()]
            self.agent.add_tools(tools)
            self._tools = [tool.get_function_name() for tool in tools]
        models = vars(self.agent.model_backend)
        for name in ("run", "arun"):
            if not hasattr(models.get(name), _KEPT):
                models[name] = _listening(getattr(self.agent.model_backend, name))

    def _begin(self, message: Any) -> _Turn:
        self._prepare()
        text = message if isinstance(message, str) else message.content
        messages = self.session.inject(text)
        for warning in self.session.warnings:
            warnings.warn(warning, SkillWarning, stacklevel=4)
        return _Turn(self, text, messages)

    def _end(self, turn: _Turn) -> None:
        """Forget how many tokens the last request had: what was injected is not in the memory."""
        creator = self.agent.memory.get_context_creator()
        if turn.injected and hasattr(creator, "clear_cache"):
            creator.clear_cache()

    def _turn(self, step: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(step)
        def turn(message: Any, *args: Any, **named: Any) -> Any:
            turn = self._begin(message)
            token = _TURN.set(turn)
            try:
                return step(message, *args, **named)
            finally:
                _TURN.reset(token)
                self._end(turn)

        return turn

    def _aturn(self, step: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(step)
        async def aturn(message: Any, *args: Any, **named: Any) -> Any:
            turn = self._begin(message)
            token = _TURN.set(turn)
            try:
                return await step(message, *args, **named)
            finally:
                _TURN.reset(token)
                self._end(turn)

        return aturn

    def _stream(self, stream: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(stream)
        def turns(message: Any, *args: Any, **named: Any) -> Iterator[Any]:
            turn = self._begin(message)
            parts = stream(message, *args, **named)
            try:
                while True:
                    token = _TURN.set(turn)  # only while the agent works: between parts its caller does
                    try:
                        part = next(parts)
                    except StopIteration:
                        return
                    finally:
                        _TURN.reset(token)
                    yield part
            finally:
                parts.close()
                self._end(turn)

        return turns

    def _astream(self, stream: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(stream)
        async def aturns(message: Any, *args: Any, **named: Any) -> AsyncIterator[Any]:
            turn = self._begin(message)
            parts = stream(message, *args, **named)
            try:
                while True:
                    token = _TURN.set(turn)
                    try:
                        part = await anext(parts)
                    except StopAsyncIteration:
                        return
                    finally:
                        _TURN.reset(token)
                    yield part
            finally:
                await parts.aclose()
                self._end(turn)

        return aturns

    def _clone(self, clone: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(clone)
        def cloned(*args: Any, **named: Any) -> Any:
            agent = clone(*args, **named)
            agent.remove_tools(self._tools)  # they belong to this conversation
            return agent

        return cloned

    def _reset(self, reset: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(reset)
        def again(*args: Any, **named: Any) -> Any:
            self.session.restart()
            return reset(*args, **named)

        return again


def _aside(call: Callable[..., Any]) -> Callable[..., Any]:
    """Let what an agent does within a turn ask models without the turn's skills."""
    if inspect.iscoroutinefunction(call):

        @wraps(call)
        async def acalled(*args: Any, **named: Any) -> Any:
            token = _TURN.set(None)
            try:
                return await call(*args, **named)
            finally:
                _TURN.reset(token)

        return acalled

    @wraps(call)
    def called(*args: Any, **named: Any) -> Any:
        token = _TURN.set(None)
        try:
            return call(*args, **named)
        finally:
            _TURN.reset(token)

    return called


def _unmarked(update: Callable[..., Any]) -> Callable[..., Any]:
    """Keep messages that are marked as skills out of the memory."""

    @wraps(update)
    def updated(message: Any, *args: Any, **named: Any) -> Any:
        if (message.meta_dict or {}).get("skill") is True:
            return [] if named.get("return_records") else None
        return update(message, *args, **named)

    return updated


def _listening(run: Callable[..., Any]) -> Callable[..., Any]:
    """Let models see the skills of the turn that runs; outside of one nothing changes."""

    @wraps(run)
    def ran(messages: list[Any], *args: Any, **named: Any) -> Any:
        turn = _TURN.get()
        return run(messages if turn is None else turn.over(messages), *args, **named)

    setattr(ran, _KEPT, True)
    return ran


def _told(messages: list[Any], block: str) -> list[Any]:
    """Return messages with a text at the end of the first system message."""
    if not block:
        return messages
    if messages and messages[0].get("role") == "system":
        return [{**messages[0], "content": f"{_text(messages[0])}\n\n{block}"}, *messages[1:]]
    return [{"role": "system", "content": block}, *messages]


def _text(message: Any) -> str:
    """Return what a message says, without its pictures."""
    content = message.get("content") or ""
    if isinstance(content, str):
        return content
    return "\n".join(part.get("text") or "" for part in content if isinstance(part, dict))


def _function_tool(make: Any, tool: Any) -> Any:
    def call(**arguments: Any) -> str:
        text: str = tool.call(**arguments)
        return text

    call.__name__ = tool.name
    schema = {"name": tool.name, "description": tool.description, "parameters": dict(tool.parameters)}
    return make(call, openai_tool_schema={"type": "function", "function": schema})
