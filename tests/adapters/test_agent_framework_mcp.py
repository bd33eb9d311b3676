"""Skills of `prowess mcp serve` in the framework's own source of skills of MCP servers."""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("agent_framework")
pytest.importorskip("mcp")

from agent_framework import Agent, MCPSkillsSource, SkillsSourceContext
from mcp.client.stdio import stdio_client

from mcp import ClientSession, StdioServerParameters
from support.skills import skill

from .test_agent_framework import Scripted

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning")


async def read_skills(project: Path) -> dict[str, tuple[str, str, str | None]]:
    """Return the description, the content and a file of each skill that the source finds."""
    command = ["-m", "prowess", "mcp", "serve", str(project), "--home", str(project)]
    server = StdioServerParameters(command=sys.executable, args=command, env={"PROWESS_NO_CACHE": "1"})
    found: dict[str, tuple[str, str, str | None]] = {}
    async with stdio_client(server) as (reader, writer), ClientSession(reader, writer) as session:
        await session.initialize()
        source = MCPSkillsSource(client=session)
        for one in await source.get_skills(SkillsSourceContext(agent=Agent(Scripted()))):
            resource: Any = await one.get_resource("references/fields.md")
            text = None if resource is None else str(await resource.read())
            found[one.frontmatter.name] = one.frontmatter.description, await one.get_content(), text
    return found


def test_the_source_of_the_framework_reads_our_skills(tmp_path: Path) -> None:
    """It reads `skill://index.json`, and then each SKILL.md; a file that is missing is `None`."""
    forms = skill(tmp_path / ".agents/skills/forms", description="Fills forms.", body="Count twice.")
    (forms.parent / "references").mkdir()
    (forms.parent / "references/fields.md").write_text("All fields.", encoding="utf-8")
    skill(tmp_path / ".agents/skills/tides")
    found = asyncio.run(read_skills(tmp_path))
    assert sorted(found) == ["forms", "tides"]
    assert found["forms"] == ("Fills forms.", forms.read_text(encoding="utf-8"), "All fields.")
    assert found["tides"][2] is None
