"""Web servers on the loopback address: the one of Python's standard library, and one with an index of skills."""

from __future__ import annotations

import functools
import hashlib
import http.server
import json
from typing import TYPE_CHECKING, Any

from support.loopback import LoopbackServer
from support.site_server import Site, reply

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

SCHEMA = "https://schemas.agentskills.io/discovery/0.2.0/schema.json"
INDEX, OLD_INDEX = "/.well-known/agent-skills/index.json", "/.well-known/skills/index.json"


class _Handler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Say nothing."""


def static_server(folder: Path) -> LoopbackServer:
    """Return a server of the files in a folder, as `python -m http.server` is one."""
    return LoopbackServer(functools.partial(_Handler, directory=str(folder)))  # type: ignore[arg-type]


def entry(name: str, data: bytes, url: str | None = None, **changes: Any) -> dict[str, Any]:
    """Return the entry of an index for a SKILL.md, or for an archive if its URL is one."""
    url = f"{name}/SKILL.md" if url is None else url
    kind = "archive" if url.endswith((".tar.gz", ".zip")) else "skill-md"
    digest = f"sha256:{hashlib.sha256(data).hexdigest()}"
    return {"name": name, "type": kind, "description": "Does it.", "url": url, "digest": digest, **changes}


def index_of(*entries: Mapping[str, Any], **more: Any) -> bytes:
    """Return an index of version 0.2.0."""
    return json.dumps({"$schema": SCHEMA, "skills": entries, **more}).encode()


def site_of(pages: Mapping[str, bytes]) -> Site:
    """Return a server of pages; of those without a `/` at the beginning below that of the index."""
    folder = INDEX.rpartition("/")[0]
    return Site({path if path.startswith("/") else f"{folder}/{path}": reply(data) for path, data in pages.items()})
