"""The transcripts of docs/mcp-clients.md are what the clients do. `make clients` installs them and runs these tests."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from real.mcp_transcripts import CLIENTS, MODULES, PAGE, VERSIONS, Client, record, sections

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(not (MODULES / ".bin").is_dir(), reason="`make clients` installs the clients")


@pytest.mark.parametrize("client", CLIENTS, ids=[client.title for client in CLIENTS])
def test_a_client_uses_a_skill_as_its_transcript_says(client: Client, tmp_path: Path) -> None:
    """In the version of the page, with both tools."""
    installed = json.loads((MODULES / client.package / "package.json").read_text("utf-8"))["version"]
    assert installed == VERSIONS[client.package]
    assert record(client, tmp_path.resolve()) == sections(PAGE.read_text("utf-8"))[client.title]
