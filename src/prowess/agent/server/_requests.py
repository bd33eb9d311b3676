"""the body of a chat completion -> what is asked, in which conversation, and who answers it

OpenAI's API has no conversations: each request brings all messages. So a conversation is what its messages say, and
`Conversations` finds it again by them; a client that names one, by `X-Conversation-Id` or `metadata.conversation_id`,
has it by that name. The field `user` names a person, who may hold many conversations at once, and so none of them.
"""

from __future__ import annotations

import hashlib
import json
from collections import OrderedDict
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Generic, Literal, Protocol, TypeVar

from prowess._internal.frozen import Frozen
from prowess._internal.text import quoted
from prowess.errors import ProwessError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence

__all__ = [
    "ChatAnswer",
    "ChatBackend",
    "ChatRequest",
    "ConversationStore",
    "Message",
    "RequestError",
    "parse_chat_request",
    "first_new_index",
]

_ROLES = ("system", "developer", "user", "assistant", "tool", "function")
_MAX_CONVERSATION_ID_CHARS = 200
_T = TypeVar("_T")


class RequestError(ProwessError, ValueError):
    """A request that is not answered; an `Answerer` may raise it too.

    Attributes:
        status: of HTTP.
        param: the part of the request it is about.
        code: OpenAI's word for it.
    """

    def __init__(self, message: str, *, status: int = 400, param: str | None = None, code: str | None = None) -> None:
        super().__init__(message)
        self.status, self.param, self.code = status, param, code


class Message(Frozen):
    """One message of a conversation."""

    role: str
    """`system` (OpenAI's `developer` too), `user`, `assistant` or `tool`."""
    text: str


class ChatAnswer(Frozen):
    """What is answered, and what it took."""

    text: str
    finish_reason: Literal["stop", "length", "content_filter"] = "stop"
    input_tokens: int = 0
    output_tokens: int = 0

    def usage(self) -> dict[str, int]:
        """Return what it took in OpenAI's words."""
        total = self.input_tokens + self.output_tokens
        return {"prompt_tokens": self.input_tokens, "completion_tokens": self.output_tokens, "total_tokens": total}


class ChatBackend(Protocol):
    """Who answers. Where a client goes away, what it asked for is cancelled.

    What is raised is told to the client with the status 500, a `RequestError` with its own.
    """

    @property
    def names(self) -> tuple[str, ...]:
        """Of the models that can be asked for, at least one; the first where a client names none."""

    async def answer(self, messages: Sequence[Message], *, model: str, conversation: str | None) -> ChatAnswer:
        """Answer the last message.

        Args:
            messages: all that was said, the user's last.
            model: one of `names`.
            conversation: what the client calls it; None where only the messages say which it is.
        """

    def stream(
        self, messages: Sequence[Message], *, model: str, conversation: str | None
    ) -> AsyncGenerator[str | ChatAnswer, None]:
        """Answer in parts: texts as they come, then the `Answer` with all of it."""


class ChatRequest(Frozen):
    """What a client asks for."""

    messages: tuple[Message, ...]
    model: str | None
    conversation: str | None
    stream: bool
    include_usage: bool


class ConversationStore(Generic[_T]):
    """What belongs to conversations, found again by their names or by what was said in them.

    Args:
        max_size: how many are kept; the one that was longest not heard of goes first.
    """

    def __init__(self, max_size: int = 1000) -> None:
        self._max_size = max_size
        self._conversations: OrderedDict[str, tuple[str, _T]] = OrderedDict()

    @contextmanager
    def checkout(self, messages: Sequence[Message], conversation: str | None) -> Iterator[_T | None]:
        """Give what was kept, once: while it is used, nobody else has it. After an error it is kept as it was.

        Args:
            messages: all that the client says was said, or under a name the new ones alone.
            conversation: its name.

        Yields:
            None where it is not known, in use, or went otherwise than the messages say: begin one that they describe.
        """
        before = messages[: first_new_index(messages)]
        key = _conversation_key(before, conversation)
        known = None if key is None else self._conversations.get(key)
        if key is None or known is None or (before and known[0] != _messages_digest(before)):
            yield None
            return
        del self._conversations[key]
        try:
            yield known[1]
        except BaseException:
            self._conversations.setdefault(key, known)
            raise

    def save(self, messages: Sequence[Message], answer: str, conversation: str | None, value: _T) -> None:
        """Keep what belongs to a conversation for when it goes on.

        Args:
            messages: that were answered.
            answer: to them.
            conversation: its name.
            value: what belongs to it.
        """
        said = (*messages, Message(role="assistant", text=answer))
        key = _conversation_key(said, conversation)
        if key is not None:
            self._conversations[key] = (_messages_digest(said), value)
            self._conversations.move_to_end(key)
        while len(self._conversations) > self._max_size:
            self._conversations.popitem(last=False)


