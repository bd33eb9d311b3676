"""camel-ai: the list that its toolkit offers to the model."""

import os

from camel.toolkits import SkillToolkit


def discover(folder: str) -> int:
    """List the skills of the project that the folder is in."""
    return len(SkillToolkit(working_directory=os.path.dirname(os.path.dirname(folder))).list_skills())
