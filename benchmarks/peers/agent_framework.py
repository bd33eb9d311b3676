"""agent-framework: the skills of a file source, as its provider asks for them before a run."""

import asyncio

from agent_framework import FileSkillsSource, SkillsSourceContext


def discover(folder: str) -> int:
    """Get every skill below the folder; the source makes no use of the agent in the context."""
    return len(asyncio.run(FileSkillsSource(folder).get_skills(SkillsSourceContext(agent=None))))
