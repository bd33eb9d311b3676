"""A smolagents agent with the example skills; its model follows a script, so no key is needed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from smolagents import ChatMessage, CodeAgent, LogLevel, MessageRole, Model

from prowess import discover
from prowess.adapters.smolagents import attach

EXAMPLES = Path(__file__).parent.parent / "skills"
SCRIPT = [
    'print(activate_skill("commit-message"))',
    'final_answer("I have read how commit messages are written here.")',
    'final_answer("And I still know.")',
]


class Scripted(Model):
    """Says what the script says, and keeps what it was sent."""

    def __init__(self) -> None:
        super().__init__(model_id="scripted")
        self.sent: list[Any] = []

    def generate(self, messages: Any, **_: Any) -> ChatMessage:
        self.sent.append(messages)
        return ChatMessage(role=MessageRole.ASSISTANT, content=f"<code>\n{SCRIPT[len(self.sent) - 1]}\n</code>")


def main() -> None:
    model = Scripted()
    agent = CodeAgent(tools=[], model=model, verbosity_level=LogLevel.OFF)
    session = attach(agent, discover(EXAMPLES, skill_dirs=[EXAMPLES]))
    for words in ("Write a commit message.", "Use $csv-profile on data.csv."):
        print(f"user:  {words}\nagent: {agent.run(words, reset=False)}")
    print("\nWhat the model was sent last:")
    for message in model.sent[-1]:
        print(f"  {message.role.value}: {message.content[0]['text']}")
    print(f"\nWhat was activated: {', '.join(record.name for record in session.ledger)}")


if __name__ == "__main__":
    main()
