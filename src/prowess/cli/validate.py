"""prowess validate -> whether a role would run or a skill be loaded, and all that keeps it from that"""

from __future__ import annotations

import os

from prowess._internal.files import SKILL_FILE
from prowess._internal.text import neutral
from prowess.agent.assembly import assemble
from prowess.agent.models import model_findings
from prowess.agent.role import load_skill
from prowess.cli import OK, USAGE
from prowess.cli._options import format_finding, make_parser, pluralize, print_json, print_stderr, print_stdout

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from prowess.findings import Finding

_EPILOG = """\
The exit code is that of `prowess run` with the same options: 2 where the role would not run. What depends on the model
and not on the role is left to `run`: whether there is a key for it, and whether its provider's package is installed."""


def parser() -> ArgumentParser:
    """Build the command's parser."""
    result = make_parser("validate", epilog=_EPILOG)
    result.add_argument("role", metavar="ROLE|SKILL", help="a role's file; or a skill's folder or file (`.md`)")
    result.add_argument("--model", metavar="MODEL", help="another model, as `prowess run` takes it")
    result.add_argument(
        "--skill-dir",
        metavar="DIR",
        action="append",
        default=[],
        help="a further folder of skills (repeatable; also INITRUNNER_SKILL_DIR and PROWESS_SKILL_DIR)",
    )
    result.add_argument("--home", metavar="DIR", help="the home in which skills are looked for (default: yours)")
    result.add_argument("--json", action="store_true", help="print JSON")
    return result


def run(args: Namespace) -> int:
    """Judge a role, or a skill as a role would that names it."""
    path = os.path.abspath(os.path.expanduser(args.role))
    if os.path.isdir(path) or path.endswith(".md"):
        path = os.path.join(path, SKILL_FILE) if os.path.isdir(path) else path
        _, found = load_skill(path, reference=args.role, env=os.environ)
        return _print_result(tuple(found), (), args, "the skill is not loaded")
    assembly, findings = assemble(args.role, dirs=args.skill_dir, home=args.home)
    notes = () if assembly is None else assembly.notes
    # Where the role is wrong, that is why no model is named.
    if assembly is not None and not (findings and assembly.role.model.name is None and args.model is None):
        findings += model_findings(assembly.role, args.model)
    return _print_result(findings, notes, args, "the role does not run")


def _print_result(findings: tuple[Finding, ...], notes: tuple[str, ...], args: Namespace, outcome: str) -> int:
    """Tell what was found, and return the exit code."""
    if args.json:
        counts = {"error": len(findings)}
        print_json({"findings": [item.as_dict() for item in findings], "notes": [*notes], "counts": counts})
        return USAGE if findings else OK
    for item in findings:
        for line in format_finding(item):
            print_stdout(line)
    for note in notes:
        print_stderr(f"note: {neutral(note)}")
    if findings:
        print_stderr(f"{pluralize(len(findings), 'problem')}: {outcome}")
        return USAGE
    print_stderr("nothing is wrong with it")
    return OK
