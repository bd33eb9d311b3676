"""Provide what the adapters share: the skills of a catalog, the options of their sessions, and their tools.

A conversation has a session. Where a framework shares an agent between conversations, the record of the session is in
the state that the framework keeps of a conversation.
"""

from __future__ import annotations

import asyncio
import base64
import json
import os
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from contextvars import copy_context
from functools import partial
from threading import RLock, Timer
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import WeakKeyDictionary

from prowess._internal.text import quoted
from prowess.catalog import Catalog, LiveCatalog, join_catalogs, live_catalog
from prowess.errors import ConfigError
from prowess.sandbox import CommandScope
from prowess.session import Session, escape_tags, scripts_option

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence

    from prowess.session import MediaFile, Scripts, Tool, WrittenFile

Source = str | os.PathLike[str] | Catalog | LiveCatalog
"""What the adapters take for skills: a directory, whose skills each turn gets as they are then, or a catalog."""
HINT = "pass a directory, a `Catalog` from `discover`, or a `LiveCatalog`"


def catalog_argument(value: Any, *, hint: str = HINT) -> Catalog | LiveCatalog:
    """Return a catalog as it is, and the live catalog of a directory.

    Raises:
        ConfigError: the value is neither a catalog nor an existing directory.
    """
    if isinstance(value, Catalog | LiveCatalog):
        return value
    if not isinstance(value, str | os.PathLike) or isinstance(path := os.fspath(value), bytes):
        raise ConfigError(f"not a catalog: an object of type {quoted(type(value).__name__)}", hint=hint)
    if not os.path.isdir(path):
        raise ConfigError(f"no such directory: {quoted(path, limit=200)}", hint=hint)
    return live_catalog(path)


def data_url(file: MediaFile) -> str:
    """Return an image or a document as a URL."""
    return f"data:{file.media_type};base64,{base64.b64encode(file.data).decode()}"


class JoinedCatalogs:
    """Several catalogs as one: the same object until one of them changes."""

    def __init__(self, sources: tuple[Catalog | LiveCatalog, ...]) -> None:
        self._sources = sources
        self._joined: tuple[tuple[Catalog, ...], Catalog] | None = None

    def current(self) -> Catalog:
        """Return all skills as they are now."""
        catalogs = tuple(source if isinstance(source, Catalog) else source.current() for source in self._sources)
        joined = self._joined
        if joined is None or any(old is not new for old, new in zip(joined[0], catalogs, strict=True)):
            joined = self._joined = catalogs, join_catalogs(catalogs[0], catalogs[1:])
        return joined[1]


def call_tool(tools: Iterable[Tool], name: str, arguments: Mapping[str, Any]) -> str:
    """Call a tool and return its text; errors are part of the text.

    An agent keeps the tools that it was made with, but its conversation may have fewer now, as skills change.

    Args:
        tools: those of the conversation's session.
        name: of the tool that the model chose.
        arguments: what the model passed.
    """
    for tool in tools:
        if tool.name == name:
            return tool.call(**arguments)
    return f"error: `{name}` is not available now\nhint: go on without it"


def call_and_list_files(session: Session, tool: str, call: Callable[[], str]) -> tuple[str, list[WrittenFile]]:
    """Call a tool, and return its text and the files that a script of it wrote or changed.

    Args:
        session: of the conversation.
        tool: its name.
        call: calls it.
    """
    if tool != "run_skill_script":
        return call(), []
    before = set(session.files())
    text = call()
    return text, [file for file in session.files() if file not in before]


Result = TypeVar("Result")

_THREADS = ThreadPoolExecutor(64, thread_name_prefix="prowess-tool")
"""Not those of `asyncio.to_thread`, which are few: other conversations need them for short work."""


async def call_in_thread(call: Callable[..., Result], *args: Any, **named: Any) -> Result:
    """Return the result of a call, made in a thread with the context of the caller.

    If the caller is cancelled, the command that the call runs is ended at once, and it starts no other one. Nothing
    waits for the thread.
    """
    with CommandScope():
        run = partial(copy_context().run, call, *args, **named)
        return await asyncio.get_running_loop().run_in_executor(_THREADS, run)


