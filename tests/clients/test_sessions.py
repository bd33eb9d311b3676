"""The recorded sessions of real clients: small, and without anything of the machine that recorded them."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest

from clients._conversations import CONVERSATIONS
from clients._fixed import HOME
from clients._reading import SESSIONS, build_home, differences, expected_sessions

if TYPE_CHECKING:
    from pathlib import Path

CLIENTS = sorted(folder.name for folder in SESSIONS.iterdir())
each_client = pytest.mark.parametrize("client", CLIENTS)


@each_client
def test_recorded_files_are_small_and_have_no_path_of_the_machine(client: str) -> None:
    """A home of another name, a temporary folder or an installation would be one."""
    for file in (path for path in (SESSIONS / client).rglob("*") if path.is_file()):
        text = file.read_text("utf-8")
        assert len(text.encode()) < 100_000, file
        assert re.findall(r".{20}/(?:tmp/observe|dev/shm|home/(?!ada\b)\w+|\S*/\.clients)/.{20}", text) == [], file


@each_client
def test_each_conversation_has_an_expected_file_with_sessions_that_are_recorded(client: str, tmp_path: Path) -> None:
    """What was scripted for it, in the numbers of the script; a client that cannot have a conversation has no file."""
    home = build_home(client, tmp_path / "home")
    recorded = b"".join(path.read_bytes() for path in home.rglob("*") if path.is_file()).decode("utf-8", "replace")
    expected = expected_sessions(client)
    assert {"model", "copies", "unknown", "deleted"} <= expected.keys() <= CONVERSATIONS.keys()
    for name, session in expected.items():
        steps = [step for turn in CONVERSATIONS[name] for step in turn.steps]
        uses = [turn.invokes for turn in CONVERSATIONS[name] if turn.invokes]
        uses += [step[1] for step in steps if step[0] == "use"]
        assert sorted(item["name"] for item in session["activations"]) == sorted(uses)
        assert len(session["files"]) == sum(step[0] == "read" for step in steps)
        assert [item["exit"] for item in session["scripts"]] == [int(step[3]) for step in steps if step[0] == "run"]
        assert len(session["ids"]) == 1 + (name == "forked")
        assert all(identifier in recorded for identifier in session["ids"])
        assert HOME in json.dumps(session["activations"]) or not uses


def test_an_act_that_is_not_read_or_was_not_scripted_is_named(tmp_path: Path) -> None:
    """As `make observe-usage` prints it, of the sessions that it has just recorded."""
    home, expected = build_home("codex", tmp_path / "home"), expected_sessions("codex")
    assert differences("codex", home, expected) == {}
    expected["unknown"]["activations"], expected["copies"]["activations"] = expected["copies"]["activations"], []
    row = "flags model /home/ada/.agents/skills/flags/SKILL.md 2026-11-04"
    assert differences("codex", home, expected) == {
        "unknown": f"missing ['{row}'], and not scripted []",
        "copies": f"missing [], and not scripted ['{row}']",
    }
