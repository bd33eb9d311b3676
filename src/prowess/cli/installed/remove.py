"""prowess remove: remove installed skills."""

from __future__ import annotations

import os

from prowess._internal.text import quoted
from prowess.cli._output import Message, Result

from ._plans import FORCE_HELP, Shown, add_install_options

TYPE_CHECKING = False
if TYPE_CHECKING:
    from prowess.cli._parser import Arguments, Parser

EPILOG = """\
A skill is removed from every folder into which it was installed, with its mounted copies for agents of the project, and
from `skills-lock.json`. Folders that are empty then are removed, and a lock without skills. Everything else stays:
other skills, and what is in the store."""


def options(parser: Parser) -> None:
    """Add the command's options."""
    parser.argument("skills", "SKILL", "the names of installed skills", nargs="+")
    parser.flag("--force", FORCE_HELP)
    add_install_options(parser)


def run(args: Arguments) -> Result:
    """Remove installed skills."""
    from prowess.install import remove_installed

    shown = Shown(args)
    with shown.installation(args) as where:
        changed = remove_installed(where, args.skills)
    lines = [
        f"removed {quoted(os.path.basename(path))} from {shown.path(os.path.dirname(path))}" for path in changed.removed
    ]
    gone = Message("the folders were gone already; removed from the lock")
    return Result({**shown.as_dict(), "removed": changed.removed}, lines or [gone])
