"""pydantic-ai-skills: its capability indexes what skills bring along; its harness reads SKILL.md when a run starts."""

import asyncio

from pydantic_ai.workspaces import LocalWorkspaceBackend
from pydantic_ai_harness.skills import Skills
from pydantic_ai_skills import SkillsCapability


def discover(folder: str) -> int:
    """Do both for every skill below the folder."""
    SkillsCapability(folder)
    return len(asyncio.run(Skills(folder).load(LocalWorkspaceBackend(folder))).skills)
