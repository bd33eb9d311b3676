"""prowess update: show what newer versions of installed skills change, and install them."""

from __future__ import annotations

import os

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
    require_consent,
    waiting,
)
from ._options import make_parser
from ._output import pluralize, print_findings, print_json, print_note, print_stderr, print_stdout

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Sequence

    from prowess.install import OpenStore, PlannedUpdate, UpdatePlan

_EPILOG = """\
A skill at a commit, a digest, a tag of git like `v1.2` or any tag of a registry but `latest` is pinned and stays;
`prowess add` of another version moves it. Trust is for exact files: after an update, `prowess trust SKILL` allows the
tools and scripts of a skill again."""


def parser() -> ArgumentParser:
    """Build the command's parser."""
    result = make_parser("update", epilog=_EPILOG)
    result.add_argument("skills", metavar="SKILL", nargs="*", help="the names of installed skills (default: all)")
    result.add_argument("--dry-run", action="store_true", help="only show what would change")
    result.add_argument("--force", action="store_true", help=FORCE_HELP)
    add_install_options(result)
    return result


def run(args: Namespace) -> int:
    """Show what newer versions change, ask, and install them."""
    from prowess.install import Store, plan_update

    shown = Shown(args)
    with signals_as_exception(("SIGTERM",)), Store.for_user(os.environ).open() as opened:
        try:
            plan = plan_update(
                args.skills,
                target=shown.target,
                opened=opened,
                force=args.force,
                agents=shown.agents(),
                progress=shown.progress.show,
            )
        finally:
            shown.progress.clear()
        return _show_and_update(plan, shown, opened, args)


def _show_and_update(plan: UpdatePlan, shown: Shown, opened: OpenStore, args: Namespace) -> int:
    """Show a plan, ask, and install the newer versions."""
    from prowess.install import install_planned

    if not args.json:
        if not os.path.lexists(shown.target.lock_file):
            print_note(f"no lock: {shown.path(shown.target.lock_file)} does not exist")
        _print_plan(plan)
    names = [update.name for update in plan.updates]
    installed: Sequence[str] = ()
    if names and not args.dry_run:
        require_consent(args, "prowess update")
        if not args.yes and is_terminal() and not _ask_each(plan.updates):
            print_stderr("nothing was updated")
            return FAILED
        new = [update.new for update in plan.updates]
        installed = install_planned(new, shown.target, opened, force=args.force, waiting=waiting).installed
    if args.json:
        print_json(_as_dict(plan, shown, installed))
        return OK
    if installed:
        print_stdout(f"updated {describe_choice(names)}")
        print_stderr("trust is for exact files: `prowess trust SKILL` allows the tools and scripts of a skill anew")
    return OK


def _ask_each(updates: Sequence[PlannedUpdate]) -> bool:
    """Ask about all updates, and once more about each skill that may run or use something else than before."""
    for update in updates:
        question = f"{quoted(update.name)} may run or use something else than before; update it?"
        if update.permissions and not ask(question):
            return False
    return all(update.permissions for update in updates) or ask(
        f"update {describe_choice([update.name for update in updates])}?"
    )


def _print_plan(plan: UpdatePlan) -> None:
    for update in plan.updates:
        new = update.new.item.entry
        print_stdout(f"{neutral(update.name)}: {_short(update.old.revision)} -> {_short(new.revision)}")
        for sign, paths in (("+", update.added), ("~", update.changed), ("-", update.removed)):
            for path in paths:
                print_stdout(f"  {sign} {neutral(path)}")
        for key, (before, after) in update.permissions.items():
            print_stdout(f"  {key}: {_short_value(before)} -> {_short_value(after)}")
        print_findings(update.new_findings, indent="  ")
        for item in update.fixed_findings:
            print_stdout(f"  fixed: {neutral(item.message)} [{item.code}]")
    for name in plan.gone:
        print_stdout(f"{neutral(name)}: its source has no such skill any more; it stays as it is")
    for skill in plan.pinned:
        print_stdout(f"{neutral(skill.name)}: pinned to {quoted(skill.ref or '')}")
    count = f"{pluralize(len(plan.updates), 'skill')} to update" if plan.updates else "nothing to update"
    print_stderr(f"{count}, {len(plan.current):,} current, {len(plan.pinned):,} pinned")


def _short(revision: str | None) -> str:
    return "other files" if revision is None else neutral(revision[:19])


def _short_value(text: str) -> str:
    return quoted(text, 200) if text else "none"


def _as_dict(plan: UpdatePlan, shown: Shown, installed: Sequence[str]) -> dict[str, object]:
    return {
        "project": shown.target.root,
        "lock": shown.target.lock_file,
        "updates": [
            {
                **planned_as_dict(update.new, ()),
                "old_revision": update.old.revision,
                "old_digest": update.old.tree_digest,
                "added": [*update.added],
                "changed": [*update.changed],
                "removed": [*update.removed],
                "new_findings": [item.as_dict() for item in update.new_findings],
                "fixed_findings": [item.as_dict() for item in update.fixed_findings],
                "permissions": {
                    key: {"before": before, "after": after} for key, (before, after) in update.permissions.items()
                },
            }
            for update in plan.updates
        ],
        "current": [*plan.current],
        "pinned": [{"name": skill.name, "ref": skill.ref} for skill in plan.pinned],
        "gone": [*plan.gone],
        "installed": [*installed],
    }
