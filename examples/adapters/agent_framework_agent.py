"""An agent of Microsoft Agent Framework with the example skills; its model follows a script, so no key is needed."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from agent_framework import (
    Agent,
    BaseChatClient,
    ChatMiddlewareLayer,
    ChatResponse,
    Content,
    FunctionInvocationLayer,
    Message,
)

from prowess import discover
from prowess.adapters.agent_framework import Skills

EXAMPLES = Path(__file__).parent.parent / "skills"
SCRIPT = [
    Content.from_function_call("1", "activate_skill", arguments={"name": "commit-message"}),
    Content.from_text("I have read how commit messages are written here."),
    Content.from_text("And I still know."),
]


class Scripted(FunctionInvocationLayer, ChatMiddlewareLayer, BaseChatClient):
    """Says what the script says, and keeps what it was sent."""

    def __init__(self) -> None:
        super().__init__()
        self.sent: list[Any] = []

    async def _inner_get_response(self, *, messages: Any, **_: Any) -> ChatResponse:
        self.sent.append(messages)
        return ChatResponse(messages=[Message("assistant", [SCRIPT[len(self.sent) - 1]])])


async def main() -> None:
    model = Scripted()
    skills = Skills(discover(EXAMPLES, skill_dirs=[EXAMPLES]))
    agent = Agent(model, "You write commit messages.", context_providers=[skills])
    conversation = agent.create_session()
    for words in ("Write a commit message.", "Use $csv-profile on data.csv."):
        answer = await agent.run(words, session=conversation)
        print(f"user:  {words}\nagent: {answer.text}")
    print("\nWhat the model was sent last:")
    for message in model.sent[-1]:
        for content in message.contents:
            print(f"  {message.role}: {content.text or content.result or content.name}")
    activated = skills.session(conversation.state).ledger
    print(f"\nWhat was activated: {', '.join(record.name for record in activated)}")


if __name__ == "__main__":
    asyncio.run(main())
