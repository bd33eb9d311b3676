"""Skills in an agent of Pydantic AI: two turns of a conversation, with a scripted model instead of a real one.

Run it with `pip install '.[pydantic-ai]'`. No key and no network are needed.
"""

from __future__ import annotations

import re
from pathlib import Path

from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

import prowess
from prowess.adapters.pydantic_ai import Skills

SKILLS = Path(__file__).parents[1] / "skills"


def scripted(messages: list[ModelMessage], _: AgentInfo) -> ModelResponse:
    """Answer as a model might: activate what the task needs, then say what there is to go by."""
    sent = "\n".join(str(getattr(part, "content", "")) for message in messages for part in message.parts)
    names = re.findall(r'<skill_content name="([^"]+)">', sent)
    if "Commit" in sent and "commit-message" not in names:
        print("  the model calls activate_skill(name='commit-message')")
        return ModelResponse([ToolCallPart("activate_skill", {"name": "commit-message"})])
    print("  the model was sent:", ", ".join(names))
    return ModelResponse([TextPart("Done.")])


def main() -> None:
    session = prowess.Session(prowess.discover(SKILLS.parent, skill_dirs=[SKILLS]))
    agent = Agent(FunctionModel(scripted), capabilities=[Skills(session)])
    history: list[ModelMessage] = []
    for said in ("What is in orders.csv? Use the csv-profile skill.", "Commit it."):
        print(">", said)
        history = agent.run_sync(said, message_history=history).all_messages()


if __name__ == "__main__":
    main()
