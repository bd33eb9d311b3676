"""Codex: `codex exec`. Its model runs commands with JavaScript, and reads the SKILL.md of a skill that it uses."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from clients._recorder import Call, Recorder, json_lines
from clients.probes.codex import proxied

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from clients._conversations import Step, Turn, World
    from clients._probe import Clients

BOOKKEEPING = (
    *("world_state", "turn_context", "token_count", "token_usage_record", "thread_settings_applied"),
    *("additional_tools", "developer"),
)


def argv(clients: Clients, turn: Turn, session: str) -> list[str]:
    """Return the command of a turn."""
    options = ["--dangerously-bypass-approvals-and-sandbox", "-c", 'openai_base_url="{url}/v1"']
    before = [{"resumed": "resume", "forked": "fork"}[turn.goes_on], session] if turn.goes_on else []
    words = f"${turn.invokes} {turn.words}" if turn.invokes else turn.words
    return [*clients.program("codex"), "exec", "--skip-git-repo-check", *options, *before, words]


def calls(step: Step, world: World) -> list[Call]:
    """Return the tools for a step."""
    kind, *values = step
    if kind == "agent":
        spawn = {"task_name": "look", "message": values[0], "fork_turns": "none"}
        return [("spawn_agent", spawn), ("wait_agent", {})]
    if kind == "unknown":
        command = f"cat {world.home}/.agents/skills/{values[0]}/SKILL.md"
    elif kind in ("use", "read"):
        command = f"cat {world.folder(values[0]) / (values[1:] or ['SKILL.md'])[0]}"
    else:
        command = values[0]
    return [("exec", f"const r = await tools.exec_command({{cmd: {json.dumps(command)}}}); text(r.output);")]


def kind_of(record: dict[str, Any]) -> object:
    """Return the type of a record or of its payload; `developer` for messages of which only one is a catalog."""
    payload = record.get("payload", {})
    texts = [part.get("text", "") for part in payload.get("content") or () if isinstance(part, dict)]
    if payload.get("role") == "developer" and not any("<skills_instructions>" in text for text in texts):
        return "developer"
    return payload.get("type") if record.get("type") in ("event_msg", "response_item") else record.get("type")


def files(home: Path) -> dict[str, str]:
    """Return its session files."""
    return json_lines(home, ".codex/sessions/*/*/*/*.jsonl", few=BOOKKEEPING, kind=kind_of)


def ids(files: Mapping[str, str]) -> list[str]:
    """Return the sessions that are no sub-agents."""
    found = ((path, json.loads(text.partition("\n")[0])["payload"]) for path, text in files.items())
    main = [path for path, payload in found if payload.get("thread_source") != "subagent"]
    return [match[1] for path in main if (match := re.search(r"([0-9a-f-]{36})\.jsonl", path))]


RECORDER = Recorder(
    client="codex",
    argv=argv,
    env=lambda url: {"CODEX_API_KEY": "key", **proxied(url)},
    calls=calls,
    folder=".codex/sessions",
    files=files,
    ids=ids,
)
