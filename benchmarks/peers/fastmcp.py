"""FastMCP: the provider of a skills folder, which finds and reads its skills when it is made."""

from fastmcp.server.providers.skills import SkillsDirectoryProvider


def discover(folder: str) -> int:
    """Make a provider and count those it made for each skill."""
    return len(SkillsDirectoryProvider(roots=folder).providers)
