"""OpenAI Codex CLI: `skills/list` of its app server, and the developer message that `codex exec` sends to its model."""

from __future__ import annotations

import json
import re
import sys
from typing import Any

from clients._probe import Answer, ClientError, Clients, Listed, Probe, Question, Shown

RELAY = """
import json, subprocess, sys
lines = sys.stdin.read()
server = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
server.stdin.write(lines)
server.stdin.flush()
for line in server.stdout:
    if line.startswith("{") and json.loads(line).get("id") == 2:
        print(line)
        break
server.stdin.close()
server.wait()
"""
"""Keeps the input of the app server open until it has answered: it ends with its input, answered or not."""
LINE = re.compile(r"^- (?P<name>.*?):(?: (?P<description>.*?))? ?\(file: (?P<path>[^\n]+)\)$", re.MULTILINE | re.DOTALL)
BUNDLED = "/skills/.system/"
REFUSAL = re.compile(r"^Error(?: loading config|: legacy `profile|: CODEX_HOME| finding codex home)", re.MULTILINE)
"""What it says and ends, if it cannot read its settings: it starts no conversation and has no skills."""


def ask(question: Question, clients: Clients) -> Answer:
    """Read the catalog from the first request to the model, and ask for the list."""
    with clients.model() as model:
        config = ["-c", f'openai_base_url="{model.url}/v1"']
        command = [*clients.program("codex"), "exec", "--skip-git-repo-check", *config, *question.args, "hi"]
        ended = clients.run(command, question, {"CODEX_API_KEY": "key", **proxied(model.url)})
        sent = [request.json() for request in model.requests if request.path.endswith("/responses")]
    requests = [request for request in sent if request]
    if requests:
        listed = ask_list(question, clients)
        return Answer(listed=listed, shown=catalog(requests[0], {skill.path: skill.name for skill in listed}))
    if ended.returncode and REFUSAL.search(ended.stderr):
        return Answer()
    raise ClientError(f"codex sent no request: {ended.stderr[-500:]}")


def proxied(url: str) -> dict[str, str]:
    """Return the variables that send its other traffic to the model's server, which knows nothing of it."""
    return {
        **dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"), url),
        **dict.fromkeys(("NO_PROXY", "no_proxy"), "127.0.0.1"),
    }


def ask_list(question: Question, clients: Clients) -> list[Listed]:
    """Return its own list. Of its arguments, the app server knows those that change its configuration."""
    requests: list[dict[str, Any]] = [
        {"id": 1, "method": "initialize", "params": {"clientInfo": {"name": "observer", "version": "1"}}},
        {"method": "initialized"},
        {"id": 2, "method": "skills/list", "params": {"cwds": [str(question.cwd)], "forceReload": True}},
    ]
    lines = "".join(json.dumps(request) + "\n" for request in requests)
    command = [sys.executable, "-c", RELAY, *clients.program("codex"), "app-server", *question.args]
    ended = clients.run(command, question, {"CODEX_API_KEY": "key", **proxied("http://127.0.0.1:9")}, input=lines)
    answers = [json.loads(line) for line in ended.stdout.splitlines() if line.startswith("{")]
    if not answers:
        raise ClientError(f"codex app-server gave no list: {ended.stderr[-500:]}")
    return [
        Listed(skill["name"], skill["path"], skill["description"], skill["enabled"])
        for group in answers[0]["result"]["data"]
        for skill in group["skills"]
        if BUNDLED not in skill["path"]
    ]


def catalog(request: dict[str, Any], names: dict[str | None, str]) -> list[Shown]:
    """Return the catalog in `<skills_instructions>`: `- NAME: DESCRIPTION (file: PATH)`, in the order of its lines.

    A name with `: ` in it is known from the list, by the path.
    """
    texts = [part.get("text", "") for item in request["input"] for part in item.get("content") or ()]
    text = next((text for text in texts if text.startswith("<skills_instructions>")), "")
    lines = text.partition("### Available skills\n")[2].partition("</skills_instructions>")[0]
    roots = dict(re.findall(r"^- `(r\d+)` = `(.*)`$", text, re.MULTILINE))
    found = []
    for line in LINE.finditer(lines):
        first, slash, rest = line["path"].partition("/")
        path = f"{roots[first]}/{rest}" if slash and first in roots else line["path"]
        name, description = line["name"], line["description"] or ""
        whole, listed = f"{name}: {description}", names.get(path, name)
        if len(listed) > len(name) and whole.startswith(f"{listed}:"):
            name, description = listed, whole.removeprefix(f"{listed}:").removeprefix(" ")
        if BUNDLED not in path:
            found.append(Shown(name, description, path))
    return found


PROBE = Probe(
    client="codex",
    packages={"@openai/codex": "0.169.0"},
    project=".agents/skills",
    user=".agents/skills",
    ask=ask,
    levelled=True,
)
