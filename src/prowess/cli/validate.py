"""prowess validate: check that a role would run, or that a role could load a skill."""

from __future__ import annotations

import os

from prowess._internal.files import SKILL_FILE
from prowess.agent import assemble, model_findings
from prowess.agent.role import load_skill

from ._commands import OK, USAGE
from ._options import add_json_option, add_role_options, make_parser
from ._output import pluralize, print_findings, print_json, print_note, print_stderr

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from prowess.findings import Finding

_EPILOG = """\
The exit code is that of `prowess run` with the same options: 2 if the role would not run. The API
key of the model and the package of its provider are not checked."""


def parser() -> ArgumentParser:
    """Build the command's parser."""
    result = make_parser("validate", epilog=_EPILOG)
    result.add_argument(
        "role", metavar="ROLE|SKILL", help="the file of a role, or the folder or file (`.md`) of a skill"
    )
    result.add_argument("--model", metavar="MODEL", help="check with another model, given as in `prowess run`")
    add_role_options(result)
    add_json_option(result)
    return result


def run(args: Namespace) -> int:
    """Check a role, or a skill as a role would load it."""
    path = os.path.abspath(os.path.expanduser(args.role))
    if os.path.isdir(path) or path.endswith(".md"):
        path = os.path.join(path, SKILL_FILE) if os.path.isdir(path) else path
        _, skill_findings = load_skill(path, reference=args.role, env=os.environ)
        return _print_result(tuple(skill_findings), (), args, "the skill is not loaded")
    assembly, findings = assemble(args.role, dirs=args.skill_dir, home=args.home)
    notes = () if assembly is None else assembly.notes
    # If the role itself is invalid, its missing model is a consequence and not another problem.
    if assembly is not None and not (findings and assembly.role.model.name is None and args.model is None):
        findings += model_findings(assembly.role, args.model)
    return _print_result(findings, notes, args, "the role does not run")


def _print_result(findings: tuple[Finding, ...], notes: tuple[str, ...], args: Namespace, consequence: str) -> int:
    """Print the findings and return the exit code."""
    if args.json:
        counts = {"error": len(findings)}
        print_json({"findings": [item.as_dict() for item in findings], "notes": [*notes], "counts": counts})
        return USAGE if findings else OK
    print_findings(findings)
    for note in notes:
        print_note(note)
    if findings:
        print_stderr(f"{pluralize(len(findings), 'problem')}: {consequence}")
        return USAGE
    print_stderr("no problems")
    return OK
