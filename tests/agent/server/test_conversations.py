"""Conversations are found again by their IDs or by their messages."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest

from prowess.agent.server._conversations import ConversationStore
from prowess.agent.server._requests import Message


def dialog(*texts: str) -> tuple[Message, ...]:
    """Return messages of the user and the assistant in turn."""
    return tuple(Message(role="assistant" if index % 2 else "user", text=text) for index, text in enumerate(texts))


def check_out(store: ConversationStore[Any], messages: tuple[Message, ...], conversation_id: str | None) -> Any:
    with store.checkout(messages, conversation_id) as state:
        return state


def test_a_conversation_is_found_by_its_messages() -> None:
    """Only once: no other request may use it at the same time."""
    store: ConversationStore[str] = ConversationStore()
    assert check_out(store, dialog("hello"), None) is None
    store.save(dialog("hello"), "hi ", None, "session")
    assert check_out(store, dialog("hello", "ho", "on"), None) is None
    assert check_out(store, dialog("hello", "hi", "on"), None) == "session"
    assert check_out(store, dialog("hello", "hi", "on"), None) is None
    store.save(dialog("hello", "hi", "on"), "yes", None, "session")
    assert check_out(store, dialog("hello", "hi", "on", "yes", "more"), None) == "session"


def test_a_first_message_starts_a_new_conversation() -> None:
    """Even if another conversation began with the same message."""
    store: ConversationStore[str] = ConversationStore()
    store.save(dialog("hello"), "hi", None, "session")
    assert check_out(store, dialog("hello"), None) is None
    assert check_out(store, (Message(role="system", text="x"), *dialog("hello")), None) is None


def test_a_conversation_with_an_id_is_found_with_new_messages_or_with_all() -> None:
    """But not with other earlier messages, and not under another ID."""
    store: ConversationStore[str] = ConversationStore()
    store.save(dialog("hello"), "hi", "a", "session")
    assert check_out(store, dialog("on"), "b") is None
    assert check_out(store, dialog("hello", "hi", "on"), None) is None
    assert check_out(store, dialog("hello", "changed", "on"), "a") is None
    assert check_out(store, dialog("hello", "hi", "on"), "a") == "session"
    store.save(dialog("on"), "yes", "a", "session")
    assert check_out(store, dialog("more"), "a") == "session"


@pytest.mark.parametrize("conversation_id", [None, "a"])
def test_a_failed_turn_leaves_its_conversation_unchanged(conversation_id: str | None) -> None:
    """So that the user can try again; while it is used, no other request gets it."""
    store: ConversationStore[str] = ConversationStore()
    store.save(dialog("hello"), "hi", conversation_id, "session")
    for messages in [dialog("hello", "hi", "on"), *([] if conversation_id is None else [dialog("on")])]:
        with suppress(KeyError), store.checkout(messages, conversation_id) as state:
            assert state == "session"
            assert check_out(store, messages, conversation_id) is None
            raise KeyError
    assert check_out(store, dialog("hello", "hi", "on"), conversation_id) == "session"


def test_the_least_recently_used_conversation_is_dropped_first() -> None:
    store: ConversationStore[int] = ConversationStore(max_size=2)
    for number in range(3):
        store.save(dialog(f"{number}"), "x", None, number)
    assert [check_out(store, dialog(f"{number}", "x", "on"), None) for number in range(3)] == [None, 1, 2]


@pytest.mark.parametrize("conversation_id", [None, "a"])
def test_a_conversation_belongs_to_the_client_that_began_it(conversation_id: str | None) -> None:
    """Another client gets the same as for an unknown conversation, and does not change the first one."""
    store: ConversationStore[str] = ConversationStore()
    store.save(dialog("hello"), "hi", conversation_id, "ann's", "ann")
    again = dialog("hello", "hi", "on")
    with store.checkout(again, conversation_id, "bob") as state:
        assert state is None
    store.save(dialog("hello"), "hi", conversation_id, "bob's", "bob")
    for client in ("bob", "ann"):
        with store.checkout(again, conversation_id, client) as state:
            assert state == f"{client}'s"


def test_a_client_with_many_conversations_pushes_out_only_its_own() -> None:
    """And a client with one keeps that, however long ago it was used."""
    store: ConversationStore[int] = ConversationStore(max_size=10)
    for number in range(3):
        store.save(dialog("hello"), "hi", f"{number}", number, "ann")
    for number in range(1000):
        store.save(dialog("hello"), "hi", f"{number}", number, "flood")
    for number in range(3):
        with store.checkout(dialog("on"), f"{number}", "ann") as state:
            assert state == number


def test_an_unused_conversation_is_dropped_after_a_day() -> None:
    now = 0.0
    store: ConversationStore[str] = ConversationStore(clock=lambda: now)
    store.save(dialog("hello"), "hi", "old", "old")
    now = 80_000
    store.save(dialog("hello"), "hi", "new", "new")
    now = 90_000
    assert check_out(store, dialog("on"), "old") is None
    assert check_out(store, dialog("on"), "new") == "new"
