"""prowess update: show what newer versions of installed skills change, and install them."""

from __future__ import annotations

import os

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
    json_fields,
    note,
    pluralize,
    print_lines,
)
from prowess.errors import combine_errors

from ._plans import (
    FORCE_HELP,
    Shown,
    add_allow_source,
    add_install_options,
    describe_choice,
    planned_as_dict,
    require_consent,
    typed_command,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from prowess.cli._parser import Arguments, Parser
    from prowess.install import Installation, PlannedUpdate, UpdatePlan

EPILOG = """\
A skill at a commit, a digest, a tag of git like `v1.2` or any tag of a registry but `latest` is pinned and stays;
`prowess add` of another version moves it. Trust is for exact files: after an update, `prowess trust SKILL` allows the
tools and scripts of a skill again."""


def options(parser: Parser) -> None:
    """Add the command's options."""
    parser.argument("skills", "SKILL", "the names of installed skills (default: all)", nargs="*")
    parser.flag("--dry-run", "only show what would change")
    parser.flag("--force", FORCE_HELP)
    add_allow_source(parser)
    add_install_options(parser)


def run(args: Arguments) -> Result:
    """Show what newer versions change, ask, and install them."""
    from prowess.install import plan_update

    shown = Shown(args)
    with shown.installation(args, hosts_in_use(args)[0]) as where:
        plan = plan_update(where, args.skills)
        shown.progress.clear()
        return _show_and_update(plan, shown, where, args)


def _show_and_update(plan: UpdatePlan, shown: Shown, where: Installation, args: Arguments) -> Result:
    """Show a plan, ask, and install the newer versions."""
    from prowess.install import install_planned

    if not args.json:
        print_lines(_plan_lines(plan, shown))
    if plan.problems:
        raise combine_errors(plan.problems, "nothing was updated")
    names = [update.name for update in plan.updates]
    installed: Sequence[str] = ()
    if names and not args.dry_run:
        require_consent(args, typed_command("update", args, args.skills))
        if not args.yes and can_ask() and not _ask_each(plan.updates):
            return Result(None, [Message("nothing was updated")], FAILED)
        installed = install_planned(where, [update.new for update in plan.updates]).installed
    trust = "Prowess trusts exact files: `prowess trust SKILL` allows the tools and scripts of a skill anew"
    lines = (f"updated {describe_choice(names)}", Message(trust)) if installed else ()
    return Result(lambda: _as_dict(plan, shown, installed), lines)


_QUESTIONS: dict[str, Callable[[PlannedUpdate], object]] = {
    "be older than what is installed": lambda update: update.new.older,
    "run or use something else than before": lambda update: update.permissions or update.capabilities.adds,
    "have facts to know that are new": lambda update: any(item.group == "safety" for item in update.new_findings),
}


def _ask_each(updates: Sequence[PlannedUpdate]) -> bool:
    """Ask about all updates, and about each skill alone that may be older, or run or use something else than before."""
    for update in updates:
        may = [word for word, is_so in _QUESTIONS.items() if is_so(update)]
        if may and not ask(f"{quoted(update.name)} may {', and '.join(may)}; update it?"):
            return False
    return all(any(is_so(update) for is_so in _QUESTIONS.values()) for update in updates) or ask(
        f"update {describe_choice([update.name for update in updates])}?"
    )


def _plan_lines(plan: UpdatePlan, shown: Shown) -> Iterator[str]:
    if not os.path.lexists(shown.target.lock_file):
        yield note(f"no lock: {shown.path(shown.target.lock_file)} does not exist")
    for update in plan.updates:
        yield f"{neutral(update.name)}: {_versions(update)}"
        yield from (f"  older? {neutral(reason)}" for reason in update.new.older)
        for sign, paths in (("+", update.added), ("~", update.changed), ("-", update.removed)):
            yield from (f"  {sign} {neutral(path)}" for path in paths)
        for key, (before, after) in update.permissions.items():
            yield f"  {key}: {_short_value(before)} {'changed' if before == after else f'-> {_short_value(after)}'}"
        yield from (f"  {line}" for line in update.capabilities.lines())
        yield from finding_lines(update.new_findings, indent="  ")
        yield from (f"  fixed: {neutral(item.message)} [{item.code}]" for item in update.fixed_findings)
    yield from (f"{neutral(name)}: its source has no such skill any more; it stays as it is" for name in plan.gone)
    yield from (f"{neutral(skill.name)}: pinned to {quoted(skill.ref or '')}" for skill in plan.pinned)
    if plan.problems and not plan.updates:
        return
    count = f"{pluralize(len(plan.updates), 'skill')} to update" if plan.updates else "nothing to update"
    yield Message(f"{count}, {len(plan.current):,} current, {len(plan.pinned):,} pinned")


def _versions(update: PlannedUpdate) -> str:
    """Return the versions before and after, or where the files have changed: a folder has no versions."""
    old, new = update.old.revision, update.new.item.entry
    if old is None or new.revision is None:
        return f"changed in {neutral(new.source)}"
    return f"{neutral(old[:19])} -> {neutral(new.revision[:19])}"


def _short_value(text: str) -> str:
    return quoted(text, 200) if text else "none"


def _as_dict(plan: UpdatePlan, shown: Shown, installed: Sequence[str]) -> dict[str, object]:
    return {
        **shown.as_dict(),
        "updates": [
            {
                **planned_as_dict(update.new, ()),
                "old_revision": update.old.revision,
                "old_digest": update.old.tree_digest,
                **json_fields(update, "added changed removed"),
                "new_findings": as_dicts(update.new_findings),
                "fixed_findings": as_dicts(update.fixed_findings),
                "capability_changes": json_fields(update.capabilities, "adds drops"),
                "permissions": {
                    key: {"before": before, "after": after} for key, (before, after) in update.permissions.items()
                },
            }
            for update in plan.updates
        ],
        "current": plan.current,
        "pinned": [json_fields(skill, "name ref") for skill in plan.pinned],
        "gone": plan.gone,
        "installed": installed,
    }
