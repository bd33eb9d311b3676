"""`prowess run` with a store: conversations that survive their process, on SQLite and on PostgreSQL."""

from __future__ import annotations

import asyncio
import json
import re
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pytest
from openai import APIStatusError, AsyncOpenAI, OpenAI, OpenAIError
from pydantic_ai.messages import ModelMessagesTypeAdapter, UserPromptPart
from pydantic_ai.models.function import DeltaToolCall, FunctionModel

from prowess.agent import RoleReloader, StoredConversation
from prowess.agent.server import RoleBackend
from prowess.agent.stored import hold_turn
from prowess.cli import main
from prowess.errors import ConversationBusyError
from prowess.store import Store, open_store
from support.chat_server import ChatServer
from support.growth import END
from support.openai_server import HANG, ModelServer
from support.processes import wait_until
from support.skills import skill

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator
    from pathlib import Path

PASSWORD = "s3cret-word"
ROLE = "name: helper\nprompt: You help.\nmodel: openai:m\n"


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/store.db"
    return str(request.getfixturevalue("postgres_server").new_database())


@pytest.fixture
def sqlite_url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/store.db"


@pytest.fixture
def store(sqlite_url: str) -> Iterator[Store]:
    with open_store(sqlite_url) as opened:
        yield opened


class Model:
    """Counts its requests and answers with them; the message `wait` waits for `release`, `fail` fails."""

    def __init__(self) -> None:
        self.requests: list[list[Any]] = []
        self.waiting, self.release = threading.Event(), asyncio.Event()

    async def answer(self, messages: list[Any], _info: Any) -> AsyncIterator[Any]:
        self.requests.append(messages)
        said = [part.content for one in messages for part in one.parts if isinstance(part, UserPromptPart)]
        text = str(said[-1])
        if text == "use tides" and not any("High at noon" in str(message) for message in messages):
            yield {0: DeltaToolCall("activate_skill", json.dumps({"name": "tides"}))}
            return
        if text == "wait":
            self.waiting.set()
            await asyncio.wait_for(self.release.wait(), 20)
        if text == "fail":
            raise RuntimeError("the model is not available")
        if text == "read":
            yield "\ud800"
            return
        yield f"answer {len(said)} "
        yield f"to {text}"

    def serve(self, top: Path, store: Store | None, **options: Any) -> ChatServer:
        """Serve a role as one more process would."""
        (top / "role.yaml").write_text(ROLE)
        (top / "home").mkdir(exist_ok=True)
        role = RoleReloader(str(top / "role.yaml"), home=str(top / "home"), env={})
        model = FunctionModel(stream_function=self.answer)
        return ChatServer(RoleBackend(role, model, store=store, **options))


def send(chat: ChatServer, *texts: str, key: str | None = None, conversation: str | None = "c", **more: Any) -> str:
    """Send texts of the user and the model in turn, and return the answer."""
    headers = {"Idempotency-Key": key} if key else {}
    headers |= {"X-Conversation-Id": conversation} if conversation else {}
    messages: list[Any] = [
        {"role": "assistant" if at % 2 else "user", "content": text} for at, text in enumerate(texts)
    ]
    client = OpenAI(base_url=f"{chat.url}/v1", api_key=more.pop("api_key", "none"), max_retries=0, timeout=END)
    given: Any = {"model": "helper", "messages": messages, "extra_headers": headers, **more}
    if more.get("stream"):
        return "".join(chunk.choices[0].delta.content or "" for chunk in client.chat.completions.create(**given))
    return str(client.chat.completions.create(**given).choices[0].message.content)


def refused(chat: ChatServer, *texts: str, **more: Any) -> tuple[int, str | None]:
    """Send texts that are refused, and return the status and the code of the error."""
    with pytest.raises(APIStatusError) as caught:
        send(chat, *texts, **more)
    return caught.value.status_code, caught.value.code


