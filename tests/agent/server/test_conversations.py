"""Conversations are found again by their IDs or by their messages."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest

from prowess.agent.server._conversations import ConversationStore
from prowess.agent.server._requests import ChatAnswer, ChatRequest, Message
from support.rows import rows


def ask(*texts: str, name: str | None = None, client: str = "") -> ChatRequest:
    """Return a request with messages of the user and the assistant in turn."""
    messages = tuple(Message(role="assistant" if index % 2 else "user", text=text) for index, text in enumerate(texts))
    return ChatRequest(messages=messages, conversation=name, client=client)


def known(store: ConversationStore[Any], *texts: str, **named: Any) -> Any:
    """Return the state that a request finds, and take it out."""
    with store.checkout(ask(*texts, **named)) as state:
        return state


@pytest.fixture
def store() -> ConversationStore[Any]:
    """A store with one conversation of an unnamed client and one with an ID, each after one answer."""
    made: ConversationStore[Any] = ConversationStore(max_size=10)
    made.save(ask("hello"), ChatAnswer(text="hi "), "session")
    made.save(ask("hello", name="a"), ChatAnswer(text="hi"), "session a")
    return made


@pytest.mark.parametrize(
    ("texts", "name", "expected"), rows(__file__, "a_conversation_is_found_once_by_its_messages_or_its_id")
)
def test_a_conversation_is_found_once_by_its_messages_or_its_id(
    store: ConversationStore[Any], texts: list[str], name: str | None, expected: list[str | None]
) -> None:
    """No two requests may use it at the same time; a first message starts a new one."""
    assert [known(store, *texts, name=name) for _ in range(2)] == expected


@pytest.mark.parametrize("name", [None, "a"])
def test_a_conversation_is_kept_under_all_its_messages(store: ConversationStore[Any], name: str | None) -> None:
    assert known(store, "hello", "hi", "on", name=name) is not None
    store.save(ask("hello", "hi", "on", name=name), ChatAnswer(text="yes"), "later")
    assert known(store, "hello", "hi", "on", "yes", "more", name=name) == "later"


@pytest.mark.parametrize(
    ("texts", "name"), [(["hello", "hi", "on"], None), (["hello", "hi", "on"], "a"), (["on"], "a")]
)
def test_a_failed_turn_leaves_its_conversation_unchanged(
    store: ConversationStore[Any], texts: list[str], name: str | None
) -> None:
    """So that the user can try again; while it is used, no other request gets it."""
    with suppress(KeyError), store.checkout(ask(*texts, name=name)) as state:
        assert state is not None
        assert known(store, *texts, name=name) is None
        raise KeyError
    assert known(store, *texts, name=name) == state


def test_the_least_recently_used_conversation_is_dropped_first() -> None:
    store: ConversationStore[int] = ConversationStore(max_size=2)
    for number in range(3):
        store.save(ask(f"{number}"), ChatAnswer(text="x"), number)
    assert [known(store, f"{number}", "x", "on") for number in range(3)] == [None, 1, 2]


@pytest.mark.parametrize("name", [None, "a"])
def test_a_conversation_belongs_to_the_client_that_began_it(store: ConversationStore[Any], name: str | None) -> None:
    """Another client gets the same as for an unknown conversation, and does not change the first one."""
    assert known(store, "hello", "hi", "on", name=name, client="bob") is None
    store.save(ask("hello", name=name, client="bob"), ChatAnswer(text="hi"), "bob's")
    assert known(store, "hello", "hi", "on", name=name, client="bob") == "bob's"
    assert str(known(store, "hello", "hi", "on", name=name)).startswith("session")


def test_a_client_with_many_conversations_pushes_out_only_its_own(store: ConversationStore[Any]) -> None:
    """And a client with few keeps them, however long ago they were used."""
    for number in range(1000):
        store.save(ask("hello", name=f"{number}", client="flood"), ChatAnswer(text="hi"), number)
    assert [known(store, "hello", "hi", "on"), known(store, "on", name="a")] == ["session", "session a"]


def test_an_unused_conversation_is_dropped_after_a_day() -> None:
    now = 0.0
    store: ConversationStore[str] = ConversationStore(clock=lambda: now)
    store.save(ask("hello", name="old"), ChatAnswer(text="hi"), "old")
    now = 80_000
    store.save(ask("hello", name="new"), ChatAnswer(text="hi"), "new")
    now = 90_000
    assert [known(store, "on", name="old"), known(store, "on", name="new")] == [None, "new"]
