"""`prowess mcp serve`: a child process that speaks the protocol."""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
import threading
from contextlib import contextmanager
from http.client import HTTPConnection
from typing import TYPE_CHECKING, Any

import pytest

from prowess._internal.installer import install_command
from prowess.cli import main
from support.growth import END
from support.skills import skill

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.slow
INITIALIZE = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "test", "version": "1"},
}
MODERN = {
    "_meta": {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }
}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    skill(tmp_path / "project/.agents/skills/pages", body="Count twice.")
    skill(tmp_path / "project/.agents/skills/tagged", more="metadata:\n  tags: a, b\n")
    return tmp_path / "project"


@contextmanager
def served(project: Path, *options: str, **variables: str) -> Iterator[subprocess.Popen[str]]:
    env = {**os.environ, "HOME": str(project.parent), "PROWESS_NO_CACHE": "1", **variables}
    command = [sys.executable, "-m", "prowess", "mcp", "serve", str(project), *options]
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, text=True, env=env, **pipes) as process:
        end = threading.Timer(END, process.kill)  # an answer that never comes must not stop the tests
        end.start()
        try:
            yield process
        finally:
            end.cancel()
            process.kill()


class Client:
    """A client that knows JSON and lines."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process, self.number = process, 0

    def send(self, method: str, params: dict[str, Any] | None = None, **fields: Any) -> None:
        assert self.process.stdin is not None
        message = {"jsonrpc": "2.0", "method": method, "params": params or {}, **fields}
        self.process.stdin.write(json.dumps(message) + "\n")
        self.process.stdin.flush()

    def receive(self) -> Any:
        assert self.process.stdout is not None
        return json.loads(self.process.stdout.readline())

    def ask(self, method: str, params: dict[str, Any] | None = None) -> Any:
        self.number += 1
        self.send(method, params, id=self.number)
        while (answer := self.receive()).get("id") != self.number:
            pass
        return answer.get("result") or answer["error"]


def test_a_client_of_the_older_era_gets_skills_and_tools(project: Path) -> None:
    """The skills are in the instructions; stdout has nothing but the protocol."""
    with served(project) as process:
        client = Client(process)
        start = client.ask("initialize", INITIALIZE)
        client.send("notifications/initialized")
        assert "pages" in start["instructions"]
        assert start["capabilities"]["resources"]["listChanged"] is True
        assert start["capabilities"]["extensions"] == {"io.modelcontextprotocol/skills": {"directoryRead": True}}
        assert [entry["uri"] for entry in client.ask("skills/list")["skills"]] == [
            "skill://pages/SKILL.md",
            "skill://tagged/SKILL.md",
        ]
        call = {"name": "activate_skill", "arguments": {"name": "pages"}}
        assert "Count twice." in client.ask("tools/call", call)["content"][0]["text"]
        assert process.stdin is not None
        process.stdin.close()
        assert process.wait() == 0
        assert process.stderr is not None
        assert process.stderr.read() == f"note: serving 2 skills of {project}\n"


def test_a_client_of_the_newer_era_needs_no_initialization(project: Path) -> None:
    """`server/discover` names the extension."""
    with served(project, "--tag", "b") as process:
        client = Client(process)
        found = client.ask("server/discover", MODERN)
        assert found["capabilities"]["extensions"] == {"io.modelcontextprotocol/skills": {"directoryRead": True}}
        (entry,) = client.ask("skills/list", MODERN)["skills"]
        assert entry["frontmatter"]["name"] == "tagged"
        read = client.ask("resources/read", {**MODERN, "uri": entry["uri"]})
        assert read["contents"][0]["text"].startswith("---\nname: tagged\n")


def test_changes_are_announced(project: Path) -> None:
    """Within seconds, to a client that has listed."""
    with served(project) as process:
        client = Client(process)
        client.ask("initialize", INITIALIZE)
        client.send("notifications/initialized")
        client.ask("skills/list")
        skill(project / ".agents/skills/new")
        assert client.receive()["method"] == "notifications/resources/list_changed"
        assert "skill://new/SKILL.md" in [entry["uri"] for entry in client.ask("skills/list")["skills"]]


def test_over_http_a_token_is_required(project: Path, tmp_path: Path) -> None:
    """A wrong or missing one is 401; another origin is refused."""
    (tmp_path / "token").write_text("secret-token\n")
    with served(project, "--http", "127.0.0.1:0", "--token-file", str(tmp_path / "token")) as process:
        assert process.stderr is not None
        process.stderr.readline()
        address = process.stderr.readline().strip().removeprefix("note: listening on http://").removesuffix("/mcp")
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": INITIALIZE})
        headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}

        def status(**more: str) -> tuple[int, str]:
            connection = HTTPConnection(address)
            try:
                connection.request("POST", "/mcp", body, {**headers, **more})
                answer = connection.getresponse()
                return answer.status, answer.read().decode()
            finally:
                connection.close()

        assert status()[0] == 401
        assert status(Authorization="Bearer wrong")[0] == 401
        assert status(Authorization="Bearer secret-token", Origin="https://evil.example")[0] == 403
        code, text = status(Authorization="Bearer secret-token")
        assert (code, "Agent Skills" in text) == (200, True)


def test_without_the_package_the_error_says_what_to_install(project: Path) -> None:
    code = "import sys; sys.modules['mcp'] = None; from prowess.cli import main; sys.exit(main(sys.argv[1:]))"
    done = subprocess.run(
        [sys.executable, "-c", code, "mcp", "serve", str(project)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert f"this command needs the package mcp: {install_command('mcp')}" in done.stderr


def test_a_server_that_does_not_start_leaves_the_garbage_collector_on(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The process that called `main` goes on, and its memory would grow until its end."""
    assert main(["mcp", "serve", str(project), "--host", "no-such-agent"]) == 2
    assert "no-such-agent" in capsys.readouterr().err
    assert gc.isenabled()
