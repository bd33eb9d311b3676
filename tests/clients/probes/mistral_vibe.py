"""Mistral Vibe: the system prompt of `vibe -p`. It has no list of skills outside of its terminal interface."""

from __future__ import annotations

import html
import json
import re

from clients._probe import Answer, ClientError, Clients, Probe, Question, Shown

ENTRY = re.compile(
    r"<skill>\s*<name>(.*?)</name>\s*<description>(.*?)</description>\s*<path>(.*?)</path>\s*</skill>", re.DOTALL
)


def ask(question: Question, clients: Clients) -> Answer:
    """Start it with one prompt, and read `<available-skills>` of what its model gets."""
    with clients.model() as model:
        provider = {"name": "local", "api_base": f"{model.url}/v1", "api_key_env_var": "VIBE_KEY", "backend": "generic"}
        env = {
            "VIBE_KEY": "key",
            "VIBE_ACTIVE_MODEL": "model",
            "VIBE_PROVIDERS": json.dumps([provider]),
            "VIBE_MODELS": json.dumps([{"name": "model", "provider": "local", "alias": "model"}]),
            "VIBE_ENABLE_TELEMETRY": "false",
            "VIBE_ENABLE_UPDATE_CHECKS": "false",
            **dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY"), model.url),
            "NO_PROXY": "127.0.0.1",
        }
        ended = clients.run([*clients.program("vibe"), *question.args, "-p", "hi"], question, env)
        sent = [request.json() for request in model.requests if request.path.endswith("/chat/completions")]
    if not sent and re.search("Error: (?:Invalid configuration|Cannot load the Vibe config)", ended.stderr):
        return Answer()
    if not sent:
        raise ClientError(f"vibe sent nothing to its model: {ended.stderr[-300:]}")
    prompt = sent[0]["messages"][0]["content"]
    listing = prompt.rpartition("<available-skills>")[2].partition("</available-skills>")[0]
    found = [[html.unescape(text) for text in match.groups()] for match in ENTRY.finditer(listing)]
    return Answer(shown=[Shown(name, text, path) for name, text, path in found if not name.startswith("vibe:")])


PROBE = Probe(
    client="mistral-vibe",
    packages={"mistral-vibe": "3.0.3"},
    project=".vibe/skills",
    user=".vibe/skills",
    ask=ask,
    asks=2,
    unsorted=True,
)
