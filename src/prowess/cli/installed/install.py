"""prowess install: install exactly what the lock says."""

from __future__ import annotations

import os

from prowess._internal.text import quoted
from prowess.cli._output import Message, Result, pluralize

from ._plans import FORCE_HELP, Shown, add_install_options

TYPE_CHECKING = False
if TYPE_CHECKING:
    from prowess.cli._parser import Arguments, Parser

EPILOG = """\
What the store on this machine has is copied from there, without the network; the rest is fetched from its source, at
the locked commit or digest. Every file is compared with the lock. If one differs, nothing is installed. The lock is
never changed. Skills that `npx skills` locked are compared by its `computedHash`."""


def options(parser: Parser) -> None:
    """Add the command's options."""
    parser.argument("skills", "SKILL", "the names of skills of the lock (default: all)", nargs="*")
    parser.flag("--force", FORCE_HELP)
    add_install_options(parser, yes=False)


def run(args: Arguments) -> Result:
    """Install the skills of the lock."""
    from prowess.install import install_locked

    shown = Shown(args)
    with shown.installation(args) as where:
        changed = install_locked(where, args.skills)
    names = [name for name in changed.lock.skills if not args.skills or name in args.skills]
    lines = [f"installed {quoted(os.path.basename(path))} in {shown.path(path)}" for path in changed.installed]
    written = len({os.path.basename(path) for path in changed.installed})
    counted = Message(f"{pluralize(len(names), 'skill')} as locked, {written:,} installed now")
    return Result({**shown.as_dict(), "skills": names, "installed": changed.installed}, [*lines, counted])
