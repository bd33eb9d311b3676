"""Keep conversations in the tables of a database, which are created on first use.

All transactions change the lease of a key before that of a conversation, so no two of them wait for each other. The
leases of running turns are renewed in a thread; those of a process that has ended are free at once.
"""

from __future__ import annotations

import hashlib
import json
import random
import threading
import time
from contextlib import contextmanager, suppress
from sqlite3 import DatabaseError, OperationalError
from typing import TYPE_CHECKING, Any

from sqlalchemy import (
    Column,
    Double,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    delete,
    extract,
    func,
    insert,
    inspect,
    literal,
    select,
    text,
    update,
)
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from prowess._internal.text import neutral, quoted
from prowess.errors import (
    ConfigError,
    ConversationBusyError,
    RequestReusedError,
    StoreError,
    StoreUnavailableError,
    TurnLostError,
)

from ._alive import alive
from ._turn import LONGEST_LEASE, SavedConversation, StoredTurn

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import TracebackType
    from typing import Self

    from sqlalchemy import ColumnElement, Connection, Engine

SCHEMA_VERSION = 1
_LOCK_NUMBER = 0x70726F77657373
"""Of PostgreSQL's advisory lock under which the tables are created."""
_ATTEMPTS = 100

_metadata = MetaData()
_schema = Table("prowess_schema", _metadata, Column("version", Integer, primary_key=True, autoincrement=False))
conversations = Table(
    "prowess_conversations",
    _metadata,
    Column("client", String(200), primary_key=True),
    Column("id", String(255), primary_key=True),
    Column("version", Integer, nullable=False),
    Column("ledger", Text),
    Column("history", Text),
    Column("details", Text),
    Column("updated", Double, nullable=False, index=True),
)
"""What each conversation was after its last turn; `version` counts its turns."""
requests = Table(
    "prowess_requests",
    _metadata,
    Column("client", String(200), primary_key=True),
    Column("key", String(255), primary_key=True),
    Column("digest", String(64), nullable=False),
    Column("holder", String(64), nullable=False),
    Column("answer", Text),
    Column("created", Double, nullable=False, index=True),
)
"""The requests with an idempotency key; `answer` is NULL until the turn is saved."""
leases = Table(
    "prowess_leases",
    _metadata,
    Column("name", String(64), primary_key=True),
    Column("holder", String(64), nullable=False),
    Column("expires", Double, nullable=False),
)
"""Which turn holds a conversation or a key, and until when."""


def now(connection: Connection) -> ColumnElement[Any]:
    """Return the time in seconds, by the clock that all processes share: PostgreSQL's, or this machine's."""
    if connection.dialect.name == "sqlite":
        return literal(time.time(), Double)
    return extract("epoch", func.clock_timestamp()).cast(Double)


@contextmanager
def store_errors(shown: str) -> Iterator[None]:
    """Report a failure of the database in one line, which has no value of a statement.

    Raises:
        StoreUnavailableError: the database failed.
        StoreError: it cannot keep a text.
    """
    try:
        yield
    except UnicodeEncodeError:
        raise StoreError("a store keeps only valid Unicode, and a text has a lone surrogate") from None
    except (SQLAlchemyError, DatabaseError) as error:
        cause = error.orig if isinstance(error, DBAPIError) else error
        first_line = next(iter(str(cause).strip().splitlines()), type(cause).__name__)
        raise StoreUnavailableError(f"the store {shown} failed: {neutral(first_line)[:300]}") from None


def prepare(engine: Engine, shown: str) -> None:
    """Create the tables on first use, and check their version.

    Raises:
        StoreError: the database cannot be used, or belongs to another version of Prowess.
    """
    with store_errors(shown):
        if engine.dialect.name == "sqlite":
            _use_write_ahead_log(engine)
        with engine.begin() as connection:
            if engine.dialect.name == "postgresql":
                _require_utf8(connection, shown)
                connection.execute(text("SELECT pg_advisory_xact_lock(:number)"), {"number": _LOCK_NUMBER})
            if not inspect(connection).has_table(_schema.name):
                _metadata.create_all(connection)
                connection.execute(insert(_schema).values(version=SCHEMA_VERSION))
            version = connection.execute(select(_schema.c.version)).scalar()
    if version != SCHEMA_VERSION:
        message = f"the store {shown} has tables of version {neutral(str(version))}, not {SCHEMA_VERSION}"
        raise StoreError(message, hint="use the version of Prowess that made it, or another database")


