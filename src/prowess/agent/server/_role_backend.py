"""Answer chat requests with a role: each conversation has its own session and history.

With a store, conversations go on after a restart and in other processes. There, one with an ID is held for its turn, so
that two processes answer one after the other. One that only its messages identify gets a new name with each answer. The
name before the last stays for clients that lost the last answer and ask again; older ones are deleted.

Without a store, a conversation that is unknown starts with the messages that the client sends, and the skills that were
active in it have to be activated again.
"""

from __future__ import annotations

import asyncio
import json
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from pydantic_ai.messages import ModelRequest, ModelResponse, SystemPromptPart, TextPart, UserPromptPart

from prowess.agent.conversation import Conversation
from prowess.agent.stored import conversation_state, hold_turn, restore_conversation, run_to_end
from prowess.errors import ConversationBusyError, RequestReusedError, StoreError, StoreUnavailableError, TurnLostError

from ._conversations import ConversationStore, conversation_key, first_new_index, messages_digest
from ._requests import ChatAnswer, Message, RequestError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Sequence

    from prowess.agent import RoleReloader, Turn
    from prowess.store import SavedConversation, Store, StoredTurn

    from ._requests import ChatRequest

    Save = Callable[[ChatAnswer, Conversation], Awaitable[None]]

_ERRORS: dict[type[StoreError], tuple[int, str]] = {
    ConversationBusyError: (409, "conversation_in_use"),
    TurnLostError: (409, "turn_lost"),
    RequestReusedError: (422, "idempotency_key_reused"),
}
"""The status and the code of each error; all others are status 503."""


class RoleBackend:
    """Answers with a role. No user can be asked here, so calls that need confirmation are refused.

    Args:
        reloader: the role.
        model: a model of Pydantic AI.
        yes: whether to allow calls that need confirmation.
        instrument: whether Pydantic AI reports to OpenTelemetry.
        notify: called once with each note of a turn, for the user who serves the role.
        store: keeps the conversations, and the answers of requests that have a key.
        wait: the seconds that a request waits for another turn of its conversation, with a store.
    """

    def __init__(
        self,
        reloader: RoleReloader,
        model: Any,
        *,
        yes: bool = False,
        instrument: bool = False,
        notify: Callable[[str], None] | None = None,
        store: Store | None = None,
        wait: float = 30.0,
    ) -> None:
        self._reloader, self._model, self._instrument = reloader, model, instrument
        self._confirm = _allow_every_call if yes else None
        self._notify, self._reported_notes = notify, set[str]()
        self._conversations: ConversationStore[Conversation] = ConversationStore()
        self._store, self._wait = store, wait

    @property
    def names(self) -> tuple[str, ...]:
        """The role's name, which clients use as the model's name."""
        return (self._reloader.current().role.name,)

    async def stream(
        self,
        request: ChatRequest,
        model: str,  # noqa: ARG002 - there is only one
    ) -> AsyncGenerator[str | ChatAnswer, None]:
        """Answer the last message: yield parts of the text as they arrive, then the whole answer.

        Raises:
            RequestError: the turn failed, perhaps after some parts.
        """
        begin = self._begin_kept_turn(request) if self._store is None else self._begin_stored_turn(request, self._store)
        async with begin as (known, save):
            if isinstance(known, ChatAnswer):
                answer = known
                yield answer.text
            else:
                parts: asyncio.Queue[str | None] = asyncio.Queue()
                asked = known.ask(_new_user_text(request.messages), on_text=parts.put_nowait, settings=request.settings)
                task = asyncio.create_task(asked)
                task.add_done_callback(lambda _: parts.put_nowait(None))
                try:
                    while (part := await parts.get()) is not None:
                        yield part
                    turn = await task
                    self._report_notes(turn)
                    answer = _answer_of(turn, known)
                    await save(answer, known)
                finally:
                    # The turn must end before another request can use the conversation.
                    task.cancel()
                    await asyncio.gather(task, return_exceptions=True)
        # The conversation is saved before this: a client that disconnects after the last part does not undo the turn.
        yield answer

    @asynccontextmanager
    async def _begin_kept_turn(self, request: ChatRequest) -> AsyncIterator[tuple[Conversation, Save]]:
        """Begin a turn of a conversation that this process keeps; yield it, and what saves it with its answer."""
        with self._conversations.checkout(request) as known:
            if known is not None:
                known.update_assembly(self._reloader.current())

            async def save(answer: ChatAnswer, conversation: Conversation) -> None:
                self._conversations.save(request, answer, conversation)

            yield known or self._new_conversation(request), save

    @asynccontextmanager
    async def _begin_stored_turn(
        self, request: ChatRequest, store: Store
    ) -> AsyncIterator[tuple[Conversation | ChatAnswer, Save]]:
        """Begin a turn of a conversation in a store; yield it, or the answer if the same request was answered before.

        Raises:
            RequestError: the conversation is in use, the key was used for another request, or the store failed.
        """
        held_id = None if request.conversation is None else _row_id(request, request.messages)
        texts: list[Any] = [[message.role, message.text] for message in request.messages]
        texts += [dict(request.settings)] if request.settings else []
        key, client = request.request_key, request.client
        try:
            async with hold_turn(store, held_id, client=client, key=key, request=texts, wait=self._wait) as held:
                earlier = request.messages[: first_new_index(request.messages)]
                from_id, saved = _row_id(request, earlier), held.saved
                if held.answer is None and held_id is None and from_id is not None:
                    saved = await run_to_end(store.load, from_id, client=client)
                details = _details(saved)
                if earlier and details.get("digest") != messages_digest(earlier):
                    saved, details = None, {}  # the client goes on from other messages

                async def save(answer: ChatAnswer, conversation: Conversation) -> None:
                    await _save(held, request, answer, conversation, from_id, details.get("previous"))

                if held.answer is not None:
                    yield _parse_answer(held.answer), save
                else:
                    yield self._new_conversation(request, saved), save
        except StoreError as error:
            message = f"{error} ({error.hint})" if error.hint else str(error)
            status, code = _ERRORS.get(type(error), (503, "store_failed"))
            if isinstance(error, StoreUnavailableError):  # its message names the database
                self._report(message)
                message = "the database of conversations failed; try again later"
            raise RequestError(message, status=status, code=code) from None

    def _new_conversation(self, request: ChatRequest, saved: SavedConversation | None = None) -> Conversation:
        """Return a conversation with the role as it is now; it starts with what was saved, or with the messages."""
        assembly = self._reloader.current()
        conversation = Conversation(assembly, self._model, confirm=self._confirm, instrument=self._instrument)
        if saved is None:
            conversation.history = _history(request.messages)
        else:
            restore_conversation(conversation, saved)
        return conversation

    def _report_notes(self, turn: Turn) -> None:
        """Tell the user who serves the role what a turn notes, each note once, and why it failed."""
        for note in turn.notes:
            if note not in self._reported_notes:
                self._reported_notes.add(note)
                self._report(note)
        if turn.error is not None and turn.public_error is not None:
            self._report(turn.error)

    def _report(self, text: str) -> None:
        if self._notify is not None:
            self._notify(text)


