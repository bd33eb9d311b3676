"""opencode: `opencode run`, whose sessions are in a database. It does not record its catalog."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

from clients._recorder import Call, Recorder, shortened
from clients.probes.opencode import OFFLINE

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from clients._conversations import Step, Turn, World
    from clients._probe import Clients

FOLDER = ".local/share/opencode"
TABLES = ("session", "message", "part")
"""What is kept; the others repeat it, or are settings."""

RIPGREP = "@openai/codex-linux-x64/vendor/x86_64-unknown-linux-musl/codex-path"
"""A folder with `rg`, which it would download."""


def argv(clients: Clients, turn: Turn, session: str) -> list[str]:
    """Return the command of a turn."""
    program = clients.file("opencode-linux-x64/bin/opencode")
    command = ["--command", turn.invokes] if turn.invokes else []
    before = ["--session", session] if turn.goes_on else []
    fork = ["--fork"] if turn.goes_on == "forked" else []
    start = ["env", f"PATH={clients.file(RIPGREP)}:/usr/local/bin:/usr/bin:/bin", str(program), "run"]
    return [*start, "--model", "local/model", "--title", "title", *before, *fork, *command, turn.words]


def env(url: str) -> dict[str, str]:
    """Return the variables that connect it to the model."""
    provider = {
        "npm": "@ai-sdk/anthropic",
        "name": "Local",
        "options": {"baseURL": f"{url}/v1", "apiKey": "key"},
        "models": {"model": {"name": "Model"}},
    }
    config = json.dumps({"provider": {"local": provider}, "permission": "allow"})
    closed = dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"), url)
    return {**OFFLINE, **closed, "NO_PROXY": "127.0.0.1", "npm_config_registry": url, "OPENCODE_CONFIG_CONTENT": config}


def calls(step: Step, world: World) -> list[Call]:
    """Return the tools for a step."""
    kind, *values = step
    match kind:
        case "use" | "unknown":
            return [("skill", {"name": values[0]})]
        case "read":
            return [("read", {"filePath": str(world.folder(values[0]) / values[1])})]
        case "run":
            return [("bash", {"command": values[0], "description": "Run it"})]
    return [("task", {"description": "Look at it", "prompt": values[0], "subagent_type": "general"})]


def files(home: Path) -> dict[str, str]:
    """Return the statements that make a database with its sessions, without most of the columns' long texts."""
    file = home / FOLDER / "opencode.db"
    if not file.exists():
        return {}
    lines = []
    with closing(sqlite3.connect(f"{file.as_uri()}?mode=ro", uri=True)) as database:
        for table in TABLES:
            (created,) = database.execute("select sql from sqlite_master where name = ?", (table,)).fetchone()
            lines.append(f"{created};\n")
            rows = database.execute(f"select * from {table} order by time_created, id")  # noqa: S608 - one of three
            names = [column[0] for column in rows.description]
            for row in rows:
                values = [_value(name, value) for name, value in zip(names, row, strict=True)]
                lines.append(f"INSERT INTO {table} VALUES({','.join(values)});\n")
    return {f"{FOLDER}/opencode.sql": "".join(lines)}


def _value(name: str, value: object) -> str:
    """Return a value of a column as SQL."""
    if name == "data":
        value = json.dumps(shortened(json.loads(str(value))), ensure_ascii=False, separators=(",", ":"))
    if value is None or isinstance(value, (int, float)):
        return "NULL" if value is None else repr(value)
    return "'" + str(value).replace("'", "''") + "'"


def ids(files: Mapping[str, str]) -> list[str]:
    """Return the sessions that are no sub-agents."""
    with closing(sqlite3.connect(":memory:")) as database:
        for statements in files.values():
            database.executescript(statements)
        found = database.execute("select id from session where parent_id is null") if files else ()
        return [identifier for (identifier,) in found]


RECORDER = Recorder(
    client="opencode",
    argv=argv,
    env=env,
    calls=calls,
    folder=FOLDER,
    files=files,
    ids=ids,
    identifiers=(r"\b(?:ses|msg|prt)_[0-9a-zA-Z]{20,}", r"'([0-9a-f]{40})'"),
    catalog=False,
)
