"""What an adapter returns has the types that its framework takes: strict mypy accepts a user's program."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

TOP = Path(__file__).parents[2]
CONSUMERS = {
    "openai_agents": """\
from agents import Agent, FunctionTool, Runner, Tool
from prowess import discover
from prowess.adapters.openai_agents import Skills
from prowess.session import Session

skills = Skills(".")
frozen = Skills(discover("."), budget=4000)
own: list[Tool] = []
agent = Agent[Session](name="a", instructions=skills.instructions("Help."), tools=skills.tools())
both = Agent[Session](name="b", tools=[*own, *skills.tools()])
tools: list[Tool] = skills.tools() + own
Runner.run_sync(agent, "Hello", context=skills.session(), run_config=skills.run_config())
""",
    "pydantic_ai": """\
from pydantic_ai import Agent
from prowess import Scripts
from prowess.adapters.pydantic_ai import Skills

agent = Agent("openai:gpt-5", capabilities=[Skills(".", budget=4000), Skills(".", scripts=Scripts(timeout=9))])
answer: str = agent.run_sync("Hello").output
""",
    "langchain": """\
from langchain.agents import create_agent
from prowess import discover
from prowess.adapters.langchain import SkillsMiddleware

agent = create_agent("openai:gpt-5", middleware=[SkillsMiddleware(discover("."))])
create_agent("openai:gpt-5", middleware=[SkillsMiddleware(".", scripts=True, budget=4000)])
""",
    "claude_agent_sdk": """\
from claude_agent_sdk import ClaudeAgentOptions
from prowess import EphemeralHome, IsolationConfig
from prowess.adapters.claude_agent_sdk import isolated_options

with EphemeralHome(IsolationConfig()) as home:
    options: ClaudeAgentOptions = isolated_options(home, max_turns=1)
""",
}


@pytest.mark.slow
@pytest.mark.parametrize("adapter", CONSUMERS)
def test_strict_mypy_accepts_a_user_of_an_adapter(adapter: str, tmp_path: Path) -> None:
    """The framework's types say what it takes."""
    file = tmp_path / "consumer.py"
    file.write_text(CONSUMERS[adapter], encoding="utf-8")
    (tmp_path / "mypy.ini").write_text("[mypy]\nstrict = true\n")
    command = [sys.executable, "-m", "mypy", "--config-file", "mypy.ini", "--cache-dir", str(tmp_path), str(file)]
    env = {**os.environ, "MYPYPATH": str(TOP / "src")}
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=300, check=False)
    assert done.stdout.startswith("Success"), done.stdout
