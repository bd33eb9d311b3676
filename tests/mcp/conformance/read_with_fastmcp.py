"""Print as JSON which skills FastMCP's helpers find at a server, after they wrote them all to a folder.

`python read_with_fastmcp.py FOLDER COMMAND ARGUMENT ...`
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

from fastmcp import Client
from fastmcp.client.transports import StdioTransport
from fastmcp.utilities.skills import get_skill_manifest, list_skills, sync_skills


async def main(folder: Path, command: str, *arguments: str) -> dict[str, Any]:
    """Return each skill with its description and the digests in its list of files."""
    async with Client(StdioTransport(command, [*arguments])) as client:
        found = await list_skills(client)
        await sync_skills(client, folder)
        return {
            one.name: {
                "description": one.description,
                "files": {
                    file.path: file.hash.removeprefix("sha256:")
                    for file in (await get_skill_manifest(client, one.name)).files
                },
            }
            for one in found
        }


print(json.dumps(asyncio.run(main(Path(sys.argv[1]), *sys.argv[2:]))))
