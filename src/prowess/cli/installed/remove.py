"""prowess remove: remove installed skills."""

from __future__ import annotations

import os

from prowess._internal.text import quoted
from prowess.cli._commands import FAILED
from prowess.cli._output import Message, Result, ask, print_lines

from ._plans import FORCE_HELP, Shown, add_install_options, describe_choice, require_consent, typed_command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from prowess.cli._parser import Arguments, Parser

EPILOG = """\
A skill is removed from every folder into which it was installed, with its mounted copies for agents of the project, and
from `skills-lock.json`. Folders that are empty then are removed, and a lock without skills. Everything else stays:
other skills, and what is in the store. What is deleted is shown before the question; without a terminal `--yes` is
needed."""


def options(parser: Parser) -> None:
    """Add the command's options."""
    parser.argument("skills", "SKILL", "the names of installed skills", nargs="+")
    parser.flag("--force", FORCE_HELP)
    add_install_options(parser)


def run(args: Arguments) -> Result:
    """Remove installed skills."""
    from prowess.install import plan_removal, remove_installed

    shown = Shown(args)
    with shown.installation(args) as where:
        if not args.yes and not _may_remove(plan_removal(where, args.skills), shown, args):
            return Result(None, [Message("nothing was removed")], FAILED)
        changed = remove_installed(where, args.skills)
    lines = [
        f"removed {quoted(os.path.basename(path))} from {shown.path(os.path.dirname(path))}" for path in changed.removed
    ]
    gone = Message("the folders were gone already; removed from the lock")
    return Result({**shown.as_dict(), "removed": changed.removed}, lines or [gone])


def _may_remove(paths: Sequence[str], shown: Shown, args: Arguments) -> bool:
    """Show what is deleted, and ask.

    Raises:
        ConfigError: there is no terminal to ask on.
    """
    require_consent(args, typed_command("remove", args, args.skills), dry_run=False)
    shown.progress.clear()
    print_lines(f"delete {shown.path(path)}" for path in paths)
    return ask(f"remove {describe_choice(args.skills)}?")
