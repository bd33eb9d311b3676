"""Parse the requests of OpenAI's chat completions API, and describe errors in its format."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any, Literal, Protocol

from prowess._internal.frozen import Frozen
from prowess._internal.text import neutral, quoted
from prowess.errors import ProwessError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping

_ROLES = ("system", "developer", "user", "assistant", "tool", "function")
_MAX_CONVERSATION_ID_CHARS = 200
_MAX_KEY_CHARS = 255


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

    def usage(self) -> dict[str, int]:
        """Return the tokens in OpenAI's format."""
        total = self.input_tokens + self.output_tokens
        return {"prompt_tokens": self.input_tokens, "completion_tokens": self.output_tokens, "total_tokens": total}


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


class ChatBackend(Protocol):
    """Answers chat requests. A request is cancelled when its client disconnects.

    The client gets a `RequestError` with its own status, and any other exception with the status 500.
    """

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the models, at least one; the first is the default."""

    def stream(self, request: ChatRequest, model: str) -> AsyncGenerator[str | ChatAnswer, None]:
        """Answer the last message, as one of `names`: yield parts of the text as they arrive, then the whole answer."""


def parse_chat_request(body: bytes, headers: Mapping[str, str]) -> ChatRequest:
    """Parse a request; unknown keys are ignored.

    Raises:
        RequestError: the request is invalid.
    """
    try:
        request: Any = json.loads(body)
    except (ValueError, RecursionError):
        raise RequestError("the body is not valid JSON") from None
    if not isinstance(request, dict):
        raise RequestError("the body is not a JSON object")
    model, stream, options = request.get("model"), request.get("stream"), request.get("stream_options")
    if model is not None and not isinstance(model, str):
        raise RequestError("`model` must be a string", param="model")
    if stream is not None and not isinstance(stream, bool):
        raise RequestError("`stream` must be true or false", param="stream")
    if request.get("n") not in (None, 1):
        raise RequestError("`n` must be 1: only one answer is supported", param="n")
    metadata = request.get("metadata")
    conversation_id = headers.get("x-conversation-id") or (
        metadata.get("conversation_id") if isinstance(metadata, dict) else None
    )
    if conversation_id is not None and (
        not isinstance(conversation_id, str)
        or len(conversation_id) > _MAX_CONVERSATION_ID_CHARS
        or not conversation_id.isprintable()
    ):
        raise RequestError(
            f"the conversation ID must be a string of at most {_MAX_CONVERSATION_ID_CHARS} printable characters",
            param="metadata",
        )
    return ChatRequest(
        messages=_parse_messages(request.get("messages")),
        model=model,
        conversation=conversation_id or None,
        client=_client_digest(headers),
        request_key=_idempotency_key(headers),
        stream=stream or False,
        include_usage=isinstance(options, dict) and options.get("include_usage") is True,
    )


def _idempotency_key(headers: Mapping[str, str]) -> str | None:
    """Return the key that makes a request the same one when it is sent again.

    Raises:
        RequestError: it is too long, or has characters that cannot be printed.
    """
    key = headers.get("idempotency-key", "").strip()
    if len(key) > _MAX_KEY_CHARS or not key.isprintable():
        message = f"the header `Idempotency-Key` must have at most {_MAX_KEY_CHARS} printable characters"
        raise RequestError(message, param="Idempotency-Key")
    return key or None


def _client_digest(headers: Mapping[str, str]) -> str:
    """Return what distinguishes a client from others: a digest of the keys that it sends, required or not.

    The scheme `Bearer` is the same in any case.
    """
    scheme, _, key = headers.get("authorization", "").strip().partition(" ")
    if scheme.lower() == "bearer":
        scheme = "bearer"
    keys = [scheme, key.strip(), *(headers.get(name, "") for name in ("api-key", "x-api-key"))]
    return hashlib.sha256(json.dumps(keys).encode()).hexdigest()


def _parse_messages(items: Any) -> tuple[Message, ...]:
    """Parse the messages.

    Raises:
        RequestError: a message is invalid, or the last is not the user's.
    """
    if not isinstance(items, list) or not items:
        raise RequestError("`messages` must be a list of at least one message", param="messages")
    messages = []
    for index, item in enumerate(items):
        where = f"messages[{index}]"
        role: Any = item.get("role") if isinstance(item, dict) else None
        if role not in _ROLES:
            raise RequestError(f"`{where}` must have a `role`: one of {', '.join(_ROLES)}", param=where)
        role = {"developer": "system", "function": "tool"}.get(role, role)
        messages.append(Message(role=role, text=_message_text(item.get("content"), f"{where}.content")))
    if messages[-1].role != "user" or not messages[-1].text.strip():
        raise RequestError("the last of `messages` must be a user message with text", param="messages")
    return tuple(messages)


def _message_text(content: Any, where: str) -> str:
    """Return the text of a message.

    Raises:
        RequestError: the content is not text.
    """
    if content is None or isinstance(content, str):
        return _valid_unicode(content or "", where)
    if not isinstance(content, list):
        raise RequestError(f"`{where}` must be a string or a list of parts", param=where)
    texts = []
    for part in content:
        kind = part.get("type") if isinstance(part, dict) else None
        text = part.get("refusal" if kind == "refusal" else "text") if isinstance(part, dict) else None
        if kind not in ("text", "input_text", "output_text", "refusal") or not isinstance(text, str):
            what = f"of type {quoted(kind)}" if isinstance(kind, str) else "without a type"
            raise RequestError(f"`{where}` contains a part {what}; only text is supported", param=where)
        texts.append(_valid_unicode(text, where))
    return "\n".join(texts)


def _valid_unicode(text: str, where: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise RequestError(f"`{where}` is not valid Unicode: it contains a lone surrogate", param=where) from None
    return text


def error_parts(error: Exception) -> tuple[int, dict[str, Any], dict[str, str]]:
    """Return the HTTP status, the body and the headers for an error."""
    status, param, code = 500, None, None
    if isinstance(error, RequestError):
        status, message, param, code = error.status, str(error), error.param, error.code
    elif isinstance(error, ProwessError):
        message = f"{error} ({error.hint})" if error.hint else str(error)
    else:
        message = f"the agent failed: {type(error).__name__}: {neutral(str(error))[:300]}"
    kind = "server_error" if status >= 500 else "invalid_request_error"
    headers = {"retry-after": "1"} if status == 503 else {}
    return status, {"error": {"message": message, "type": kind, "param": param, "code": code}}, headers
