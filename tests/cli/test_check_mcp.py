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


def test_a_server_that_cannot_be_reached_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["mcp", "check", "no-such-program-41"]) == 1
    assert "error: it cannot be started: command not found: `no-such-program-41`" in capsys.readouterr().out


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


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["check"], "needs the URL of a server, or the command that starts it"),
        (["check", "http://127.0.0.1:9", "http://127.0.0.1:9"], "takes one URL"),
        (["serve", "--allow-private"], "`--allow-private` is for `mcp check`"),
        (["serve", "--json"], "`--json` is for `mcp check`"),
        (["serve", "a", "b"], "`mcp serve` takes one DIR"),
    ],
)
def test_wrong_arguments_are_an_error(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["mcp", *arguments]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("option", ["--dry-run", "--scripts", "--only=a", "--http=127.0.0.1:0", "--host=codex"])
def test_options_of_serve_are_refused(option: str, capsys: pytest.CaptureFixture[str]) -> None:
    """They would have no effect."""
    assert main(["mcp", "check", option, "https://example.invalid/mcp"]) == 2
    assert f"`{option.partition('=')[0]}` is for `mcp serve`" in capsys.readouterr().err


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
