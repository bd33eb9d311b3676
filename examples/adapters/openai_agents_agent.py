"""An agent of the OpenAI Agents SDK with the example skills; its model follows a script, so no key is needed."""

from __future__ import annotations

from pathlib import Path

from agents import Agent, Runner, set_tracing_disabled
from agents.testing import ScriptedModel, assistant_message, function_call

from prowess import discover
from prowess.adapters.openai_agents import Skills

EXAMPLES = Path(__file__).parent.parent / "skills"
MODEL = ScriptedModel(
    [
        [function_call("activate_skill", {"name": "commit-message"}, call_id="1")],
        [assistant_message("I have read how commit messages are written here.")],
        [assistant_message("And I still know.")],
    ]
)


def main() -> None:
    set_tracing_disabled(True)
    skills = Skills(discover(EXAMPLES, skill_dirs=[EXAMPLES]))
    agent = Agent(
        name="Committer",
        instructions=skills.instructions("You write commit messages."),
        tools=[*skills.tools()],
        model=MODEL,
    )
    conversation = skills.session()
    for words in ("Write a commit message.", "Use $csv-profile on data.csv."):
        result = Runner.run_sync(agent, words, context=conversation, run_config=skills.run_config())
        print(f"user:  {words}\nagent: {result.final_output}")
    print(f"\nWhat the model was sent last:\n{MODEL.calls[-1].input}")
    print(f"\nWhat was activated: {', '.join(record.name for record in conversation.ledger)}")


if __name__ == "__main__":
    main()
