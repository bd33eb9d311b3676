"""A Haystack agent with the example skills; its model follows a script, so no key is needed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from haystack import component
from haystack.components.agents import Agent
from haystack.dataclasses import ChatMessage, ToolCall

from prowess import discover
from prowess.adapters.haystack import Skills

EXAMPLES = Path(__file__).parent.parent / "skills"
SCRIPT = [
    ChatMessage.from_assistant(tool_calls=[ToolCall("activate_skill", {"name": "commit-message"}, id="1")]),
    ChatMessage.from_assistant("I have read how commit messages are written here."),
    ChatMessage.from_assistant("And I still know."),
]


@component
class Scripted:
    """Says what the script says, and keeps what it was sent."""

    def __init__(self) -> None:
        self.sent: list[Any] = []

    @component.output_types(replies=list[ChatMessage])
    def run(self, messages: list[ChatMessage], tools: Any = None) -> dict[str, Any]:  # noqa: ARG002
        self.sent.append(messages)
        return {"replies": [SCRIPT[len(self.sent) - 1]]}


def main() -> None:
    model = Scripted()
    skills = Skills(discover(EXAMPLES, skill_dirs=[EXAMPLES]))
    agent = Agent(
        chat_generator=model,
        system_prompt="You write commit messages.",
        tools=[skills],
        hooks=skills.hooks(),
        state_schema=skills.state_schema,
    )
    messages: list[Any] = []
    record = None
    for words in ("Write a commit message.", "Use $csv-profile on data.csv."):
        result = agent.run([*messages, ChatMessage.from_user(words)], skills=record)
        messages, record = result["messages"][1:], result["skills"]
        print(f"user:  {words}\nagent: {result['last_message'].text}")
    print("\nWhat the model was sent last:")
    for message in model.sent[-1]:
        print(f"  {message.role.value}: {message.text or message.tool_call or message.tool_call_result.result}")
    print(f"\nWhat was activated: {', '.join(row.name for row in skills.session(record).ledger)}")


if __name__ == "__main__":
    main()
