"""OpenAI Codex CLI: `skills/list` of its app server, and the developer message of `codex exec`."""

from __future__ import annotations

import json
import re
from typing import Any

from clients._probe import Answer, ClientError, Clients, Listed, Probe, Question, Shown

LINE = re.compile(r"^- ([^\n]*?): (.*?) ?\(file: ([^\n]+)\)$", re.MULTILINE | re.DOTALL)
BUNDLED = "/skills/.system/"


def ask(question: Question, clients: Clients) -> Answer:
    """Ask the app server for the list, and read the catalog from the first request to the model."""
    with clients.model() as model:
        config = ["-c", f'openai_base_url="{model.url}/v1"', "-m", "gpt-5"]
        command = [*clients.program("codex"), "exec", "--skip-git-repo-check", *config, *question.args, "hi"]
        ended = clients.run(command, question, {"CODEX_API_KEY": "key"})
        sent = [request.json() for request in model.requests if request.path.endswith("/responses")]
    requests = [request for request in sent if request]
    if not requests:
        raise ClientError(f"codex sent no request: {ended.stderr[-500:]}")
    return Answer(listed=listed(question, clients), shown=shown(requests[0]))


def listed(question: Question, clients: Clients) -> list[Listed]:
    """Return its list."""
    requests = [
        {"id": 1, "method": "initialize", "params": {"clientInfo": {"name": "observer", "version": "1"}}},
        {"method": "initialized"},
        {"id": 2, "method": "skills/list", "params": {"cwds": [str(question.cwd)]}},
    ]
    lines = "".join(json.dumps(request) + "\n" for request in requests)
    # It ends when its input ends, answered or not.
    script = 'exec 3<&0; { cat <&3; sleep 3; } | "$@"'
    command = ["sh", "-c", script, "sh", *clients.program("codex"), "app-server"]
    ended = clients.run(command, question, {"CODEX_API_KEY": "key"}, input=lines)
    answers = [json.loads(line) for line in ended.stdout.splitlines() if line.startswith("{")]
    result: Any = next((answer["result"] for answer in answers if answer.get("id") == 2), None)
    if result is None:
        raise ClientError(f"codex app-server gave no list: {ended.stderr[-500:]}")
    return [
        Listed(skill["name"], skill["path"], skill["description"], skill["enabled"])
        for group in result["data"]
        for skill in group["skills"]
        if BUNDLED not in skill["path"]
    ]


def shown(request: dict[str, Any]) -> list[Shown]:
    """Return the catalog in `<skills_instructions>`: `- NAME: DESCRIPTION (file: PATH)`."""
    texts = [part.get("text", "") for item in request["input"] for part in item.get("content") or ()]
    text = next((text for text in texts if text.startswith("<skills_instructions>")), "")
    catalog = text.partition("### Available skills\n")[2].partition("\n### ")[0].partition("</skills_instructions>")[0]
    roots = dict(re.findall(r"^- `(r\d+)` = `(.*)`$", text, re.MULTILINE))
    found = []
    for name, description, path in LINE.findall(catalog):
        first, slash, rest = path.partition("/")
        path = f"{roots[first]}/{rest}" if slash and first in roots else path
        if BUNDLED not in path:
            found.append(Shown(name, description, path))
    return found


PROBE = Probe(
    client="codex",
    packages={"@openai/codex": "0.169.0"},
    project=".agents/skills",
    user=".agents/skills",
    ask=ask,
)
