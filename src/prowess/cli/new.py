"""prowess new -> a skill that passes `check`"""

from __future__ import annotations

import os

from prowess._internal.files import SKILL_FILE
from prowess._internal.text import neutral
from prowess.cli import OK
from prowess.cli._options import make_parser, print_json, print_stderr, print_stdout
from prowess.cli._scaffold import check_name, skill_text, skills_folder, write_skill
from prowess.errors import ConfigError
from prowess.hosts import load_host

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from prowess.hosts import Host

_BODY = """
# {title}

Say here what an agent should do, step by step, and how it can tell that it is done. Keep this file short: whatever is
needed only sometimes belongs in files of its own, which are read when a step asks for them.
{more}"""

_STARTER_FILES = {
    "scripts": ("scripts/run.sh", "#!/bin/sh\nset -eu\necho 'replace this with the work to do'\n"),
    "references": ("references/details.md", "# Details\n\nWhat is needed only sometimes.\n"),
    "assets": ("assets/template.md", "# Template\n\nWhat the skill fills in and hands out.\n"),
}
_STARTER_LINKS = {
    "scripts": "- Run `scripts/run.sh` from the skill's folder; see [the script](scripts/run.sh)",
    "references": "- Read [the details](references/details.md) when a step needs them",
    "assets": "- Start from [the template](assets/template.md)",
}
_FILES_WITH_TESTS = {
    "scripts/count.py": '''\
#!/usr/bin/env python3
"""Counts the lines and words of a text; replace this with the work to do."""

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
description: Says in words that a file is not there.
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
"""A script, and tests of it that pass."""
_LINK_WITH_TESTS = "- Run `python3 scripts/count.py FILE` from the skill's folder; see [the script](scripts/count.py)"


def parser() -> ArgumentParser:
    """Build the command's parser."""
    result = make_parser("new")
    result.add_argument("name", metavar="NAME", help="the skill's name: lower case letters, digits and hyphens")
    result.add_argument("--description", metavar="TEXT", help="what it does and when to use it")
    result.add_argument("--dir", metavar="DIR", help="the folder of skills to put it in (default: .agents/skills)")
    for folder, (path, _) in _STARTER_FILES.items():
        result.add_argument(f"--{folder}", action="store_true", help=f"add `{path}` to start from")
    result.add_argument("--with-tests", action="store_true", help="add `scripts/count.py`, and tests of it that pass")
    add_project_options(result)
    return result


def add_project_options(parser: ArgumentParser) -> None:
    """Add the options of the commands that write into a project."""
    parser.add_argument("--json", action="store_true", help="print JSON")
    group = parser.add_argument_group("where to write")
    group.add_argument("--host", metavar="NAME", help="the agent whose own folder is meant; `prowess hosts` lists them")
    group.add_argument("--cwd", metavar="DIR", help="a folder of the project (default: this one)")
    group.add_argument("--home", metavar="DIR", help="the user's home (default: yours)")


def run(args: Namespace) -> int:
    """Write the skill and say where it is."""
    cwd, host = project_and_host(args)
    check_name(args.name)
    folder = os.path.abspath(os.path.join(cwd, os.path.expanduser(args.dir))) if args.dir else skills_folder(cwd, host)
    path = write_skill(folder, args.name, _skill_files(args), host)
    if args.json:
        print_json({"name": args.name, "path": path, "host": args.host, "state": listed_state(args, path)})
        return OK
    print_stdout(neutral(path))
    print_stderr("edit its description first: it is all that an agent sees before it chooses the skill")
    if args.with_tests:
        print_stderr(f"`prowess test {_shell_quoted(os.path.dirname(path))}` runs its tests")
    print_state_hint(args, path)
    return OK


def project_and_host(args: Namespace) -> tuple[str, Host | None]:
    """Return the folder to work in, and the host if one is named.

    Raises:
        ConfigError: the folder is not there.
    """
    if args.cwd is not None and not os.path.isdir(args.cwd):
        raise ConfigError(f"`--cwd` is not a folder: {neutral(args.cwd)}", hint="check the path")
    return os.path.realpath(args.cwd or "."), load_host(args.host) if args.host else None


def listed_state(args: Namespace, path: str) -> str | None:
    """Return what `prowess list` says of the skill; None if it does not see it."""
    from prowess.catalog import discover

    catalog = discover(args.cwd or ".", host=args.host or "prowess", home=args.home)
    real = os.path.realpath(path)
    return next((str(entry.state) for entry in catalog.skills if os.path.realpath(entry.path) == real), None)


def print_state_hint(args: Namespace, path: str) -> None:
    """Warn where the skill is written but not active."""
    word = listed_state(args, path)
    if word is None:
        print_stderr(
            "\nhint: it is not among the skills seen from here; `prowess list --skill-dir DIR` looks there too"
        )
    elif word != "active":
        print_stderr(f"\nhint: it is {word}; `prowess why {args.name}` says why")


def _shell_quoted(path: str) -> str:
    import shlex

    return neutral(shlex.quote(path))


def _skill_files(args: Namespace) -> dict[str, str]:
    chosen = [folder for folder in _STARTER_FILES if getattr(args, folder)]
    links = [*(_STARTER_LINKS[folder] for folder in chosen), *((_LINK_WITH_TESTS,) if args.with_tests else ())]
    more = "\n" + "\n".join(links) + "\n" if links else ""
    title = args.name.replace("-", " ").capitalize()
    description = args.description
    if description is None:
        description = f"Says in a sentence what {args.name} does. Use when the user asks for it."
    text = skill_text(args.name, description, _BODY.format(title=title, more=more))
    return {
        SKILL_FILE: text,
        **dict(_STARTER_FILES[folder] for folder in chosen),
        **(_FILES_WITH_TESTS if args.with_tests else {}),
    }