def first_new_index(messages: Sequence[Message]) -> int:
    """Return where what is new begins: behind the last answer."""
    return 1 + max((at for at, message in enumerate(messages) if message.role == "assistant"), default=-1)


def _conversation_key(said: Sequence[Message], conversation: str | None) -> str | None:
    if conversation is not None:
        return f"name {conversation}"
    return f"said {_messages_digest(said)}" if said else None


def _messages_digest(messages: Sequence[Message]) -> str:
    # Clients trim what they show, and send that.
    said = json.dumps([(message.role, message.text.strip()) for message in messages])
    return hashlib.sha256(said.encode()).hexdigest()


def parse_chat_request(body: bytes, headers: Mapping[str, str]) -> ChatRequest:
    """Read a request; what is not known in it is passed over.

    Raises:
        RequestError: it is none.
    """
    try:
        given: Any = json.loads(body)
    except (ValueError, RecursionError):
        raise RequestError("the body is no JSON") from None
    if not isinstance(given, dict):
        raise RequestError("the body is no JSON object")
    model, stream, options = given.get("model"), given.get("stream"), given.get("stream_options")
    if model is not None and not isinstance(model, str):
        raise RequestError("`model` must be a text", param="model")
    if stream is not None and not isinstance(stream, bool):
        raise RequestError("`stream` must be true or false", param="stream")
    if given.get("n") not in (None, 1):
        raise RequestError("`n` must be 1: there is one answer", param="n")
    metadata = given.get("metadata")
    named = headers.get("x-conversation-id") or (
        metadata.get("conversation_id") if isinstance(metadata, dict) else None
    )
    if named is not None and (not isinstance(named, str) or len(named) > _MAX_CONVERSATION_ID_CHARS):
        raise RequestError(
            f"the name of a conversation must be a text of at most {_MAX_CONVERSATION_ID_CHARS} characters",
            param="metadata",
        )
    return ChatRequest(
        messages=_parse_messages(given.get("messages")),
        model=model,
        conversation=named or None,
        stream=stream or False,
        include_usage=isinstance(options, dict) and options.get("include_usage") is True,
    )


def _parse_messages(given: Any) -> tuple[Message, ...]:
    """Read the messages.

    Raises:
        RequestError: they are none.
    """
    if not isinstance(given, list) or not given:
        raise RequestError("`messages` must be a list of at least one message", param="messages")
    messages = []
    for at, one in enumerate(given):
        where = f"messages[{at}]"
        role: Any = one.get("role") if isinstance(one, dict) else None
        if role not in _ROLES:
            raise RequestError(f"`{where}` must have a `role`: one of {', '.join(_ROLES)}", param=where)
        plain = {"developer": "system", "function": "tool"}.get(role, role)
        messages.append(Message(role=plain, text=_message_text(one.get("content"), f"{where}.content")))
    if messages[-1].role != "user" or not messages[-1].text.strip():
        raise RequestError("the last of `messages` must be the user's, and say something", param="messages")
    return tuple(messages)


def _message_text(content: Any, where: str) -> str:
    """Return what a message says.

    Raises:
        RequestError: it is no text.
    """
    if content is None or isinstance(content, str):
        return _valid_unicode(content or "", where)
    if not isinstance(content, list):
        raise RequestError(f"`{where}` must be a text or a list of parts", param=where)
    texts = []
    for part in content:
        kind = part.get("type") if isinstance(part, dict) else None
        text = part.get("refusal" if kind == "refusal" else "text") if isinstance(part, dict) else None
        if kind not in ("text", "input_text", "output_text", "refusal") or not isinstance(text, str):
            what = quoted(kind) if isinstance(kind, str) else "one without a type"
            raise RequestError(f"`{where}` holds a part that is no text: {what}", param=where)
        texts.append(_valid_unicode(text, where))
    return "\n".join(texts)


def _valid_unicode(text: str, where: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise RequestError(f"`{where}` holds half a character", param=where) from None
    return text
