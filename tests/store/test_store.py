"""Conversations in SQLite and in PostgreSQL: turns, leases, answers, and processes that are killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import update

from prowess import discover
from prowess.errors import ConfigError, ConversationBusyError, RequestReusedError, StoreError, TurnLostError
from prowess.store import Store, open_store
from prowess.store._alive import Alive
from prowess.store._store import conversations, leases, take_lease
from support.growth import END
from support.skills import skill

if TYPE_CHECKING:
    from support.postgres import Postgres

SOURCE = Path(__file__).parents[2] / "src"


def append(store: Store, text: str, **options: Any) -> str:
    """Have a turn that adds a text to the history, and return the answer."""
    with store.turn("c", request=text, **options) as turn:
        if turn.answer is None:
            history = (turn.saved.history or "") if turn.saved else ""
            answer = f"answer to {text}"
            turn.save(history=history + text, answer=answer if turn.key else None)
            return answer
        return f"stored {turn.answer}"


def history(store: Store, conversation: str = "c") -> str | None:
    saved = store.load(conversation)
    return None if saved is None else saved.history


def test_a_conversation_is_found_again_after_a_restart(url: str, tmp_path: Path) -> None:
    """With its ledger, its history and the caller's details."""
    skill(tmp_path / ".agents/skills/tides", body="High at noon.\n")
    catalog = discover(tmp_path, home=tmp_path / "home")
    with open_store(url) as store, store.turn("c") as turn:
        assert turn.saved is None
        session = turn.session(catalog)
        session.inject("use $tides")
        turn.save(session, history='["h\\u0000\U0001f600"]', details="d")
    with open_store(url) as store, store.turn("c") as turn:
        assert turn.saved is not None
        assert (turn.saved.version, turn.saved.history, turn.saved.details) == (1, '["h\\u0000\U0001f600"]', "d")
        again = turn.session(catalog)
        assert [record.name for record in again.ledger] == ["tides"]
        assert again.turn == 1


def test_a_turn_that_is_not_saved_leaves_the_state_before_it(store: Store) -> None:
    """And releases the conversation and its key."""
    append(store, "a")
    with pytest.raises(KeyError), store.turn("c", key="k", request="b"):
        raise KeyError
    assert history(store) == "a"
    assert append(store, "c", key="k", wait=0) == "answer to c"
    assert history(store) == "ac"


def test_a_request_with_the_same_key_is_answered_once(store: Store) -> None:
    assert append(store, "a", key="k") == "answer to a"
    assert append(store, "a", key="k") == "stored answer to a"
    assert history(store) == "a"


def test_a_key_that_was_used_for_another_request_is_refused(store: Store) -> None:
    """Also while the first request is running; another client's key is another one."""
    append(store, "a", key="k")
    with pytest.raises(RequestReusedError, match="the idempotency key `k` was used for another request"):
        append(store, "b", key="k")
    assert append(store, "b", key="k", client="another") == "answer to b"
    with store.turn("c", key="running", request="a"), pytest.raises(RequestReusedError):
        append(store, "b", key="running", wait=0)


def test_two_clients_have_different_conversations_of_one_id(store: Store) -> None:
    append(store, "a", client="one")
    with store.turn("c", client="two", wait=0) as turn:
        assert turn.saved is None


def test_a_second_turn_waits_for_the_first(store: Store) -> None:
    """And gets an error after the time that it is given."""
    with store.turn("c") as turn:
        with pytest.raises(ConversationBusyError, match="the conversation is in use: another turn of it is running"):
            store.turn("c", wait=0.05)
        threading.Timer(0.2, lambda: turn.save(history="a")).start()
        append(store, "b", wait=END)
    assert history(store) == "ab"


def test_turns_of_two_stores_lose_nothing(url: str) -> None:
    """Ten threads of two stores add twenty texts each, and send each request twice."""

    def add(worker: int) -> None:
        for number in range(10):
            for _ in range(2):
                append(stores[worker % 2], f"<{worker}.{number}>", key=f"{worker}.{number}", wait=END)

    stores = [open_store(url), open_store(url)]
    with stores[0], stores[1], ThreadPoolExecutor(10) as pool:
        list(pool.map(add, range(10)))
        texts = (history(stores[0]) or "").strip("<>").split("><")
    assert sorted(texts) == sorted(f"{worker}.{number}" for worker in range(10) for number in range(10))
    for worker in range(10):
        mine = [text for text in texts if text.startswith(f"{worker}.")]
        assert mine == [f"{worker}.{number}" for number in range(10)]


