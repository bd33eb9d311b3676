"""Run each script of published skills as a model would, and count those that start.

`python tests/published_scripts.py FOLDER...` takes folders with skills, such as clones of repositories. Each script
gets `--help`, in the sandbox, with its packages from the package index. A script that is a module of a package is
called again as the answer says. Printed are how many scripts of each folder start, and the reason that a model reads
for each of the rest. Nothing of these skills is part of this repository, since their licences differ.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from prowess import discover
from prowess.session import Scripts, Session, Trust
from prowess.skill import find_code

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_ENDINGS = (".py", ".sh", ".bash", ".js", ".mjs", ".cjs", ".ts", ".rb", ".pl", ".ps1")
_MODULE = re.compile(r'hint: it is a module of a package: call `run_skill_script` with `"module": "([\w.]+)"`')
_NOT_STARTED = re.compile(
    r"^(?:ModuleNotFoundError|ImportError|SyntaxError)|^error: |^hint: the program `|Cannot find (?:module|package)"
    r"|\b(?:pip3?|npm) install|not installed|\b\d+: [^:\n]+: (?:command )?not found$",
    re.MULTILINE,
)
"""What an answer says of a script that failed before its own work."""


def scripts_of(skill: Path) -> list[str]:
    """Return the scripts of a skill that can be run by their path, relative to its folder."""
    found = [path for path in find_code(str(skill)) if path.endswith(_ENDINGS)]
    return [path for path in found if "/" in path and os.path.basename(path) != "__init__.py"]


def run_scripts(skill: Path, top: Path) -> Iterator[tuple[str, str]]:
    """Yield each script of a skill, and the last answer that a model gets about it."""
    project = top / "project"
    shutil.rmtree(project, ignore_errors=True)
    shutil.copytree(skill, project / ".agents/skills" / skill.name, symlinks=True)
    catalog = discover(project, home=top / "home", cache=False)
    entries = [entry for entry in catalog.skills if entry.path.startswith(str(project))]
    if not entries:
        return
    trust = Trust(str(top / "trust.json"))
    trust.allow(entries[0])
    with_scripts = Scripts(timeout=60)
    tools = {tool.name: tool for tool in Session(catalog, trust=trust).tools(scripts=with_scripts)}
    for path in scripts_of(skill):
        answer = tools["run_skill_script"].call(skill=entries[0].name, script=path, args=["--help"])
        if as_module := _MODULE.search(answer):
            answer = tools["run_skill_script"].call(skill=entries[0].name, module=as_module[1], args=["--help"])
        yield path, answer


def reason(answer: str) -> str | None:
    """Return why a script did not start, as the model reads it; `None` if it did."""
    if answer.startswith("exit code 0") or not (found := _NOT_STARTED.search(answer)):
        return None
    hints = [line for line in answer.splitlines() if line.startswith(("hint: ", "error: ", "[not installed"))]
    return " | ".join(hints) or answer[found.start() :].splitlines()[0]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run all scripts and print what came of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--json", type=Path, help="write each answer to this file")
    options = parser.parse_args(arguments)
    answers: dict[str, str] = {}
    for folder in options.folders:
        started = total = 0
        with tempfile.TemporaryDirectory() as top:
            for file in sorted(folder.rglob("SKILL.md")):
                for path, answer in run_scripts(file.parent, Path(top)):
                    total += 1
                    name = f"{file.parent.relative_to(folder)}/{path}"
                    answers[f"{folder.name}/{name}"] = answer
                    why = reason(answer)
                    started += why is None
                    if why is not None:
                        print(f"  {name}: {why[:400]}", flush=True)
        print(f"{folder.name}: {started} of {total} scripts start ({started / max(total, 1):.0%})", flush=True)
    if options.json:
        options.json.write_text(json.dumps(answers, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
