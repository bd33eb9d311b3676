"""Hold a conversation for one turn, and save what the turn changed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from prowess._internal.frozen import Frozen
from prowess.session import Session

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self

    from prowess.catalog import Catalog, LiveCatalog

LONGEST_LEASE = 3600
"""Seconds for which a turn can hold a conversation without a renewal."""


class SavedConversation(Frozen):
    """A conversation after its last turn."""

    version: int
    """The turns that were saved."""
    ledger: str | None = None
    """What `Session.to_json` returned."""
    history: str | None = None
    """The messages, as JSON of the caller's framework."""
    details: str | None = None
    """Anything else that the caller saved."""


class _TurnKeeper(Protocol):
    """What saves and releases turns: the store."""

    def save_turn(
        self,
        turn: StoredTurn,
        new: SavedConversation,
        *,
        answer: str | None,
        conversation: str | None,
        replaces: str | None,
    ) -> None: ...

    def release_turn(self, turn: StoredTurn) -> None: ...


class StoredTurn:
    """One turn of a conversation, which no other process can use meanwhile; a context manager.

    A turn that is not saved leaves the conversation as it was before.

    Attributes:
        conversation: the ID of the conversation; `None` if it gets one when the turn is saved.
        saved: the conversation before this turn; `None` if it is new.
        answer: the answer of the same request, if that was saved before: then there is nothing to do.
    """

    def __init__(
        self,
        store: _TurnKeeper,
        *,
        client: str,
        conversation: str | None,
        key: str | None,
        holder: str,
        leases: tuple[str, ...],
    ) -> None:
        self.conversation = conversation
        self.saved: SavedConversation | None = None
        self.answer: str | None = None
        self.client, self.key, self.holder, self.leases = client, key, holder, leases
        self._store = store

    def session(self, catalog: Catalog | LiveCatalog, **options: Any) -> Session:
        """Return the conversation's session, with the ledger that was saved.

        Args:
            catalog: the skills the model chooses from now.
            options: as for `Session`.

        Raises:
            ConfigError: the saved ledger is invalid.
        """
        if self.saved is None or self.saved.ledger is None:
            return Session(catalog, **options)
        return Session.from_json(self.saved.ledger, catalog, **options)

    def save(
        self,
        session: Session | None = None,
        *,
        history: str | None = None,
        details: str | None = None,
        answer: str | None = None,
        conversation: str | None = None,
        replaces: str | None = None,
    ) -> None:
        """Save the conversation and the answer together, and release the conversation.

        Args:
            session: the conversation's session, for its ledger.
            history: the messages, as JSON.
            details: anything else to find again in `saved`.
            answer: what the same request gets from now on; needs the turn's key.
            conversation: the ID, for a turn that began without one.
            replaces: the ID of a conversation that becomes this one.

        Raises:
            TurnLostError: another turn holds the conversation by now; nothing was saved.
            StoreError: the database failed, or this is too large; nothing was saved.
        """
        ledger = None if session is None else session.to_json()
        version = 0 if self.saved is None else self.saved.version
        new = SavedConversation(version=version + 1, ledger=ledger, history=history, details=details)
        self._store.save_turn(
            self, new, answer=answer, conversation=conversation or self.conversation, replaces=replaces
        )

    def release(self) -> None:
        """Release the conversation without saving, which leaves it as it was; it does nothing after `save`."""
        self._store.release_turn(self)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()
