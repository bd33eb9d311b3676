"""Define the tables of a store, and create them on first use."""

from __future__ import annotations

import time
from contextlib import contextmanager
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
    extract,
    func,
    insert,
    inspect,
    literal,
    select,
    text,
)
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from prowess._internal.text import neutral
from prowess.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy import ColumnElement, Connection, Engine

__all__ = ["conversations", "leases", "now", "prepare", "requests", "store_errors"]

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
        StoreError: the database failed.
    """
    try:
        yield
    except UnicodeEncodeError:
        raise StoreError(f"the store {shown} keeps only valid Unicode: a text has a lone surrogate") from None
    except (SQLAlchemyError, DatabaseError) as error:
        cause = error.orig if isinstance(error, DBAPIError) else error
        first_line = next(iter(str(cause).strip().splitlines()), type(cause).__name__)
        raise StoreError(f"the store {shown} failed: {neutral(first_line)[:300]}") from None


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
                connection.execute(text("SELECT pg_advisory_xact_lock(:number)"), {"number": _LOCK_NUMBER})
            if not inspect(connection).has_table(_schema.name):
                _metadata.create_all(connection)
                connection.execute(insert(_schema).values(version=SCHEMA_VERSION))
            version = connection.execute(select(_schema.c.version)).scalar()
    if version != SCHEMA_VERSION:
        message = f"the store {shown} has tables of version {neutral(str(version))}, not {SCHEMA_VERSION}"
        raise StoreError(message, hint="use the version of Prowess that made it, or another database")


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
