"""Ask Gemini CLI: its list of skills, and the system instruction that its model gets."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from clients._probe import Answer, ClientError, Listed, Probe, Shown
from support.model_server import texts

if TYPE_CHECKING:
    from clients._probe import Clients, Question

_BUILTIN = "/bundle/builtin/"
"""In the paths of the skills that come with the client."""
_LISTED = re.compile(
    r"^(?P<name>.*) \[(?P<state>Enabled|Disabled)\](?: \[Built-in\])?\n"
    r"  Description: (?P<description>(?s:.*?))\n  Location:    (?P<path>/.*)\n",
    re.MULTILINE,
)
_SHOWN = re.compile(
    r"<skill>\n    <name>(?P<name>(?s:.*?))</name>\n    <description>(?P<description>(?s:.*?))</description>\n"
    r"    <location>(?P<path>/.*)</location>\n  </skill>"
)


_REFUSES = re.compile(r"Please fix the configuration file|An unexpected critical error occurred")
"""What it says where a settings file or an extension stops it; no skill is seen then."""


def ask(question: Question, clients: Clients) -> Answer:
    """Return what `gemini skills list` prints, and what a first message to its model contains."""
    program = clients.program("gemini")
    trusted = {"GEMINI_CLI_TRUST_WORKSPACE": "true", "NO_COLOR": "1"}
    # The list takes no arguments that change which extensions count.
    listing = "" if question.args else clients.run([*program, "skills", "list"], question, trusted).stdout
    with clients.model() as server:
        # With a model of Vertex AI, the address comes from a variable, so that no settings file is needed.
        model = {
            "GOOGLE_GENAI_USE_VERTEXAI": "true",
            "GOOGLE_API_KEY": "key",
            "GOOGLE_VERTEX_BASE_URL": server.url,
            "GEMINI_API_KEY": "key",
            "GOOGLE_GEMINI_BASE_URL": server.url,
        }
        argv = [*program, "-m", "gemini-2.5-flash", *question.args, "-p", "hi"]
        ended = clients.run(argv, question, {**trusted, **model})
        requests = [request for request in server.requests if ":streamGenerateContent" in request.path]
    if not requests and not _REFUSES.search(ended.stderr):
        raise ClientError(f"gemini sent no request: {ended.stderr[-500:]}")
    instruction = "".join(texts(requests[0].json().get("systemInstruction"))) if requests else ""
    catalog = instruction.partition("<available_skills>")[2].partition("</available_skills>")[0]
    return Answer(
        listed=[
            Listed(
                name=item["name"],
                path=item["path"],
                description=item["description"],
                enabled=item["state"] == "Enabled",
            )
            for item in _LISTED.finditer(listing)
        ],
        shown=[
            Shown(name=item["name"], description=item["description"], path=item["path"])
            for item in _SHOWN.finditer(catalog)
            if _BUILTIN not in item["path"]
        ],
    )


PROBE = Probe(
    client="gemini-cli",
    packages={"@google/gemini-cli": "0.61.0"},
    project=".gemini/skills",
    user=".gemini/skills",
    ask=ask,
)