SCRIPT_TOOLS = frozenset({"run_skill_script", "read_script_file"})
"""Tools whose calls wait for those before them in the same answer: all of a conversation work in one folder."""
_script_locks: WeakKeyDictionary[asyncio.AbstractEventLoop, WeakKeyDictionary[Any, asyncio.Lock]] = WeakKeyDictionary()
"""By loop, because a conversation may go on in another one, to which a lock cannot move."""


async def call_in_order(owner: Any, tool: str, call: Callable[..., Result], *args: Any, **named: Any) -> Result:
    """Return the result of `call_in_thread`; the calls of tools for scripts run one by one, as they came.

    The next call does not wait for one that was cancelled.

    Args:
        owner: what the calls of a conversation have in common.
        tool: its name.
        call: runs the tool.
        args: of the call.
        named: of the call.
    """
    if tool not in SCRIPT_TOOLS:
        return await call_in_thread(call, *args, **named)
    locks = _script_locks.setdefault(asyncio.get_running_loop(), WeakKeyDictionary())
    async with locks.setdefault(owner, asyncio.Lock()):
        return await call_in_thread(call, *args, **named)


@contextmanager
def stopped_after(seconds: float | None) -> Iterator[None]:
    """Stop the commands of a block after some time: a framework whose time limit has passed only waits for its threads.

    Args:
        seconds: `None` for no limit.
    """
    if seconds is None:
        yield
        return
    with CommandScope() as scope:
        timer = Timer(seconds, scope.stop)
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()


def added_texts(session: Session, visible: Iterable[str]) -> list[str]:
    """Return the warnings of a turn, and the active skills that a request does not contain.

    Args:
        session: of the conversation.
        visible: the texts of the request.
    """
    warnings = [escape_tags(f"warning: {warning}") for warning in session.warnings]
    tail = session.tail(visible=visible)
    return [*warnings, tail] if tail else warnings


def with_tail(session: Session, added: Sequence[str], visible: Sequence[str]) -> list[str]:
    """Return what a request gets: texts of its turn, then the active skills that neither it nor these texts contain.

    Args:
        session: of the conversation.
        added: texts for the skills that the user's message names.
        visible: the texts of the request.
    """
    return [text for text in (*added, session.tail(visible=[*visible, *added])) if text]


def unsent_texts(texts: Iterable[str], visible: Sequence[str]) -> list[str]:
    """Return the texts that no text of a request contains."""
    return [text for text in texts if not any(text in seen for seen in visible)]


def join_text(message: Mapping[str, Any], text: str, *, first: bool = False) -> dict[str, Any]:
    """Return a message in OpenAI's form with a text at its end, or before its own."""
    content = message.get("content") or ""
    is_text = isinstance(content, str)
    parts, added = ([content], [text]) if is_text else (content, [{"type": "text", "text": text}])
    joined = [*added, *parts] if first else [*parts, *added]
    return {**message, "content": "\n\n".join(joined) if is_text else joined}


def require_free_names(tools: Iterable[str], taken: Container[str], hint: str = "rename or remove that tool") -> None:
    """Check that an agent has no tools of the same names, which some frameworks would replace.

    Raises:
        ConfigError: it has one.
    """
    for name in tools:
        if name in taken:
            raise ConfigError(f"the agent already has a tool `{name}`", hint=hint)


def merge_sessions(old: str, new: str) -> str:
    """Merge two session records of one conversation, which tools that run in parallel return."""
    try:
        first, second = json.loads(old), json.loads(new)
        if first["version"] != second["version"]:
            return new
        rows = {row["path"]: row for row in first["ledger"]}
        for row in second["ledger"]:
            known = rows.pop(row["path"], row)
            files = list(dict.fromkeys([*known["files"], *row["files"]]))
            rows[row["path"]] = {**(known if _strength(known) > _strength(row) else row), "files": files}
        turn = max(first["turn"], second["turn"])
        return json.dumps({**first, **second, "turn": turn, "ledger": list(rows.values())})
    except (ValueError, TypeError, KeyError, RecursionError):  # the old record is missing or of another version
        return new or old


def _strength(row: dict[str, Any]) -> tuple[int, bool, bool]:
    """Order two rows of one skill: what a model activated stays active, what a user named only for that turn.

    Of a skill whose script ran beside its activation, the model was given the content.
    """
    return row["turn"], row["by"] == "model", bool(row.get("fingerprint"))


