"""Gemini CLI: `gemini -p`. It does not record its catalog, and its user cannot invoke a skill in this way."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from clients._recorder import Call, Recorder, json_lines

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from clients._conversations import Step, Turn, World
    from clients._probe import Clients


def argv(clients: Clients, turn: Turn, session: str) -> list[str]:
    """Return the command of a turn. A session cannot be forked."""
    if turn.invokes or turn.goes_on == "forked":
        return []
    before = ["--resume", "latest"] if turn.goes_on else []
    return [*clients.program("gemini"), "-m", "gemini-2.5-flash", "--approval-mode", "yolo", *before, "-p", turn.words]


def env(url: str) -> dict[str, str]:
    """Return the variables that connect it to the model."""
    return {
        "GEMINI_CLI_TRUST_WORKSPACE": "true",
        "NO_COLOR": "1",
        "GOOGLE_GENAI_USE_VERTEXAI": "true",
        "GOOGLE_API_KEY": "key",
        "GOOGLE_VERTEX_BASE_URL": url,
        "GEMINI_API_KEY": "key",
        "GOOGLE_GEMINI_BASE_URL": url,
    }


def calls(step: Step, world: World) -> list[Call]:
    """Return the tools for a step."""
    kind, *values = step
    match kind:
        case "use" | "unknown":
            return [("activate_skill", {"name": values[0]})]
        case "read":
            return [("read_file", {"file_path": str(world.folder(values[0]) / values[1])})]
        case "run":
            return [("run_shell_command", {"command": values[0], "description": "Run it"})]
    return [("invoke_agent", {"agent_name": "generalist", "prompt": values[0]})]


def files(home: Path) -> dict[str, str]:
    """Return its session files, and the list of its projects."""
    found = json_lines(home, ".gemini/tmp/*/chats/*.jsonl", ".gemini/tmp/*/chats/*/*.jsonl")
    others = [home / ".gemini/projects.json", *home.glob(".gemini/tmp/*/.project_root")]
    return found | {str(path.relative_to(home)): path.read_text("utf-8") for path in others if path.exists()}


def ids(files: Mapping[str, str]) -> list[str]:
    """Return the sessions that are no sub-agents."""
    first = [json.loads(text.partition("\n")[0]) for path, text in files.items() if path.endswith(".jsonl")]
    return [record["sessionId"] for record in first if record["kind"] == "main"]


RECORDER = Recorder(
    client="gemini-cli",
    argv=argv,
    env=env,
    calls=calls,
    folder=".gemini/tmp",
    files=files,
    ids=ids,
    identifiers=(r"session-[\dT-]+-([0-9a-f]{8})\.jsonl", r'"id":"([0-9a-f]{32})"'),
    catalog=False,
)
