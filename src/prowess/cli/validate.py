"""prowess validate: check that a role would run, or that a role could load a skill."""

from __future__ import annotations

import os

from prowess._internal.files import SKILL_FILE
from prowess.agent import assemble, model_findings
from prowess.agent.role import load_skill

from ._commands import FAILED, OK, USAGE
from ._options import add_json_option, add_role_options, make_parser
from ._output import pluralize, print_findings, print_json, print_message, print_stderr

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from prowess.agent.role import UnusedKey
    from prowess.findings import Finding

_EPILOG = """\
Exit codes: 0 the role would run; 1 it has errors; 2 its file does not exist, or an option is invalid. `prowess run`
ends with the same code. The API key of the model and the package of its provider are not checked."""


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
        is_folder = os.path.isdir(path)
        path = os.path.join(path, SKILL_FILE) if is_folder else path
        skill, skill_findings = load_skill(path, reference=args.role, env=os.environ)
        if is_folder and not os.path.lexists(path):
            # It may be the folder that the roles are in.
            hint = "name the file of a role, or the folder of a skill"
            skill_findings = [item.with_changes(hint=hint) for item in skill_findings]
        code = FAILED if os.path.isfile(path) else USAGE
        notes = () if skill is None else tuple(note for tool in skill.tools for note in tool.notes(skill.name))
        return _print_result(tuple(skill_findings), notes, args, "the skill is not loaded", code)
    assembly, findings = assemble(args.role, dirs=args.skill_dir, home=args.home)
    notes = () if assembly is None else assembly.notes
    unused = () if assembly is None else assembly.role.unused
    code = FAILED if findings and os.path.isfile(path) else USAGE
    # If the role itself is invalid, its missing model is a consequence and not another problem.
    if assembly is not None and not (findings and assembly.role.model.name is None and args.model is None):
        problems = model_findings(assembly.role, args.model)
        findings += problems
        if problems and args.model is None:
            code = FAILED
    return _print_result(findings, notes, args, "the role does not run", code, unused)


def _print_result(
    findings: tuple[Finding, ...],
    notes: tuple[str, ...],
    args: Namespace,
    consequence: str,
    code: int,
    unused: tuple[UnusedKey, ...] = (),
) -> int:
    """Print the findings and return the exit code: 0 without findings, otherwise `code`."""
    if args.json:
        counts = {"error": len(findings)}
        not_run = [item.as_dict() for item in unused]
        findings_json = [item.as_dict() for item in findings]
        print_json({"findings": findings_json, "notes": [*notes], "not_run": not_run, "counts": counts})
        return code if findings else OK
    print_findings(findings)
    for note in notes:
        print_message(note)
    if findings:
        print_stderr(f"{pluralize(len(findings), 'problem')}: {consequence}")
        return code
    print_stderr("no problems")
    return OK
