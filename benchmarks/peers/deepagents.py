"""deepagents: what its middleware loads before an agent starts."""

from deepagents.backends import FilesystemBackend
from deepagents.middleware.skills import SkillsMiddleware


def discover(folder: str) -> int:
    """Load the metadata of every skill below the folder."""
    skills = SkillsMiddleware(backend=FilesystemBackend(root_dir=folder, virtual_mode=False), sources=[folder])
    return len(skills.before_agent({"messages": []}, None, {})["skills_metadata"])
