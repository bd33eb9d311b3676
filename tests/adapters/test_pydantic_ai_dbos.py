"""Skills in durable runs: DBOS recovers a run of Pydantic AI after its process was killed."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from support.growth import END
from support.proofs import short_or_long
from support.skills import skill

if TYPE_CHECKING:
    from pathlib import Path

pytest.importorskip("dbos")

PROGRAM = """
import asyncio, json, os, sys, warnings
from pathlib import Path

warnings.simplefilter("ignore")
from dbos import DBOS, SetWorkflowID
from pydantic_ai import Agent
from pydantic_ai.durable_exec.dbos import DBOSAgent, DBOSDurability
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import FunctionModel

from prowess import Session, discover
from prowess.adapters.pydantic_ai import Skills

form, where, step = sys.argv[1:]
activate = Session.activate

def logged(self, name, *arguments, **named):
    with open("activations.txt", "a") as log:
        log.write(f"{step} {name}\\n")
    return activate(self, name, *arguments, **named)

Session.activate = logged
DBOS(config={
    "name": "skills-test", "system_database_url": f"sqlite:///{Path('dbos.sqlite').absolute()}",
    "application_version": "1", "run_admin_server": False, "log_level": "CRITICAL",
})

def results(messages):
    return [part.content for message in messages for part in message.parts if isinstance(part, ToolReturnPart)]

def answer(messages, info):
    given = results(messages)
    if len(given) == 1 and step == "first":
        os._exit(9)
    if len(given) == 2:
        return ModelResponse([TextPart("done")])
    return ModelResponse([ToolCallPart("activate_skill", {"name": "pdf"})])

durable = [DBOSDurability()] if form == "DBOSDurability" else []
own = Skills(Session(discover("."))) if where == "session of the agent" else Skills(".")
agent = Agent(FunctionModel(answer), name="reader", capabilities=[own, *durable])
if form == "DBOSAgent":
    agent = DBOSAgent(agent)

def capabilities_and_deps():
    session = Session(discover("."))
    if where == "session in deps":
        return {"deps": session}
    if where == "session in capabilities":
        return {"capabilities": [Skills(session)]}
    return {}

@DBOS.workflow()
async def turn(prompt):
    named = capabilities_and_deps()
    result = await agent.run(prompt, **named)
    session = named.get("deps")
    return results(result.all_messages()), session and session.to_json()

async def main():
    DBOS.launch()
    if step == "first":
        with SetWorkflowID("turn"):
            await (agent.run("use $csv", **capabilities_and_deps()) if form == "DBOSAgent" else turn("use $csv"))
    handle = await DBOS.retrieve_workflow_async("turn")
    value = await handle.get_result()
    print(json.dumps(value if form != "DBOSAgent" else (results(value.all_messages()), None)))

asyncio.run(main())
"""


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", PROGRAM, *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=END, check=False)


@pytest.mark.slow
@pytest.mark.proof
@pytest.mark.parametrize(
    ("form", "where"),
    [
        ("DBOSDurability", "session in deps"),
        ("DBOSAgent", "session of the run"),
        *short_or_long([], [("DBOSAgent", "session of the agent"), ("DBOSAgent", "session in capabilities")]),
    ],
)
def test_a_killed_run_goes_on_without_calling_a_tool_again(tmp_path: Path, form: str, where: str) -> None:
    """The recorded result is used again, and the session knows what it recorded."""
    skill(tmp_path / ".agents/skills/pdf", body="Turn every page.")
    skill(tmp_path / ".agents/skills/csv", body="Count the rows.")
    assert run(tmp_path, form, where, "first").returncode == 9
    done = run(tmp_path, form, where, "second")
    assert done.returncode == 0, done.stderr
    (first, second), record = json.loads(done.stdout)
    assert "Turn every page." in first
    assert second == "The skill `pdf` is already active since turn 1; its instructions have not changed."
    assert (tmp_path / "activations.txt").read_text().split("\n") == ["first pdf", "second pdf", ""]
    if record is not None:
        names = {(row["name"], row["by"], row["turn"]) for row in json.loads(record)["ledger"]}
        assert names == {("csv", "user", 1), ("pdf", "model", 1)}
