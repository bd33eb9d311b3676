"""The endpoint of `prowess run --serve`, used by OpenAI's own client."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from openai import (
    APIError,
    AuthenticationError,
    BadRequestError,
    InternalServerError,
    NotFoundError,
    OpenAI,
)

from support.chat_server import ChatServer

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def chat() -> Iterator[ChatServer]:
    with ChatServer() as server:
        yield server


def client(chat: ChatServer, **more: Any) -> OpenAI:
    return OpenAI(**{"base_url": f"{chat.url}/v1", "api_key": "none", "max_retries": 0, "timeout": 20, **more})


def user(text: str) -> list[Any]:
    return [{"role": "user", "content": text}]


def test_a_completion_is_read(chat: ChatServer) -> None:
    """With its usage; what has no effect is named."""
    with client(chat) as openai:
        raw = openai.chat.completions.with_raw_response.create(
            model="parrot", messages=user("hello"), temperature=0.5, seed=1, extra_headers={"X-Conversation-Id": "c"}
        )
    answer = raw.parse()
    assert raw.headers["Prowess-Ignored"] == "seed"
    assert chat.echo.requests[0][0].settings == {"temperature": 0.5}
    assert answer.choices[0].message.content == "parrot: hello"
    assert answer.choices[0].finish_reason == "stop"
    assert answer.usage is not None
    assert answer.usage.total_tokens == 5
    assert chat.echo.requests[0][0].conversation == "c"


def test_a_response_is_read(chat: ChatServer) -> None:
    """With its text, its usage, and its output as the input of the next one."""
    with client(chat) as openai:
        first = openai.responses.create(model="parrot", input="hello", instructions="be brief", max_output_tokens=9)
        assert (first.output_text, first.status) == ("parrot: hello", "completed")
        assert first.usage is not None
        assert first.usage.total_tokens == 5
        items: Any = [*user("hello"), *(item.model_dump() for item in first.output), *user("you")]
        assert openai.responses.create(model="parrot", input=items).output_text == "parrot: you"
    (before, _), (after, _) = chat.echo.requests
    assert [(one.role, one.text) for one in before.messages] == [("system", "be brief"), ("user", "hello")]
    assert [one.text for one in after.messages] == ["hello", "parrot: hello", "you"]


def test_a_stream_of_a_response_is_read(chat: ChatServer) -> None:
    """To its end; its events are numbered."""
    with client(chat) as openai:
        events = list(openai.responses.create(model="parrot", input="hello you", stream=True))
    assert [event.sequence_number for event in events] == [*range(len(events))]
    kinds = [event.type.removeprefix("response.") for event in events]
    assert kinds[:4] == ["created", "in_progress", "output_item.added", "content_part.added"]
    assert kinds[4:7] == ["output_text.delta"] * 3
    assert kinds[7:] == ["output_text.done", "content_part.done", "output_item.done", "completed"]
    deltas = [event.delta for event in events if event.type == "response.output_text.delta"]
    last = events[-1]
    assert last.type == "response.completed"
    assert "".join(deltas) == last.response.output_text == "parrot: hello you "
    assert last.response.usage is not None
    assert last.response.usage.total_tokens == 5


def test_the_client_s_stream_helper_reads_a_response(chat: ChatServer) -> None:
    with client(chat) as openai, openai.responses.stream(model="parrot", input="hello") as stream:
        assert stream.get_final_response().output_text == "parrot: hello "


def test_a_stream_of_a_response_that_fails_says_so(chat: ChatServer) -> None:
    """It must not look complete."""
    with client(chat) as openai:
        *_, last = openai.responses.create(model="parrot", input="fail later", stream=True)
    assert last.type == "response.failed"
    assert last.response.error is not None
    assert last.response.error.message == "the server broke off"


@pytest.mark.parametrize("stream", [False, True])
def test_errors_of_responses_become_the_client_s_own_exceptions(chat: ChatServer, stream: bool) -> None:
    with client(chat) as openai:
        for model, said, kind in (
            ("gpt-9", "hello", NotFoundError),
            ("parrot", "", BadRequestError),
            ("parrot", "fail", InternalServerError),
        ):
            with pytest.raises(kind):
                openai.responses.create(model=model, input=said, stream=stream)
        with pytest.raises(BadRequestError, match="the role has its own tools"):
            openai.responses.create(model="parrot", input="x", tools=[{"type": "web_search"}], stream=stream)


def test_closing_a_stream_of_a_response_cancels_the_request(chat: ChatServer) -> None:
    with client(chat) as openai:
        stream = openai.responses.create(model="parrot", input="wait later", stream=True)
        for event in stream:
            if event.type == "response.output_text.delta":
                break
        stream.close()
        chat.echo.wait_for_outcome("cancelled")


def test_a_stream_is_read(chat: ChatServer) -> None:
    """To its end, with its usage on request."""
    with client(chat) as openai:
        chunks = list(
            openai.chat.completions.create(
                model="parrot", messages=user("hello you"), stream=True, stream_options={"include_usage": True}
            )
        )
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices) == "parrot: hello you "
    assert [chunk.choices[0].finish_reason for chunk in chunks if chunk.choices][-1] == "stop"
    assert chunks[-1].usage is not None
    assert chunks[-1].usage.prompt_tokens == 3


def test_the_client_s_stream_helper_works(chat: ChatServer) -> None:
    with client(chat) as openai, openai.chat.completions.stream(model="parrot", messages=user("hello")) as stream:
        assert stream.get_final_completion().choices[0].message.content == "parrot: hello "


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    ("model", "said", "kind", "words"),
    [
        ("gpt-9", "hello", NotFoundError, "unknown model `gpt-9`"),
        ("parrot", "", BadRequestError, "must be a user message"),
        ("parrot", "fail", InternalServerError, "there is no key"),
    ],
)
def test_errors_become_the_client_s_own_exceptions(
    chat: ChatServer, model: str, said: str, kind: type[APIError], words: str, stream: bool
) -> None:
    """With our messages."""
    with client(chat) as openai, pytest.raises(kind, match=words):
        openai.chat.completions.create(model=model, messages=user(said), stream=stream)


def test_a_stream_that_fails_raises(chat: ChatServer) -> None:
    """It must not look complete."""
    with client(chat) as openai, pytest.raises(APIError, match="the server broke off"):
        list(openai.chat.completions.create(model="parrot", messages=user("fail later"), stream=True))


def test_the_key_is_the_client_s_api_key() -> None:
    with ChatServer(token="right") as chat:  # noqa: S106 - of this test
        with client(chat) as openai, pytest.raises(AuthenticationError, match="invalid API key"):
            openai.models.list()
        with client(chat, api_key="right") as openai:
            assert [model.id for model in openai.models.list()] == ["parrot", "org/other"]


def test_closing_a_stream_cancels_the_request(chat: ChatServer) -> None:
    with client(chat) as openai:
        stream = openai.chat.completions.create(model="parrot", messages=user("wait later"), stream=True)
        for chunk in stream:
            if chunk.choices[0].delta.content == "first":
                break
        stream.close()
        chat.echo.wait_for_outcome("cancelled")
