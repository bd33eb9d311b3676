"""A LangChain agent with the example skills; its model follows a script, so no key is needed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langgraph.checkpoint.memory import InMemorySaver

from prowess import discover
from prowess.adapters.langchain import SkillsMiddleware

EXAMPLES = Path(__file__).parent.parent / "skills"
CALL = {"name": "activate_skill", "args": {"name": "commit-message"}, "id": "1", "type": "tool_call"}
SCRIPT = [
    AIMessage("", tool_calls=[CALL]),
    AIMessage("I have read how commit messages are written here."),
    AIMessage("And I still know."),
]


class Scripted(BaseChatModel):
    """Says what the script says, and keeps what it was sent."""

    sent: list[Any] = []  # noqa: RUF012 - each model has its own

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, *_: Any, **__: Any) -> Any:
        return self

    def _generate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
        self.sent.append(messages)
        return ChatResult(generations=[ChatGeneration(message=SCRIPT[len(self.sent) - 1])])


def main() -> None:
    model = Scripted()
    skills = SkillsMiddleware(discover(EXAMPLES, skill_dirs=[EXAMPLES]))
    agent = create_agent(
        model, system_prompt="You write commit messages.", middleware=[skills], checkpointer=InMemorySaver()
    )
    state: Any = None
    for words in ("Write a commit message.", "Use $csv-profile on data.csv."):
        message = {"role": "user", "content": words}
        state = agent.invoke({"messages": [message]}, {"configurable": {"thread_id": "1"}})
        print(f"user:  {words}\nagent: {state['messages'][-1].text}")
    print("\nWhat the model was sent last:")
    for sent in model.sent[-1]:
        print(f"  {sent.type}: {sent.text}")
    print(f"\nWhat was activated: {', '.join(record.name for record in skills.session(state).ledger)}")


if __name__ == "__main__":
    main()
