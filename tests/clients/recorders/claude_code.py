"""Claude Code: `claude -p`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clients._recorder import Call, Recorder, json_lines, main_files
from clients.probes.claude_code import environment

if TYPE_CHECKING:
    from pathlib import Path

    from clients._conversations import Step, Turn, World
    from clients._probe import Clients

BOOKKEEPING = (
    *("queue-operation", "last-prompt", "cost-state", "tools-used", "atis-latch", "api-request", "api-request-blob"),
    *("api-request-shape", "prompt_snapshot"),
)


def argv(clients: Clients, turn: Turn, session: str) -> list[str]:
    """Return the command of a turn."""
    words = f"/{turn.invokes} {turn.words}" if turn.invokes else turn.words
    before = ["--resume", session] if turn.goes_on else []
    fork = ["--fork-session"] if turn.goes_on == "forked" else []
    return [*clients.program("claude"), "-p", *before, *fork, "--allowedTools", "Bash Read Skill Agent", "--", words]


def calls(step: Step, world: World) -> list[Call]:
    """Return the tools for a step."""
    kind, *values = step
    match kind:
        case "use" | "unknown":
            return [("Skill", {"skill": values[0]})]
        case "read":
            return [("Read", {"file_path": str(world.folder(values[0]) / values[1])})]
        case "run":
            return [("Bash", {"command": values[0], "description": "Run it"})]
    return [("Agent", {"description": "Look at it", "prompt": values[0], "subagent_type": "general-purpose"})]


def files(home: Path) -> dict[str, str]:
    """Return its session files."""
    patterns = (".claude/projects/*/*.jsonl", ".claude/projects/*/*/subagents/*.jsonl")
    return json_lines(home, *patterns, few=BOOKKEEPING, kind=kind_of)


def kind_of(record: dict[str, Any]) -> object:
    """Return the type of a record, or what it attaches."""
    return record.get("attachment", {}).get("type") or record.get("type")


RECORDER = Recorder(
    client="claude-code",
    argv=argv,
    env=environment,
    folder=".claude/projects",
    calls=calls,
    files=files,
    ids=main_files(r"projects/[^/]+/([^/]+)\.jsonl"),
    identifiers=(r"\bagent-(a[0-9a-f]{16})\b", r'"agentId":"(a[0-9a-f]{16})"'),
)
