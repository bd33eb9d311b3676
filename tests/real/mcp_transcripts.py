"""Record how real clients use a skill through `prowess mcp serve`, with a scripted model.

`PYTHONPATH=tests .venv/bin/python -m real.mcp_transcripts` writes the transcripts into docs/mcp-clients.md, after
`make clients` has installed the clients.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from support.files import write_files
from support.model_server import ModelServer, texts

TOP = Path(__file__).parents[2]
MODULES = TOP / ".clients/node_modules"
PAGE = TOP / "docs/mcp-clients.md"
VERSIONS: dict[str, str] = json.loads((TOP / "tests/clients/package.json").read_text("utf-8"))["dependencies"]
QUESTION = "When is high water in Bergen?"
ANSWER = "High water in Bergen is at 09:40 and 22:05."
SKILL = """---
name: tide-tables
description: Reads tables of tides. Use when a harbour is named.
---
The table of Bergen is in `references/bergen.md`. Times are local.
"""
TABLE = "High water: 09:40, 22:05. Low water: 03:30, 15:50.\n"
ACTIVATE: tuple[str, dict[str, Any]] = ("activate_skill", {"name": "tide-tables"})
READ: tuple[str, dict[str, Any]] = ("read_skill_file", {"name": "tide-tables", "path": "references/bergen.md"})
_SERVE = ("mcp", "serve", "--skill-dir")
_KEY = "key-3c09"
_SECONDS = 90


@dataclass(frozen=True, kw_only=True, slots=True)
class Client:
    """How a client adds a server, asks its model, and finds the scripted one."""

    title: str
    package: str
    add: tuple[str, ...]
    """The command that adds a server, up to the words `prowess mcp serve`."""
    ask: tuple[str, ...]
    connect: tuple[str, ...] = ()
    """Further options that connect it to the scripted model; `{url}` is its address."""
    env: dict[str, str]
    path: str
    """The end of the path of its requests to the model."""
    between: tuple[tuple[str, dict[str, Any]], ...] = ()
    """What its model calls between the two tools of Prowess."""
    files: dict[str, str] = field(default_factory=dict)
    """Its settings, in the home."""


CLIENTS = (
    Client(
        title="Claude Code",
        package="@anthropic-ai/claude-code",
        add=("claude", "mcp", "add", "skills", "--"),
        ask=("claude", "-p", QUESTION, "--allowedTools", "mcp__skills"),
        env={"ANTHROPIC_API_KEY": _KEY, "ANTHROPIC_BASE_URL": "{url}"},
        path="/v1/messages",
        between=(("ToolSearch", {"query": "select:mcp__skills__read_skill_file"}),),
    ),
    Client(
        title="Codex",
        package="@openai/codex",
        add=("codex", "mcp", "add", "skills", "--"),
        ask=("codex", "exec", "--skip-git-repo-check", QUESTION),
        connect=("-c", 'openai_base_url="{url}/v1"', "-m", "gpt-5"),
        env={"CODEX_API_KEY": _KEY},
        path="/v1/responses",
    ),
    Client(
        title="Copilot CLI",
        package="@github/copilot",
        add=("copilot", "mcp", "add", "skills", "--"),
        ask=("copilot", "-p", QUESTION, "--allow-tool", "skills"),
        env={
            "COPILOT_PROVIDER_BASE_URL": "{url}/v1",
            "COPILOT_PROVIDER_API_KEY": _KEY,
            "COPILOT_MODEL": "gpt-5",
            "COPILOT_OFFLINE": "true",
        },
        path="/v1/chat/completions",
    ),
    Client(
        title="Gemini CLI",
        package="@google/gemini-cli",
        add=("gemini", "mcp", "add", "--scope", "user", "skills"),
        ask=("gemini", "--skip-trust", "--approval-mode", "yolo", "-p", QUESTION),
        connect=("-m", "gemini-2.5-flash"),
        env={"GEMINI_API_KEY": _KEY, "GOOGLE_GEMINI_BASE_URL": "{url}"},
        path=":streamGenerateContent",
        files={".gemini/settings.json": '{"security": {"auth": {"selectedType": "gemini-api-key"}}}'},
    ),
)


def record(client: Client, folder: Path) -> str:
    """Return the section of a client: the commands, what its model called and got, and what it printed."""
    home, project, skill = folder / "home", folder / "home/project", folder / "home/skills/tide-tables"
    write_files(skill, {"SKILL.md": SKILL, "references/bergen.md": TABLE})
    project.mkdir()
    write_files(home, client.files)
    with ModelServer() as server:
        server.tools, server.answer = (ACTIVATE, *client.between, READ), ANSWER
        env = {"HOME": str(home), "PATH": os.environ["PATH"], "TERM": "dumb"}
        env |= dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"), server.url)
        env |= dict.fromkeys(("NO_PROXY", "no_proxy"), "127.0.0.1")
        env |= {name: value.format(url=server.url) for name, value in client.env.items()}
        prowess = (sys.executable, "-m", "prowess", *_SERVE, str(skill.parent))
        split = ("--",) if client.add[-1] != "--" else ()  # Gemini CLI takes options of the server as its own otherwise
        _run((*client.add, prowess[0], *split, *prowess[1:]), env, project)
        connect = (part.format(url=server.url) for part in client.connect)
        printed = _run((*client.ask, *connect), env, project)
    requests = [item.json() for item in server.requests if item.path.partition("?")[0].endswith(client.path)]
    lines = [f"$ {shlex.join(client.add)} prowess {' '.join(_SERVE)} ~/skills", f"$ {shlex.join(client.ask)}"]
    lines += _exchanges([item for item in requests if item], server)
    lines += ["client prints:", *_indented(next(line for line in reversed(printed.splitlines()) if line.strip()))]
    text = "\n".join(lines).replace(str(folder / "home"), "/home/ada")
    return f"## {client.title} {VERSIONS[client.package]}\n\n```text\n{text}\n```\n"


def _run(command: tuple[str, ...], env: dict[str, str], cwd: Path) -> str:
    name, *rest = command
    done = subprocess.run(
        [str(MODULES / ".bin" / name), *rest],
        env=env, cwd=cwd, capture_output=True, text=True, timeout=_SECONDS, stdin=subprocess.DEVNULL, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def _exchanges(requests: list[Any], server: ModelServer) -> list[str]:
    """Return the calls of the model, each with the part of the client's next request that Prowess made."""
    lines = []
    for (end, arguments), marker in zip(server.tools, _markers(server), strict=True):
        name = next(text for item in requests for text in texts(item) if re.fullmatch(rf"[\w-]*{end}", text))
        lines += ["model calls:", *_indented(f"{name} {json.dumps(arguments)}")]
        if marker:
            got = next(text for item in requests for text in reversed(texts(item)) if marker in text)
            lines += ["model gets:", *_indented(got)]
    return lines


def _markers(server: ModelServer) -> list[str]:
    """Return a text that is only in the result of each call; empty for a tool of the client itself."""
    found = {ACTIVATE[0]: "<skill_content", READ[0]: "09:40, 22:05"}
    return [found.get(end, "") for end, _ in server.tools]


def _indented(text: str) -> list[str]:
    return [f"    {line}".rstrip() for line in text.strip().splitlines()]


def sections(page: str) -> dict[str, str]:
    """Return the transcripts of the page, by their titles."""
    found = re.findall(r"^(## ([^\n]+) [0-9.]+\n\n```text\n.*?^```\n)", page, re.MULTILINE | re.DOTALL)
    return {title: text for text, title in found}


def main() -> None:
    """Write the transcripts of all clients into the page."""
    page = PAGE.read_text("utf-8")
    for client in CLIENTS:
        with tempfile.TemporaryDirectory() as folder:
            page = page.replace(sections(page)[client.title], record(client, Path(folder).resolve()))
    PAGE.write_text(page, "utf-8")


if __name__ == "__main__":
    main()
