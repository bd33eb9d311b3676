"""prowess add: install skills from a source, and lock them."""

from __future__ import annotations

import os
import sys
from functools import partial

from prowess._internal.text import neutral, quoted
from prowess.cli._arguments import hosts_in_use
from prowess.cli._commands import FAILED
from prowess.cli._output import (
    Message,
    Result,
    as_dicts,
    ask,
    can_ask,
    finding_lines,
    note,
    pluralize,
    print_lines,
    wrap_for_terminal,
)

from ._plans import (
    FORCE_HELP,
    Shown,
    add_install_options,
    describe_choice,
    described_folders,
    planned_as_dict,
    planned_lines,
    require_consent,
    short_line,
    typed_command,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from prowess.cli._parser import Arguments, Parser
    from prowess.install import AddPlan, Changed, Installation, OfferedSkill, PlannedSkill

EPILOG = """\
SOURCE is one of these; after a repository come, in this order, `:FOLDER`, `#BRANCH-OR-TAG-OR-COMMIT` and `@SKILL`:
  OWNER/REPO, https://github.com/OWNER/REPO     a repository on GitHub; the page of a folder there works, too
  https://HOST/REPO.git, ssh://..., git@HOST:REPO, file:///REPO.git    any repository of git
  oci://REGISTRY/NAME:TAG                       an artifact of a registry; `@sha256:DIGEST` in place of the tag
  s3://BUCKET/PATH, gs://..., az://..., file:///PATH    a bucket or a shared folder
  https://HOST                                  a site with /.well-known/agent-skills/index.json
  ./FOLDER, ~/FOLDER                            a folder of this machine
Without SKILL you choose among those of the source on a terminal; `--yes` installs all. They go into `.agents/skills` of
the project, with links in the folders of agents in use that do not search it, and their sources and digests into
`skills-lock.json`: commit them."""

_MAX_IN_FULL = 5
"""The most skills that are described on several lines each."""
_MAX_LISTED = 40
"""The most skills that are listed on a terminal, on a line each."""


def options(parser: Parser) -> None:
    """Add the command's options."""
    parser.argument("source", "SOURCE", "where the skills come from")
    parser.argument("skills", "SKILL", "the names of the skills to install", nargs="*")
    parser.flag("--dry-run", "only show what would be installed")
    parser.flag("--force", FORCE_HELP)
    parser.values(
        "--host",
        "NAME",
        "install for this agent only, into its own skills folder; `prowess hosts` lists all (repeatable; default: for "
        "all agents in use)",
    )
    parser.flag(
        "--link",
        "install links instead of copies: to the skill in a folder SOURCE, or else to the store on this machine",
    )
    add_install_options(parser)


def run(args: Arguments) -> Result:
    """Show what a source has, ask, and install it."""
    from prowess.install import check_hosts, plan_add

    shown = Shown(args)
    hosts = check_hosts(args.host, shown.target.scope) if args.host else None
    in_use, about_hosts = hosts_in_use(args)
    with shown.installation(args, sorted({*in_use, *args.host})) as where:
        plan = plan_add(
            where,
            args.source,
            args.skills,
            cwd=shown.cwd,
            home=shown.home,
            hosts=hosts,
            link=args.link,
            choose=partial(_choose, shown) if can_ask() and not (args.yes or args.json or args.dry_run) else None,
        )
        shown.progress.clear()
        if not plan.skills:
            return Result(None, [Message("nothing was installed")], FAILED)
        if about_hosts and not args.json:
            print_lines([note(about_hosts)])
        return _show_and_install(plan, shown, where, args)


def _choose(shown: Shown, offered: Sequence[OfferedSkill]) -> tuple[str, ...]:
    """Ask which of the skills of a source are wanted."""
    from ._choice import Choice

    shown.progress.clear()
    return Choice(offered).ask()


def _show_and_install(plan: AddPlan, shown: Shown, where: Installation, args: Arguments) -> Result:
    """Show a plan, ask, and install what it contains."""
    from prowess.install import install_planned

    same = _same_names(plan, shown)
    if not args.json:
        print_lines(_plan_lines(plan, shown, same))
    if args.dry_run:
        return Result(lambda: _as_dict(plan, shown, same, ()))
    several = len(plan.skills) > 1 and not (args.skills or plan.source.skill)
    require_consent(
        args,
        typed_command("add", args, [args.source, *args.skills]),
        f"installs all {len(plan.skills):,} skills; name some to install only these" if several else "",
    )
    names = [skill.name for skill in plan.skills]
    if not args.yes and can_ask() and not ask(f"install {describe_choice(names)}?"):
        return Result(None, [Message("nothing was installed")], FAILED)
    changed = install_planned(where, plan.skills)
    if where.sources is not None:
        where.sources.remember(plan.source, shown.target.root)
    lines = [line for text in _outcomes(plan.skills, changed, shown) for line in wrap_for_terminal(text)]
    locked = Message(f"{pluralize(len(plan.skills), 'skill')} locked in {shown.path(shown.target.lock_file)}")
    return Result(lambda: _as_dict(plan, shown, same, changed.installed), [*lines, locked])


def _outcomes(skills: Sequence[PlannedSkill], changed: Changed, shown: Shown) -> Iterator[str]:
    """Yield what became of each skill, or of many together."""
    groups: dict[str, list[PlannedSkill]] = {}
    for skill in skills:
        written = any(folder in changed.installed for folder in skill.folders)
        groups.setdefault("installed" if written else "already installed:", []).append(skill)
    for outcome, group in groups.items():
        if len(skills) > _MAX_IN_FULL:
            yield f"{outcome} {pluralize(len(group), 'skill')} in {described_folders(*_parents(group), shown)}"
            continue
        for skill in group:
            yield f"{outcome} {quoted(skill.name)} in {described_folders(skill.folders, skill.links, shown)}"


def _parents(skills: Sequence[PlannedSkill]) -> tuple[list[str], list[str]]:
    """Return the folders of skills, and those that have links."""
    folders, links = (
        dict.fromkeys(os.path.dirname(path) for of_skill in paths for path in of_skill)
        for paths in ([skill.folders for skill in skills], [skill.links for skill in skills])
    )
    return [*folders], [*links]


def _plan_lines(plan: AddPlan, shown: Shown, same: dict[str, list[str]]) -> Iterator[str]:
    at = "" if plan.revision is None else f" at {neutral(plan.revision[:19])}"
    yield f"{neutral(plan.source.text)}{at}: {pluralize(len(plan.skills), 'skill')}"
    if len(plan.skills) <= _MAX_IN_FULL:
        for skill in plan.skills:
            yield from planned_lines(skill, shown, same[skill.name], files=len(plan.skills) == 1)
    else:
        limit = _MAX_LISTED if sys.stdout.isatty() else len(plan.skills)
        # What may run or be used comes first where not all are shown.
        listed = sorted(plan.skills, key=_is_plain) if len(plan.skills) > limit else plan.skills
        for skill in listed[:limit]:
            yield from wrap_for_terminal(short_line(skill, same[skill.name]))
        if len(listed) > limit:
            yield f"... and {len(listed) - limit:,} more; `--dry-run` through a pipe lists all"
        yield from _who_sees(plan.skills, shown)
        yield "name a skill to see more of it"
    yield from finding_lines(plan.findings)


def _is_plain(skill: PlannedSkill) -> bool:
    """Return whether a skill neither runs nor uses anything, and has no facts to know."""
    has_facts = any(item.group == "safety" for item in skill.findings)
    return not (skill.scripts or skill.allowed_tools or skill.tools or has_facts)


def _who_sees(skills: Sequence[PlannedSkill], shown: Shown) -> Iterator[str]:
    """Yield how many of many skills each agent will see, and what changes that."""
    from collections import Counter

    from prowess.cli._first_screen import agent_lines
    from prowess.visibility import Kind

    kinds = {host: Counter(skill.views[host].kind for skill in skills) for host in skills[0].views}
    yield ""
    yield f"into {described_folders(*_parents(skills), shown)}"
    yield ""
    yield from agent_lines(kinds)
    if shown.named and any(Kind.ELSEWHERE in counts for counts in kinds.values()):
        yield "(in another folder: without `--host` they are installed there too)"
    yield ""


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
        **shown.as_dict(),
        "skills": [planned_as_dict(skill, same[skill.name]) for skill in plan.skills],
        "installed": installed,
        "findings": as_dicts(plan.findings),
    }
