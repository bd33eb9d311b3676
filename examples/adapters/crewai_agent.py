"""An agent of CrewAI with the example skills; its model follows a script, so no key is needed."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, ClassVar

os.environ |= {"CREWAI_DISABLE_TELEMETRY": "true", "CREWAI_DISABLE_TRACKING": "true"}

from crewai import Agent, BaseLLM

from prowess import discover
from prowess.adapters.crewai import Skills

EXAMPLES = Path(__file__).parent.parent / "skills"
CALL = {"id": "1", "type": "function"}
SCRIPT: list[Any] = [
    [{**CALL, "function": {"name": "activate_skill", "arguments": '{"name": "commit-message"}'}}],
    "I have read how commit messages are written here.",
    "And I still know.",
]


class Scripted(BaseLLM):
    """Says what the script says, and keeps what it was sent."""

    sent: ClassVar[list[Any]] = []

    def call(self, messages: Any, *_: Any, **__: Any) -> Any:
        self.sent.append(list(messages))
        return SCRIPT[len(self.sent) - 1]

    def supports_function_calling(self) -> bool:
        return True


def main() -> None:
    skills = Skills(discover(EXAMPLES, skill_dirs=[EXAMPLES]))
    agent = Agent(
        role="Writer",
        goal="Write commit messages.",
        backstory="You help with a project.",
        llm=Scripted(model="scripted"),
        tools=skills.tools(),
    )
    with skills.conversation() as session:
        for words in ("Write a commit message.", "Use $csv-profile on data.csv."):
            print(f"user:  {words}\nagent: {agent.kickoff(words).raw}")
    print("\nWhat the model was sent last:")
    for message in Scripted.sent[-1]:
        print(f"  {message['role']}: {message['content']}")
    print(f"\nWhat was activated: {', '.join(record.name for record in session.ledger)}")
    print(f"What to save: {session.to_json()}")


if __name__ == "__main__":
    main()
