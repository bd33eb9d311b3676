"""An MCP server in plain JSON-RPC: `python hostile_mcp_server.py FILE`, a JSON file that says what it sends.

Keys: `tools` (of `tools/list`), `more` (added to them after the first call), `at` (a method) with `send` (raw text in
place of the answer, `ID` is the id of the request), `first` (whether the answer follows) and `exit` (whether it ends).
A call is answered with the name that was called.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any


def send(**message: Any) -> None:
    """Write one message."""
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


def main() -> None:
    """Answer until standard input ends."""
    says = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    tools = says.get("tools", [{"name": "hello", "inputSchema": {"type": "object"}}])
    for line in sys.stdin:
        asked = json.loads(line)
        method = asked["method"]
        if method == says.get("at"):
            sys.stdout.buffer.write(says.get("send", "").replace("ID", json.dumps(asked.get("id"))).encode("latin-1"))
            sys.stdout.flush()
            if says.get("exit"):
                return
            if not says.get("first"):
                continue
        if "id" not in asked:
            continue
        result: dict[str, Any] = {}
        if method == "initialize":
            version = asked["params"]["protocolVersion"]
            server = {"name": "x", "version": "1"}
            capabilities = {"tools": {"listChanged": True}}
            result = {"protocolVersion": version, "capabilities": capabilities, "serverInfo": server}
        elif method == "tools/list":
            result = {"tools": tools}
        elif method == "tools/call":
            name = asked["params"]["name"]
            result = {"content": [{"type": "text", "text": f"{says.get('label', '')}{name}"}]}
            if "more" in says:
                tools = [*tools, *says.pop("more")]
                send(method="notifications/tools/list_changed")
        send(id=asked["id"], result=result)


if __name__ == "__main__":
    main()
