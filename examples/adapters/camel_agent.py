"""A CAMEL agent with the example skills; its model is CAMEL's stub that shows what it is sent, so no key is needed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from camel.agents import ChatAgent
from camel.models import StubModel
from camel.types import ModelType

from prowess import Session, discover
from prowess.adapters.camel import attach

EXAMPLES = Path(__file__).parent.parent / "skills"


class Shown(StubModel):  # type: ignore[misc]
    """Answers always the same."""

    def _run(self, messages: Any, response_format: Any = None, tools: Any = None) -> Any:
        print("the model is sent:")
        for message in messages:
            print(f"  {message['role']:<10}{str(message['content'])[:100]!r}")
        return super()._run(messages, response_format, tools)


def main() -> None:
    session = Session(discover(EXAMPLES, host="camel", skill_dirs=[EXAMPLES]))
    agent = attach(ChatAgent("You help with a project.", model=Shown(ModelType.STUB)), session)
    for words in ("Use the skill-creator skill on my notes.", "Thank you."):
        print(f"\nuser: {words}")
        agent.step(words)
    kept = any("skill_content" in str(message) for message in agent.chat_history)
    print(f"\nWhat was injected is kept: {'yes' if kept else 'no'}")


if __name__ == "__main__":
    main()
