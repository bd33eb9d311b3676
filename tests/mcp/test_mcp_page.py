"""The Python code of docs/mcp.md runs as it is written."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

TOP = Path(__file__).parents[2]
INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}},
}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # the client of tests that Starlette has
def test_the_server_is_mounted_into_an_application(monkeypatch: pytest.MonkeyPatch) -> None:
    """A client needs the token, and finds the skills at the path of the page."""
    monkeypatch.chdir(TOP)
    codes = re.findall(
        r"^```python\n(.*?)^```$", (TOP / "docs/mcp.md").read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
    )
    (code,) = (code for code in codes if "Starlette" in code)
    names: dict[str, Any] = {}
    exec(code, names)  # noqa: S102 - the code of the page
    headers = {"Accept": "application/json, text/event-stream"}
    with TestClient(names["app"], base_url="http://127.0.0.1") as client:
        assert client.post("/skills/mcp", json=INITIALIZE, headers=headers).status_code == 401
        headers["Authorization"] = "Bearer a-long-secret"
        answer = client.post("/skills/mcp", json=INITIALIZE, headers=headers)
    assert (answer.status_code, "csv-profile" in answer.text) == (200, True)
