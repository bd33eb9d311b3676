"""prowess init: create the skills folder of a project, with an example skill."""

from __future__ import annotations

import os

from prowess._internal.files import SKILL_FILE
from prowess._internal.text import neutral

from ._commands import OK
from ._options import make_parser
from ._output import print_json, print_stderr, print_stdout
from ._scaffold import check_inside, skill_text, write_skill
from ._skill_place import print_who_sees, views_of
from .new import add_project_options, place_as_dict, skill_place

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

_NAME = "example"
_DESCRIPTION = "Explains what an agent skill is. Use when the user asks how the skills of this project work."
_BODY = """<!-- delete me: this is an example; remove its folder once you have a skill of your own -->

# How skills work

1. When an agent starts, it reads only the name and the description of every skill.
2. When a task matches a description, it reads the rest of that file, for example this text.
3. It reads the other files of the skill when the text asks for them.

`prowess new NAME` creates another skill, `prowess check` reports problems, and `prowess list` shows all skills.
"""


def parser() -> ArgumentParser:
    """Build the command's parser."""
    result = make_parser("init", epilog="An example skill that exists already is not changed.")
    add_project_options(result)
    return result


def run(args: Namespace) -> int:
    """Create the folder and the example, unless they exist."""
    place = skill_place(args)
    folder, project = place.folder("prowess init", _NAME)
    check_inside(project, os.path.join(folder, _NAME))
    path = os.path.join(folder, _NAME, SKILL_FILE)
    created = not os.path.lexists(path)
    if created:
        write_skill(folder, _NAME, {SKILL_FILE: skill_text(_NAME, _DESCRIPTION, _BODY)}, place.named, project=project)
    views = views_of(place, args, path)
    if args.json:
        print_json({"name": _NAME, "path": path, **place_as_dict(args, path, views), "created": created})
        return OK
    print_stdout(neutral(path))
    print_stderr(
        "created an example skill; read it, then delete it"
        if created
        else "the example skill exists already; nothing changed"
    )
    print_who_sees(place, views)
    return OK
