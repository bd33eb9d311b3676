"""Claude Code: its answer to `initialize`, and the list of skills in the first request of `claude -p`."""

from __future__ import annotations

import json
import re
from typing import Any

from clients._probe import Answer, ClientError, Clients, Listed, Probe, Question, Shown

INTRODUCTION = "The following skills are available for use with the Skill tool:\n\n"
BUNDLED = {"plugin-authoring"}
"""What its catalog has of its own although its bundled skills are disabled."""
SCOPE = re.compile(r" \((?:user|project|managed)\)\Z")
"""What it writes after a description in its answer to `initialize`."""


def ask(question: Question, clients: Clients) -> Answer:
    """Start a short conversation; the first lines that it writes name the skills, its first request describes them."""
    initialize = {"type": "control_request", "request_id": "1", "request": {"subtype": "initialize"}}
    message = {"type": "user", "message": {"role": "user", "content": "hi"}}
    lines = "".join(json.dumps(line) + "\n" for line in (initialize, message))
    formats = ["--input-format", "stream-json", "--output-format", "stream-json", "--verbose"]
    with clients.model() as model:
        command = [*clients.program("claude"), "-p", *formats, *question.args]
        ended = clients.run(command, question, environment(model.url), input=lines)
        sent = [request.json() for request in model.requests if request.path.partition("?")[0].endswith("/messages")]
    answers = [json.loads(line) for line in ended.stdout.splitlines() if line.startswith("{")]
    requests = [request for request in sent if request]
    if not requests:
        raise ClientError(f"claude sent no request: {(ended.stderr or ended.stdout)[-500:]}")
    own = listed(answers)
    return Answer(listed=own, shown=shown(requests[0], {skill.name for skill in own}))


def environment(url: str) -> dict[str, str]:
    """Return the variables that connect it to the model only, and disable its bundled skills."""
    proxies = dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"), url)
    direct = dict.fromkeys(("NO_PROXY", "no_proxy"), "127.0.0.1")
    return {
        **proxies,
        **direct,
        "ANTHROPIC_BASE_URL": url,
        "ANTHROPIC_API_KEY": "key",
        "CLAUDE_CODE_DISABLE_BUNDLED_SKILLS": "1",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    }


def listed(answers: list[dict[str, Any]]) -> list[Listed]:
    """Return the skills and commands that it names when it starts, described as in its answer to `initialize`.

    Both are in the same order. The answer names a skill as its user sees it, the other list as its model does.
    """
    started = next((answer for answer in answers if answer.get("subtype") == "init"), None)
    control = next((answer for answer in answers if answer["type"] == "control_response"), None)
    if started is None or control is None:
        raise ClientError("claude did not say which skills it has")
    commands = control["response"]["response"]["commands"]
    pairs = zip(started["slash_commands"], commands, strict=False)
    own = ((name, command["description"]) for name, command in pairs if not command.get("builtin"))
    return [Listed(name, None, SCOPE.sub("", description)) for name, description in own]


def shown(request: dict[str, Any], names: set[str]) -> list[Shown]:
    """Return the catalog: `- NAME: DESCRIPTION`, `- NAME (ALIAS): DESCRIPTION`, or `- NAME`."""
    contents = [message["content"] for message in request["messages"]]
    parts = [part for content in contents for part in (content if isinstance(content, list) else [{"text": content}])]
    text = next((part["text"] for part in parts if INTRODUCTION in part.get("text", "")), "")
    found = []
    for line in text.partition(INTRODUCTION)[2].partition("\n\n")[0].split("\n"):
        head, colon, description = line.removeprefix("- ").partition(": ")
        alias = None
        if head not in names and (match := re.fullmatch(r"(.*) \(([^()]*)\)", head)):
            head, alias = match.groups()
        if head and head not in BUNDLED:
            found.append(Shown(head, description if colon else "", None, alias))
    return found


PROBE = Probe(
    client="claude-code",
    packages={"@anthropic-ai/claude-code": "2.1.330"},
    project=".claude/skills",
    user=".claude/skills",
    ask=ask,
)
