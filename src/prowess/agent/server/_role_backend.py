"""Answer chat requests with a role: each conversation has its own session and history.

With a store, conversations go on after a restart and in other processes. Without one, a conversation that is unknown
starts with the messages that the client sends, and the skills that were active in it have to be activated again.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from pydantic_ai.messages import ModelRequest, ModelResponse, SystemPromptPart, TextPart, UserPromptPart

from prowess.agent.conversation import Conversation

from ._begun_turns import begin_kept_turn, begin_stored_turn
from ._conversations import ConversationStore, first_new_index
from ._requests import ChatAnswer, RequestError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Sequence
    from contextlib import AbstractAsyncContextManager

    from prowess.agent import RoleReloader, Turn
    from prowess.store import Store

    from ._begun_turns import BegunTurn
    from ._requests import Message

__all__ = ["RoleBackend"]


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
        self._reloader, self._model, self._yes, self._instrument = reloader, model, yes, instrument
        self._notify, self._reported_notes = notify, set[str]()
        self._conversations: ConversationStore[Conversation] = ConversationStore()
        self._store, self._wait = store, wait

    @property
    def names(self) -> tuple[str, ...]:
        """The role's name, which clients use as the model's name."""
        return (self._reloader.current().role.name,)

    async def answer(
        self,
        messages: Sequence[Message],
        *,
        model: str,  # noqa: ARG002 - there is only one
        conversation: str | None,
        client: str,
        request_key: str | None = None,
    ) -> ChatAnswer:
        """Answer the last message.

        Raises:
            RequestError: the turn failed.
        """
        async with self._begin_turn(messages, conversation, client, request_key) as begun:
            if begun.answer is not None:
                return begun.answer
            current = self._current_conversation(begun, messages)
            turn = await current.ask(_new_user_text(messages))
            self._report_notes(turn)
            answer = _answer_of(turn)
            await begun.save(answer, current)
            return answer

    async def stream(
        self,
        messages: Sequence[Message],
        *,
        model: str,  # noqa: ARG002 - there is only one
        conversation: str | None,
        client: str,
        request_key: str | None = None,
    ) -> AsyncGenerator[str | ChatAnswer, None]:
        """Answer the last message: yield parts of the text as they arrive, then the whole answer.

        Raises:
            RequestError: the turn failed, perhaps after some parts.
        """
        async with self._begin_turn(messages, conversation, client, request_key) as begun:
            if begun.answer is None:
                current = self._current_conversation(begun, messages)
                parts: asyncio.Queue[str | None] = asyncio.Queue()
                task = asyncio.create_task(current.ask(_new_user_text(messages), on_text=parts.put_nowait))
                task.add_done_callback(lambda _: parts.put_nowait(None))
                try:
                    while (part := await parts.get()) is not None:
                        yield part
                    turn = await task
                    self._report_notes(turn)
                    answer = _answer_of(turn)
                    await begun.save(answer, current)
                finally:
                    # The turn must end before another request can use the conversation.
                    task.cancel()
                    await asyncio.gather(task, return_exceptions=True)
            else:
                answer = begun.answer
                yield answer.text
        # The conversation is saved before this: a client that disconnects after the last part does not undo the turn.
        yield answer

    def _begin_turn(
        self, messages: Sequence[Message], conversation: str | None, client: str, request_key: str | None
    ) -> AbstractAsyncContextManager[BegunTurn]:
        if self._store is None:
            return begin_kept_turn(self._conversations, messages, conversation, client)
        return begin_stored_turn(self._store, messages, conversation, client, request_key, wait=self._wait)

    def _current_conversation(self, begun: BegunTurn, messages: Sequence[Message]) -> Conversation:
        """Return the conversation for messages, with the role as it is now; start one if it is unknown."""
        assembly = self._reloader.current()
        if begun.known is not None:
            begun.known.update_assembly(assembly)
            return begun.known
        confirm = _allow_every_call if self._yes else None
        conversation = Conversation(assembly, self._model, confirm=confirm, instrument=self._instrument)
        if not begun.restore(conversation):
            conversation.history = _history(messages)
        return conversation

    def _report_notes(self, turn: Turn) -> None:
        for note in turn.notes:
            if self._notify is not None and note not in self._reported_notes:
                self._reported_notes.add(note)
                self._notify(note)


def _answer_of(turn: Turn) -> ChatAnswer:
    """Return the answer of a turn.

    Raises:
        RequestError: the turn failed.
    """
    if turn.output is None:
        raise RequestError(turn.error or "the model gave no answer", status=502, code="no_answer")
    return ChatAnswer(
        text=turn.output,
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
