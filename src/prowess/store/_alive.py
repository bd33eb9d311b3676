"""Show other processes that this one is alive, so that what it held is free again as soon as it is not.

Each store has a number, with which the holders of its leases begin, and holds a lock of that number until its process
ends, however that happens. In PostgreSQL it is an advisory lock of a transaction that stays open, since a pooler may
give connections without one to other clients. Beside an SQLite database, it is a lock of one byte of a file. Where no
lock is possible, a lease holds until it expires.
"""

from __future__ import annotations

import errno
import os
import secrets
import struct
import sys
import threading
import uuid
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from sqlalchemy import text
from sqlalchemy.exc import SQLAlchemyError

from prowess._internal.fs import NO_LINK_FLAGS

if TYPE_CHECKING:
    from sqlalchemy import Connection, Engine

LOCK_ENDING = "-turns"
"""Of the file beside an SQLite database."""
_BITS = 62


class Alive:
    """The lock of one store; threads may share it. There is no lock, as on systems without one.

    Args:
        engine: of the store.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine, self._number = engine, secrets.randbits(_BITS)
        self._lock = threading.Lock()
        self._is_locked = self._is_closed = False

    def new_holder(self) -> str:
        """Return a name for the holder of leases."""
        self.keep(check=False)
        return f"{self._number:016x}.{uuid.uuid4().hex}" if self._is_locked else uuid.uuid4().hex

    def has_ended(self, connection: Connection, holder: str) -> bool:
        """Return whether the store of a holder has ended; `False` if that cannot be known."""
        number, dot, _ = holder.partition(".")
        if not dot or not self._is_locked:
            return False
        with suppress(ValueError):
            return int(number, 16) != self._number and self._is_free(connection, int(number, 16))
        return False

    def keep(self, *, check: bool = True) -> None:
        """Take the lock if this store does not have it.

        Args:
            check: whether to find out if it was lost, for example because the database was started again.
        """
        with self._lock:
            if self._is_locked and check:
                self._is_locked = self._is_held()
            if not self._is_locked and not self._is_closed:
                self._is_locked = self._take()

    def close(self) -> None:
        """Release the lock, for good."""
        with self._lock:
            self._is_locked, self._is_closed = False, True
            self._release()

    def _take(self) -> bool:
        return False

    def _is_held(self) -> bool:
        return True

    def _is_free(self, connection: Connection, number: int) -> bool:  # noqa: ARG002
        return False

    def _release(self) -> None:
        pass


_NO_TIMEOUTS = """
SELECT set_config(name, '0', true) FROM pg_settings
WHERE name IN ('idle_in_transaction_session_timeout', 'transaction_timeout', 'statement_timeout')
"""


class _AliveInPostgresql(Alive):
    _connection: Connection | None = None

    def _take(self) -> bool:
        self._release()
        try:
            connection = self._connection = self._engine.connect()
            connection.detach()  # from the pool, for as long as the store is open
            connection.begin()
            # Otherwise a server may end a transaction that waits.
            connection.execute(text(_NO_TIMEOUTS))
            query = text("SELECT pg_try_advisory_xact_lock(:number)")
            return connection.execute(query, {"number": self._number}).scalar() is True
        except SQLAlchemyError:
            self._release()
            return False

    def _is_held(self) -> bool:
        try:
            return self._connection is not None and self._connection.execute(text("SELECT 1")).scalar() == 1
        except SQLAlchemyError:
            return False

    def _is_free(self, connection: Connection, number: int) -> bool:
        # Shared, and for this transaction: two that look at the same time do not take each other for the holder.
        query = text("SELECT pg_try_advisory_xact_lock_shared(:number)")
        return connection.execute(query, {"number": number}).scalar() is True

    def _release(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(SQLAlchemyError):
                connection.close()


class _AliveBesideSqlite(Alive):
    _fd: int | None = None

    def _take(self) -> bool:
        try:
            if self._fd is None:
                path = os.path.abspath(f"{self._engine.url.database}{LOCK_ENDING}")
                self._fd = os.open(path, os.O_RDWR | os.O_CREAT | NO_LINK_FLAGS, 0o600)
            self._ask("F_OFD_SETLK", self._number)
        except (OSError, AttributeError):
            self._release()
            return False
        return True

    def _is_free(self, connection: Connection, number: int) -> bool:  # noqa: ARG002
        import fcntl

        try:
            return self._ask("F_OFD_GETLK", number) == fcntl.F_UNLCK
        except OSError:
            return False

    def _ask(self, command: str, number: int) -> int:
        """Lock a byte, or find out who has locked it; return the kind of its lock.

        Locks of open files, not of processes: those are lost when any descriptor of the file is closed.
        """
        import fcntl

        with_fd = self._fd
        if with_fd is None:
            raise OSError(errno.EBADF, os.strerror(errno.EBADF))
        asked = struct.pack(_FLOCK, fcntl.F_WRLCK, os.SEEK_SET, number, 1, 0)
        answer: Any = fcntl.fcntl(with_fd, getattr(fcntl, command), asked)
        return int(struct.unpack(_FLOCK, answer)[0])

    def _release(self) -> None:
        fd, self._fd = self._fd, None
        if fd is not None:
            os.close(fd)


_FLOCK = "hhqqi4x"
"""`struct flock` of Linux."""


def alive(engine: Engine) -> Alive:
    """Return what shows that a store is alive, in its database or beside it."""
    if engine.dialect.name == "postgresql":
        return _AliveInPostgresql(engine)
    return _AliveBesideSqlite(engine) if sys.platform == "linux" else Alive(engine)
