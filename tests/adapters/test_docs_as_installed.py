"""The lines of the README and of the adapters' pages run as they are written, with what their `pip` line installs.

The model is a server on the loopback address, which the variables of OpenAI's client name.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from http.server import BaseHTTPRequestHandler
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from support.growth import END
from support.loopback import LoopbackServer

TOP = Path(__file__).parents[2]
RUNNER = Path(__file__).parent / "as_installed.py"
PAGES = {
    "README.md": "pydantic_ai",
    "docs/adapters/pydantic_ai.md": "pydantic_ai",
    "docs/adapters/langchain.md": "langchain",
    "docs/adapters/openai_agents.md": "agents",
    "docs/adapters/camel.md": "camel",
    "docs/adapters/strands.md": "strands",
    "docs/adapters/haystack.md": "haystack",
    "docs/adapters/smolagents.md": "smolagents",
    "docs/adapters/google_adk.md": "google.adk",
    "docs/adapters/llama_index.md": "llama_index",
    "docs/adapters/crewai.md": "crewai",
    "docs/adapters/agent_framework.md": "agent_framework",
}
"""Page to the framework of its lines. Those for Claude Code run in `test_claude_agent_sdk.py`."""
STUBS = ("docs/adapters/camel.md",)
"""Pages whose model is a stub, which sends no request."""
SEVERAL_PROGRAMS = ("README.md", "docs/adapters/pydantic_ai.md", "docs/adapters/camel.md")
"""Pages whose blocks do not continue each other."""


class Model(LoopbackServer):
    """A server of OpenAI's two interfaces, and of Gemini's, that answers everything with one sentence."""

    def __init__(self) -> None:
        super().__init__(_Handler)
        self.requests: list[dict[str, Any]] = []


class _Handler(BaseHTTPRequestHandler):
    server: Model

    def do_POST(self) -> None:
        self.server.requests.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        counts = ("input_tokens", "output_tokens", "prompt_tokens", "completion_tokens", "total_tokens")
        usage: dict[str, Any] = dict.fromkeys(counts, 1)
        usage |= {"input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}}
        if self.path.endswith("/responses"):
            text = {"type": "output_text", "text": "It works.", "annotations": []}
            message = {"type": "message", "id": "m", "role": "assistant", "status": "completed", "content": [text]}
            body = {"id": "r", "object": "response", "created_at": 1, "model": "m", "status": "completed"}
            body |= {
                "output": [message],
                "usage": usage,
                "parallel_tool_calls": True,
                "tool_choice": "auto",
                "tools": [],
            }
        elif self.path.endswith(":generateContent"):
            content = {"role": "model", "parts": [{"text": "It works."}]}
            body = {"candidates": [{"content": content, "finishReason": "STOP"}]}
        else:
            answer = {"index": 0, "message": {"role": "assistant", "content": "It works."}, "finish_reason": "stop"}
            body = {"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [answer]}
            body["usage"] = usage
        data, kind = json.dumps(body).encode(), "application/json"
        if self.server.requests[-1].get("stream") and "choices" in body:
            chunk = {**answer, "delta": answer["message"]}
            data = f"data: {json.dumps({**body, 'object': 'chat.completion.chunk', 'choices': [chunk]})}\n\n".encode()
            data, kind = data + b"data: [DONE]\n\n", "text/event-stream"
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: Any) -> None:
        """Print nothing."""


def requirements(page: str) -> list[str]:
    """Return what the `pip` line of a page installs."""
    text = (TOP / page).read_text(encoding="utf-8")
    lines = re.findall(r"pip install ('\.\[[^`\n]+)", text)
    (line,) = (line for line in lines if len(lines) == 1 or PAGES[page].replace("_", "-") in line)
    return [word.replace(".[", "prowess[") if word.startswith(".[") else word for word in shlex.split(line)]


def programs(page: str) -> list[str]:
    """Return the Python code of a page."""
    text = (TOP / page).read_text(encoding="utf-8")
    blocks: list[str] = re.findall(r"^```python\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    blocks = blocks if page in SEVERAL_PROGRAMS else ["\n".join(blocks)]
    return [code for code in blocks if PAGES[page] in code]


def model_variables(url: str) -> dict[str, str]:
    """Return the variables with which the clients of frameworks use the model at a URL, and report to no one else."""
    variables = dict.fromkeys(("OPENAI_BASE_URL", "OPENAI_API_BASE"), url)
    variables |= {"GOOGLE_GEMINI_BASE_URL": url.removesuffix("/v1"), "OPENAI_AGENTS_DISABLE_TRACING": "1"}
    variables |= dict.fromkeys(("CREWAI_DISABLE_TELEMETRY", "CREWAI_DISABLE_TRACKING", "OTEL_SDK_DISABLED"), "true")
    return variables | {"OPENAI_API_KEY": "key", "GOOGLE_API_KEY": "key"}


def run_as_installed(code: str, installed: list[str], folder: Path, url: str) -> subprocess.CompletedProcess[str]:
    (folder / "project").mkdir()
    (folder / "project/examples").symlink_to(TOP / "examples")
    shutil.copytree(TOP / "examples/skills", folder / "project/.agents/skills")
    file = folder / "program.py"
    file.write_text(code, encoding="utf-8")
    env = {"PATH": os.environ["PATH"], "HOME": str(folder), "PYTHONPATH": str(TOP / "src"), "PYTHONSAFEPATH": "1"}
    env |= {"SSL_CERT_FILE": os.environ["SSL_CERT_FILE"], **model_variables(url)}
    command = [sys.executable, str(RUNNER), str(file), *installed]
    return subprocess.run(
        command, cwd=folder / "project", env=env, capture_output=True, text=True, timeout=END, check=False
    )


PROGRAMS = [
    (page, number)
    for page, framework in PAGES.items()
    for number in range(len(programs(page)))
    if find_spec(framework.partition(".")[0])
    and find_spec(framework)  # CAMEL has an environment of its own, where this runs too
]


@pytest.mark.slow
@pytest.mark.parametrize(("page", "number"), PROGRAMS)
def test_the_lines_run_as_they_are_written(page: str, number: int, tmp_path: Path) -> None:
    """No line is replaced; a missing package, name or argument fails here."""
    with Model() as model:
        done = run_as_installed(programs(page)[number], requirements(page), tmp_path, f"{model.url}/v1")
    assert done.returncode == 0, done.stderr
    if page not in STUBS:
        assert "<available_skills>" in json.dumps(model.requests[0])
        assert "It works." in done.stdout or "print(" not in programs(page)[number]


def test_every_page_has_lines() -> None:
    """Otherwise the test above would run nothing."""
    several = {"docs/adapters/pydantic_ai.md": 5, "docs/adapters/camel.md": 2}
    assert {page: len(programs(page)) for page in PAGES} == {**dict.fromkeys(PAGES, 1), **several}


def test_what_the_line_does_not_install_is_hidden(tmp_path: Path) -> None:
    """Otherwise a missing requirement would be found here and not by a user."""
    code = """\
import prowess, yaml
print(prowess.parse.__name__)
for module in ("openai", "pydantic_ai", "pytest"):
    try:
        __import__(module)
    except ModuleNotFoundError as error:
        print(error.name)
"""
    assert run_as_installed(code, ["prowess"], tmp_path, "").stdout.split() == [
        "parse",
        "openai",
        "pydantic_ai",
        "pytest",
    ]