async def _save(
    held: StoredTurn,
    request: ChatRequest,
    answer: ChatAnswer,
    conversation: Conversation,
    from_id: str | None,
    previous: object,
) -> None:
    """Save a conversation after a turn.

    Args:
        held: the turn.
        request: the client's.
        answer: to the request.
        conversation: after the answer.
        from_id: the name that it had before.
        previous: the name before that.
    """
    messages = (*request.messages, Message(role="assistant", text=answer.text))
    new_id = _row_id(request, messages)
    is_renamed = new_id != from_id
    history, details = conversation_state(
        conversation, digest=messages_digest(messages), previous=from_id if is_renamed else None
    )
    fields = ("text", "finish_reason", "input_tokens", "output_tokens")
    await run_to_end(
        held.save,
        conversation.session,
        history=history,
        details=details,
        answer=None if held.key is None else json.dumps({name: getattr(answer, name) for name in fields}),
        conversation=new_id,
        replaces=previous if isinstance(previous, str) and is_renamed else None,
    )


def _row_id(request: ChatRequest, messages: Sequence[Message]) -> str | None:
    key = conversation_key(request, messages)
    return None if key is None else key[1]


def _details(saved: SavedConversation | None) -> dict[str, Any]:
    """Return the details of a conversation; none if they are invalid, so that it starts with the client's messages."""
    try:
        details = json.loads((saved and saved.details) or "{}")
    except (ValueError, RecursionError):
        return {}
    return details if isinstance(details, dict) else {}


def _parse_answer(text: str) -> ChatAnswer:
    """Parse a stored answer.

    Raises:
        StoreError: it is invalid.
    """
    try:
        answer = ChatAnswer(**json.loads(text))
    except (ValueError, TypeError, RecursionError):
        answer = None
    if answer is None or type(answer.text) is not str or type(answer.input_tokens) is not int:
        raise StoreError("the stored answer of this request is invalid", hint="send it with a new key")
    return answer


def _answer_of(turn: Turn, conversation: Conversation) -> ChatAnswer:
    """Return the answer of a turn.

    Raises:
        RequestError: the turn failed.
    """
    if turn.output is None:
        message = turn.public_error or turn.error or "the model gave no answer"
        raise RequestError(message, status=502, code="no_answer")
    reason = getattr(conversation.history[-1], "finish_reason", None)
    return ChatAnswer(
        text=turn.output,
        finish_reason=reason if reason in ("length", "content_filter") else "stop",
        input_tokens=turn.usage.get("input_tokens", 0),
        output_tokens=turn.usage.get("output_tokens", 0),
    )


async def _allow_every_call(_tool: str, _arguments: Any) -> bool:
    return True


def _new_user_text(messages: Sequence[Message]) -> str:
    """Return the user's messages since the last answer, as one text."""
    return "\n\n".join(message.text for message in messages[first_new_index(messages) :] if message.role == "user")


def _history(messages: Sequence[Message]) -> list[Any]:
    """Return the earlier messages and all system messages, as messages of Pydantic AI."""
    first_new = first_new_index(messages)
    history: list[Any] = []
    for index, message in enumerate(messages):
        if message.role == "assistant":
            history.append(ModelResponse(parts=[TextPart(message.text)]))
        elif message.role == "system":
            history.append(ModelRequest(parts=[SystemPromptPart(message.text)]))
        elif index < first_new:
            history.append(ModelRequest(parts=[UserPromptPart(message.text)]))
    return history