def _require_utf8(connection: Connection, shown: str) -> None:
    """Check the encoding of a PostgreSQL database: with another one, texts are lost or are bytes.

    Raises:
        StoreError: it is not UTF-8.
    """
    encoding = str(connection.execute(text("SHOW server_encoding")).scalar())
    if encoding != "UTF8":
        message = f"the store {shown} has the encoding {neutral(encoding)}, not UTF-8"
        raise StoreError(message, hint="create its database with `ENCODING 'UTF8' TEMPLATE template0`")


def _use_write_ahead_log(engine: Engine) -> None:
    """Let processes read while another one writes; SQLite does not wait for other processes here."""
    connection = engine.raw_connection()
    try:
        for attempt in range(_ATTEMPTS):
            try:
                connection.cursor().execute("PRAGMA journal_mode = WAL")
            except OperationalError as error:
                if "locked" not in str(error) or attempt == _ATTEMPTS - 1:
                    raise
                time.sleep(0.05)
            else:
                return
    finally:
        connection.close()


_CLEANING_SECONDS = 3600.0
_STOP_SECONDS = 5.0


class Renewal:
    """The turns of this process that are running.

    Args:
        lease: the seconds of a lease.
        renew: renews the leases of a turn.
        keep: called as often as leases are looked at.
        clean: called once an hour.
    """

    def __init__(
        self,
        lease: float,
        renew: Callable[[StoredTurn], None],
        keep: Callable[[], object],
        clean: Callable[[], object],
    ) -> None:
        self._lease, self._renew, self._keep, self._clean = lease, renew, keep, clean
        self._running: dict[str, tuple[StoredTurn, float]] = {}
        """The turns by their holders, and when their leases were taken or renewed."""
        self._lock, self._stopped = threading.Lock(), threading.Event()
        self._thread: threading.Thread | None = None

    def add(self, turn: StoredTurn) -> None:
        """Renew the leases of a turn from now on."""
        with self._lock:
            self._running[turn.holder] = turn, time.monotonic()
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="prowess-store", daemon=True)
                self._thread.start()

    def remove(self, turn: StoredTurn) -> bool:
        """Renew the leases of a turn no longer, and return whether it was running."""
        with self._lock:
            return self._running.pop(turn.holder, None) is not None

    def stop(self) -> None:
        """Renew no more leases, and wait until the thread uses no connection."""
        self._stopped.set()
        if self._thread is not None:
            self._thread.join(_STOP_SECONDS)

    def _work(self) -> None:
        next_cleaning = 0.0
        while not self._stopped.wait(self._lease / 6):
            self._keep()
            due = time.monotonic() - self._lease / 3
            with self._lock:
                turns = [turn for turn, renewed in self._running.values() if renewed <= due]
            for turn in turns:
                with suppress(StoreError):  # the next attempt may succeed, or else the lease expires
                    self._renew(turn)
                    self._note_renewed(turn)
            if time.monotonic() >= next_cleaning:
                next_cleaning = time.monotonic() + _CLEANING_SECONDS
                with suppress(StoreError):
                    self._clean()

    def _note_renewed(self, turn: StoredTurn) -> None:
        with self._lock:
            if turn.holder in self._running:
                self._running[turn.holder] = turn, time.monotonic()


ANSWER_SECONDS = 86_400.0
"""Seconds for which the answer of a request is kept."""
_MAX_VERSION = 2**31 - 1
"""What the column can keep."""


# ── leases ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def take_lease(
    connection: Connection,
    name: str,
    holder: str,
    seconds: float,
    has_ended: Callable[[Connection, str], bool] = lambda _connection, _holder: False,
) -> bool:
    """Take a lease that is free, or expired, or whose holder has ended; return whether that was possible."""
    statement: Any = (postgresql if connection.dialect.name == "postgresql" else sqlite).insert(leases)
    time_now = now(connection)
    statement = statement.values(name=name, holder=holder, expires=time_now + seconds)
    taken = statement.on_conflict_do_update(
        index_elements=[leases.c.name],
        set_={"holder": statement.excluded.holder, "expires": statement.excluded.expires},
        # One that ends later than any lease can is of a clock that was wrong then.
        where=(leases.c.expires < time_now) | (leases.c.expires > time_now + 2 * LONGEST_LEASE),
    )
    if connection.execute(taken.returning(leases.c.name)).first() is not None:
        return True
    other = connection.execute(select(leases.c.holder).where(leases.c.name == name)).scalar()
    if other is None or not has_ended(connection, str(other)):
        return False
    from_it = update(leases).where(leases.c.name == name, leases.c.holder == other)
    return connection.execute(from_it.values(holder=holder, expires=time_now + seconds)).rowcount == 1


