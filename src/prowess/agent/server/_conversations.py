"""Find a conversation again by its ID or by its messages, for the client that began it.

OpenAI's API has no conversations: each request contains all messages. So a conversation is identified by its messages,
unless the client sends an ID in `X-Conversation-Id` or `metadata.conversation_id`. The field `user` is not used: it
identifies a person, who may have many conversations at the same time.

The keys that clients send distinguish them. A conversation belongs to the key that began it: under another key
the same ID or the same messages are another conversation, so no client can find out what another one has.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections import Counter, OrderedDict
from contextlib import contextmanager
from typing import TYPE_CHECKING, Generic, TypeVar

from prowess._internal.frozen import Frozen

from ._requests import Message

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from ._requests import ChatAnswer, ChatRequest

_T = TypeVar("_T")
_Key = tuple[str, str]
"""The client, and the ID or the messages."""


class _Stored(Frozen, Generic[_T]):
    digest: str
    """Of all messages."""
    state: _T
    last_used: float


class ConversationStore(Generic[_T]):
    """The state of conversations, by their clients, and their IDs or messages.

    Args:
        max_size: the number of conversations to keep. The client with the most conversations loses its least recently
            used one first, so no client can push out all conversations of another.
        max_age: the seconds after which an unused conversation is dropped.
        clock: returns the time in seconds.
    """

    def __init__(
        self, max_size: int = 1000, *, max_age: float = 86_400, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._max_size, self._max_age, self._clock = max_size, max_age, clock
        self._conversations: OrderedDict[_Key, _Stored[_T]] = OrderedDict()
        self._counts: Counter[str] = Counter()

    @contextmanager
    def checkout(self, request: ChatRequest) -> Iterator[_T | None]:
        """Take the state of a conversation, so that no other request can use it; an error puts it back unchanged.

        Yields:
            The state, or `None` if the conversation is unknown, in use, or does not match the messages; then start a
            new one with these messages.
        """
        self._drop_expired()
        earlier = request.messages[: first_new_index(request.messages)]
        key = conversation_key(request, earlier)
        stored = None if key is None else self._conversations.get(key)
        if key is None or stored is None or (earlier and stored.digest != messages_digest(earlier)):
            yield None
            return
        self._remove(key)
        try:
            yield stored.state
        except BaseException:
            if key not in self._conversations:
                self._add(key, stored)
            raise

    def save(self, request: ChatRequest, answer: ChatAnswer, state: _T) -> None:
        """Keep the state of a conversation, after an answer, until its next message."""
        messages = (*request.messages, Message(role="assistant", text=answer.text))
        key = conversation_key(request, messages)
        if key is None:
            return
        if key in self._conversations:
            self._remove(key)
        self._add(key, _Stored(digest=messages_digest(messages), state=state, last_used=self._clock()))

    def _add(self, key: _Key, stored: _Stored[_T]) -> None:
        self._conversations[key] = stored
        self._counts[key[0]] += 1
        while len(self._conversations) > self._max_size:
            client = max(self._counts, key=self._counts.__getitem__)
            self._remove(next(key for key in self._conversations if key[0] == client))

    def _remove(self, key: _Key) -> None:
        del self._conversations[key]
        self._counts[key[0]] -= 1
        if not self._counts[key[0]]:
            del self._counts[key[0]]

    def _drop_expired(self) -> None:
        oldest = self._clock() - self._max_age
        while self._conversations:
            key = next(iter(self._conversations))
            if self._conversations[key].last_used >= oldest:
                return
            self._remove(key)


def first_new_index(messages: Sequence[Message]) -> int:
    """Return the index of the first message after the last answer."""
    return 1 + max((index for index, message in enumerate(messages) if message.role == "assistant"), default=-1)


def conversation_key(request: ChatRequest, messages: Sequence[Message]) -> _Key | None:
    """Return the client and the ID of a conversation, or its messages; `None` if it is only beginning."""
    if request.conversation is not None:
        return request.client, f"id {request.conversation}"
    return (request.client, f"messages {messages_digest(messages)}") if messages else None


def messages_digest(messages: Sequence[Message]) -> str:
    """Return what identifies messages: a digest of their texts, without blanks around them."""
    # Clients may trim the texts that they show, and send those.
    data = json.dumps([(message.role, message.text.strip()) for message in messages])
    return hashlib.sha256(data.encode()).hexdigest()
