"""The client that the official conformance suite of MCP starts with the URL of its server.

In the scenario `sep-2640-client-no-prefetch` it lists the skills; in all others it also activates each skill and reads
its files, as a conversation does, and prints what it gets.
"""

from __future__ import annotations

import os
import sys
import tempfile

from prowess import Session, discover
from prowess.errors import SkillError
from prowess.mcp import McpSkillProvider


def main(url: str) -> None:
    with tempfile.TemporaryDirectory() as folder, McpSkillProvider("suite", url=url, cache=folder) as provider:
        catalog = discover(folder, home=folder, cache=False, providers=[provider])
        session = Session(catalog)
        for finding in catalog.findings:
            print(finding.message)
        for entry in catalog.active:
            print(entry.name)
            if os.environ.get("MCP_CONFORMANCE_SCENARIO") == "sep-2640-client-no-prefetch":
                continue
            try:
                files = session.activate(entry.name).files
                for path in files:
                    print(session.read(entry.name, path).text)
            except SkillError as error:
                print(f"refused: {error}")


main(sys.argv[-1])
