"""Processes of MCP servers: those of skills run contained, from the bytes that their user trusts."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from typing import TYPE_CHECKING, Any

import pytest

from prowess.agent import Conversation, Turn, assemble
from prowess.agent.sealed_skills import DiscoveredSkill
from prowess.session import Trust
from prowess.testing import ScriptedModel
from support.processes import processes_end, processes_with
from support.skills import skill
from support.suites import require_backend

if TYPE_CHECKING:
    from pathlib import Path

    from prowess.catalog import Entry

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="commands are not run on Windows yet")

ROLE = "name: a\nprompt: You help.\nmodel: openai:m\n"
SERVER = """
import json, os, subprocess, sys
def send(**message):
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)
def reads(path):
    try:
        return bool(os.listdir(path) if os.path.isdir(path) else open(path).read())
    except OSError:
        return False
def see():
    import resource, socket
    try:
        socket.create_connection(("127.0.0.1", int(sys.argv[2])), 1).close()
        network = True
    except OSError:
        network = False
    try:
        import urllib.request
        proxied = urllib.request.urlopen("http://127.0.0.1:" + sys.argv[2], timeout=600).read().decode()
    except OSError as error:
        proxied = str(error)
    try:
        open("planted", "w").close()
        writes = True
    except OSError:
        writes = False
    subprocess.Popen([sys.executable, "-c", "import os, time; os.setsid(); time.sleep(60)", sys.argv[3]],
                     stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return json.dumps({"env": dict(os.environ), "cwd": os.getcwd(), "home": reads(sys.argv[1]), "network": network,
                       "proxied": proxied, "memory": resource.getrlimit(resource.RLIMIT_DATA)[0],
                       "writes": writes, "here": sorted(os.listdir("."))})
for line in sys.stdin:
    asked = json.loads(line)
    if "id" not in asked:
        continue
    known = {"initialize", "tools/list", "tools/call", "ping"}
    if asked["method"] not in known:
        send(id=asked["id"], error={"code": -32601, "message": "unknown"})
        continue
    answer = {
        "initialize": {"capabilities": {"tools": {}}, "serverInfo": {"name": "x", "version": "1"}},
        "tools/list": {"tools": [{"name": "see", "inputSchema": {"type": "object"}}]},
    }.get(asked["method"], {})
    if asked["method"] == "tools/call":
        answer = {"content": [{"type": "text", "text": see()}]}
    if asked["method"] == "initialize":
        answer["protocolVersion"] = asked["params"]["protocolVersion"]
    send(id=asked["id"], result=answer)
"""


@pytest.fixture
def top(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A role's folder with a skill whose server is a file of it; a home with a secret."""
    for name in ("home", "roles", "temporary"):
        (tmp_path / name).mkdir()
    (tmp_path / "home/secret").write_text("secret")
    monkeypatch.setenv("TMPDIR", str(tmp_path / "temporary"))
    monkeypatch.setattr("tempfile.tempdir", None)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    monkeypatch.setenv("PROWESS_CONFIG_DIR", str(tmp_path / "config"))
    return tmp_path.resolve()


@pytest.fixture
def mark() -> str:
    return f"mark-{time.monotonic_ns()}"


def write_skill(top: Path, mark: str, port: int = 1, more: str = "") -> Path:
    """Write a skill with a server, and return the server's file."""
    folder = top / "roles/skills/pdf"
    tool = f"tools:\n- {{type: mcp, command: python3, args: [server.py, {top}/home, '{port}', {mark}]{more}}}\n"
    skill(folder, more=tool)
    (folder / "server.py").write_text(SERVER)
    return folder / "server.py"


def converse(top: Path, steps: list[Any], more: str = "", sandbox: str = "auto", **env: str) -> Conversation:
    (top / "roles/role.yaml").write_text(ROLE + more)
    environment = {"PATH": os.environ["PATH"], "HOME": str(top / "home"), "MY_TOKEN": "secret", **env}
    assembly, findings = assemble(
        top / "roles/role.yaml", home=str(top / "home"), env=environment, sandbox=require_backend(sandbox)
    )
    assert findings == ()
    assert assembly is not None
    return Conversation(assembly, ScriptedModel(steps).pydantic_ai())


def ask(conversation: Conversation) -> Turn:
    return asyncio.run(conversation.ask("Go."))


def entry(conversation: Conversation) -> Entry:
    assert conversation.session is not None
    return conversation.session.catalog.resolve("pdf")


def seen(turn: Turn) -> dict[str, Any]:
    import json

    assert turn.error is None, turn.error
    result = turn.tool_calls[-1].result
    assert result is not None, turn.tool_calls[-1].error
    shown: dict[str, Any] = json.loads(result)
    return shown


ACTIVATE = {"call": "activate_skill", "with": {"name": "pdf"}}


@pytest.mark.slow
def test_a_server_of_a_discovered_skill_starts_only_with_trust_and_contained(top: Path, mark: str) -> None:
    """It sees no secret, no home, no network, and a copy of its skill that it cannot write to; nothing survives."""
    import socket

    with socket.create_server(("127.0.0.1", 0)) as listening:
        write_skill(top, mark, listening.getsockname()[1])
        steps = [ACTIVATE, {"say": "Active."}, {"call": "see"}, {"say": "Done."}]
        conversation = converse(top, steps, sandbox="bwrap")
        first = ask(conversation)
        assert "is not trusted" in " ".join(first.notes)
        assert processes_with(mark) == []
        Trust().allow(entry(conversation))
        shown = seen(ask(conversation))
    assert (shown["home"], shown["network"], shown["writes"]) == (False, False, False)
    assert "secret" not in str(shown["env"])
    assert str(top / "home") not in str(shown["env"])
    assert set(shown["env"]) <= {"HOME", "LANG", "LC_CTYPE", "PATH", "PWD", "TMPDIR"}
    assert shown["here"] == ["SKILL.md", "server.py"]
    assert not shown["cwd"].startswith(str(top / "roles"))
    assert processes_end(mark)
    assert [name for name in os.listdir(top / "temporary") if "runtime" not in name] == []


@pytest.mark.slow
def test_a_server_that_changed_after_the_role_was_loaded_does_not_start(top: Path, mark: str) -> None:
    """The server of a skill that the role names."""
    file = write_skill(top, mark)
    conversation = converse(top, [{"call": "see"}, {"say": "Done."}], "skills: [pdf]\n", sandbox="bwrap")
    assert seen(ask(conversation))["here"] == ["SKILL.md", "server.py"]
    ran = top / "ran"
    file.write_text(f"open({str(ran)!r}, 'w')\n" + SERVER)
    turn = ask(conversation)
    assert "`pdf` has changed since the role was loaded" in f"{turn.error} {turn.notes}"
    assert not ran.exists()
    assert processes_end(mark)


@pytest.mark.slow
def test_trust_that_ends_while_a_server_runs_ends_its_calls(
    top: Path, mark: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_skill(top, mark)
    conversation = converse(top, [ACTIVATE, {"say": "Active."}, {"call": "see"}, {"call": "see"}, {"say": "Done."}])
    Trust().allow(entry(conversation))
    ask(conversation)
    original = DiscoveredSkill.check
    calls: list[str] = []

    def revoke_before_the_second_call(self: DiscoveredSkill) -> None:
        calls.append(self.entry.name)
        if len(calls) == 2:
            Trust().revoke(self.entry)
        original(self)

    monkeypatch.setattr(DiscoveredSkill, "check", revoke_before_the_second_call)
    turn = ask(conversation)
    results = [(call.result, call.error) for call in turn.tool_calls if call.tool == "see"]
    assert results[0][1] is None
    assert "is not trusted" in str(results[1])
    assert processes_end(mark)


@pytest.mark.slow
def test_a_server_gets_the_variables_that_its_skill_declares(top: Path, mark: str) -> None:
    """Those it requires and names, and no others."""
    file = write_skill(top, mark, more=", env: {TOKEN: '${MY_TOKEN}'}")
    text = file.with_name("SKILL.md").read_text()
    file.with_name("SKILL.md").write_text(text.replace("tools:", "requires: {env: [MY_TOKEN]}\ntools:"))
    conversation = converse(top, [{"call": "see"}, {"say": "Done."}], "skills: [pdf]\n", sandbox="bwrap")
    env = seen(ask(conversation))["env"]
    assert env["TOKEN"] == "secret"
    assert "MY_TOKEN" not in env


@pytest.mark.slow
def test_a_server_has_no_more_memory_than_the_role_allows(top: Path, mark: str) -> None:
    """InitRunner's `security.sandbox.memory_limit`; 2 GiB otherwise."""
    write_skill(top, mark)
    for security, memory in (("", 2048), ("security: {sandbox: {memory_limit: 300m}}\n", 300)):
        steps = [{"call": "see"}, {"say": "Done."}]
        conversation = converse(top, steps, f"skills: [pdf]\n{security}", sandbox="bwrap")
        assert seen(ask(conversation))["memory"] == memory * 1024 * 1024


@pytest.mark.slow
@pytest.mark.parametrize("allowed", [True, False])
def test_a_server_with_the_network_follows_the_role_s_rules(top: Path, mark: str, allowed: bool) -> None:
    """Through the proxy, and only to the hosts that the role names."""
    from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
    from threading import Thread

    class Hello(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"hello")

        def log_message(self, *_: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Hello) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        write_skill(top, mark, server.server_port, ", network: true")
        security = "security: {allowed_hosts: [127.0.0.1]}\n" if allowed else ""
        conversation = converse(top, [{"call": "see"}, {"say": "Done."}], "skills: [pdf]\n" + security, sandbox="bwrap")
        shown = seen(ask(conversation))
        server.shutdown()
    assert shown["network"] is False
    assert (shown["proxied"] == "hello") is allowed
    assert processes_end(mark)


def test_without_a_sandbox_a_server_of_an_untrusted_skill_does_not_start(
    top: Path, mark: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not on the machine itself either."""
    write_skill(top, mark)
    conversation = converse(top, [ACTIVATE, {"say": "Active."}, {"say": "Done."}])
    monkeypatch.setenv("PATH", str(top))
    ask(conversation)
    turn = ask(conversation)
    assert "is not trusted" in " ".join(turn.notes)
    assert processes_with(mark) == []


@pytest.mark.slow
def test_an_installed_server_imports_nothing_that_a_tool_writes(top: Path, mark: str) -> None:
    """A server of the role runs outside the sandbox, in the folder that its tools write to."""
    (top / "installed").mkdir()
    (top / "installed/the_server.py").write_text(SERVER)
    tools = (
        "tools:\n- {type: filesystem, read_only: false}\n"
        f"- {{type: mcp, command: {sys.executable}, args: [-m, the_server, x, '1', {mark}],"
        f" env: {{PYTHONPATH: {top}/installed}}}}\n"
    )
    plant = {"call": "write_file", "with": {"path": "json.py", "content": "import os; os._exit(3)"}}
    conversation = converse(top, [plant, {"say": "Done."}, {"call": "see"}, {"say": "Done."}], tools, sandbox="none")
    assert ask(conversation).error is None
    assert (top / "roles/json.py").exists()
    assert seen(ask(conversation))["cwd"] == str(top / "roles")
