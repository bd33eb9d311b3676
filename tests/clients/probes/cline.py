"""Cline: the names in the description of its tool `skills`, and what the tool returns, by which each file is known."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from clients._probe import Answer, ClientError, Clients, Probe, Question, Shown

if TYPE_CHECKING:
    from pathlib import Path

LIST = "Available skills: "
MARK = re.compile(r"<!-- file: (.*) -->")
FRONT_MATTER = re.compile(rb"(?:\xef\xbb\xbf)?---\r?\n[\s\S]*?\r?\n---\r?\n?")


def ask(question: Question, clients: Clients) -> Answer:
    """Let its model call the tool once for each name; what the tool returns ends in the path of the file."""
    mark_bodies(question.scratch.parent)
    settings = question.scratch / "settings"
    settings.mkdir()
    with clients.model() as model:
        provider = {"provider": "openai-compatible", "apiKey": "key", "model": "model", "baseUrl": f"{model.url}/v1"}
        entry = {"settings": provider, "updatedAt": "2026-01-01T00:00:00.000Z", "tokenSource": "manual"}
        providers = {"version": 1, "lastUsedProvider": "openai-compatible", "providers": {"openai-compatible": entry}}
        (settings / "providers.json").write_text(json.dumps(providers))
        (settings / "global.json").write_text('{"telemetryOptOut": true, "autoUpdateEnabled": false}')
        env = {
            "CLINE_SESSION_BACKEND_MODE": "local",
            "CLINE_NO_AUTO_UPDATE": "1",
            "CLINE_PROVIDER_SETTINGS_PATH": str(settings / "providers.json"),
            **dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY"), model.url),
            "NO_PROXY": "127.0.0.1",
        }
        own = question.home / ".cline/data/settings/global-settings.json"
        if not own.exists():
            env["CLINE_GLOBAL_SETTINGS_PATH"] = str(settings / "global.json")
        model.calls = calls
        program = str(clients.file("@cline/cli-linux-x64/bin/cline"))
        ended = clients.run([program, "--json", *question.args, "say hi please"], question, env)
        sent = [request.json() for request in model.requests if request.path.endswith("/chat/completions")]
    if not sent:
        raise ClientError(f"cline sent nothing to its model: {ended.stderr[-300:]}")
    results = [message for message in sent[-1]["messages"] if message["role"] == "tool"]
    paths = {message["tool_call_id"]: MARK.findall(str(message["content"])) for message in results}
    found = [(name, paths.get(f"call_{number}")) for number, name in enumerate(names(sent[0]))]
    return Answer(shown=[Shown(name, None, path[-1] if path else None) for name, path in found])


def mark_bodies(folder: Path) -> None:
    """Write the path of each SKILL.md at the end of its text. An empty text stays empty, which is an error in Cline."""
    for file in [*folder.rglob("SKILL.md")]:
        if file.is_file() and not file.is_symlink():
            data = file.read_bytes()
            front = FRONT_MATTER.match(data)
            if data[front.end() if front else 0 :].strip():
                file.write_bytes(data + f"\n<!-- file: {file} -->\n".encode())


def calls(payload: Any) -> list[tuple[str, dict[str, Any]]]:
    """Call the tool `skills` once for each name; its results name the file."""
    if any(message["role"] == "tool" for message in payload["messages"]):
        return []
    return [("skills", {"skill": name, "args": None}) for name in names(payload)]


def names(payload: Any) -> list[str]:
    """Return the names in the description of the tool; without skills there is no such tool."""
    tools = [tool["function"] for tool in payload.get("tools", ()) if tool["function"]["name"] == "skills"]
    listed = tools[0]["description"].partition(LIST)[2].removesuffix(".") if tools else ""
    return [name for name in listed.split(", ") if name]


PROBE = Probe(
    client="cline",
    packages={"cline": "3.0.65", "@cline/cli-linux-x64": "3.0.65"},
    project=".cline/skills",
    user=".cline/skills",
    ask=ask,
    asks=2,
    unsorted=True,
)