def test_a_conversation_goes_on_in_another_process(tmp_path: Path, url: str) -> None:
    """With its history and its active skills; the client sends only its new message."""
    skill(tmp_path / "skills/tides", body="High at noon.\n")
    model = Model()
    with open_store(url) as first, model.serve(tmp_path, first) as chat:
        assert send(chat, "use tides") == "answer 1 to use tides"
    with open_store(url) as second, model.serve(tmp_path, second) as chat:
        assert send(chat, "And now?") == "answer 2 to And now?"
        assert refused(chat, "use tides", conversation="c", key="x" * 256)[0] == 400
    texts = str(model.requests[-1])
    assert "use tides" in texts
    assert "High at noon." in texts


def test_a_conversation_without_an_id_goes_on_by_its_messages(tmp_path: Path, url: str) -> None:
    """Also when the client lost the last answer and asks again."""
    skill(tmp_path / "skills/tides", body="High at noon.\n")
    model = Model()
    with open_store(url) as first, model.serve(tmp_path, first) as chat:
        answer = send(chat, "use tides", conversation=None)
    for _ in range(2):
        with open_store(url) as second, model.serve(tmp_path, second) as chat:
            again = send(chat, "use tides", answer, "And now?", conversation=None)
            assert again == "answer 2 to And now?"
            assert "High at noon." in str(model.requests[-1])
    with open_store(url) as third, model.serve(tmp_path, third) as chat:
        assert send(chat, "use tides", answer, "And now?", again, "And?", conversation=None) == "answer 3 to And?"
        assert "High at noon." in str(model.requests[-1])
        with third._engine.connect() as connection:
            rows = connection.exec_driver_sql("SELECT COUNT(*) FROM prowess_conversations").scalar()
    assert rows == 2  # as it is now, and as it was before the last answer


def test_a_repeated_request_is_answered_without_the_model(tmp_path: Path, url: str) -> None:
    """By any process, with or without an ID, as a whole or as a stream."""
    model = Model()
    with open_store(url) as first, model.serve(tmp_path, first) as chat:
        answers = [send(chat, "hi", key="a"), send(chat, "hi", key="b", conversation=None)]
    with open_store(url) as second, model.serve(tmp_path, second) as chat:
        assert [send(chat, "hi", key="a"), send(chat, "hi", key="b", conversation=None)] == answers
        assert send(chat, "hi", key="a", stream=True) == answers[0]
        assert send(chat, "hi", key="a", api_key="another") == "answer 1 to hi"
    assert len(model.requests) == 3


@pytest.mark.parametrize("stream", [False, True])
def test_a_key_with_another_request_is_status_422(tmp_path: Path, store: Store, stream: bool) -> None:
    model = Model()
    with model.serve(tmp_path, store) as chat:
        send(chat, "hi", key="a", stream=stream)
        for change in ({"conversation": "d"}, {"conversation": None}, {}):
            said = refused(chat, "hi" if change else "hello", key="a", stream=stream, **change)
            assert said == (422, "idempotency_key_reused")
    assert len(model.requests) == 1


def test_two_requests_at_once_wait_for_each_other(tmp_path: Path, url: str) -> None:
    """In two processes: none of ten turns is lost, and each is answered after the one before it."""

    async def talk(urls: list[str]) -> list[str]:
        async def ask(at: int) -> str:
            async with AsyncOpenAI(base_url=f"{urls[at % 2]}/v1", api_key="none", max_retries=0, timeout=END) as client:
                answer = await client.chat.completions.create(
                    model="helper",
                    messages=[{"role": "user", "content": f"<{at}>"}],
                    extra_headers={"X-Conversation-Id": "c"},
                )
            return str(answer.choices[0].message.content)

        return list(await asyncio.gather(*(ask(at) for at in range(10))))

    model = Model()
    with (
        open_store(url) as first,
        open_store(url) as second,
        model.serve(tmp_path, first) as one,
        model.serve(tmp_path, second) as two,
    ):
        answers = asyncio.run(talk([one.url, two.url]))
    assert sorted(int(answer.split()[1]) for answer in answers) == [*range(1, 11)]
    assert sorted(re.findall(r"<\d>", " ".join(answers))) == [f"<{at}>" for at in range(10)]
    assert sorted(re.findall(r"content='<(\d)>'", str(model.requests[-1]))) == [str(at) for at in range(10)]


