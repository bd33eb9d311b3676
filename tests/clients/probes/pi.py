"""pi: the catalog in the prompt of `pi -p`."""

from __future__ import annotations

import html
import re
from typing import Any

from clients._probe import Answer, ClientError, Clients, Probe, Question, Shown

CATALOG = "\n<available_skills>\n"
ENTRY = re.compile(
    r"  <skill>\n    <name>(.*?)</name>\n    <description>(.*?)</description>\n    <location>(.*?)</location>\n",
    re.DOTALL,
)
REFUSES = re.compile(r"trust store|Failed to load extension|TypeError")
"""What it says where a settings file or a package stops it; no skill is seen then."""


def ask(question: Question, clients: Clients) -> Answer:
    """Read the catalog from the request to the model; pi prints no list of its own.

    The provider is one whose address is in a variable, so that nothing is added to the tree.
    """
    with clients.model() as model:
        env = {
            "AZURE_OPENAI_BASE_URL": f"{model.url}/openai/v1",
            "AZURE_OPENAI_API_KEY": "unused",
            "PI_OFFLINE": "1",
        }
        options = ["--provider", "azure-openai-responses", "--model", "gpt-5.2", "--no-session"]
        ended = clients.run([*clients.program("pi"), *options, *question.args, "-p", "hi"], question, env)
        requests = [request.json() for request in model.requests]
    if not requests and not (ended.returncode == 1 and REFUSES.search(ended.stderr)):
        raise ClientError(f"pi sent no request: {ended.stderr[-500:]}")
    return Answer(shown=[shown for text in texts(requests[-1:]) for shown in entries(text)])


def texts(value: Any) -> list[str]:
    """Return the texts of a request; the system prompt is one of them."""
    if isinstance(value, dict):
        return [text for item in value.values() for text in texts(item)]
    if isinstance(value, list):
        return [text for item in value for text in texts(item)]
    return [value] if isinstance(value, str) else []


def entries(text: str) -> list[Shown]:
    """Return the skills of the last catalog in a text; files of the project that contain one come before it."""
    _, found, catalog = text.rpartition(CATALOG)
    return [
        Shown(name=html.unescape(name), description=html.unescape(description), path=html.unescape(path))
        for name, description, path in (ENTRY.findall(catalog) if found else ())
    ]


PROBE = Probe(
    client="pi",
    packages={"@earendil-works/pi-coding-agent": "0.87.1"},
    project=".pi/skills",
    user=".pi/agent/skills",
    ask=ask,
)
