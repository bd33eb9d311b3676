"""Copilot CLI: `copilot -p`. It sends `/NAME` as words; only its terminal lets the user invoke a skill."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from clients._recorder import Call, Recorder, json_lines, main_files
from clients.probes.copilot import PROGRAM

if TYPE_CHECKING:
    from pathlib import Path

    from clients._conversations import Step, Turn, World
    from clients._probe import Clients

CATALOG = re.compile(
    r'"content":"(?:[^"\\]|\\.)*?(<available_skills>(?:[^"\\]|\\.)*</available_skills>)(?:[^"\\]|\\.)*"'
)


def argv(clients: Clients, turn: Turn, session: str) -> list[str]:
    """Return the command of a turn. A session cannot be forked, and `-p` does not let its user invoke a skill."""
    if turn.goes_on == "forked" or turn.invokes:
        return []
    before = [f"--resume={session}"] if turn.goes_on else []
    return [str(clients.file(PROGRAM)), "--allow-all", *before, "-p", turn.words]


def env(url: str) -> dict[str, str]:
    """Return the variables that connect it to the model."""
    return {
        "COPILOT_OFFLINE": "true",
        "COPILOT_AUTO_UPDATE": "false",
        "COPILOT_PROVIDER_BASE_URL": url,
        "COPILOT_PROVIDER_TYPE": "anthropic",
        "COPILOT_PROVIDER_API_KEY": "key",
        "COPILOT_MODEL": "claude-sonnet-4.6",
    }


def calls(step: Step, world: World) -> list[Call]:
    """Return the tools for a step."""
    kind, *values = step
    match kind:
        case "use" | "unknown":
            return [("skill", {"skill": values[0]})]
        case "read":
            return [("view", {"path": str(world.folder(values[0]) / values[1])})]
        case "run":
            return [("bash", {"command": values[0], "description": "Run it", "mode": "sync"})]
    agent = {"agent_type": "general-purpose", "name": "look", "description": "Look at it", "prompt": values[0]}
    return [("task", {**agent, "mode": "sync"})]


def files(home: Path) -> dict[str, str]:
    """Return its session files, of system messages only the catalog."""
    found = json_lines(home, ".copilot/session-state/*/events.jsonl")
    return {path: "".join(map(only_catalog, text.splitlines(keepends=True))) for path, text in found.items()}


def only_catalog(line: str) -> str:
    """Return the line of a record, of a system message without most of its text."""
    return CATALOG.sub(r'"content":"\1"', line) if line.startswith('{"type":"system.message"') else line


RECORDER = Recorder(
    client="copilot",
    argv=argv,
    env=env,
    calls=calls,
    folder=".copilot/session-state",
    files=files,
    ids=main_files(r"session-state/([^/]+)/"),
)