def test_a_conversation_that_stays_in_use_is_status_409(tmp_path: Path, store: Store) -> None:
    """And a request whose key is in use elsewhere."""
    model = Model()
    with model.serve(tmp_path, store, wait=0.1) as chat:
        with store.turn("id c", client=client_of("none")):
            assert refused(chat, "hi") == (409, "conversation_in_use")
        with store.turn(None, key="k", client=client_of("none"), request=[["user", "hi"]]):
            assert refused(chat, "hi", key="k", conversation=None) == (409, "conversation_in_use")
        assert send(chat, "hi", key="k", conversation=None) == "answer 1 to hi"


def client_of(api_key: str) -> str:
    from prowess.agent.server._parameters import client_digest

    return client_digest({"authorization": f"Bearer {api_key}"})


@pytest.mark.parametrize("stream", [False, True])
def test_a_turn_that_fails_leaves_the_state_before_it(tmp_path: Path, store: Store, stream: bool) -> None:
    """The same request runs again."""
    model = Model()
    with model.serve(tmp_path, store) as chat:
        send(chat, "hi", stream=stream)
        for _ in range(2):
            assert refused(chat, "fail", key="k", stream=stream)[0] == 502
        assert send(chat, "go on", key="k", stream=stream) == "answer 2 to go on"
    assert "fail" not in str(model.requests[-1])


def test_a_client_that_leaves_frees_its_conversation(tmp_path: Path, store: Store) -> None:
    """Its turn is as if it had never been sent."""
    model = Model()
    given: Any = {"model": "helper", "messages": [{"role": "user", "content": "wait"}]}

    async def leave(url: str) -> None:
        async with AsyncOpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0, timeout=END) as client:
            request = client.chat.completions.create(**given, extra_headers={"X-Conversation-Id": "c"})
            asking = asyncio.create_task(request)
            assert await asyncio.to_thread(model.waiting.wait, END)
            asking.cancel()
            await asyncio.gather(asking, return_exceptions=True)

    with model.serve(tmp_path, store, wait=END) as chat:
        asyncio.run(leave(chat.url))
        assert send(chat, "hi") == "answer 1 to hi"
    assert "wait" not in str(model.requests[-1])


def test_a_cancelled_wait_holds_nothing(store: Store) -> None:
    """A task that is cancelled at any moment of the way leaves the conversation free."""

    async def hold() -> None:
        async with hold_turn(store, "c"):
            await asyncio.sleep(0.001)

    async def cancel_at_many_moments() -> None:
        for moment in range(60):
            task = asyncio.create_task(hold())
            await asyncio.sleep(moment / 5000)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            store.turn("c", wait=0).release()

    asyncio.run(cancel_at_many_moments())


def test_text_that_is_not_unicode_is_kept(tmp_path: Path, store: Store) -> None:
    """A lone surrogate, which a tool may have read from a file."""
    model = Model()
    role = RoleReloader(role_file(tmp_path), home=str(tmp_path), env={})
    for turn in (1, 2):
        conversation = StoredConversation(role.current(), FunctionModel(stream_function=model.answer), store, "c")
        assert asyncio.run(conversation.ask("read")).output == "\ud800"
        assert len(conversation.history) == 2 * turn


def role_file(top: Path) -> str:
    (top / "role.yaml").write_text(ROLE)
    return str(top / "role.yaml")


def test_a_conversation_in_python_goes_on_after_the_turns_of_others(tmp_path: Path, store: Store) -> None:
    """Two objects of one conversation see each other's turns; a failed turn leaves nothing."""
    model = FunctionModel(stream_function=Model().answer)
    role = RoleReloader(role_file(tmp_path), home=str(tmp_path), env={})
    one, two = (StoredConversation(role.current(), model, store, "c") for _ in range(2))
    texts = [
        asyncio.run(one.ask("a")).output,
        asyncio.run(two.ask("b")).output,
        asyncio.run(one.ask("fail")).output,
        asyncio.run(one.ask("c")).output,
    ]
    assert texts == ["answer 1 to a", "answer 2 to b", None, "answer 3 to c"]


