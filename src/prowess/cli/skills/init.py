"""prowess init: create the skills folder of a project, with an example skill."""

from __future__ import annotations

import os

from prowess._internal.files import SKILL_FILE
from prowess._internal.text import neutral
from prowess.cli._output import Message, Result

from ._new_skill import Seen, SkillPlace, add_project_options, check_inside, skill_text, write_skill

TYPE_CHECKING = False
if TYPE_CHECKING:
    from prowess.cli._parser import Arguments, Parser

EPILOG = "An example skill that exists already is not changed."
_NAME = "example"
_DESCRIPTION = "Explains what an agent skill is. Use when the user asks how the skills of this project work."
_BODY = """<!-- delete me: this is an example; remove its folder once you have a skill of your own -->

# How skills work

1. When an agent starts, it reads only the name and the description of every skill.
2. When a task matches a description, it reads the rest of that file, for example this text.
3. It reads the other files of the skill when the text asks for them.

`prowess new NAME` creates another skill, `prowess check` reports problems, and `prowess list` shows all skills.
"""


def options(parser: Parser) -> None:
    """Add the command's options."""
    add_project_options(parser)


def run(args: Arguments) -> Result:
    """Create the folder and the example, unless they exist."""
    place = SkillPlace(args)
    folder, project = place.folder("prowess init", _NAME)
    check_inside(project, os.path.join(folder, _NAME))
    path = os.path.join(folder, _NAME, SKILL_FILE)
    created = not os.path.lexists(path)
    if created:
        write_skill(folder, _NAME, {SKILL_FILE: skill_text(_NAME, _DESCRIPTION, _BODY)}, place.named, project=project)
    seen = Seen(place, path)
    new, old = "created an example skill; read it, then delete it", "the example skill exists already; nothing changed"
    return Result(
        lambda: {"name": _NAME, "path": path, **seen.as_dict(), "created": created},
        (neutral(path), Message(new if created else old), *seen.messages()),
    )
