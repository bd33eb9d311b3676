"""Serve the skills of a folder on standard input and output with the skills provider of FastMCP."""

from __future__ import annotations

import sys
from pathlib import Path

from fastmcp import FastMCP
from fastmcp.server.providers.skills import SkillsDirectoryProvider
from fastmcp.skills.extension import SkillsExtension

provider = SkillsDirectoryProvider(roots=Path(sys.argv[1]), experimental_skills=True)
server: FastMCP[object] = FastMCP("fastmcp")
server.add_provider(provider)
server.add_extension(SkillsExtension(providers=[provider]))
server.run(show_banner=False, log_level="ERROR")