def renew_lease(connection: Connection, name: str, holder: str, seconds: float) -> None:
    """Let a lease expire later, if it has this holder."""
    mine = update(leases).where(leases.c.name == name, leases.c.holder == holder)
    connection.execute(mine.values(expires=now(connection) + seconds))


def release_lease(connection: Connection, name: str, holder: str) -> bool:
    """Release a lease, and return whether it had this holder."""
    mine = delete(leases).where(leases.c.name == name, leases.c.holder == holder)
    return connection.execute(mine).rowcount == 1


def release_own_leases(connection: Connection, turn: StoredTurn) -> None:
    """Release the leases of a turn that is saved in this transaction.

    Raises:
        TurnLostError: one of them expired and another turn took it, or the turn has ended.
    """
    if not all(release_lease(connection, name, turn.holder) for name in turn.leases):
        message = "the turn cannot be saved: it has ended, or its lease expired and another turn began"
        raise TurnLostError(message, hint="send the message again")


# ── requests ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def find_answer(connection: Connection, client: str, key: str, digest: str) -> str | None:
    """Return the saved answer of a request; `None` if it was not saved.

    Raises:
        RequestReusedError: the key was used for another request.
    """
    query = select(requests.c.digest, requests.c.answer).where(requests.c.client == client, requests.c.key == key)
    row = connection.execute(query).one_or_none()
    if row is None:
        return None
    if row.digest != digest:
        message = f"the idempotency key {quoted(key)} was used for another request"
        raise RequestReusedError(message, hint="send each new request with a new key")
    return None if row.answer is None else str(row.answer)


def note_request(connection: Connection, turn: StoredTurn, key: str, digest: str) -> None:
    """Record a request that has no answer yet; it replaces that of a process that was killed."""
    connection.execute(delete(requests).where(requests.c.client == turn.client, requests.c.key == key))
    row = {"client": turn.client, "key": key, "digest": digest, "holder": turn.holder, "created": now(connection)}
    connection.execute(insert(requests).values(**row))


def set_answer(connection: Connection, client: str, key: str, answer: str) -> None:
    """Record the answer of a request."""
    request = update(requests).where(requests.c.client == client, requests.c.key == key)
    connection.execute(request.values(answer=answer, created=now(connection)))


def drop_unanswered(connection: Connection, holder: str) -> None:
    """Forget the request of a turn that was not saved, so that it may be sent with another text."""
    connection.execute(delete(requests).where(requests.c.holder == holder, requests.c.answer.is_(None)))


# ── conversations ────────────────────────────────────────────────────────────────────────────────────────────────────


def find_conversation(connection: Connection, client: str, conversation: str) -> SavedConversation | None:
    """Return a conversation; `None` if it is unknown.

    Raises:
        StoreError: its row is invalid.
    """
    query = select(conversations).where(conversations.c.client == client, conversations.c.id == conversation)
    row = connection.execute(query).one_or_none()
    if row is None:
        return None
    texts = {name: getattr(row, name) for name in ("ledger", "history", "details")}
    is_valid = type(row.version) is int and 0 <= row.version < _MAX_VERSION
    if not is_valid or not all(isinstance(text, str | None) for text in texts.values()):
        raise StoreError(f"the row of the conversation {quoted(conversation)} in the store is invalid")
    return SavedConversation(version=row.version, **texts)


def write_conversation(connection: Connection, client: str, conversation: str, saved: SavedConversation) -> None:
    """Write a conversation."""
    row = {name: getattr(saved, name) for name in ("version", "ledger", "history", "details")}
    row["updated"] = now(connection)
    statement: Any = (postgresql if connection.dialect.name == "postgresql" else sqlite).insert(conversations)
    statement = statement.values(client=client, id=conversation, **row)
    new = {name: statement.excluded[name] for name in row}
    connection.execute(
        statement.on_conflict_do_update(index_elements=[conversations.c.client, conversations.c.id], set_=new)
    )


