"""A Strands agent with the example skills; its model follows a script, so no key is needed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from strands import Agent
from strands.models import Model

from prowess import discover
from prowess.adapters.strands import Skills

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

EXAMPLES = Path(__file__).parent.parent / "skills"
CALL = {"toolUseId": "1", "name": "activate_skill"}
SCRIPT: list[Any] = [
    {"name": "commit-message"},
    "I have read how commit messages are written here.",
    "And I still know.",
]


class Scripted(Model):
    """Says what the script says, and keeps what it was sent."""

    def __init__(self) -> None:
        self.sent: list[Any] = []

    def update_config(self, **_: Any) -> None:
        pass

    def get_config(self) -> Any:
        return {}

    def structured_output(self, *_: Any, **__: Any) -> Any:
        raise NotImplementedError

    async def stream(self, messages: Any, _: Any, system_prompt: Any = None, **__: Any) -> AsyncIterator[Any]:
        self.sent.append((system_prompt, messages))
        said = SCRIPT[len(self.sent) - 1]
        yield {"messageStart": {"role": "assistant"}}
        if isinstance(said, dict):
            yield {"contentBlockStart": {"start": {"toolUse": CALL}}}
            yield {"contentBlockDelta": {"delta": {"toolUse": {"input": json.dumps(said)}}}}
        else:
            yield {"contentBlockDelta": {"delta": {"text": said}}}
        yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": "tool_use" if isinstance(said, dict) else "end_turn"}}


def main() -> None:
    model = Scripted()
    skills = Skills(discover(EXAMPLES, skill_dirs=[EXAMPLES]))
    agent = Agent(model, system_prompt="You write commit messages.", plugins=[skills], callback_handler=None)
    for words in ("Write a commit message.", "Use $csv-profile on data.csv."):
        print(f"user:  {words}\nagent: {str(agent(words)).strip()}")
    system, messages = model.sent[-1]
    print(f"\nWhat the model was sent last:\n  system: {system}")
    for message in messages:
        print(f"  {message['role']}: {message['content']}")
    print(f"\nWhat was activated: {', '.join(skills.get_activated_skills(agent))}")
    print(f"What a session manager saves: {agent.state.get()}")


if __name__ == "__main__":
    main()