def test_a_request_that_is_answered_while_another_turn_takes_its_lease_does_not_run_again(
    postgres_server: Postgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The answer is looked for once more when the lease is held. SQLite locks the whole database meanwhile."""
    with open_store(postgres_server.new_database()) as store:
        first = store.turn("c", key="k", request="a")

        def save_first(*arguments: Any) -> bool:
            monkeypatch.setattr("prowess.store._store.take_lease", take_lease)
            first.save(history="a", answer="answer to a")
            return take_lease(*arguments)

        monkeypatch.setattr("prowess.store._store.take_lease", save_first)
        assert append(store, "a", key="k") == "stored answer to a"
        assert history(store) == "a"


HOLDER = """
import sys, time
from prowess.store import open_store
store = open_store(sys.argv[1], lease=float(sys.argv[2]))
turn = store.turn("c", key="k", request="b")
print("holds", flush=True)
time.sleep(60)
"""


def start_holder(url: str, lease: int) -> subprocess.Popen[str]:
    """Start a process that holds the conversation."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, url, str(lease)],
        env={**os.environ, "PYTHONPATH": str(SOURCE)},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "holds\n"
    return process


@pytest.mark.slow
def test_a_killed_process_holds_a_conversation_no_longer_than_its_lease(
    store: Store, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where nothing shows that it has ended. While it lives it renews its lease."""
    monkeypatch.setattr(store, "_alive", Alive(store._engine))
    append(store, "a")
    with start_holder(url, lease=1) as process:
        with pytest.raises(ConversationBusyError):
            store.turn("c", wait=2)
        process.send_signal(signal.SIGKILL)
    with pytest.raises(RequestReusedError):
        append(store, "another", key="k")
    assert append(store, "b", key="k", wait=END) == "answer to b"
    assert history(store) == "ab"


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="locks files of SQLite as Linux does")
def test_a_conversation_of_a_killed_process_is_free_at_once(url: str) -> None:
    """Long before its lease ends; what it began is as if it had never been sent."""
    with open_store(url) as store:
        append(store, "a")
        with start_holder(url, lease=3600) as process:
            for _ in range(2):
                with pytest.raises(ConversationBusyError):
                    store.turn("c", wait=0)
            process.send_signal(signal.SIGKILL)
        with pytest.raises(RequestReusedError):
            append(store, "another", key="k")
        assert append(store, "b", key="k", wait=END) == "answer to b"
        assert history(store) == "ab"


def test_a_store_takes_no_conversation_from_another_one_that_is_open(url: str) -> None:
    """In one process too; and what a closed one held is free."""
    with open_store(url, lease=3600) as other:
        with open_store(url, lease=3600) as store:
            store.turn("c")
            for _ in range(2):
                with pytest.raises(ConversationBusyError):
                    other.turn("c", wait=0)
                with pytest.raises(ConversationBusyError):
                    store.turn("c", wait=0)
        append(other, "a", wait=END)


@pytest.mark.slow
def test_a_store_whose_connections_were_cut_is_still_alive(postgres_server: Postgres) -> None:
    """It takes its lock again, as soon as it looks after its leases."""
    url = postgres_server.new_database()
    database = url.partition("@/")[2].partition("?")[0]
    with open_store(url, lease=3600) as store, open_store(url) as other:
        store.turn("c")
        cut = f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{database}'"  # noqa: S608
        assert postgres_server.run(cut).startswith("t")
        store._alive.keep()
        with pytest.raises(ConversationBusyError):
            other.turn("c", wait=0)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="needs SIGSTOP")
def test_a_process_that_was_stopped_cannot_save_over_another_turn(url: str) -> None:
    """Its lease expired meanwhile: its turn is lost, with an error that says so."""
    with open_store(url, lease=1) as late, open_store(url, lease=1) as store:
        late._renewal.stop()  # it no longer renews its leases
        turn = late.turn("c", key="k", request="b")
        append(store, "a", wait=END)  # for the end of the lease
        with pytest.raises(TurnLostError, match="another turn began"):
            turn.save(history="b", answer="b")
        turn.release()
        assert history(store) == "a"
        assert append(store, "b", key="k") == "answer to b"


def test_an_expired_lease_that_no_other_turn_took_does_not_lose_the_turn(url: str) -> None:
    with open_store(url, lease=1) as store:
        store._renewal.stop()
        turn = store.turn("c")
        turn.save(history="late")
        assert history(store) == "late"
        with pytest.raises(TurnLostError):  # it has ended
            turn.save(history="twice")


def test_a_conversation_may_get_its_id_when_it_is_saved(store: Store) -> None:
    """One that is identified by its messages gets a new ID with each turn, and the old one is gone."""
    with store.turn(None) as turn:
        turn.save(history="1", conversation="first")
    with store.turn(None, key="k") as turn:
        turn.save(history="2", answer="a", conversation="second", replaces="first")
    assert store.load("first") is None
    assert history(store, "second") == "2"
    with store.turn(None, key="k") as turn:
        assert turn.answer == "a"


def test_old_conversations_and_answers_are_deleted(url: str) -> None:
    with open_store(url, keep=3600) as store:
        append(store, "a", key="k")
        assert store.purge() == 0
        with store._engine.begin() as connection:
            connection.exec_driver_sql("UPDATE prowess_conversations SET updated = updated - 90000")
            connection.exec_driver_sql("UPDATE prowess_requests SET created = created - 90000")
        assert store.purge() == 1
        assert history(store) is None
        assert append(store, "b", key="k") == "answer to b"


def test_a_conversation_can_be_deleted(store: Store) -> None:
    append(store, "a")
    store.delete("c")
    assert store.load("c") is None


@pytest.mark.parametrize("conversation", ["", "x" * 256, "a\x00b", "a\nb", 7])
def test_ids_and_keys_are_bounded(store: Store, conversation: Any) -> None:
    with pytest.raises(ConfigError, match="invalid conversation ID"):
        store.turn(conversation)
    with pytest.raises(ConfigError, match="invalid idempotency key"):
        store.turn("c", key=conversation * 2 if isinstance(conversation, str) else conversation)


def test_a_conversation_that_is_too_large_is_not_saved(store: Store) -> None:
    """The conversation is as it was, and free."""
    append(store, "a")
    with pytest.raises(StoreError, match="too large"), store.turn("c") as turn:
        turn.save(history="x" * (32 * 1024 * 1024 + 1))
    assert append(store, "b", wait=0) == "answer to b"
    assert history(store) == "ab"


@pytest.mark.parametrize("text", ["\ud800", "a\x00b"], ids=["surrogate", "nul"])
def test_a_text_that_the_database_does_not_keep_is_an_error(store: Store, text: str) -> None:
    """JSON escapes both; the conversation stays as it was. SQLite keeps NUL."""
    append(store, "a")
    with store.turn("c") as turn:
        try:
            turn.save(history=text)
        except StoreError:
            assert history(store) == "a"
        else:
            assert text == history(store) == "a\x00b"


def test_a_request_is_of_types_of_json(store: Store) -> None:
    with pytest.raises(ConfigError, match="the request is not of types of JSON"):
        store.turn("c", key="k", request={1, 2})


def test_an_answer_needs_a_key_and_a_turn_an_id(store: Store) -> None:
    with store.turn("c") as turn, pytest.raises(ConfigError, match="without an idempotency key"):
        turn.save(answer="a")
    with store.turn(None) as turn, pytest.raises(ConfigError, match="without a conversation ID"):
        turn.save()


def test_a_row_of_another_type_is_an_error(tmp_path: Path) -> None:
    """SQLite keeps any value in any column."""
    with open_store(f"sqlite:///{tmp_path}/store.db") as store:
        append(store, "a")
        with store._engine.begin() as connection:
            connection.exec_driver_sql("UPDATE prowess_conversations SET history = x'00ff'")
        with pytest.raises(StoreError, match="the row of the conversation `c` in the store is invalid"):
            store.load("c")


@pytest.mark.parametrize("ahead", [86_400.0, 1e300])
def test_a_clock_that_was_wrong_does_not_lock_a_conversation(url: str, ahead: float) -> None:
    """A killed process left a lease that ends in a day, when its clock was a day ahead."""
    with open_store(url) as store:
        killed = store.turn("c")
        store._renewal.remove(killed)
        with store._transaction() as connection:
            connection.execute(update(leases).values(expires=leases.c.expires + ahead))
        with store.turn("c", wait=0) as turn:
            turn.save(history="h")
        assert history(store) == "h"


@pytest.mark.parametrize("lease", [0.5, 3601, float("inf"), float("nan")])
def test_a_lease_has_a_limit(lease: float, tmp_path: Path) -> None:
    """The thread that renews it cannot wait for longer than the system allows."""
    with pytest.raises(ConfigError, match="`lease` must be 1 to 3600 seconds"):
        open_store(f"sqlite:///{tmp_path}/s.db", lease=lease)


@pytest.mark.parametrize("version", [-1, 2**31 - 1])
def test_a_conversation_with_an_impossible_number_of_turns_is_invalid(url: str, version: int) -> None:
    """The next turn could not be counted."""
    with open_store(url) as store:
        append(store, "a")
        with store._transaction() as connection:
            connection.execute(update(conversations).values(version=version))
        with pytest.raises(StoreError, match="the row of the conversation `c` in the store is invalid"):
            append(store, "b")
