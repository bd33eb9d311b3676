"""initrunner: its discovery of skills that a role did not name, with the cap of 50 raised."""

from pathlib import Path

from initrunner.agent.auto_skills import discover_skills


def discover(folder: str) -> int:
    """Find the skills beside a role in the project that the folder is in."""
    return len(discover_skills(Path(folder).parent.parent, None, max_skills=1_000_000))
