"""Conversations are found again by their names or by what was said in them."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest

from prowess.agent.server._requests import ConversationStore, Message


def said(*texts: str) -> tuple[Message, ...]:
    """A conversation in which the user begins and is answered in turn."""
    return tuple(Message(role="assistant" if at % 2 else "user", text=text) for at, text in enumerate(texts))


def lent(kept: ConversationStore[Any], messages: tuple[Message, ...], name: str | None) -> Any:
    with kept.checkout(messages, name) as value:
        return value


def test_a_conversation_that_goes_on_is_found_by_what_was_said() -> None:
    """Once: while it is used, nobody else has it."""
    kept: ConversationStore[str] = ConversationStore()
    assert lent(kept, said("hello"), None) is None
    kept.save(said("hello"), "hi ", None, "session")
    assert lent(kept, said("hello", "ho", "on"), None) is None
    assert lent(kept, said("hello", "hi", "on"), None) == "session"
    assert lent(kept, said("hello", "hi", "on"), None) is None
    kept.save(said("hello", "hi", "on"), "yes", None, "session")
    assert lent(kept, said("hello", "hi", "on", "yes", "more"), None) == "session"


def test_a_first_message_is_never_anothers_conversation() -> None:
    """However often it was said before."""
    kept: ConversationStore[str] = ConversationStore()
    kept.save(said("hello"), "hi", None, "session")
    assert lent(kept, said("hello"), None) is None
    assert lent(kept, (Message(role="system", text="x"), *said("hello")), None) is None


def test_a_named_conversation_goes_on_with_new_messages_alone_or_with_all() -> None:
    """But not where it went otherwise, and not under another name."""
    kept: ConversationStore[str] = ConversationStore()
    kept.save(said("hello"), "hi", "a", "session")
    assert lent(kept, said("on"), "b") is None
    assert lent(kept, said("hello", "hi", "on"), None) is None
    assert lent(kept, said("hello", "changed", "on"), "a") is None
    assert lent(kept, said("hello", "hi", "on"), "a") == "session"
    kept.save(said("on"), "yes", "a", "session")
    assert lent(kept, said("more"), "a") == "session"


@pytest.mark.parametrize("name", [None, "a"])
def test_a_turn_that_fails_leaves_its_conversation_as_it_was(name: str | None) -> None:
    """So that it can be asked again; while it is used, nobody else has it."""
    kept: ConversationStore[str] = ConversationStore()
    kept.save(said("hello"), "hi", name, "session")
    for messages in [said("hello", "hi", "on"), *([] if name is None else [said("on")])]:
        with suppress(KeyError), kept.checkout(messages, name) as value:
            assert value == "session"
            assert lent(kept, messages, name) is None
            raise KeyError
    assert lent(kept, said("hello", "hi", "on"), name) == "session"


def test_no_more_are_kept_than_may_be() -> None:
    """The one that was longest not heard of goes first."""
    kept: ConversationStore[int] = ConversationStore(max_size=2)
    for at in range(3):
        kept.save(said(f"{at}"), "x", None, at)
    assert [lent(kept, said(f"{at}", "x", "on"), None) for at in range(3)] == [None, 1, 2]
