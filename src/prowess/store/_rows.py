"""Read and write the rows of a store; each function is a part of its caller's transaction.

All transactions change the lease of a key before that of a conversation, so no two of them wait for each other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import delete, insert, select, update
from sqlalchemy.dialects import postgresql, sqlite

from prowess._internal.text import quoted
from prowess.errors import RequestReusedError, StoreError, TurnLostError

from ._schema import conversations, leases, now, requests
from ._turn import LONGEST_LEASE, SavedConversation

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from ._turn import StoredTurn

__all__ = [
    "delete_conversation",
    "delete_old",
    "drop_unanswered",
    "find_answer",
    "find_conversation",
    "note_request",
    "release_lease",
    "release_own_leases",
    "renew_lease",
    "set_answer",
    "take_lease",
    "write_conversation",
]

ANSWER_SECONDS = 86_400.0
"""Seconds for which the answer of a request is kept."""
_MAX_VERSION = 2**31 - 1
"""What the column can keep."""


# ── leases ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def take_lease(connection: Connection, name: str, holder: str, seconds: float) -> bool:
    """Take a lease that is free or expired, and return whether that was possible."""
    statement: Any = (postgresql if connection.dialect.name == "postgresql" else sqlite).insert(leases)
    time_now = now(connection)
    statement = statement.values(name=name, holder=holder, expires=time_now + seconds)
    taken = statement.on_conflict_do_update(
        index_elements=[leases.c.name],
        set_={"holder": statement.excluded.holder, "expires": statement.excluded.expires},
        # One that ends later than any lease can is of a clock that was wrong then.
        where=(leases.c.expires < time_now) | (leases.c.expires > time_now + 2 * LONGEST_LEASE),
    )
    return connection.execute(taken.returning(leases.c.name)).first() is not None


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
