"""A client's request and its answer, whichever API they came through, and errors in OpenAI's format."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, Protocol

from prowess._internal.frozen import EMPTY, Frozen
from prowess.errors import ProwessError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping


class RequestError(ProwessError, ValueError):
    """A request that is not answered; a `ChatBackend` may raise it too.

    Attributes:
        status: the HTTP status.
        param: the part of the request that is wrong.
        code: OpenAI's code for the error.
    """

    def __init__(self, message: str, *, status: int = 400, param: str | None = None, code: str | None = None) -> None:
        super().__init__(message)
        self.status, self.param, self.code = status, param, code


class Message(Frozen):
    """One message of a conversation."""

    role: str
    """`system` (also for OpenAI's `developer`), `user`, `assistant` or `tool`."""
    text: str


class ChatAnswer(Frozen):
    """An answer, and the tokens it used."""

    text: str
    finish_reason: Literal["stop", "length", "content_filter"] = "stop"
    input_tokens: int = 0
    output_tokens: int = 0

    @property
    def total_tokens(self) -> int:
        """All tokens."""
        return self.input_tokens + self.output_tokens


class ChatRequest(Frozen):
    """A client's request."""

    messages: tuple[Message, ...]
    """All messages, or with an ID of the conversation perhaps only the new ones; the last is the user's."""
    model: str | None = None
    conversation: str | None = None
    """The client's ID of the conversation; `None` if only the messages identify it."""
    client: str = ""
    """A digest of the key that the client sent; conversations of two clients are never the same."""
    request_key: str | None = None
    """The client's idempotency key: a request that is sent again with it is answered once."""
    stream: bool = False
    include_usage: bool = False
    """Whether a stream of chat completions ends with the tokens."""
    settings: Mapping[str, Any] = EMPTY
    """For the model: `max_tokens`, `temperature`, `top_p`, `stop_sequences`."""
    ignored: tuple[str, ...] = ()
    """The names of the parameters that have no effect."""
    repeated: Mapping[str, Any] = EMPTY
    """What the answer repeats of the request."""


class ChatBackend(Protocol):
    """Answers chat requests. A request is cancelled when its client disconnects.

    The client gets a `RequestError` with its own status, and any other exception with the status 500.
    """

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the models, at least one; the first is the default."""

    def stream(self, request: ChatRequest, model: str) -> AsyncGenerator[str | ChatAnswer, None]:
        """Answer the last message, as one of `names`: yield parts of the text as they arrive, then the whole answer."""


def error_parts(error: Exception) -> tuple[int, dict[str, Any], dict[str, str]]:
    """Return the HTTP status, the body and the headers for an error."""
    status, param, code = 500, None, None
    if isinstance(error, RequestError):
        status, message, param, code = error.status, str(error), error.param, error.code
    elif isinstance(error, ProwessError):
        message = f"{error} ({error.hint})" if error.hint else str(error)
    else:
        message = f"the agent failed: {type(error).__name__}"  # its own message can name anything
    kind = "server_error" if status >= 500 else "invalid_request_error"
    headers = {"retry-after": "1"} if status == 503 else {}
    return status, {"error": {"message": message, "type": kind, "param": param, "code": code}}, headers
