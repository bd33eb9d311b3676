"""Open the store that a URL names: check the URL, connect, and create the tables on first use."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from errno import ELOOP, EMLINK
from typing import TYPE_CHECKING, Any

from prowess._internal.file_status import is_shared, ownership_problem
from prowess._internal.fs import READ_FLAGS, open_fd
from prowess._internal.ownership import ForeignError, check_own, users_of_project
from prowess._internal.text import PATH_LIMIT, describe_os_error, neutral, quoted
from prowess.errors import ConfigError, StoreError

if TYPE_CHECKING:
    from collections.abc import Collection

    from sqlalchemy import URL, Engine

    from ._store import Store

_FORMS = "`sqlite:///FILE` or `postgresql://USER@HOST/DATABASE`"
_TIMEOUT_SECONDS = 30
"""Seconds that one statement, or the wait for a lock of the database, may take."""
_CONNECT_SECONDS = 10
_LOCK_ENDING = "-turns"
"""Of the file that `_alive` locks."""
_MAGIC = b"SQLite format 3\0"
"""How the file of a database begins; one that is new is empty."""


def open_store(url: str, *, lease: float = 15.0, keep: float | None = None) -> Store:
    """Open a store, and create its tables on first use.

    Args:
        url: `sqlite:///FILE` (`sqlite:////FILE` with an absolute path) or `postgresql://USER:PASSWORD@HOST/DATABASE`.
        lease: the seconds after which a conversation is free again if the process that held it was killed; an hour at
            most.
        keep: the seconds for which an unused conversation is kept; `None` keeps all.

    Raises:
        ConfigError: the URL is invalid, or the database cannot be used.
        ImportError: SQLAlchemy or the driver is not installed; the message names the extra.
    """
    if not url.strip():
        raise ConfigError("no URL of a store given", hint=f"write it as {_FORMS}")
    from ._turn import LONGEST_LEASE

    if not 1 <= lease <= LONGEST_LEASE or (keep is not None and not keep > 0):
        message = f"`lease` must be 1 to {LONGEST_LEASE} seconds, and `keep` more than 0"
        raise ConfigError(message, hint="leave them out")
    try:
        import sqlalchemy  # noqa: F401 - the sentence names the extra
    except ImportError as error:
        from prowess._internal.installer import missing_extra

        raise ImportError(missing_extra("SQLAlchemy", "store", "this store")) from error
    from ._store import Store, prepare

    parsed = _parse(url.strip())
    shown = _shown(parsed)
    engine = _make_engine(parsed)
    try:
        prepare(engine, shown)
    except StoreError as error:
        engine.dispose()
        raise ConfigError(str(error), hint=error.hint or "check the URL, and that the database is running") from None
    except BaseException:
        engine.dispose()
        raise
    return Store(engine, shown, lease=lease, keep=keep)


def _parse(url: str) -> URL:
    """Parse a URL; a message never has its password.

    Raises:
        ConfigError: the URL is invalid.
    """
    from sqlalchemy import make_url
    from sqlalchemy.exc import ArgumentError

    scheme = url.partition(":")[0].partition("+")[0].lower() if ":" in url else ""
    if scheme not in ("sqlite", "postgresql", "postgres"):
        what = f"unknown database {quoted(scheme)}" if scheme else "the store is not a URL"
        raise ConfigError(what, hint=f"write it as {_FORMS}")
    try:
        parsed = make_url(f"{scheme.replace('postgresql', 'postgres')}:{url.partition(':')[2]}")
    except (ArgumentError, ValueError):
        raise ConfigError(
            f"invalid URL of a store, which begins with `{scheme}:`", hint=f"write it as {_FORMS}"
        ) from None
    if scheme == "sqlite":
        if parsed.host or parsed.query or parsed.username:
            raise ConfigError("the URL of an SQLite store has a host, a user or options", hint="use `sqlite:///FILE`")
        if parsed.database in (None, "", ":memory:"):
            raise ConfigError("the URL of an SQLite store names no file", hint="use `sqlite:///FILE`")
        return parsed
    if url.count("@") > 1:
        # The end of the password then counts as the host, and messages show the host.
        raise ConfigError("the URL of the store has more than one `@`", hint="in a password, write it as `%40`")
    if not parsed.database:
        raise ConfigError("the URL of the store names no database", hint="use `postgresql://USER@HOST/DATABASE`")
    return parsed.set(drivername="postgresql+psycopg")


def _shown(url: URL) -> str:
    """Return a URL for messages: without its password, and without options, which may have one too."""
    if url.drivername == "sqlite":
        return quoted(url.database or "", PATH_LIMIT)
    host = url.host or url.query.get("host") or "localhost"
    port = f":{url.port}" if url.port else ""
    return quoted(f"postgresql://{host}{port}/{url.database}", PATH_LIMIT)


def _make_engine(url: URL) -> Engine:
    """Return an engine.

    Raises:
        ConfigError: the options of the URL, or its file, are invalid.
        ImportError: the driver is not installed.
    """
    from sqlalchemy import create_engine
    from sqlalchemy.exc import SQLAlchemyError

    sqlite = url.drivername == "sqlite"
    if sqlite:
        _create_private_file(url.database or "")
    # psycopg's prepared statements would not work through a pooler that shares connections.
    connect = (
        {"timeout": _TIMEOUT_SECONDS}
        if sqlite
        else {
            "connect_timeout": _CONNECT_SECONDS,
            "prepare_threshold": None,
            "application_name": "prowess",
            "client_encoding": "UTF8",
            # A server that vanished without a word counts as failed after half a minute.
            "keepalives_idle": 10,
            "keepalives_interval": 5,
            "keepalives_count": 4,
            "tcp_user_timeout": _TIMEOUT_SECONDS * 1000,
        }
    )
    options: dict[str, Any] = {} if sqlite else {"pool_pre_ping": True, "isolation_level": "READ COMMITTED"}
    try:
        engine = create_engine(url, connect_args=connect, pool_size=5, max_overflow=20, **options)
    except ImportError as error:
        from prowess._internal.installer import missing_extra

        raise ImportError(missing_extra("psycopg", "postgresql", "this store")) from error
    except (SQLAlchemyError, ValueError, TypeError) as error:
        message = f"invalid URL of a store: {neutral(str(error).splitlines()[0])[:200]}"
        raise ConfigError(message, hint=f"write it as {_FORMS}") from None
    _set_up_connections(engine, sqlite=sqlite)
    return engine


def _create_private_file(path: str) -> None:
    """Create the file of an SQLite database that only its user can read; its other files get the same permissions.

    Neither it nor one of the files that SQLite keeps beside it may be a link or another user's, and so its folder must
    be this user's own.

    Raises:
        ConfigError: it cannot be created, or one of these is not a regular file of this user.
    """
    try:
        trusted = users_of_project(os.getcwd())
        check_own(os.path.dirname(os.path.abspath(path)), also=trusted)
        with open_fd(path, READ_FLAGS | os.O_CREAT) as fd:
            _check_file(fd, path, trusted)
            is_database = os.pread(fd, len(_MAGIC), 0) in (b"", _MAGIC) if hasattr(os, "pread") else False
            if is_database and not is_shared(path):
                _make_private(fd)
        for ending in ("-wal", "-shm", "-journal", _LOCK_ENDING):
            with suppress(FileNotFoundError), open_fd(f"{path}{ending}", READ_FLAGS) as fd:
                _check_file(fd, f"{path}{ending}", trusted)
                if is_database and not is_shared(path):
                    _make_private(fd)
    except (OSError, ValueError) as error:
        known = error.hint if isinstance(error, ForeignError) else None
        hint = known or "name a file in a folder that exists and that you can write to"
        reason = "it is a link" if getattr(error, "errno", 0) in (ELOOP, EMLINK) else describe_os_error(error)
        raise ConfigError(f"cannot open the store {quoted(path, PATH_LIMIT)}: {reason}", hint=hint) from None


def _check_file(fd: int, path: str, trusted: Collection[int]) -> None:
    """Check that an open file is a regular one of a trusted user.

    Raises:
        ConfigError: it is something else.
        ForeignError: it is another user's, or others can write to it.
    """
    status = os.fstat(fd)
    if not stat.S_ISREG(status.st_mode):
        raise ConfigError(f"the store {quoted(path, PATH_LIMIT)} is not a regular file", hint="name another file")
    if problem := ownership_problem(path, status, also=trusted):
        raise ForeignError(path, problem)


def _make_private(fd: int) -> None:
    if os.fstat(fd).st_mode & 0o077:
        os.fchmod(fd, 0o600)


def _set_up_connections(engine: Engine, *, sqlite: bool) -> None:
    """Give each new connection its settings; SQLite locks the database when a transaction begins, not later."""
    from sqlalchemy import event

    if not sqlite:

        @event.listens_for(engine, "connect")
        def limit_statements(connection: Any, _record: Any) -> None:
            with connection.cursor() as cursor:
                cursor.execute(f"SET statement_timeout = {_TIMEOUT_SECONDS * 1000}")
            connection.commit()

        return

    @event.listens_for(engine, "connect")
    def leave_transactions_to_us(connection: Any, _record: Any) -> None:
        connection.isolation_level = None
        connection.execute("PRAGMA trusted_schema = OFF")
        connection.execute("PRAGMA synchronous = FULL")

    @event.listens_for(engine, "begin")
    def begin_immediately(connection: Any) -> None:
        connection.exec_driver_sql("BEGIN IMMEDIATE")
