"""Changes of skills that the server announces to clients of the older era over HTTP."""

from __future__ import annotations

from http.client import HTTPConnection
from typing import TYPE_CHECKING

import pytest

from support.growth import END
from support.mcp_clients import INITIALIZE, post, serve
from support.skills import skill

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.slow


def test_changes_are_declared_and_announced_on_the_stream_of_a_session(tmp_path: Path) -> None:
    """A client opens it with GET, after it has listed."""
    project = tmp_path / "project"
    skill(project / ".agents/skills/pages")
    with serve(project, "--http", "127.0.0.1:0") as served:
        start = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": INITIALIZE}
        _, headers, answer = post(served.address, start)
        assert answer["result"]["capabilities"]["resources"]["listChanged"] is True
        session = {"Mcp-Session-Id": headers["mcp-session-id"], "MCP-Protocol-Version": "2025-06-18"}
        post(served.address, {"jsonrpc": "2.0", "method": "notifications/initialized"}, **session)
        post(served.address, {"jsonrpc": "2.0", "id": 2, "method": "skills/list", "params": {}}, **session)
        connection = HTTPConnection(served.address, timeout=END)
        connection.request("GET", "/mcp", headers={"Accept": "text/event-stream", **session})
        stream = connection.getresponse()
        assert stream.status == 200
        skill(project / ".agents/skills/new")
        lines = iter(stream.readline, b"")
        data = next(line for line in lines if line.startswith(b"data: {"))
        connection.close()
    assert b'"method":"notifications/resources/list_changed"' in data
