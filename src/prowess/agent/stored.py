"""Keep a conversation with a role in a store, so that it goes on after a restart or in another process.

Each turn holds the conversation in the store, begins with what the last turn of any process saved, and is saved when it
has succeeded. A turn that fails, or whose process ends, leaves the state before it.
"""

from __future__ import annotations

import asyncio
import functools
import json
import random
import time
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from prowess._internal.text import neutral
from prowess.errors import ConversationBusyError, StoreError

from ._turn import Turn
from .conversation import Conversation

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from prowess.store import SavedConversation, Store, StoredTurn

    from .assembly import Assembly

__all__ = ["StoredConversation", "conversation_state", "hold_turn", "restore_conversation", "run_to_end"]

_FIRST_DELAY, _LONGEST_DELAY = 0.02, 1.0
"""Seconds between two attempts to hold a conversation."""

T = TypeVar("T")


class StoredConversation(Conversation):
    """A conversation in a store, found again by its ID.

    Args:
        assembly: the role's.
        model: a model of Pydantic AI.
        store: where the conversation is kept.
        conversation_id: its ID.
        options: as for `Conversation`.

    Raises:
        StoreError: the database failed, or what it contains is invalid.
    """

    def __init__(self, assembly: Assembly, model: Any, store: Store, conversation_id: str, **options: Any) -> None:
        super().__init__(assembly, model, **options)
        self._store, self._id, self._version = store, conversation_id, 0
        self._continue_from(store.load(conversation_id))

    async def ask(self, prompt: str, **options: Any) -> Turn:
        """Send a prompt and return the turn; see `Conversation.ask`. A failure of the store is the turn's error."""
        try:
            async with hold_turn(self._store, self._id) as held:
                if held.saved is None or held.saved.version != self._version:
                    self._continue_from(held.saved)
                self._version = -1
                turn = await super().ask(prompt, **options)
                if turn.error is None:
                    history, details = conversation_state(self)
                    await run_to_end(held.save, self.session, history=history, details=details)
                    self._version = 1 if held.saved is None else held.saved.version + 1
                return turn
        except StoreError as error:
            return Turn(output=None, error=f"{error}{f' ({error.hint})' if error.hint else ''}")

    def _continue_from(self, saved: SavedConversation | None) -> None:
        restore_conversation(self, saved)
        self._version = 0 if saved is None else saved.version


@asynccontextmanager
async def hold_turn(
    store: Store, conversation: str | None, *, wait: float = 30.0, **options: Any
) -> AsyncIterator[StoredTurn]:
    """Hold a conversation for one turn; see `Store.turn`.

    Nothing is left behind if the task is cancelled: its turn is released.

    Raises:
        StoreError: the conversation is in use for all of `wait`, or the database failed.
    """
    end, delay = time.monotonic() + wait, _FIRST_DELAY
    while True:
        held: list[StoredTurn] = []
        try:
            await run_to_end(lambda: held.append(store.turn(conversation, wait=0, **options)))  # noqa: B023 - it has ended
            break
        except ConversationBusyError:
            if time.monotonic() >= end:
                raise
        except asyncio.CancelledError:
            for turn in held:
                await run_to_end(turn.release)
            raise
        await asyncio.sleep(delay * random.uniform(0.5, 1.0))  # noqa: S311 - only spreads the attempts
        delay = min(_LONGEST_DELAY, delay * 2)
    try:
        yield held[0]
    finally:
        await run_to_end(held[0].release)


async def run_to_end(call: Callable[..., T], *arguments: Any, **named: Any) -> T:
    """Run a short blocking call in a thread, and wait for its end even if the task is cancelled meanwhile."""
    loop = asyncio.get_running_loop()
    future = loop.run_in_executor(None, functools.partial(call, *arguments, **named))
    cancelled = False
    while not future.done():
        try:
            await asyncio.wait([future])
        except asyncio.CancelledError:
            cancelled = True
    if cancelled:
        future.exception()  # so that it counts as seen
        raise asyncio.CancelledError
    return future.result()


def conversation_state(conversation: Conversation, **details: Any) -> tuple[str, str]:
    """Return a conversation's history, and the rest that is restored with it, as two JSON texts.

    Args:
        conversation: the conversation.
        details: more to keep in the second text.
    """
    from pydantic_ai.messages import ModelMessagesTypeAdapter

    # `dump_json` refuses lone surrogates, which a tool may have read from a file.
    history = json.dumps(ModelMessagesTypeAdapter.dump_python(conversation.history, mode="json"))
    names = [[server, own, name] for (server, own), name in conversation.mcp_names.items()]
    return history, json.dumps({**details, "mcp_names": names})


def restore_conversation(conversation: Conversation, saved: SavedConversation | None) -> None:
    """Give a conversation the history and the ledger that were saved, or none of both.

    Raises:
        StoreError: what was saved is invalid.
    """
    from pydantic_ai.messages import ModelMessagesTypeAdapter

    ledger = history = details = None
    if saved is not None:
        ledger, history, details = saved.ledger, saved.history, saved.details
    try:
        messages = ModelMessagesTypeAdapter.validate_python(json.loads(history or "[]"))
        rows = json.loads(details)["mcp_names"] if details else []
        names = {(str(server), str(own)): str(name) for server, own, name in rows}
        session = conversation.new_session(ledger)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        first_line = neutral(next(iter(str(error).splitlines()), ""))[:200]
        message = f"the stored conversation is invalid: {first_line}"
        raise StoreError(message, hint="start a new conversation") from None
    conversation.history, conversation.mcp_names, conversation.session = messages, names, session
