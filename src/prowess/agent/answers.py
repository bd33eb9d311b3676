"""a role + a model -> who answers at an endpoint: each conversation has its own session and history

A conversation that is not known (a restart, a client that changed what was said) is begun anew with the messages that
the client sends; the skills that were active in it are then chosen again.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from pydantic_ai.messages import ModelRequest, ModelResponse, SystemPromptPart, TextPart, UserPromptPart

from prowess.agent.chat_request import Answer, Conversations, RequestError, new_from
from prowess.agent.conversation import Conversation

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Sequence

    from prowess.agent.chat_request import Message
    from prowess.agent.conversation import Turn
    from prowess.agent.live import Live

__all__ = ["RoleAnswerer"]


class RoleAnswerer:
    """Answers as a role does. Nobody can be asked here: a call that wants its user's word is refused.

    Args:
        live: the role.
        model: of Pydantic AI.
        yes: whether such calls are allowed all the same.
        instrument: whether Pydantic AI reports to OpenTelemetry.
        say: told once what the user who serves it should know of a turn, as of tools that are not offered.
    """

    def __init__(
        self,
        live: Live,
        model: Any,
        *,
        yes: bool = False,
        instrument: bool = False,
        say: Callable[[str], None] | None = None,
    ) -> None:
        self._live, self._model, self._yes, self._instrument = live, model, yes, instrument
        self._say, self._noted = say, set[str]()
        self._kept: Conversations[Conversation] = Conversations()

    @property
    def names(self) -> tuple[str, ...]:
        """The role's name, as what clients know for a model."""
        return (self._live.current().role.name,)

    async def answer(self, messages: Sequence[Message], *, model: str, conversation: str | None) -> Answer:  # noqa: ARG002
        """Answer the last message.

        Raises:
            RequestError: there is no answer; it says why.
        """
        with self._kept.lent(messages, conversation) as known:
            held = self._held(known, messages)
            return self._answered(held, await held.ask(_said(messages)), messages, conversation)

    async def stream(
        self,
        messages: Sequence[Message],
        *,
        model: str,  # noqa: ARG002 - there is one
        conversation: str | None,
    ) -> AsyncGenerator[str | Answer, None]:
        """Answer in parts, then with all of it.

        Raises:
            RequestError: there is no answer, or only a part of one; it says why.
        """
        with self._kept.lent(messages, conversation) as known:
            held = self._held(known, messages)
            parts: asyncio.Queue[str | None] = asyncio.Queue()
            task = asyncio.create_task(held.ask(_said(messages), told=parts.put_nowait))
            task.add_done_callback(lambda _: parts.put_nowait(None))
            try:
                while (part := await parts.get()) is not None:
                    yield part
                answer = self._answered(held, await task, messages, conversation)
            finally:
                # It must have ended before anyone else is given the conversation.
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)
        # Kept by now: a client that goes with the last part in its hands takes nothing back.
        yield answer

    def _held(self, known: Conversation | None, messages: Sequence[Message]) -> Conversation:
        """Return the conversation that messages belong to, as this turn finds the role; begin it if it is not known."""
        assembly = self._live.current()
        if known is not None:
            known.take(assembly)
            return known
        confirm = _always if self._yes else None
        held = Conversation(assembly, self._model, confirm=confirm, instrument=self._instrument)
        held.history = _history(messages)
        return held

    def _answered(self, held: Conversation, turn: Turn, messages: Sequence[Message], name: str | None) -> Answer:
        """Return what came of a turn as an answer, and keep its conversation.

        Raises:
            RequestError: there is none.
        """
        for note in turn.notes:
            if self._say is not None and note not in self._noted:
                self._noted.add(note)
                self._say(note)
        if turn.output is None:
            raise RequestError(turn.error or "there is no answer", status=502, code="no_answer")
        self._kept.keep(messages, turn.output, name, held)
        used = turn.usage
        return Answer(
            text=turn.output,
            input_tokens=used.get("input_tokens", 0),
            output_tokens=used.get("output_tokens", 0),
        )


async def _always(_tool: str, _arguments: Any) -> bool:
    return True


def _said(messages: Sequence[Message]) -> str:
    """Return what the user says now."""
    return "\n\n".join(message.text for message in messages[new_from(messages) :] if message.role == "user")


def _history(messages: Sequence[Message]) -> list[Any]:
    """Return what was said before, and what the client tells the model, as Pydantic AI has it."""
    new = new_from(messages)
    history: list[Any] = []
    for at, message in enumerate(messages):
        if message.role == "assistant":
            history.append(ModelResponse(parts=[TextPart(message.text)]))
        elif message.role == "system":
            history.append(ModelRequest(parts=[SystemPromptPart(message.text)]))
        elif at < new:
            history.append(ModelRequest(parts=[UserPromptPart(message.text)]))
    return history
