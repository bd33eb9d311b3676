"""prowess new: create a skill that passes `prowess check`."""

from __future__ import annotations

import os

from prowess._internal.files import SKILL_FILE, real_path
from prowess._internal.text import neutral
from prowess.catalog import ABSENT

from ._commands import OK
from ._discovery import require_paths
from ._options import add_json_option, make_parser
from ._output import print_json, print_stderr, print_stdout
from ._scaffold import check_name, skill_text, write_skill
from ._skill_place import SkillPlace, print_who_sees, views_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from prowess.catalog import View

_BODY = """
# {title}

Describe here what the agent does, step by step, and how it knows that it is done. Keep this file short: put details
that are needed only sometimes into other files, and name the file in the step that needs it.
{links}"""

_STARTER_FILES = {
    "scripts": ("scripts/run.sh", "#!/bin/sh\nset -eu\necho 'replace this with the work to do'\n"),
    "references": ("references/details.md", "# Details\n\nDetails that are needed only sometimes.\n"),
    "assets": ("assets/template.md", "# Template\n\nText that the skill fills in.\n"),
}
_STARTER_LINKS = {
    "scripts": "- Run `scripts/run.sh` from the skill's folder; see [the script](scripts/run.sh)",
    "references": "- Read [the details](references/details.md) when you need them",
    "assets": "- Start from [the template](assets/template.md)",
}
_FILES_WITH_TESTS = {
    "scripts/count.py": '''\
#!/usr/bin/env python3
"""Count the lines and words of a text file; replace this with the work to do."""

import json
import sys
from pathlib import Path


def main() -> int:
    if len(sys.argv) != 2:
        print("usage: count.py FILE", file=sys.stderr)
        return 2
    try:
        text = Path(sys.argv[1]).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        print(f"count.py: {sys.argv[1]}: {error}", file=sys.stderr)
        return 1
    print(json.dumps({"lines": len(text.splitlines()), "words": len(text.split())}))
    return 0


sys.exit(main())
''',
    "tests/test-config.json": '{\n  "version": 1,\n  "timeout": 10\n}\n',
    "tests/fixtures/sample.txt": "Five words are in here,\nand six more are in here.\n",
    "tests/cases/01-sample.yaml": """\
name: sample
description: Counts the lines and words of a file.
input:
  command: python3 scripts/count.py tests/fixtures/sample.txt
  files:
    - tests/fixtures/sample.txt
expected:
  exit-code: 0
  stdout-json:
    lines: 2
    words: 11
""",
    "tests/cases/02-no-file.yaml": """\
name: no-file
description: Reports a missing file without a traceback.
input:
  command: python3 scripts/count.py no-such-file.txt
expected:
  exit-code: 1
  stderr-contains:
    - no-such-file.txt
  not-contains:
    - Traceback
""",
}
"""A script, and tests that pass."""
_LINK_WITH_TESTS = "- Run `python3 scripts/count.py FILE` from the skill's folder; see [the script](scripts/count.py)"


def parser() -> ArgumentParser:
    """Build the command's parser."""
    result = make_parser("new")
    result.add_argument("name", metavar="NAME", help="the name of the skill: lower case letters, digits and hyphens")
    result.add_argument("--description", metavar="TEXT", help="what the skill does and when to use it")
    result.add_argument(
        "--dir",
        metavar="DIR",
        help="the folder of skills to create it in, also through links (default: .agents/skills)",
    )
    for folder, (path, _) in _STARTER_FILES.items():
        result.add_argument(f"--{folder}", action="store_true", help=f"add `{path}` as a starting point")
    result.add_argument("--with-tests", action="store_true", help="add `scripts/count.py` and tests for it")
    add_project_options(result)
    return result


def add_project_options(parser: ArgumentParser) -> None:
    """Add the options of the commands that write into a project."""
    add_json_option(parser)
    group = parser.add_argument_group("where to write")
    group.add_argument(
        "--host",
        metavar="NAME",
        action="append",
        help="use the skills folder of this agent; given several times, one that all of them search; `prowess hosts` "
        "lists all",
    )
    group.add_argument("--cwd", metavar="DIR", help="a directory of the project (default: the current one)")
    group.add_argument("--home", metavar="DIR", help="the user's home directory (default: yours)")


def run(args: Namespace) -> int:
    """Create the skill and print its path."""
    place = skill_place(args)
    check_name(args.name)
    folder: str
    project: str | None
    if args.dir:
        folder, project = os.path.abspath(os.path.join(place.cwd, os.path.expanduser(args.dir))), None
    else:
        folder, project = place.folder(f"prowess new {args.name}", args.name)
    path = write_skill(folder, args.name, _skill_files(args), place.named, project=project)
    views = views_of(place, args, path)
    if args.json:
        print_json({"name": args.name, "path": path, **place_as_dict(args, path, views)})
        return OK
    print_stdout(neutral(path))
    print_stderr("next, edit the description: an agent chooses a skill by it")
    if args.with_tests:
        print_stderr(f"`prowess test {_shell_quoted(os.path.dirname(path))}` runs its tests")
    print_who_sees(place, views, searched=project is not None)
    if project is None and all(view.state == ABSENT for view in views.values()):
        print_stderr("\nhint: agents do not search this folder; `prowess list --skill-dir DIR` includes it")
    return OK


def skill_place(args: Namespace) -> SkillPlace:
    """Return where a skill goes, and for which agents.

    Raises:
        ConfigError: `--cwd` is not a folder.
        HostNotFoundError: a host is unknown.
    """
    require_paths(args, "cwd")
    return SkillPlace(args)


def place_as_dict(args: Namespace, path: str, views: dict[str, View]) -> dict[str, object]:
    """Return who sees a new skill in the shape of `--json`."""
    return {
        "host": args.host[0] if args.host and len(args.host) == 1 else None,
        "state": _listed_state(args, path),
        "hosts": {host: view.as_dict() for host, view in views.items()},
    }


def _listed_state(args: Namespace, path: str) -> str | None:
    """Return the state that `prowess list` shows for the skill; `None` if it does not list it."""
    from prowess.catalog import discover

    host = args.host[0] if args.host and len(args.host) == 1 else "prowess"
    catalog = discover(args.cwd or ".", host=host, home=args.home)
    real = real_path(path)
    return next((str(entry.state) for entry in catalog.skills if real_path(entry.path) == real), None)


def _shell_quoted(path: str) -> str:
    import shlex

    return neutral(shlex.quote(path))


def _skill_files(args: Namespace) -> dict[str, str]:
    chosen = [folder for folder in _STARTER_FILES if getattr(args, folder)]
    links = [*(_STARTER_LINKS[folder] for folder in chosen), *((_LINK_WITH_TESTS,) if args.with_tests else ())]
    list_of_links = "\n" + "\n".join(links) + "\n" if links else ""
    title = args.name.replace("-", " ").capitalize()
    description = args.description
    if description is None:
        description = f"Describe in one sentence what {args.name} does. Use when the user asks for it."
    text = skill_text(args.name, description, _BODY.format(title=title, links=list_of_links))
    return {
        SKILL_FILE: text,
        **dict(_STARTER_FILES[folder] for folder in chosen),
        **(_FILES_WITH_TESTS if args.with_tests else {}),
    }
