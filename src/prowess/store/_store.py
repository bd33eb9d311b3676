"""Keep conversations, the answers of their requests, and leases in a database.

A turn takes a lease on its conversation, and on its idempotency key: rows that other processes respect until they
expire. A thread renews the leases of this process, so one that was killed holds nothing for longer than a lease. A turn
is saved in one transaction, and only if its leases are its own still.
"""

from __future__ import annotations

import hashlib
import json
import random
import time
import uuid
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from prowess._internal.text import neutral
from prowess.errors import ConfigError, ConversationBusyError, StoreError

from ._renewal import Renewal
from ._rows import (
    delete_conversation,
    delete_old,
    drop_unanswered,
    find_answer,
    find_conversation,
    note_request,
    release_lease,
    release_own_leases,
    renew_lease,
    set_answer,
    take_lease,
    write_conversation,
)
from ._schema import store_errors
from ._turn import StoredTurn

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import TracebackType
    from typing import Self

    from sqlalchemy import Connection, Engine

    from ._turn import SavedConversation

__all__ = ["Store"]

_MAX_ID_CHARS, _MAX_CLIENT_CHARS = 255, 200
_MAX_BYTES = 32 * 1024 * 1024
"""Bytes of one conversation at most."""
_FIRST_DELAY, _LONGEST_DELAY = 0.02, 0.25
"""Seconds between two attempts to hold a conversation."""


class Store:
    """Conversations in a database; `open_store` opens one. Threads may share it."""

    def __init__(self, engine: Engine, shown: str, *, lease: float, keep: float | None) -> None:
        self._engine, self._shown, self._lease, self._keep = engine, shown, lease, keep
        self._renewal = Renewal(lease, self._renew, self.purge)

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
            holder=uuid.uuid4().hex,
            leases=tuple(_lease_name(kind, client, value) for kind, value in ids if value is not None),
        )
        with store_errors(self._shown), self._engine.connect() as connection, connection.begin() as transaction:
            if self._is_answered(connection, turn, digest):
                transaction.rollback()
                return turn
            if not all(take_lease(connection, name, turn.holder, self._lease) for name in turn.leases):
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
