"""`prowess mcp check`: what a server offers and breaks, for its author."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from prowess.cli import main
from prowess.net import _client as _http
from support import skill_servers
from support.skill_servers import FILES, serve

PROGRAM = [sys.executable, str(Path(skill_servers.__file__))]


def test_a_url_without_faults_exits_with_zero(capsys: pytest.CaptureFixture[str]) -> None:
    with serve() as (url, _):
        code = main(["mcp", "check", url])
    size = sum(map(len, FILES.values()))
    assert code == 0
    assert capsys.readouterr().out.splitlines() == [
        "protocol  2026-07-28 (modern era)",
        "offers    extensions, resources; skills",
        f"skills    1 (4 files, {size} bytes; 4 verified)",
        "0 errors, 0 warnings",
    ]


def test_a_command_with_faults_exits_with_one(capsys: pytest.CaptureFixture[str]) -> None:
    """Each finding names the rule, the skill and what to do."""
    assert main(["mcp", "check", "--json", "--", *PROGRAM, "changed"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert (found["era"], found["skills"], found["verified"]) == ("modern", 1, 4)
    first = found["findings"][0]
    assert (first["level"], first["rule"], first["skill"]) == ("error", "digest", "skill://pdf/SKILL.md")
    assert "SHA-256" in first["hint"]


@pytest.mark.parametrize(
    ("program", "reason"),
    [
        ("raise SystemExit('sorry')", "it has ended: sorry"),
        ("print('hello')", "it has ended"),
        ("import os; os.execvp('cat', ['cat'])", "it answered: Method not found (-32601)"),
        ("print('{}, {}')", "it sent a message that is not JSON"),
    ],
    ids=["ends", "prints", "echoes", "prints braces"],
)
def test_a_program_that_is_no_server_is_reported(program: str, reason: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["mcp", "check", "--", sys.executable, "-c", program]) == 1
    first, hint, _ = capsys.readouterr().out.splitlines()
    assert first == f"error: {sys.executable}: it is not a server of MCP: {reason} [protocol]"
    assert "speaks the protocol" in hint


@pytest.mark.parametrize(("what", "rule"), [("http-404", "protocol"), ("http-401", "connection")])
def test_a_url_that_is_no_server_is_reported(what: str, rule: str, capsys: pytest.CaptureFixture[str]) -> None:
    """From one that needs a token."""
    with serve(what) as (url, _):
        assert main(["mcp", "check", "--json", url]) == 1
    (found,) = json.loads(capsys.readouterr().out)["findings"]
    assert (found["rule"], found["message"].startswith("it is not a server of MCP: ")) == (rule, rule == "protocol")


@pytest.mark.parametrize(("options", "tried"), [([], []), (["--allow-private"], ["10.0.0.7"])])
def test_a_name_in_the_own_network_is_reached_if_the_user_says_so(
    options: list[str], tried: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Otherwise nothing is connected, and the finding names the option."""
    connected = []

    def connect(target: tuple[str, int], *_: object, **__: object) -> None:
        connected.append(target[0])
        raise ConnectionRefusedError(111, "refused")

    monkeypatch.setattr(_http, "look_up_host", lambda *_: ("10.0.0.7",))
    monkeypatch.setattr("socket.create_connection", connect)
    assert main(["mcp", "check", "https://skills.example.com/mcp", *options]) == 1
    assert connected == tried
    assert ("allow_private" in capsys.readouterr().out) is not bool(tried)


def test_the_token_of_the_own_server_is_not_sent_to_another_one(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The variable says what clients of `mcp serve` must send; `check` sends only what it is given."""
    monkeypatch.setenv("PROWESS_MCP_TOKEN", "own-secret")
    (tmp_path / "token").write_text("given")
    with serve() as (url, server):
        main(["mcp", "check", url])
        assert not [headers for headers in server.headers if "own-secret" in str(headers)]
        main(["mcp", "check", "--token-file", str(tmp_path / "token"), url])
        assert "Bearer given" in str(server.headers[-1])
