"""strands-agents: `Skill.from_directory`."""

from strands import Skill


def discover(folder: str) -> int:
    """Load every skill below the folder."""
    return len(Skill.from_directory(folder))
