"""Qwen Code: `qwen -p`. It does not record its catalog."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clients._recorder import Call, Recorder, json_lines, main_files

if TYPE_CHECKING:
    from pathlib import Path

    from clients._conversations import Step, Turn, World
    from clients._probe import Clients


def argv(clients: Clients, turn: Turn, session: str) -> list[str]:
    """Return the command of a turn."""
    words = f"/{turn.invokes} {turn.words}" if turn.invokes else turn.words
    before = ["--resume", session] if turn.goes_on else []
    fork = ["--fork-session"] if turn.goes_on == "forked" else []
    return [*clients.program("qwen"), "--auth-type", "openai", "--yolo", *before, *fork, "-p", words]


def env(url: str) -> dict[str, str]:
    """Return the variables that connect it to the model."""
    return {"OPENAI_API_KEY": "key", "OPENAI_BASE_URL": url, "OPENAI_MODEL": "model", "NO_COLOR": "1"}


def calls(step: Step, world: World) -> list[Call]:
    """Return the tools for a step."""
    kind, *values = step
    match kind:
        case "use" | "unknown":
            return [("skill", {"skill": values[0]})]
        case "read":
            return [("read_file", {"file_path": str(world.folder(values[0]) / values[1])})]
        case "run":
            return [("run_shell_command", {"command": values[0], "is_background": False, "description": "Run it"})]
    return [("agent", {"description": "Look", "prompt": values[0], "subagent_type": "general-purpose"})]


def kind_of(record: dict[str, Any]) -> object:
    """Return the type of a record, or what the system says with it."""
    return record.get("subtype") or record.get("type")


def files(home: Path) -> dict[str, str]:
    """Return its session files."""
    patterns = (".qwen/projects/*/chats/*.jsonl", ".qwen/projects/*/subagents/*/*.jsonl")
    return json_lines(
        home, *patterns, few=("ui_telemetry", "file_history_snapshot", "attribution_snapshot"), kind=kind_of
    )


RECORDER = Recorder(
    client="qwen-code",
    argv=argv,
    env=env,
    calls=calls,
    folder=".qwen/projects",
    files=files,
    ids=main_files(r"chats/([0-9a-f-]{36})\.jsonl"),
    catalog=False,
)
