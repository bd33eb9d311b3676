"""The transcripts of real clients in docs/mcp-clients.md have what they claim; `make clients` compares all of them."""

from __future__ import annotations

import json
import re

import pytest

from real.mcp_transcripts import ACTIVATE, ANSWER, CLIENTS, PAGE, READ, SKILL, TABLE, VERSIONS, Client, sections

BODY = SKILL.rpartition("---\n")[2].strip()


def test_each_client_has_a_transcript() -> None:
    assert list(sections(PAGE.read_text("utf-8"))) == [client.title for client in CLIENTS]


@pytest.mark.parametrize("client", CLIENTS, ids=[client.title for client in CLIENTS])
def test_a_transcript_shows_a_skill_that_is_used_through_the_server(client: Client) -> None:
    """In the pinned version: the server is added, two tools are called, their texts reach the model, and it answers."""
    text = sections(PAGE.read_text("utf-8"))[client.title]
    assert text.startswith(f"## {client.title} {VERSIONS[client.package]}\n")
    commands, *steps = re.split(r"^(model calls|model gets|client prints):\n", text, flags=re.MULTILINE)
    assert "prowess mcp serve --skill-dir ~/skills" in commands
    pairs = list(zip(steps[::2], steps[1::2], strict=True))
    calls = [step for kind, step in pairs if kind == "model calls"]
    expected = [ACTIVATE, *client.between, READ]
    for call, (name, arguments) in zip(calls, expected, strict=True):
        called, given = call.split(maxsplit=1)
        assert (called.endswith(name), json.loads(given)) == (True, arguments)
    got = [step for kind, step in pairs if kind == "model gets"]
    assert ['<skill_content name="tide-tables">' in got[0], BODY in got[0], TABLE.strip() in got[1]] == [True] * 3
    assert pairs[-1] == ("client prints", f"    {ANSWER}\n```\n")
    assert "/tmp" not in text
