"""prowess init: create the skills folder of a project, with an example skill or the one about Prowess."""

from __future__ import annotations

import os
from contextlib import suppress
from pkgutil import get_data

from prowess._internal.files import SKILL_FILE, UnreadableError, read_file
from prowess._internal.text import neutral
from prowess.cli._output import Message, Result

from ._new_skill import Seen, SkillPlace, add_project_options, check_inside, skill_text, write_skill

TYPE_CHECKING = False
if TYPE_CHECKING:
    from prowess.cli._parser import Arguments, Parser

EPILOG = "A skill that exists already is not changed."
_OWN = "prowess"
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
    parser.flag("--skill", "write the skill `prowess` instead, so that a coding agent answers questions about skills")
    add_project_options(parser)


def run(args: Arguments) -> Result:
    """Create the folder and the skill, unless they exist."""
    place = SkillPlace(args)
    name = _OWN if args.skill else _NAME
    folder, project = place.folder("prowess init --skill" if args.skill else "prowess init", name)
    check_inside(project, os.path.join(folder, name))
    path = os.path.join(folder, name, SKILL_FILE)
    text = own_skill() if args.skill else skill_text(_NAME, _DESCRIPTION, _BODY)
    created = not os.path.lexists(path)
    if created:
        write_skill(folder, name, {SKILL_FILE: text}, place.named, project=project)
    seen = Seen(place, path)
    return Result(
        lambda: {"name": name, "path": path, **seen.as_dict(), "created": created},
        (neutral(path), Message(_outcome(path, text, created=created, own=args.skill)), *seen.messages()),
    )


def own_skill() -> str:
    """Return the SKILL.md of the skill `prowess`, which tells a coding agent which commands answer which question."""
    return (get_data(__package__, f"{_OWN}/{SKILL_FILE}") or b"").decode()


def _outcome(path: str, text: str, *, created: bool, own: bool) -> str:
    """Say what was done."""
    if created:
        return "created the skill `prowess`" if own else "created an example skill; read it, then delete it"
    if not own:
        return "the example skill exists already; nothing changed"
    with suppress(UnreadableError):
        if read_file(path) == text.encode():
            return "the skill `prowess` exists already; nothing changed"
    return "another version of the skill `prowess` exists already; nothing changed; remove its folder to get this one"
