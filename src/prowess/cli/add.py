"""prowess add: install skills from a source, and lock them."""

from __future__ import annotations

import os
import shlex

from prowess._internal.signals import signals_as_exception
from prowess._internal.text import neutral, quoted

from ._commands import FAILED, OK
from ._installing import (
    FORCE_HELP,
    Shown,
    add_install_options,
    ask,
    describe_choice,
    is_terminal,
    planned_as_dict,
    print_planned,
    print_short,
    require_consent,
    waiting,
)
from ._options import make_parser
from ._output import pluralize, print_findings, print_json, print_stderr, print_stdout

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Sequence

    from prowess.install import AddPlan, Changed, OpenStore, PlannedSkill

_EPILOG = """\
SOURCE is one of these; after a repository come, in this order, `:FOLDER`, `#BRANCH-OR-TAG-OR-COMMIT` and `@SKILL`:
  OWNER/REPO, https://github.com/OWNER/REPO     a repository on GitHub; the page of a folder there works, too
  https://HOST/REPO.git, ssh://..., git@HOST:REPO, file:///REPO.git    any repository of git
  oci://REGISTRY/NAME:TAG                       an artifact of a registry; `@sha256:DIGEST` in place of the tag
  s3://BUCKET/PATH, gs://..., az://..., file:///PATH    a bucket or a shared folder
  https://HOST                                  a site with /.well-known/agent-skills/index.json
  ./FOLDER, ~/FOLDER                            a folder of this machine
Without SKILL all skills of the source are installed. Skills go into `.agents/skills` of the project, and their sources
and digests into `skills-lock.json`: commit both."""

_MAX_IN_FULL = 5
"""The most skills that are described on several lines each."""


def parser() -> ArgumentParser:
    """Build the command's parser."""
    result = make_parser("add", epilog=_EPILOG)
    result.add_argument("source", metavar="SOURCE", help="where the skills come from")
    result.add_argument("skills", metavar="SKILL", nargs="*", help="the names of the skills to install")
    result.add_argument("--dry-run", action="store_true", help="only show what would be installed")
    result.add_argument("--force", action="store_true", help=FORCE_HELP)
    result.add_argument(
        "--host",
        metavar="NAME",
        action="append",
        default=[],
        help="install into the skills folder of this agent instead of `.agents/skills`; `prowess hosts` lists all "
        "(repeatable)",
    )
    result.add_argument(
        "--link",
        action="store_true",
        help="install links instead of copies: to the skill in a folder SOURCE, or else to the store on this machine",
    )
    add_install_options(result)
    return result


def run(args: Namespace) -> int:
    """Show what a source has, ask, and install it."""
    from prowess.install import Store, check_hosts, plan_add

    shown = Shown(args)
    hosts = check_hosts(args.host, shown.target.scope)
    with signals_as_exception(("SIGTERM",)), Store.for_user(os.environ).open() as opened:
        try:
            plan = plan_add(
                args.source,
                args.skills,
                target=shown.target,
                opened=opened,
                cwd=shown.cwd,
                home=shown.home,
                hosts=hosts,
                link=args.link,
                force=args.force,
                agents=shown.agents(),
                progress=shown.progress.show,
            )
        finally:
            shown.progress.clear()
        return _show_and_install(plan, shown, opened, args)


def _show_and_install(plan: AddPlan, shown: Shown, opened: OpenStore, args: Namespace) -> int:
    """Show a plan, ask, and install what it contains."""
    from prowess.install import install_planned

    same = _same_names(plan, shown)
    if not args.json:
        _print_plan(plan, shown, same)
    if args.dry_run:
        if args.json:
            print_json(_as_dict(plan, shown, same, ()))
        return OK
    require_consent(args, f"prowess add {shlex.quote(neutral(args.source))}")
    names = [skill.name for skill in plan.skills]
    if not args.yes and is_terminal() and not ask(f"install {describe_choice(names)}?"):
        print_stderr("nothing was installed")
        return FAILED
    changed = install_planned(plan.skills, shown.target, opened, force=args.force, waiting=waiting)
    if args.json:
        print_json(_as_dict(plan, shown, same, changed.installed))
        return OK
    for skill in plan.skills:
        print_stdout(f"{_outcome(skill, changed)} {quoted(skill.name)} in {', '.join(map(shown.path, skill.folders))}")
    print_stderr(f"{pluralize(len(plan.skills), 'skill')} locked in {shown.path(shown.target.lock_file)}")
    return OK


def _outcome(skill: PlannedSkill, changed: Changed) -> str:
    written = any(folder in changed.installed for folder in skill.folders)
    return "installed" if written else "already installed:"


def _print_plan(plan: AddPlan, shown: Shown, same: dict[str, list[str]]) -> None:
    at = "" if plan.revision is None else f" at {neutral(plan.revision[:19])}"
    print_stdout(f"{neutral(plan.source.text)}{at}: {pluralize(len(plan.skills), 'skill')}")
    for skill in plan.skills:
        if len(plan.skills) > _MAX_IN_FULL:
            print_short(skill, same[skill.name])
        else:
            print_planned(skill, shown, same[skill.name], files=len(plan.skills) == 1)
    if len(plan.skills) > _MAX_IN_FULL:
        agents = dict.fromkeys(name for skill in plan.skills for name in skill.agents)
        print_stdout(f"seen by {', '.join(agents) or 'no agent on this machine'}; name a skill to see more of it")
    print_findings(plan.findings)


def _same_names(plan: AddPlan, shown: Shown) -> dict[str, list[str]]:
    """Return the paths of other skills with the name of each skill, as Prowess sees them from the working directory."""
    from prowess.catalog import discover

    found: dict[str, list[str]] = {skill.name: [] for skill in plan.skills}
    own = {os.path.join(folder, "SKILL.md") for skill in plan.skills for folder in skill.folders}
    for entry in discover(shown.cwd, home=shown.home).skills:
        if entry.name in found and entry.path not in own:
            found[entry.name].append(os.path.dirname(entry.path))
    return found


def _as_dict(plan: AddPlan, shown: Shown, same: dict[str, list[str]], installed: Sequence[str]) -> dict[str, object]:
    return {
        "source": plan.source.plain,
        "kind": plan.source.kind,
        "revision": plan.revision,
        "project": shown.target.root,
        "lock": shown.target.lock_file,
        "skills": [planned_as_dict(skill, same[skill.name]) for skill in plan.skills],
        "installed": [*installed],
        "findings": [item.as_dict() for item in plan.findings],
    }
