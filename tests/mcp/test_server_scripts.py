"""Scripts of skills that a client runs through `prowess mcp serve --scripts`, in the sandbox of this machine."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest

from prowess.cli import main
from support.mcp_clients import INITIALIZE, MODERN, modern, post as post_to, serve
from support.processes import processes_with, wait_until
from support.programs import require
from support.scripts import write_script
from support.skills import skill

if TYPE_CHECKING:
    from pathlib import Path

    from support.mcp_clients import Served

pytestmark = pytest.mark.slow
RUN = {"name": "run_skill_script", "arguments": {"skill": "pages", "script": "count.sh", "args": ["3"]}}
READ = {"name": "read_script_file", "arguments": {"path": "ok.txt"}}
OUTPUT = "exit code 0\nstdout:\npages: 3\n"
WROTE = OUTPUT + "files it wrote, which `read_script_file` reads:\n- ok.txt (5 bytes)"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project whose skill has a script that no user trusts yet."""
    require("bwrap")
    monkeypatch.setenv("PROWESS_CONFIG_DIR", str(tmp_path / "config"))
    folder = tmp_path / "project"
    skill(folder / ".agents/skills/pages", body="Count twice.")
    write_script(folder)
    return folder


def trust(project: Path) -> None:
    assert main(["trust", "pages", "--yes", "--cwd", str(project), "--home", str(project.parent)]) == 0


def call(served: Served, request: dict[str, Any], era: dict[str, Any]) -> tuple[bool, str]:
    """Return whether a tool failed, and its text."""
    return outcome(served.ask("tools/call", {**request, **era}))


def outcome(answer: Any) -> tuple[bool, str]:
    return answer["isError"], answer["content"][0]["text"]


@pytest.mark.parametrize("era", [{}, MODERN], ids=["older", "modern"])
def test_a_trusted_script_runs_and_its_files_are_read(project: Path, era: dict[str, Any]) -> None:
    """Before its user trusts it, the answer says what to do; then it runs without a new start of the server."""
    with serve(project, "--scripts") as served:
        if not era:
            served.initialize()
        failed, text = call(served, RUN, era)
        assert failed
        assert "`pages` is not trusted: review it, then type `prowess trust pages`" in text
        assert str(project) not in text
        assert "tell the user this" in text
        trust(project)
        assert call(served, RUN, era) == (False, WROTE)
        assert call(served, READ, era) == (False, "done\n")
        (project / ".agents/skills/pages/count.sh").write_text("#!/bin/sh\necho changed\n")
        failed, text = call(served, RUN, era)
        assert failed
        assert "has changed since it was trusted" in text


def test_scripts_are_offered_only_if_asked_for(project: Path) -> None:
    """Their tools are missing otherwise, and running one is an error; running says that it does not only read."""
    trust(project)
    with serve(project) as served:
        served.initialize()
        names = {tool["name"] for tool in served.ask("tools/list")["tools"]}
        assert names.isdisjoint({"run_skill_script", "read_script_file"})
        assert served.ask("tools/call", RUN)["code"] == -32602
    with serve(project, "--scripts") as served:
        served.initialize()
        tools = {tool["name"]: tool for tool in served.ask("tools/list")["tools"]}
        assert [tools[name].get("annotations", {}).get("readOnlyHint") for name in (RUN["name"], READ["name"])] == [
            None,
            True,
        ]


@pytest.mark.parametrize("era", [{}, MODERN], ids=["older", "modern"])
def test_a_cancelled_call_ends_its_script(project: Path, era: dict[str, Any]) -> None:
    """With all its processes; another one can run at once."""
    script = project / ".agents/skills/pages/wait.sh"
    mark = f"98{os.getpid()}"
    script.write_text(f"#!/bin/sh\nsleep {mark} &\nsleep {mark}\n")
    trust(project)
    with serve(project, "--scripts") as served:
        if not era:
            served.initialize()
        arguments = {"skill": "pages", "script": "wait.sh"}
        served.send("tools/call", {"name": "run_skill_script", "arguments": arguments, **era}, id="long")
        wait_until(lambda: len(processes_with(mark)) >= 2)
        served.send("notifications/cancelled", {"requestId": "long", **era})
        wait_until(lambda: not processes_with(mark))
        assert call(served, RUN, era) == (False, WROTE)


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"skill": "pages", "script": "../../../outside.sh"}, "outside.sh"),
    ({"skill": "pages", "script": "missing.sh"}, "missing.sh"),
    ({"skill": "no-such", "script": "count.sh"}, "no skill is called `no-such`"),
    ({"skill": "pages", "script": "count.sh", "args": "3"}, "args"),
    ({"skill": 7}, "error: "),
]


def test_other_files_are_not_run(project: Path) -> None:
    """Nothing outside the skill; invalid arguments are an error with a text."""
    trust(project)
    outside = project / "outside.sh"
    outside.write_text(f"#!/bin/sh\ntouch {project}/ran\n")
    outside.chmod(0o755)
    with serve(project, "--scripts") as served:
        served.initialize()
        for arguments, problem in WRONG:
            failed, text = call(served, {"name": "run_skill_script", "arguments": arguments}, {})
            assert (failed, problem in text) == (True, True), text
    assert not (project / "ran").exists()


def test_over_http_each_connection_has_its_own_files(project: Path) -> None:
    """The era without connections has no files: nothing tells whose they are."""
    trust(project)
    with serve(project, "--scripts", "--http", "127.0.0.1:0", PROWESS_MCP_TOKEN="secret") as served:  # noqa: S106

        def post(address: str, message: Any, **headers: str) -> Any:
            return post_to(address, message, Authorization="Bearer secret", **headers)

        def session() -> dict[str, str]:
            start = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": INITIALIZE}
            _, headers, _ = post(served.address, start)
            found = {"Mcp-Session-Id": headers["mcp-session-id"], "MCP-Protocol-Version": "2025-06-18"}
            post(served.address, {"jsonrpc": "2.0", "method": "notifications/initialized"}, **found)
            return found

        def ask(request: dict[str, Any], headers: dict[str, str]) -> tuple[bool, str]:
            message = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": request}
            return outcome(post(served.address, message, **headers)[2]["result"])

        one, other = session(), session()
        assert ask(RUN, one) == (False, WROTE)
        assert ask(READ, one) == (False, "done\n")
        assert ask(READ, other)[0]
        message, headers = modern("tools/call", name="run_skill_script")
        message["params"].update(RUN)
        failed, text = outcome(post(served.address, message, **headers)[2]["result"])
        assert (failed, text.startswith(OUTPUT), "read_script_file" in text) == (False, True, False)
        message, headers = modern("tools/list")
        offered = {tool["name"] for tool in post(served.address, message, **headers)[2]["result"]["tools"]}
        assert ("run_skill_script" in offered, "read_script_file" in offered) == (True, False)
