"""An agent of Google's ADK with the example skills; its model follows a script, so no key is needed."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from google.adk import Agent, Runner
from google.adk.models import BaseLlm, LlmResponse
from google.adk.sessions import InMemorySessionService
from google.genai import types

from prowess import discover
from prowess.adapters.google_adk import Skills

EXAMPLES = Path(__file__).parent.parent / "skills"
CALL = types.FunctionCall(name="activate_skill", args={"name": "commit-message"})
SCRIPT = [
    types.Part(function_call=CALL),
    types.Part(text="I have read how commit messages are written here."),
    types.Part(text="And I still know."),
]


class Scripted(BaseLlm):
    """Says what the script says, and keeps what it was sent."""

    sent: list[Any] = []  # noqa: RUF012 - each model has its own

    async def generate_content_async(self, llm_request: Any, stream: bool = False) -> Any:  # noqa: ARG002
        self.sent.append(llm_request)
        part = SCRIPT[len(self.sent) - 1]
        yield LlmResponse(content=types.Content(role="model", parts=[part]))


async def main() -> None:
    model, service = Scripted(model="scripted"), InMemorySessionService()
    skills = Skills(discover(EXAMPLES, skill_dirs=[EXAMPLES]))
    agent = Agent(name="helper", model=model, instruction="You write commit messages.", tools=[skills])
    runner = Runner(app_name="example", agent=agent, session_service=service, auto_create_session=True)
    conversation = {"user_id": "me", "session_id": "1"}
    for words in ("Write a commit message.", "Use $csv-profile on data.csv."):
        print(f"user:  {words}")
        message = types.Content(role="user", parts=[types.Part(text=words)])
        async for event in runner.run_async(**conversation, new_message=message):
            if event.is_final_response():
                print(f"agent: {event.content.parts[0].text}")
    print("\nWhat the model was sent last:")
    for content in model.sent[-1].contents:
        for part in content.parts:
            text = part.text or part.function_response or part.function_call
            print(f"  {content.role}: {text}")
    saved = await service.get_session(app_name="example", **conversation)
    activated = skills.session(saved.state, "helper").ledger
    print(f"\nWhat was activated: {', '.join(record.name for record in activated)}")


if __name__ == "__main__":
    asyncio.run(main())
