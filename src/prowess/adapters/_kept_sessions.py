"""Keep the sessions of conversations whose records are in the state of a framework."""

from __future__ import annotations

from contextlib import suppress
from threading import RLock
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from prowess.errors import ConfigError
from prowess.session import Session

if TYPE_CHECKING:
    from prowess.catalog import Catalog, LiveCatalog

__all__ = ["KeptSessions"]


class KeptSessions:
    """The sessions of the conversations that share a catalog, each for as long as its owner exists.

    Args:
        catalog: the skills to choose from.
        options: as for a `Session`.

    Raises:
        ConfigError: an invalid option.
    """

    def __init__(self, catalog: Catalog | LiveCatalog, options: dict[str, Any]) -> None:
        self.catalog, self.options = catalog, options
        self.template = Session(catalog, **options)
        """The session of no conversation."""
        self._kept: WeakKeyDictionary[Any, tuple[Session, object]] = WeakKeyDictionary()
        self._lock = RLock()

    def get(self, owner: Any, record: object) -> Session:
        """Return the session of a conversation, or a new one if its record is invalid.

        Args:
            owner: the object of the framework that has the conversation's state.
            record: what the state has: what `save` wrote, unless the framework has replaced it meanwhile.
        """
        with self._lock:
            session, known_record = self._kept.get(owner, (None, None))
            if session is None or record != known_record:
                session = self.restored(record, session)
                self._kept[owner] = session, record
            return session

    def save(self, owner: Any, session: Session, write: Any) -> None:
        """Save a session.

        Args:
            owner: as for `get`.
            session: of the owner.
            write: writes a record into the owner's state.
        """
        with self._lock:
            record = session.to_json()
            write(record)
            self._kept[owner] = session, record

    def replace_catalog(self, catalog: Catalog | LiveCatalog) -> None:
        """Let all conversations choose from another catalog; what they activated stays."""
        with self._lock:
            self.catalog = catalog
            for session in (self.template, *(session for session, _ in self._kept.values())):
                session.update(catalog)

    def restored(self, record: object, session: Session | None = None) -> Session:
        """Return the session of a record, or a new one if the record is invalid.

        Args:
            record: what `save` wrote.
            session: the one to restore, because what a turn began with is in no record.
        """
        if isinstance(record, str):
            session = session or Session(self.catalog, **self.options)
            with suppress(ConfigError):
                session.restore(record)
                return session
        return Session(self.catalog, **self.options)
