"""Measure what skills add to a first request: those of a session, and a framework's own, for the same skills.

`.venv-haystack/bin/python benchmarks/first_requests.py [FOLDER]`, in the environment of any framework, for the skills
in a folder, such as `.agents/skills`; by default for 18 whose descriptions are as long as those of published skills.
It counts the characters of the text about skills and of the schemas of their tools.
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from prowess import Session, discover

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_SKILLS = 18
_SENTENCE = "Use it when the user asks for a table, a report or a form, or names a file of this kind. "
_LENGTH = 430
"""Characters of a description: the mean of 17 published skills of one author."""


def write_skills(folder: Path) -> None:
    """Write skills into a folder."""
    for number in range(_SKILLS):
        name = f"document-{number:02}"
        description = f"Reads and writes documents of kind {number}. {_SENTENCE * 5}"[:_LENGTH].strip()
        (folder / name).mkdir(parents=True)
        (folder / name / "SKILL.md").write_text(f"---\nname: {name}\ndescription: {description}\n---\nDo it.\n")


def of_session(project: Path) -> int:
    """Return what a session of Prowess sends."""
    session = Session(discover(project, home=project / "home"))
    tools = [(tool.name, tool.description, tool.parameters) for tool in session.tools()]
    return _size([session.static_block()], [dict(zip(_KEYS, tool, strict=True)) for tool in tools])


def of_haystack(project: Path) -> int:
    """Return what `SkillToolset` sends."""
    from haystack.skill_stores.file_system import FileSystemSkillStore
    from haystack.tools import SkillToolset

    toolset = SkillToolset(FileSystemSkillStore(str(project / ".agents/skills")))
    toolset.warm_up()
    return _size([], [tool.tool_spec for tool in toolset])


def of_strands(project: Path) -> int:
    """Return what `AgentSkills` sends."""
    from strands import Agent
    from strands.vended_plugins.skills import AgentSkills

    plugin = AgentSkills(skills=str(project / ".agents/skills"))
    agent = Agent(plugins=[plugin])
    spec = plugin.skills.tool_spec
    tool = dict(zip(_KEYS, (spec["name"], spec["description"], spec["inputSchema"]["json"]), strict=True))
    # The text that it adds to the instructions has no public name.
    return _size([plugin._generate_skills_xml(agent)], [tool])  # noqa: SLF001


def of_camel(project: Path) -> int:
    """Return what `SkillToolkit` sends."""
    from camel.toolkits import SkillToolkit

    return _size([], [tool.get_openai_tool_schema()["function"] for tool in SkillToolkit(str(project)).get_tools()])


_KEYS = ("name", "description", "parameters")
_OWN: dict[str, Callable[[Path], int]] = {
    "Haystack `SkillToolset`": of_haystack,
    "Strands `AgentSkills`": of_strands,
    "CAMEL `SkillToolkit`": of_camel,
}


def _size(texts: Iterable[str], tools: Iterable[Any]) -> int:
    return sum(map(len, texts)) + sum(len(json.dumps(tool, ensure_ascii=False)) for tool in tools)


def main(arguments: list[str]) -> int:
    """Print a table of the session and of the frameworks that are installed here."""
    with tempfile.TemporaryDirectory() as folder:
        project = Path(folder)
        (project / ".git").mkdir()
        if arguments:
            shutil.copytree(arguments[0], project / ".agents/skills")
        else:
            write_skills(project / ".agents/skills")
        print("| what | characters |\n|---|--:|")
        print(f"| Prowess | {of_session(project):,} |")
        for name, measure in _OWN.items():
            try:
                print(f"| {name} | {measure(project):,} |")
            except ImportError:
                continue
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
