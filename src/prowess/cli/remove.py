"""prowess remove: remove installed skills."""

from __future__ import annotations

import os

from prowess._internal.signals import signals_as_exception
from prowess._internal.text import quoted

from ._commands import OK
from ._installing import FORCE_HELP, Shown, add_install_options, waiting
from ._options import make_parser
from ._output import print_json, print_stderr, print_stdout

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

_EPILOG = """\
A skill is removed from every folder into which it was installed, and from `skills-lock.json`. Folders that are empty
then are removed, and a lock without skills. Everything else stays: other skills, and what is in the store."""


def parser() -> ArgumentParser:
    """Build the command's parser."""
    result = make_parser("remove", epilog=_EPILOG)
    result.add_argument("skills", metavar="SKILL", nargs="+", help="the names of installed skills")
    result.add_argument("--force", action="store_true", help=FORCE_HELP)
    add_install_options(result, yes=False)
    return result


def run(args: Namespace) -> int:
    """Remove installed skills."""
    from prowess.install import Store, remove_installed

    shown = Shown(args)
    with signals_as_exception(("SIGTERM",)):
        changed = remove_installed(
            args.skills, shown.target, Store.for_user(os.environ), force=args.force, waiting=waiting
        )
    if args.json:
        print_json({"project": shown.target.root, "lock": shown.target.lock_file, "removed": [*changed.removed]})
        return OK
    for path in changed.removed:
        print_stdout(f"removed {quoted(os.path.basename(path))} from {shown.path(os.path.dirname(path))}")
    if not changed.removed:
        print_stderr("the folders were gone already; removed from the lock")
    return OK