def conversation_of(record: object) -> str | None:
    """Return the name of the conversation that a record belongs to; `None` if the record is invalid."""
    try:
        name = json.loads(str(record))["conversation"]
    except (ValueError, TypeError, KeyError, RecursionError):
        return None
    return name if isinstance(name, str) else None


def shown_skills(session: Session) -> dict[str, str]:
    """Return the names of the skills that a session shows, each with its description as it is shown.

    Args:
        session: with the format `json`.
    """
    text = session.listing.text
    rows = json.loads(text)["available_skills"] if text else []
    return {row["name"]: row.get("description", "") for row in rows}


class CatalogSkills:
    """The skills that conversations choose from, and the options of their sessions.

    Args:
        skills: a directory or a catalog.
        options: as for a `Session`.
        scripts: as for `Session.tools`.

    Raises:
        ConfigError: neither a directory nor a catalog, or an invalid option: now, and not in the first turn.
    """

    def __init__(self, skills: Any, options: Mapping[str, Any], scripts: bool | Scripts = False) -> None:
        self.catalog = catalog_argument(skills)
        self.options = dict(options)
        # All conversations share the option, which keeps a folder for each.
        self.scripts: bool | Scripts = scripts if scripts is False else scripts_option(scripts)
        self.template = self.new_session()
        """The session of no conversation."""

    def new_session(self) -> Session:
        """Return the session of a new conversation."""
        return Session(self.catalog, **self.options)

    def tools(self, session: Session | None = None) -> tuple[Tool, ...]:
        """Return the tools of a session, by default of one of no conversation."""
        if session is None:
            session = self.template
            if isinstance(self.catalog, LiveCatalog) and self.catalog.current() is not session.catalog:
                session.update(self.catalog)
        return session.tools(scripts=self.scripts)

    def call(self, session: Session, name: str, arguments: Mapping[str, Any]) -> str:
        """Call a tool of a session by its name; see `call_tool`."""
        return call_tool(self.tools(session), name, arguments)

    def restored(self, record: object, session: Session | None = None) -> Session:
        """Return the session of a record, or a new one if the record is invalid.

        Args:
            record: what `Session.to_json` returned, or anything else.
            session: the one to restore, because what a turn began with is in no record.
        """
        if isinstance(record, str):
            session = session or self.new_session()
            with suppress(ConfigError):
                session.restore(record)
                return session
        return self.new_session()


class KeptSessions(CatalogSkills):
    """The sessions of the conversations that share a catalog, each for as long as its owner exists.

    Args:
        skills: a directory or a catalog.
        options: as for a `Session`.
        scripts: as for `Session.tools`.
        read: returns the record in the state of an owner, or something else if there is no record.
        write: writes the session of an owner and its record into the owner's state.

    Raises:
        ConfigError: neither a directory nor a catalog, or an invalid option.
    """

    def __init__(
        self,
        skills: Any,
        options: Mapping[str, Any],
        scripts: bool | Scripts,
        *,
        read: Callable[[Any], object],
        write: Callable[[Any, Session, str], None],
    ) -> None:
        super().__init__(skills, options, scripts)
        self._read, self._write = read, write
        self._kept: WeakKeyDictionary[Any, tuple[Session, object]] = WeakKeyDictionary()
        self._lock = RLock()

    def get(self, owner: Any) -> Session:
        """Return the session of an owner, or a new one if the record in its state is invalid."""
        with self._lock:  # which also covers the state, or a tool could take what another one saves for an old record
            record = self._read(owner)
            session, known_record = self._kept.get(owner, (None, None))
            if session is None or record != known_record:  # the framework has replaced the state
                session = self.restored(record, session)
                self._kept[owner] = session, record
            return session

    def save(self, owner: Any, session: Session) -> None:
        """Save the session of an owner in its state."""
        with self._lock:
            record = session.to_json()
            self._write(owner, session, record)
            self._kept[owner] = session, record

    def replace_catalog(self, skills: Any) -> None:
        """Let all conversations choose from another catalog; what they activated stays.

        Raises:
            ConfigError: neither a directory nor a catalog.
        """
        catalog = catalog_argument(skills)
        with self._lock:
            self.catalog = catalog
            for session in (self.template, *(session for session, _ in self._kept.values())):
                session.update(catalog)
