"""Find a conversation again by its ID or by its messages.

OpenAI's API has no conversations: each request contains all messages. So a conversation is identified by its messages,
unless the client sends an ID in `X-Conversation-Id` or `metadata.conversation_id`. The field `user` is not used: it
identifies a person, who may have many conversations at the same time.
"""

from __future__ import annotations

import hashlib
import json
from collections import OrderedDict
from contextlib import contextmanager
from typing import TYPE_CHECKING, Generic, TypeVar

from ._requests import Message

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["ConversationStore", "first_new_index"]

_T = TypeVar("_T")


class ConversationStore(Generic[_T]):
    """The state of conversations, by their IDs or messages.

    Args:
        max_size: the number of conversations to keep; the least recently used is dropped first.
    """

    def __init__(self, max_size: int = 1000) -> None:
        self._max_size = max_size
        self._conversations: OrderedDict[str, tuple[str, _T]] = OrderedDict()

    @contextmanager
    def checkout(self, messages: Sequence[Message], conversation_id: str | None) -> Iterator[_T | None]:
        """Take the state of a conversation, so that no other request can use it; an error puts it back unchanged.

        Args:
            messages: all messages, or with an ID perhaps only the new ones.
            conversation_id: the client's ID.

        Yields:
            The state, or `None` if the conversation is unknown, in use, or does not match the messages; then start a
            new one with these messages.
        """
        earlier = messages[: first_new_index(messages)]
        key = _key(earlier, conversation_id)
        stored = None if key is None else self._conversations.get(key)
        if key is None or stored is None or (earlier and stored[0] != _digest(earlier)):
            yield None
            return
        del self._conversations[key]
        try:
            yield stored[1]
        except BaseException:
            self._conversations.setdefault(key, stored)
            raise

    def save(self, messages: Sequence[Message], answer: str, conversation_id: str | None, state: _T) -> None:
        """Keep the state of a conversation until its next message.

        Args:
            messages: the messages that were answered.
            answer: the answer.
            conversation_id: the client's ID.
            state: the state.
        """
        all_messages = (*messages, Message(role="assistant", text=answer))
        key = _key(all_messages, conversation_id)
        if key is not None:
            self._conversations[key] = (_digest(all_messages), state)
            self._conversations.move_to_end(key)
        while len(self._conversations) > self._max_size:
            self._conversations.popitem(last=False)


def first_new_index(messages: Sequence[Message]) -> int:
    """Return the index of the first message after the last answer."""
    return 1 + max((index for index, message in enumerate(messages) if message.role == "assistant"), default=-1)


def _key(messages: Sequence[Message], conversation_id: str | None) -> str | None:
    if conversation_id is not None:
        return f"id {conversation_id}"
    return f"messages {_digest(messages)}" if messages else None


def _digest(messages: Sequence[Message]) -> str:
    # Clients may trim the texts that they show, and send those.
    data = json.dumps([(message.role, message.text.strip()) for message in messages])
    return hashlib.sha256(data.encode()).hexdigest()
