"""agno: its local loader, as it is set up by default."""

from agno.skills import LocalSkills


def discover(folder: str) -> int:
    """Validate and load every skill below the folder."""
    return len(LocalSkills(folder).load())
