"""openai-agents: the metadata that its lazy source lists for the instructions of a sandbox agent."""

import os
from pathlib import Path

from agents.sandbox.capabilities import LocalDirLazySkillSource
from agents.sandbox.entries import LocalDir


def discover(folder: str) -> int:
    """List every skill below the folder, which must be in the working directory."""
    os.chdir(folder)
    source = LocalDirLazySkillSource(source=LocalDir(src=Path(folder)))
    return len(source.list_skill_metadata(skills_path=".agents/skills"))
