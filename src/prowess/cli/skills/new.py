"""prowess new: create a skill that passes `prowess check`."""

from __future__ import annotations

import os
import shlex

from prowess._internal.files import SKILL_FILE
from prowess._internal.text import neutral
from prowess.cli._output import Message, Result
from prowess.skill import DESCRIPTION_PLACEHOLDER
from prowess.visibility import ABSENT, mount_argument

from ._new_skill import Seen, SkillPlace, add_project_options, check_name, skill_text, write_skill

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from prowess.cli._parser import Arguments, Parser

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


def options(parser: Parser) -> None:
    """Add the command's options."""
    parser.argument("name", "NAME", "the name of the skill: lower case letters, digits and hyphens")
    parser.value("--description", "TEXT", "what the skill does and when to use it")
    parser.value("--dir", "DIR", "the folder of skills to create it in (default: .agents/skills)")
    for folder, (path, _) in _STARTER_FILES.items():
        parser.flag(f"--{folder}", f"add `{path}` as a starting point")
    parser.flag("--with-tests", "add `scripts/count.py` and tests for it")
    add_project_options(parser)


def run(args: Arguments) -> Result:
    """Create the skill."""
    place = SkillPlace(args)
    check_name(args.name)
    folder: str
    project: str | None
    if args.dir:
        folder, project = os.path.abspath(os.path.join(place.cwd, os.path.expanduser(args.dir))), None
    else:
        folder, project = place.folder(f"prowess new {args.name}", args.name)
    path = write_skill(folder, args.name, _skill_files(args), place.named, project=project)
    seen = Seen(place, path)

    def text() -> Iterator[str]:
        yield neutral(path)
        yield Message("next, edit the description: an agent chooses a skill by it")
        if args.with_tests:
            yield Message(f"`prowess test {neutral(shlex.quote(os.path.dirname(path)))}` runs its tests")
        yield from seen.messages(searched=project is not None)
        if project is None and all(view.state == ABSENT for view in seen.views.values()):
            shown = mount_argument(folder, place.cwd)
            yield Message(f"\nhint: agents do not search this folder; `prowess list --skill-dir {shown}` includes it")

    return Result(lambda: {"name": args.name, "path": path, **seen.as_dict()}, text())


def _skill_files(args: Arguments) -> dict[str, str]:
    chosen = [folder for folder in _STARTER_FILES if getattr(args, folder)]
    links = [*(_STARTER_LINKS[folder] for folder in chosen), *((_LINK_WITH_TESTS,) if args.with_tests else ())]
    list_of_links = "\n" + "\n".join(links) + "\n" if links else ""
    title = args.name.replace("-", " ").capitalize()
    description = args.description
    if description is None:
        description = f"{DESCRIPTION_PLACEHOLDER}{args.name} does. Use when the user asks for it."
    text = skill_text(args.name, description, _BODY.format(title=title, links=list_of_links))
    return {
        SKILL_FILE: text,
        **dict(_STARTER_FILES[folder] for folder in chosen),
        **(_FILES_WITH_TESTS if args.with_tests else {}),
    }