def delete_conversation(connection: Connection, client: str, conversation: str) -> None:
    """Delete a conversation."""
    mine = (conversations.c.client == client, conversations.c.id == conversation)
    connection.execute(delete(conversations).where(*mine))


def delete_old(connection: Connection, keep: float | None) -> int:
    """Delete old answers and conversations, and return how many of the latter."""
    time_now = now(connection)
    connection.execute(delete(requests).where(requests.c.created < time_now - ANSWER_SECONDS))
    connection.execute(delete(leases).where(leases.c.expires < time_now - ANSWER_SECONDS))
    if keep is None:
        return 0
    return connection.execute(delete(conversations).where(conversations.c.updated < time_now - keep)).rowcount


_MAX_ID_CHARS, _MAX_CLIENT_CHARS = 255, 200
_MAX_BYTES = 32 * 1024 * 1024
"""Bytes of one conversation at most."""
_FIRST_DELAY, _LONGEST_DELAY = 0.02, 0.25
"""Seconds between two attempts to hold a conversation."""


class Store:
    """Conversations in a database; `open_store` opens one. Threads may share it."""

    def __init__(self, engine: Engine, shown: str, *, lease: float, keep: float | None) -> None:
        self._engine, self._shown, self._lease, self._keep = engine, shown, lease, keep
        self._alive = alive(engine)
        self._renewal = Renewal(lease, self._renew, self._alive.keep, self.purge)

    def __repr__(self) -> str:
        return f"Store({self._shown})"

    # ── turns ────────────────────────────────────────────────────────────────────────────────────────────────────────

    def turn(
        self,
        conversation: str | None,
        *,
        client: str = "",
        key: str | None = None,
        request: object = None,
        wait: float = 30.0,
    ) -> StoredTurn:
        """Hold a conversation for one turn; a new ID is a new conversation.

        Args:
            conversation: its ID; `None` if the turn gives it one when it is saved.
            client: whose conversations and keys these are: those of two clients are never the same.
            key: identifies the request, so that it is answered once however often it is sent.
            request: what is asked, in types of JSON: another request with the same key is an error.
            wait: the seconds to wait for another turn of the conversation.

        Raises:
            ConversationBusyError: another turn held the conversation, or the same request, all that time.
            RequestReusedError: the key was used for another request.
            ConfigError: an ID or the key is too long, or has characters that cannot be printed.
            StoreError: the database failed.
        """
        for value, what, limit in (
            (conversation, "conversation ID", _MAX_ID_CHARS),
            (key, "idempotency key", _MAX_ID_CHARS),
            (client or None, "client", _MAX_CLIENT_CHARS),
        ):
            if value is not None:
                _check_text(value, what, limit)
        digest = _request_digest(conversation, request)
        end, delay = time.monotonic() + wait, _FIRST_DELAY
        while (turn := self._try_turn(conversation, client, key, digest)) is None:
            left = end - time.monotonic()
            if left <= 0:
                what = "the conversation" if conversation is not None else "the request"
                message = f"{what} is in use: another turn of it is running"
                raise ConversationBusyError(message, hint="try again when that turn has ended")
            time.sleep(min(left, delay * random.uniform(0.5, 1.0)))  # noqa: S311 - only spreads the attempts
            delay = min(_LONGEST_DELAY, delay * 2)
        return turn

    def _try_turn(self, conversation: str | None, client: str, key: str | None, digest: str) -> StoredTurn | None:
        """Hold a conversation, or return `None` if another turn holds it."""
        ids = (("key", key), ("conversation", conversation))
        turn = StoredTurn(
            self,
            client=client,
            conversation=conversation,
            key=key,
            holder=self._alive.new_holder(),
            leases=tuple(_lease_name(kind, client, value) for kind, value in ids if value is not None),
        )
        with store_errors(self._shown), self._engine.connect() as connection, connection.begin() as transaction:
            if self._is_answered(connection, turn, digest):
                transaction.rollback()
                return turn
            has_ended = self._alive.has_ended
            if not all(take_lease(connection, name, turn.holder, self._lease, has_ended) for name in turn.leases):
                transaction.rollback()
                return None
            # The turn that held the leases may have been saved before they were taken.
            if self._is_answered(connection, turn, digest):
                transaction.rollback()
                return turn
            if key is not None:
                note_request(connection, turn, key, digest)
            if conversation is not None:
                turn.saved = find_conversation(connection, client, conversation)
        self._renewal.add(turn)
        return turn

    @staticmethod
    def _is_answered(connection: Connection, turn: StoredTurn, digest: str) -> bool:
        if turn.key is not None:
            turn.answer = find_answer(connection, turn.client, turn.key, digest)
        return turn.answer is not None

    def save_turn(
        self,
        turn: StoredTurn,
        new: SavedConversation,
        *,
        answer: str | None,
        conversation: str | None,
        replaces: str | None,
    ) -> None:
        """Save what a turn changed, and release its leases; see `StoredTurn.save`."""
        if conversation is None or (answer is not None and turn.key is None):
            what = "a conversation ID" if conversation is None else "an idempotency key"
            raise ConfigError(f"the turn cannot be saved without {what}", hint="give it to `Store.turn`")
        _check_text(conversation, "conversation ID", _MAX_ID_CHARS)
        texts = (new.ledger, new.history, new.details, answer)
        size = sum(len(text.encode("utf-8", "surrogatepass")) for text in texts if text is not None)
        if size > _MAX_BYTES:
            message = f"the conversation is too large to be stored: {size:,} bytes, at most {_MAX_BYTES:,}"
            raise StoreError(message, hint="start a new conversation")
        with self._transaction() as connection:
            release_own_leases(connection, turn)
            write_conversation(connection, turn.client, conversation, new)
            if replaces is not None and replaces != conversation:
                delete_conversation(connection, turn.client, replaces)
            if turn.key is not None and answer is not None:
                set_answer(connection, turn.client, turn.key, answer)
        self._renewal.remove(turn)

    def release_turn(self, turn: StoredTurn) -> None:
        """Release the leases of a turn that was not saved; if the database fails, they expire."""
        if not self._renewal.remove(turn):
            return
        with suppress(StoreError), self._transaction() as connection:
            for name in turn.leases:
                release_lease(connection, name, turn.holder)
            drop_unanswered(connection, turn.holder)

    def _renew(self, turn: StoredTurn) -> None:
        with self._transaction() as connection:
            for name in turn.leases:
                renew_lease(connection, name, turn.holder, self._lease)

    # ── conversations ────────────────────────────────────────────────────────────────────────────────────────────────

    def load(self, conversation: str, *, client: str = "") -> SavedConversation | None:
        """Return a conversation without holding it; `None` if it is unknown.

        Raises:
            StoreError: the database failed, or its row is invalid.
        """
        with self._transaction() as connection:
            return find_conversation(connection, client, conversation)

    def delete(self, conversation: str, *, client: str = "") -> None:
        """Delete a conversation.

        Raises:
            StoreError: the database failed.
        """
        with self._transaction() as connection:
            delete_conversation(connection, client, conversation)

    def purge(self) -> int:
        """Delete conversations that were not used for as long as `keep`, and answers older than a day.

        A store does this itself, once an hour.

        Returns:
            The number of conversations.

        Raises:
            StoreError: the database failed.
        """
        with self._transaction() as connection:
            return delete_old(connection, self._keep)

    # ── the database ─────────────────────────────────────────────────────────────────────────────────────────────────

    @contextmanager
    def _transaction(self) -> Iterator[Connection]:
        """Begin a transaction.

        Raises:
            StoreError: the database failed.
        """
        with store_errors(self._shown), self._engine.begin() as connection:
            yield connection

    def close(self) -> None:
        """Close the connections."""
        self._renewal.stop()
        self._alive.close()
        self._engine.dispose()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _check_text(value: object, what: str, limit: int) -> None:
    """Check an ID.

    Raises:
        ConfigError: it is empty, too long, or has characters that cannot be printed.
    """
    if not isinstance(value, str) or not 0 < len(value) <= limit or not value.isprintable():
        raise ConfigError(f"invalid {what}", hint=f"use a text of 1 to {limit} printable characters")


def _request_digest(conversation: str | None, request: object) -> str:
    """Return what distinguishes a request from others.

    Raises:
        ConfigError: it is not of types of JSON.
    """
    try:
        data = json.dumps([conversation, request], sort_keys=True)
    except (TypeError, ValueError, RecursionError) as error:
        hint = "use texts, numbers, lists and mappings"
        raise ConfigError(f"the request is not of types of JSON: {neutral(str(error))}", hint=hint) from None
    return hashlib.sha256(data.encode()).hexdigest()


def _lease_name(*parts: str) -> str:
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()
