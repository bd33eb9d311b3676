"""Kimi Code: the system prompt of `kimi -p`. It has no list of skills outside of its terminal interface."""

from __future__ import annotations

import re

from clients._probe import Answer, ClientError, Clients, Probe, Question, Shown

HEADING = "DISREGARD any earlier skill listings. Current available skills:\n"
ENTRY = re.compile(
    r"^- (?P<name>(?:(?!: ).)*): (?P<description>(?:(?!^- ).)*?)"
    r"(?:^  When to use: (?:(?!^- ).)*?)?^  Path: (?P<path>[^\n]*)$",
    re.MULTILINE | re.DOTALL,
)


def ask(question: Question, clients: Clients) -> Answer:
    """Start it with one prompt, and read the section `# Skills` of what its model gets."""
    with clients.model() as model:
        env = {
            "KIMI_MODEL_NAME": "model",
            "KIMI_MODEL_PROVIDER_TYPE": "openai",
            "KIMI_MODEL_BASE_URL": f"{model.url}/v1",
            "KIMI_MODEL_API_KEY": "key",
            "KIMI_DISABLE_TELEMETRY": "1",
            "KIMI_CODE_NO_AUTO_UPDATE": "1",
            "KIMI_CODE_BUILTIN_PRODUCT_SKILLS": "0",
            **dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY"), model.url),
            "NO_PROXY": "127.0.0.1",
        }
        ended = clients.run([*clients.program("kimi"), *question.args, "-p", "hi"], question, env)
        sent = [request.json() for request in model.requests if request.path.endswith("/chat/completions")]
    if not sent:
        raise ClientError(f"kimi sent nothing to its model: {ended.stderr[-300:]}")
    prompt = sent[0]["messages"][0]["content"]
    listing = prompt.partition(HEADING)[2]
    return Answer(shown=shown(listing))


def shown(listing: str) -> list[Shown]:
    """Read the entries: `- NAME: DESCRIPTION`, perhaps `  When to use: TEXT`, and `  Path: PATH`."""
    return [
        Shown(match["name"], match["description"].removesuffix("\n"), match["path"])
        for match in ENTRY.finditer(listing)
        if not match["path"].startswith("builtin://")
    ]


PROBE = Probe(
    client="kimi-code",
    packages={"@moonshot-ai/kimi-code": "2.1.0"},
    project=".kimi-code/skills",
    user=".kimi-code/skills",
    ask=ask,
)
