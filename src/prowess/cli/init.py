"""prowess init -> a project's skills folder with an example"""

from __future__ import annotations

import os

from prowess._internal.files import SKILL_FILE
from prowess._internal.text import neutral
from prowess.cli import OK
from prowess.cli._options import make_parser, print_json, print_stderr, print_stdout
from prowess.cli._scaffold import skill_text, skills_folder, write_skill
from prowess.cli.new import add_project_options, listed_state, project_and_host

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

_NAME = "example"
_DESCRIPTION = "Explains what an agent skill is. Use when the user asks how the skills of this project work."
_BODY = """<!-- delete me: this example shows what a skill looks like; remove its folder once you have your own -->

# How skills work

1. An agent reads the name and the description of every skill when it starts, and nothing else.
2. When a task matches a description, it reads the rest of that file, which is this text.
3. Files beside SKILL.md are read when the text asks for them.

`prowess new NAME` writes another skill, `prowess check` says what is wrong with one, and `prowess list` shows them all.
"""


def parser() -> ArgumentParser:
    """Build the command's parser."""
    result = make_parser("init", epilog="the example is left alone where it is there already")
    add_project_options(result)
    return result


def run(args: Namespace) -> int:
    """Make the folder and the example, unless they are there."""
    cwd, host = project_and_host(args)
    folder = skills_folder(cwd, host)
    path = os.path.join(folder, _NAME, SKILL_FILE)
    created = not os.path.lexists(path)
    if created:
        write_skill(folder, _NAME, {SKILL_FILE: skill_text(_NAME, _DESCRIPTION, _BODY)}, host)
    if args.json:
        print_json(
            {"name": _NAME, "path": path, "host": args.host, "created": created, "state": listed_state(args, path)}
        )
        return OK
    print_stdout(neutral(path))
    print_stderr("an example to read and delete" if created else "it was there already and is left alone")
    if listed_state(args, path) is None:
        command = f"prowess list{f' --host {args.host}' if args.host else ''}"
        print_stderr(f"\nhint: it is not among the skills seen from here; `{command}` says why")
    return OK
