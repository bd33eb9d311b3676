"""Begin a turn of a served conversation: find it in memory or in a store, and save it when the turn has succeeded.

In a store, a conversation with an ID is held for the turn, so that two processes answer one after the other. One that
only its messages identify gets a new name with each answer. The name before the last stays for clients that lost the
last answer and ask again; older ones are deleted.
"""

from __future__ import annotations

import json
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from prowess.agent.stored import conversation_state, hold_turn, restore_conversation, run_to_end
from prowess.errors import ConversationBusyError, RequestReusedError, StoreError, TurnLostError

from ._conversations import conversation_key, first_new_index, messages_digest
from ._requests import ChatAnswer, Message, RequestError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Sequence

    from prowess.agent import Conversation
    from prowess.store import SavedConversation, Store, StoredTurn

    from ._conversations import ConversationStore

__all__ = ["BegunTurn", "begin_kept_turn", "begin_stored_turn"]

_ERRORS: dict[type[StoreError], tuple[int, str]] = {
    ConversationBusyError: (409, "conversation_in_use"),
    TurnLostError: (409, "turn_lost"),
    RequestReusedError: (422, "idempotency_key_reused"),
}
"""The status and the code of each error; all others are status 503."""


class BegunTurn:
    """A turn that has begun.

    Attributes:
        save: saves the conversation after the turn, with its answer.
        known: the conversation, if this process keeps it.
        saved: the conversation, if a store does.
        answer: the answer, if the same request was answered before.
    """

    def __init__(
        self,
        save: Callable[[ChatAnswer, Conversation], Awaitable[None]],
        *,
        known: Conversation | None = None,
        saved: SavedConversation | None = None,
        answer: ChatAnswer | None = None,
    ) -> None:
        self.save, self.known, self.saved, self.answer = save, known, saved, answer

    def restore(self, conversation: Conversation) -> bool:
        """Give a new conversation what the store has of it, and return whether it has anything."""
        if self.saved is not None:
            restore_conversation(conversation, self.saved)
        return self.saved is not None


@asynccontextmanager
async def begin_kept_turn(
    conversations: ConversationStore[Conversation],
    messages: Sequence[Message],
    conversation_id: str | None,
    client: str,
) -> AsyncIterator[BegunTurn]:
    """Begin a turn of a conversation that this process keeps."""
    with conversations.checkout(messages, conversation_id, client) as known:

        async def save(answer: ChatAnswer, conversation: Conversation) -> None:
            conversations.save(messages, answer.text, conversation_id, conversation, client)

        yield BegunTurn(save, known=known)


@asynccontextmanager
async def begin_stored_turn(
    store: Store,
    messages: Sequence[Message],
    conversation_id: str | None,
    client: str,
    request_key: str | None,
    *,
    wait: float,
) -> AsyncIterator[BegunTurn]:
    """Begin a turn of a conversation in a store.

    Raises:
        RequestError: the conversation is in use, the key was used for another request, or the store failed.
    """
    held_id = _row_id(messages, conversation_id, client) if conversation_id is not None else None
    request = [[message.role, message.text] for message in messages]
    try:
        async with hold_turn(store, held_id, client=client, key=request_key, request=request, wait=wait) as held:
            if held.answer is not None:
                yield BegunTurn(_save_nothing, answer=_parse_answer(held.answer))
                return
            earlier = messages[: first_new_index(messages)]
            from_id = _row_id(earlier, conversation_id, client)
            saved = held.saved
            if held_id is None and from_id is not None:
                saved = await run_to_end(store.load, from_id, client=client)
            details = _details(saved)
            if earlier and details.get("digest") != messages_digest(earlier):
                saved, details = None, {}  # the client goes on from other messages

            async def save(answer: ChatAnswer, conversation: Conversation) -> None:
                await _save(held, messages, conversation_id, answer, conversation, details, from_id)

            yield BegunTurn(save, saved=saved)
    except StoreError as error:
        status, code = _ERRORS.get(type(error), (503, "store_failed"))
        message = f"{error} ({error.hint})" if error.hint else str(error)
        raise RequestError(message, status=status, code=code) from None


async def _save_nothing(_answer: ChatAnswer, _conversation: Conversation) -> None:
    """Save a turn that was answered before."""


async def _save(
    held: StoredTurn,
    messages: Sequence[Message],
    conversation_id: str | None,
    answer: ChatAnswer,
    conversation: Conversation,
    before: dict[str, Any],
    from_id: str | None,
) -> None:
    all_messages = (*messages, Message(role="assistant", text=answer.text))
    new_id = _row_id(all_messages, conversation_id, held.client)
    is_renamed = new_id != from_id
    history, details = conversation_state(
        conversation, digest=messages_digest(all_messages), previous=from_id if is_renamed else None
    )
    previous = before.get("previous")
    await run_to_end(
        held.save,
        conversation.session,
        history=history,
        details=details,
        answer=None if held.key is None else _answer_json(answer),
        conversation=new_id,
        replaces=previous if isinstance(previous, str) and is_renamed else None,
    )


def _row_id(messages: Sequence[Message], conversation_id: str | None, client: str) -> str | None:
    key = conversation_key(messages, conversation_id, client)
    return None if key is None else key[1]


def _details(saved: SavedConversation | None) -> dict[str, Any]:
    """Return the details of a conversation; none if they are invalid, so that it starts with the client's messages."""
    try:
        details = json.loads((saved and saved.details) or "{}")
    except (ValueError, RecursionError):
        return {}
    return details if isinstance(details, dict) else {}


def _answer_json(answer: ChatAnswer) -> str:
    fields = ("text", "finish_reason", "input_tokens", "output_tokens")
    return json.dumps({name: getattr(answer, name) for name in fields})


def _parse_answer(text: str) -> ChatAnswer:
    """Parse a stored answer.

    Raises:
        StoreError: it is invalid.
    """
    try:
        answer = ChatAnswer(**json.loads(text))
    except (ValueError, TypeError, RecursionError):
        answer = None
    if answer is None or type(answer.text) is not str or type(answer.input_tokens) is not int:
        raise StoreError("the stored answer of this request is invalid", hint="send it with a new key")
    return answer
