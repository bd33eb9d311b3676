"""prowess store: show the store of fetched skills, and remove what no project needs."""

from __future__ import annotations

import os

from prowess._internal.text import neutral
from prowess.errors import ConfigError

from ._commands import OK
from ._options import add_json_option, make_parser
from ._output import pluralize, print_json, print_stderr, print_stdout

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from prowess.install import Store, SweepReport

_EPILOG = """\
Skills that `add`, `install` and `update` fetch are kept in the store once, for all projects, by the digest of their
files. `gc` removes those that no skills-lock.json of a project names any more, and what interrupted commands left. It
waits until other commands have finished with the store. PROWESS_DATA_DIR moves the store."""


def parser() -> ArgumentParser:
    """Build the command's parser."""
    result = make_parser("store", epilog=_EPILOG)
    result.add_argument(
        "action",
        metavar="ACTION",
        nargs="?",
        choices=("show", "gc"),
        default="show",
        help="`show`: where the store is and what is in it (the default); `gc`: remove what no project needs",
    )
    result.add_argument("--dry-run", action="store_true", help="only say what `gc` would remove")
    add_json_option(result)
    return result


def run(args: Namespace) -> int:
    """Show the store, or sweep it.

    Raises:
        ConfigError: an option does not fit, there is no folder for the store, or a lock cannot be read.
        InstallError: the store cannot be used.
    """
    from prowess.install import Store

    store = Store.for_user(os.environ)
    if args.action == "gc":
        report = store.sweep(_digests_of_lock, dry_run=args.dry_run)
        _print_sweep(report, store, args)
        return OK
    if args.dry_run:
        raise ConfigError("`--dry-run` is for `store gc`", hint="leave it out")
    content = store.content()
    if args.json:
        print_json(
            {"folder": store.folder, "skills": content.skills, "bytes": content.size, "projects": [*content.projects]}
        )
        return OK
    print_stdout(f"{neutral(store.folder)}: {pluralize(content.skills, 'skill')}, {content.size:,} bytes")
    for lock in content.projects:
        print_stdout(f"  used by {neutral(lock)}")
    return OK


def _digests_of_lock(path: str) -> list[str]:
    from prowess.install import read_lock

    return [skill.tree_digest for skill in read_lock(path).skills.values() if skill.tree_digest is not None]


def _print_sweep(report: SweepReport, store: Store, args: Namespace) -> None:
    if args.json:
        print_json(
            {
                "folder": store.folder,
                "removed": [*report.removed],
                "bytes": report.size,
                "kept": report.kept,
                "projects": [*report.projects],
            }
        )
        return
    verb = "would remove" if args.dry_run else "removed"
    for digest in report.removed:
        print_stdout(f"{verb} {digest}")
    counts = f"{pluralize(len(report.removed), 'skill')}, {report.size:,} bytes"
    print_stderr(f"{verb} {counts}; {pluralize(report.kept, 'skill')} kept")
