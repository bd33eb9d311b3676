"""prowess validate: check that a role would run, or that a role could load a skill."""

from __future__ import annotations

import os

from prowess._internal.files import SKILL_FILE
from prowess.agent import assemble, model_findings
from prowess.agent.role import load_skill
from prowess.cli._commands import FAILED, OK, USAGE
from prowess.cli._output import Message, Result, as_dicts, finding_lines, message, pluralize

TYPE_CHECKING = False
if TYPE_CHECKING:
    from prowess.agent.role import UnusedKey
    from prowess.cli._parser import Arguments, Parser
    from prowess.findings import Finding

EPILOG = """\
Exit codes: 0 the role would run; 1 it has errors; 2 its file does not exist, or an option is invalid. `prowess run`
ends with the same code. The API key of the model and the package of its provider are not checked."""


def options(parser: Parser) -> None:
    """Add the command's options."""
    parser.argument("role", "ROLE|SKILL", "the file of a role, or the folder or file (`.md`) of a skill")
    parser.value("--model", "MODEL", "check with another model, given as in `prowess run`")
    parser.add_role_options()
    parser.add_json()


def run(args: Arguments) -> Result:
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
        return _result(tuple(skill_findings), notes, "the skill is not loaded", code)
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
    return _result(findings, notes, "the role does not run", code, unused)


def _result(
    findings: tuple[Finding, ...],
    notes: tuple[str, ...],
    consequence: str,
    code: int,
    unused: tuple[UnusedKey, ...] = (),
) -> Result:
    """Return the findings, and the exit code: 0 without findings, otherwise `code`."""
    as_dict = {
        "findings": as_dicts(findings),
        "notes": notes,
        "not_run": as_dicts(unused),
        "counts": {"error": len(findings)},
    }
    problems = f"{pluralize(len(findings), 'problem')}: {consequence}" if findings else "no problems"
    text = (*finding_lines(findings), *map(message, notes), Message(problems))
    return Result(as_dict, text, code if findings else OK)
