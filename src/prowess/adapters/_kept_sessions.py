"""Keep the sessions of conversations whose records are in the state of a framework."""

from __future__ import annotations

from contextlib import suppress
from threading import RLock
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from prowess.catalog import LiveCatalog
from prowess.errors import ConfigError
from prowess.session import Session, scripts_option

if TYPE_CHECKING:
    from collections.abc import Callable

    from prowess.catalog import Catalog
    from prowess.session import Scripts, Tool

__all__ = ["KeptSessions"]


class KeptSessions:
    """The sessions of the conversations that share a catalog, each for as long as its owner exists.

    Args:
        catalog: the skills to choose from.
        options: as for a `Session`.
        scripts: as for `Session.tools`.
        read: returns the record in the state of an owner, or something else if there is no record.
        write: writes the session of an owner and its record into the owner's state.

    Raises:
        ConfigError: an invalid option.
    """

    def __init__(
        self,
        catalog: Catalog | LiveCatalog,
        options: dict[str, Any],
        scripts: bool | Scripts,
        *,
        read: Callable[[Any], object],
        write: Callable[[Any, Session, str], None],
    ) -> None:
        self.catalog, self.options, self._read, self._write = catalog, options, read, write
        self.template = Session(catalog, **options)
        """The session of no conversation."""
        # All conversations share the option, which keeps a folder for each.
        self.scripts: bool | Scripts = scripts if scripts is False else scripts_option(scripts)
        self._kept: WeakKeyDictionary[Any, tuple[Session, object]] = WeakKeyDictionary()
        self._lock = RLock()

    def tools(self, session: Session | None = None) -> tuple[Tool, ...]:
        """Return the tools of a session, by default of one of no conversation."""
        if session is None:
            session = self.template
            if isinstance(self.catalog, LiveCatalog) and self.catalog.current() is not session.catalog:
                session.update(self.catalog)
        return session.tools(scripts=self.scripts)

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

    def replace_catalog(self, catalog: Catalog | LiveCatalog) -> None:
        """Let all conversations choose from another catalog; what they activated stays."""
        with self._lock:
            self.catalog = catalog
            for session in (self.template, *(session for session, _ in self._kept.values())):
                session.update(catalog)

    def restored(self, record: object, session: Session | None = None) -> Session:
        """Return the session of a record, or a new one if the record is invalid.

        Args:
            record: what `write` got.
            session: the one to restore, because what a turn began with is in no record.
        """
        if isinstance(record, str):
            session = session or Session(self.catalog, **self.options)
            with suppress(ConfigError):
                session.restore(record)
                return session
        return Session(self.catalog, **self.options)
