"""pi: `pi -p`. Its model reads the SKILL.md of a skill that it uses; it has no sub-agents."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clients._recorder import Call, Recorder, json_lines, main_files

if TYPE_CHECKING:
    from pathlib import Path

    from clients._conversations import Step, Turn, World
    from clients._probe import Clients


def argv(clients: Clients, turn: Turn, session: str) -> list[str]:
    """Return the command of a turn."""
    if any(step[0] == "agent" for step in turn.steps):
        return []
    options = ["--provider", "azure-openai-responses", "--model", "gpt-5.2", "--approve"]
    before = [{"resumed": "--session", "forked": "--fork"}[turn.goes_on], session] if turn.goes_on else []
    words = f"/skill:{turn.invokes} {turn.words}" if turn.invokes else turn.words
    return [*clients.program("pi"), *options, *before, "-p", words]


def env(url: str) -> dict[str, str]:
    """Return the variables that connect it to the model."""
    return {"AZURE_OPENAI_BASE_URL": f"{url}/openai/v1", "AZURE_OPENAI_API_KEY": "unused", "PI_OFFLINE": "1"}


def calls(step: Step, world: World) -> list[Call]:
    """Return the tools for a step."""
    kind, *values = step
    match kind:
        case "unknown":
            return [("read", {"path": f"{world.home}/.pi/agent/skills/{values[0]}/SKILL.md"})]
        case "use" | "read":
            return [("read", {"path": str(world.folder(values[0]) / (values[1:] or ["SKILL.md"])[0])})]
    return [("bash", {"command": values[0]})]


def files(home: Path) -> dict[str, str]:
    """Return its session files."""
    return json_lines(home, ".pi/agent/sessions/*/*.jsonl", few=("model_change", "thinking_level_change"))


RECORDER = Recorder(
    client="pi",
    argv=argv,
    env=env,
    calls=calls,
    folder=".pi/agent/sessions",
    files=files,
    ids=main_files(r"_([0-9a-f-]{36})\.jsonl"),
    identifiers=(r'"(?:id|parentId|leafId)":"([0-9a-f]{8})"',),
)
