"""A run that goes on after its process was killed in the middle of a tool call: Pydantic AI with DBOS, and skills.

Run it with `pip install '.[pydantic-ai]' 'pydantic-ai-slim[dbos]'`. No key and no network are needed. Without an
argument it uses SQLite: `python dbos_agent.py [postgresql://USER@HOST/DATABASE]`.
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from dbos import DBOS, SetWorkflowID
from pydantic_ai import Agent
from pydantic_ai.durable_exec.dbos import DBOSDurability
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

import prowess
from prowess.adapters.pydantic_ai import Skills

SKILLS = Path(__file__).parents[1] / "skills"
CATALOG = prowess.discover(SKILLS.parent, skill_dirs=[SKILLS])
DIES = "--dies" in sys.argv
TURN = "turn-1"
"""The workflow's ID: a turn that is started twice under one ID runs once."""


def scripted(messages: list[ModelMessage], _: AgentInfo) -> ModelResponse:
    """Answer as a model might: activate a skill, count the rows, answer."""
    results = [part for message in messages for part in message.parts if isinstance(part, ToolReturnPart)]
    calls = [
        ToolCallPart("activate_skill", {"name": "csv-profile"}),
        ToolCallPart("count_rows", {"file": "orders.csv"}),
    ]
    if len(results) < len(calls):
        print(f"  the model calls {calls[len(results)].tool_name}", flush=True)
        return ModelResponse([calls[len(results)]])
    print("  the model answers", flush=True)
    return ModelResponse([TextPart(f"orders.csv has {results[-1].content} rows.")])


agent: Agent[prowess.Session, str] = Agent(
    FunctionModel(scripted), name="reader", deps_type=prowess.Session, capabilities=[Skills(CATALOG), DBOSDurability()]
)


@agent.tool_plain
@DBOS.step()
async def count_rows(file: str) -> int:
    """Count the rows of a file."""
    print(f"  count_rows({file!r}) begins", flush=True)
    if DIES:
        os.kill(os.getpid(), signal.SIGKILL)
    return 4


@DBOS.workflow()
async def turn(prompt: str, record: str) -> tuple[str, str]:
    """Have one turn: its model requests and tool calls are steps, which DBOS records."""
    session = prowess.Session.from_json(record, CATALOG)
    result = await agent.run(prompt, deps=session)
    return result.output, session.to_json()


async def work(url: str) -> None:
    """Start the turn, or go on with it, and print its answer."""
    config: Any = {"name": "reader", "system_database_url": url, "application_version": "1"}
    DBOS(config={**config, "run_admin_server": False, "log_level": "CRITICAL"})
    DBOS.launch()  # goes on with what was not finished
    with SetWorkflowID(TURN):
        handle = await DBOS.start_workflow_async(turn, "How many rows?", prowess.Session(CATALOG).to_json())
    output, record = await handle.get_result()
    active = [entry.name for entry in prowess.Session.from_json(record, CATALOG).ledger]
    print(f"  {output} Active skills: {', '.join(active)}.", flush=True)
    DBOS.destroy()


def main() -> None:
    """Let a process begin the turn and be killed, and another one go on."""
    with tempfile.TemporaryDirectory() as folder:
        url = sys.argv[1] if len(sys.argv) > 1 else f"sqlite:///{folder}/dbos.sqlite"
        for options in (["--dies"], []):
            print("> a process", flush=True)
            status = subprocess.run([sys.executable, __file__, url, "--work", *options], check=False).returncode
            print("  is killed" if status == -signal.SIGKILL else f"  ends with {status}", flush=True)


if __name__ == "__main__":
    if "--work" in sys.argv:
        asyncio.run(work(sys.argv[1]))
    else:
        main()
