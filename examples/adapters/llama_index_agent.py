"""An agent of LlamaIndex with the example skills; its model follows a script, so no key is needed."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any, ClassVar

from llama_index.core.llms import ChatMessage, ChatResponse, LLMMetadata, MockLLM
from llama_index.core.tools import ToolSelection
from llama_index.core.workflow import Context

from prowess import discover
from prowess.adapters.llama_index import SkillsFunctionAgent

EXAMPLES = Path(__file__).parent.parent / "skills"
SCRIPT: list[Any] = [
    {"name": "commit-message"},
    "I have read how commit messages are written here.",
    "And I still know.",
]


class Scripted(MockLLM):
    """Says what the script says, and keeps what it was sent."""

    sent: ClassVar[list[list[ChatMessage]]] = []

    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata(is_function_calling_model=True)

    async def achat_with_tools(self, *_: Any, chat_history: Any = None, **__: Any) -> ChatResponse:
        self.sent.append(chat_history)
        said = SCRIPT[len(self.sent) - 1]
        call, text = (said, "") if isinstance(said, dict) else (None, said)
        return ChatResponse(message=ChatMessage(role="assistant", content=text, additional_kwargs={"call": call}))

    def get_tool_calls_from_response(self, response: ChatResponse, **_: Any) -> list[ToolSelection]:
        call = response.message.additional_kwargs["call"]
        return [ToolSelection(tool_id="1", tool_name="activate_skill", tool_kwargs=call)] if call else []


async def main() -> None:
    model = Scripted()
    catalog = discover(EXAMPLES, skill_dirs=[EXAMPLES])
    agent = SkillsFunctionAgent(skills=catalog, llm=model, system_prompt="You write commit messages.", streaming=False)
    conversation = Context(agent)
    for words in ("Write a commit message.", "Use $csv-profile on data.csv."):
        print(f"user:  {words}\nagent: {await agent.run(words, ctx=conversation)}")
    print("\nWhat the model was sent last:")
    for message in model.sent[-1]:
        print(f"  {message.role.value}: {message.content}")
    session = await agent.skills.session(conversation)
    print(f"\nWhat was activated: {', '.join(record.name for record in session.ledger)}")
    print(f"What the context saves: {session.to_json()}")


if __name__ == "__main__":
    asyncio.run(main())
