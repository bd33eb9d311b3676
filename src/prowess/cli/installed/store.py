"""prowess store: show the store of fetched skills, and remove what no project needs."""

from __future__ import annotations

import os

from prowess._internal.text import neutral
from prowess.cli._output import Message, Result, pluralize
from prowess.errors import ConfigError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from prowess.cli._parser import Arguments, Parser

EPILOG = """\
Skills that `add`, `install` and `update` fetch are kept in the store once, for all projects, by the digest of their
files. `gc` removes those that no skills-lock.json of a project names any more, and what interrupted commands left. It
waits until other commands have finished with the store. PROWESS_DATA_DIR moves the store."""


def options(parser: Parser) -> None:
    """Add the command's options."""
    actions = "`show`: where the store is and what is in it (the default); `gc`: remove what no project needs"
    parser.argument("action", "ACTION", actions, nargs="?", choices=("show", "gc"), default="show")
    parser.flag("--dry-run", "only say what `gc` would remove")
    parser.add_json()


def run(args: Arguments) -> Result:
    """Show the store, or sweep it.

    Raises:
        ConfigError: an option does not fit, there is no folder for the store, or a lock cannot be read.
        InstallError: the store cannot be used.
    """
    from prowess.install import Store

    store = Store.for_user(os.environ)
    if args.action == "gc":
        swept = store.sweep(_digests_of_lock, dry_run=args.dry_run)
        verb = "would remove" if args.dry_run else "removed"
        counts = f"{pluralize(len(swept.removed), 'skill')}, {swept.size:,} bytes"
        return Result(
            {
                "folder": store.folder,
                "removed": swept.removed,
                "bytes": swept.size,
                "kept": swept.kept,
                "projects": swept.projects,
            },
            (
                *(f"{verb} {digest}" for digest in swept.removed),
                Message(f"{verb} {counts}; {pluralize(swept.kept, 'skill')} kept"),
            ),
        )
    if args.dry_run:
        raise ConfigError("`--dry-run` is for `store gc`", hint="leave it out")
    content = store.content()
    return Result(
        {"folder": store.folder, "skills": content.skills, "bytes": content.size, "projects": content.projects},
        (
            f"{neutral(store.folder)}: {pluralize(content.skills, 'skill')}, {content.size:,} bytes",
            *(f"  used by {neutral(lock)}" for lock in content.projects),
        ),
    )


def _digests_of_lock(path: str) -> list[str]:
    from prowess.lock import read_lock

    return [skill.tree_digest for skill in read_lock(path).skills.values() if skill.tree_digest is not None]
