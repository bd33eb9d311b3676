"""prowess install: install exactly what the lock says."""

from __future__ import annotations

import os

from prowess._internal.signals import signals_as_exception
from prowess._internal.text import quoted

from ._commands import OK
from ._installing import FORCE_HELP, Shown, add_install_options, waiting
from ._options import make_parser
from ._output import pluralize, print_json, print_stderr, print_stdout

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

_EPILOG = """\
What the store on this machine has is copied from there, without the network; the rest is fetched from its source, at
the locked commit or digest. Every file is compared with the lock. If one differs, nothing is installed. The lock is
never changed. Skills that `npx skills` locked are compared by its `computedHash`."""


def parser() -> ArgumentParser:
    """Build the command's parser."""
    result = make_parser("install", epilog=_EPILOG)
    result.add_argument("skills", metavar="SKILL", nargs="*", help="the names of skills of the lock (default: all)")
    result.add_argument("--force", action="store_true", help=FORCE_HELP)
    add_install_options(result, yes=False)
    return result


def run(args: Namespace) -> int:
    """Install the skills of the lock."""
    from prowess.install import Store, install_locked

    shown = Shown(args)
    with signals_as_exception(("SIGTERM",)), Store.for_user(os.environ).open() as opened:
        try:
            changed = install_locked(
                shown.target,
                opened,
                names=args.skills,
                force=args.force,
                progress=shown.progress.show,
                waiting=waiting,
            )
        finally:
            shown.progress.clear()
    names = [name for name in changed.lock.skills if not args.skills or name in args.skills]
    if args.json:
        print_json(
            {
                "project": shown.target.root,
                "lock": shown.target.lock_file,
                "skills": names,
                "installed": [*changed.installed],
            }
        )
        return OK
    for path in changed.installed:
        print_stdout(f"installed {quoted(os.path.basename(path))} in {shown.path(path)}")
    written = len({os.path.basename(path) for path in changed.installed})
    print_stderr(f"{pluralize(len(names), 'skill')} as locked, {written:,} installed now")
    return OK
