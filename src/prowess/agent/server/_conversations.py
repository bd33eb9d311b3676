"""a role + a model -> who answers at an endpoint: each conversation has its own session and history

A conversation that is not known (a restart, a client that changed what was said) is begun anew with the messages that
the client sends; the skills that were active in it are then chosen again.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from pydantic_ai.messages import ModelRequest, ModelResponse, SystemPromptPart, TextPart, UserPromptPart

from prowess.agent.conversation import Conversation

from ._requests import ChatAnswer, ConversationStore, RequestError, first_new_index

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Sequence

    from prowess.agent.conversation import Turn
    from prowess.agent.reload import RoleReloader

    from ._requests import Message

__all__ = ["RoleBackend"]


class RoleBackend:
    """Answers as a role does. Nobody can be asked here: a call that wants its user's word is refused.

    Args:
        reloader: the role.
        model: of Pydantic AI.
        yes: whether such calls are allowed all the same.
        instrument: whether Pydantic AI reports to OpenTelemetry.
        notify: told once what the user who serves it should know of a turn, as of tools that are not offered.
    """

    def __init__(
        self,
        reloader: RoleReloader,
        model: Any,
        *,
        yes: bool = False,
        instrument: bool = False,
        notify: Callable[[str], None] | None = None,
    ) -> None:
        self._reloader, self._model, self._yes, self._instrument = reloader, model, yes, instrument
        self._notify, self._reported_notes = notify, set[str]()
        self._conversations: ConversationStore[Conversation] = ConversationStore()

    @property
    def names(self) -> tuple[str, ...]:
        """The role's name, as what clients know for a model."""
        return (self._reloader.current().role.name,)

    async def answer(self, messages: Sequence[Message], *, model: str, conversation: str | None) -> ChatAnswer:  # noqa: ARG002
        """Answer the last message.

        Raises:
            RequestError: there is no answer; it says why.
        """
        with self._conversations.checkout(messages, conversation) as known:
            held = self._current_conversation(known, messages)
            return self._finish_turn(held, await held.ask(_new_user_text(messages)), messages, conversation)

    async def stream(
        self,
        messages: Sequence[Message],
        *,
        model: str,  # noqa: ARG002 - there is one
        conversation: str | None,
    ) -> AsyncGenerator[str | ChatAnswer, None]:
        """Answer in parts, then with all of it.

        Raises:
            RequestError: there is no answer, or only a part of one; it says why.
        """
        with self._conversations.checkout(messages, conversation) as known:
            held = self._current_conversation(known, messages)
            parts: asyncio.Queue[str | None] = asyncio.Queue()
            task = asyncio.create_task(held.ask(_new_user_text(messages), on_text=parts.put_nowait))
            task.add_done_callback(lambda _: parts.put_nowait(None))
            try:
                while (part := await parts.get()) is not None:
                    yield part
                answer = self._finish_turn(held, await task, messages, conversation)
            finally:
                # It must have ended before anyone else is given the conversation.
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)
        # Kept by now: a client that goes with the last part in its hands takes nothing back.
        yield answer

    def _current_conversation(self, known: Conversation | None, messages: Sequence[Message]) -> Conversation:
        """Return the conversation that messages belong to, as this turn finds the role; begin it if it is not known."""
        assembly = self._reloader.current()
        if known is not None:
            known.update_assembly(assembly)
            return known
        confirm = _allow_every_call if self._yes else None
        held = Conversation(assembly, self._model, confirm=confirm, instrument=self._instrument)
        held.history = _history(messages)
        return held

    def _finish_turn(self, held: Conversation, turn: Turn, messages: Sequence[Message], name: str | None) -> ChatAnswer:
        """Return what came of a turn as an answer, and keep its conversation.

        Raises:
            RequestError: there is none.
        """
        for note in turn.notes:
            if self._notify is not None and note not in self._reported_notes:
                self._reported_notes.add(note)
                self._notify(note)
        if turn.output is None:
            raise RequestError(turn.error or "there is no answer", status=502, code="no_answer")
        self._conversations.save(messages, turn.output, name, held)
        used = turn.usage
        return ChatAnswer(
            text=turn.output,
            input_tokens=used.get("input_tokens", 0),
            output_tokens=used.get("output_tokens", 0),
        )


async def _allow_every_call(_tool: str, _arguments: Any) -> bool:
    return True


def _new_user_text(messages: Sequence[Message]) -> str:
    """Return what the user says now."""
    return "\n\n".join(message.text for message in messages[first_new_index(messages) :] if message.role == "user")


def _history(messages: Sequence[Message]) -> list[Any]:
    """Return what was said before, and what the client tells the model, as Pydantic AI has it."""
    new = first_new_index(messages)
    history: list[Any] = []
    for at, message in enumerate(messages):
        if message.role == "assistant":
            history.append(ModelResponse(parts=[TextPart(message.text)]))
        elif message.role == "system":
            history.append(ModelRequest(parts=[SystemPromptPart(message.text)]))
        elif at < new:
            history.append(ModelRequest(parts=[UserPromptPart(message.text)]))
    return history