def test_what_is_stored_are_the_messages_of_pydantic_ai(tmp_path: Path, store: Store) -> None:
    model = Model()
    with model.serve(tmp_path, store) as chat:
        send(chat, "hi")
    saved = store.load("id c", client=client_of("none"))
    assert saved is not None
    (request, response) = ModelMessagesTypeAdapter.validate_json(saved.history or "")
    assert request.parts[0].content == "hi"
    assert response.parts[0].content == "answer 1 to hi"


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("history", "["),
        ("history", '[{"kind": "x"}]'),
        ("details", '{"mcp_names": [1]}'),
        ("ledger", "{}"),
        ("history", "[" * 100_000),
    ],
    ids=["no-json", "no-message", "details", "ledger", "deep"],
)
def test_an_invalid_row_is_an_error_and_not_a_crash(tmp_path: Path, store: Store, column: str, value: str) -> None:
    skill(tmp_path / "skills/tides")
    model = Model()
    with model.serve(tmp_path, store) as chat:
        send(chat, "hi")
        with store._engine.begin() as connection:
            connection.exec_driver_sql(f"UPDATE prowess_conversations SET {column} = ?", (value,))  # noqa: S608
        with pytest.raises(APIStatusError) as caught:
            send(chat, "hello")
    assert caught.value.status_code == 503
    assert "the stored conversation is invalid" in str(caught.value)


def test_a_store_that_fails_is_status_503(tmp_path: Path, store: Store) -> None:
    model = Model()
    with model.serve(tmp_path, store) as chat:
        send(chat, "hi")
        with store._engine.begin() as connection:
            connection.exec_driver_sql("DROP TABLE prowess_leases")
        with pytest.raises(APIStatusError) as caught:
            send(chat, "hello")
    assert (caught.value.status_code, caught.value.code) == (503, "store_failed")
    assert len(model.requests) == 1


@pytest.mark.parametrize("url", [f"mysql://u:{PASSWORD}@h/d", f"postgresql://u:{PASSWORD}@127.0.0.1:1/d"])
def test_a_store_that_cannot_be_opened_is_wrong_use_without_its_password(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """From the variable, too."""
    (tmp_path / "role.yaml").write_text("name: a\nprompt: You help.\nmodel: openai:m\n")
    (tmp_path / "script.yaml").write_text("- say: hi\n")
    arguments = [
        "run",
        str(tmp_path / "role.yaml"),
        "--serve",
        "--port",
        "0",
        "--model",
        f"script:{tmp_path}/script.yaml",
    ]
    assert main([*arguments, "--store", url]) == 2
    monkeypatch.setenv("PROWESS_STORE", url)
    assert main(arguments) == 2
    assert PASSWORD not in "".join(capsys.readouterr())


@pytest.mark.slow
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_a_server_that_is_stopped_frees_its_conversations(tmp_path: Path, store: Store, how: signal.Signals) -> None:
    """Another process need not wait until the lease expires."""
    role_file(tmp_path)
    options = ["--serve", "--port", "0", "--home", str(tmp_path), "--store", f"sqlite:///{tmp_path}/store.db"]
    with ModelServer(HANG) as server:
        command = [sys.executable, "-m", "prowess", "run", "role.yaml", "--model", server.model, *options]
        with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True) as process:
            assert process.stderr is not None
            url = process.stderr.readline().partition(" at ")[2].partition(";")[0]
            client = OpenAI(base_url=url, api_key="none", max_retries=0, timeout=END)
            given: Any = {"model": "helper", "messages": [{"role": "user", "content": "hi"}]}

            def ask() -> None:
                with suppress(OpenAIError):
                    client.chat.completions.create(**given, extra_headers={"X-Conversation-Id": "c"})

            asking = threading.Thread(target=ask)
            asking.start()
            wait_until(lambda: server.requests)
            with pytest.raises(ConversationBusyError):
                store.turn("id c", client=client_of("none"), wait=0)
            process.send_signal(how)
            process.communicate(timeout=END)
            asking.join(END)
    store.turn("id c", client=client_of("none"), wait=0).release()
