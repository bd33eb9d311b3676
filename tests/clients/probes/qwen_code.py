"""Ask Qwen Code: the catalog that its model gets. It has no list of its own."""

from __future__ import annotations

import html
import re
from typing import TYPE_CHECKING

from clients._probe import Answer, ClientError, Probe, Shown
from support.model_server import texts

if TYPE_CHECKING:
    from clients._probe import Clients, Question

_SHOWN = re.compile(
    r"<skill>\n<name>\n(?P<name>(?s:.*?))\n</name>\n<description>\n(?P<description>(?s:.*?))\n</description>\n"
    r"<location>\n(?P<scope>.*)\n</location>\n</skill>"
)


_REFUSES = re.compile(r"Please fix the configuration file|Error.*\n +at .*/chunks/", re.DOTALL)
"""What it says where a settings file or an extension stops it; no skill is seen then."""


def ask(question: Question, clients: Clients) -> Answer:
    """Return what a first message to its model contains."""
    with clients.model() as server:
        model = {
            "OPENAI_API_KEY": "key",
            "OPENAI_BASE_URL": server.url,
            "OPENAI_MODEL": "model",
            "NO_COLOR": "1",
        }
        argv = [*clients.program("qwen"), "--auth-type", "openai", *question.args, "-p", "hi"]
        ended = clients.run(argv, question, model)
        sent = ["\n".join(texts(request.json())) for request in server.requests]
    if not sent and not _REFUSES.search(ended.stderr):
        raise ClientError(f"qwen sent no request: {ended.stderr[-500:]}")
    text = next((text for text in sent if "<available_skills>\n" in text), "")
    catalog = text.partition("<available_skills>\n")[2].partition("\n</available_skills>")[0]
    return Answer(
        shown=[
            Shown(name=html.unescape(item["name"]), description=html.unescape(item["description"]))
            for item in _SHOWN.finditer(catalog)
            if item["scope"] != "bundled"
        ],
    )


PROBE = Probe(
    client="qwen-code",
    packages={"@qwen-code/qwen-code": "0.24.4"},
    project=".qwen/skills",
    user=".qwen/skills",
    ask=ask,
)
