"""prowess install: install exactly what the lock says."""

from __future__ import annotations

import os

from prowess._internal.files import SKILL_FILE
from prowess._internal.text import quoted
from prowess.cli._arguments import hosts_in_use
from prowess.cli._losses import NO_AGENT_BEFORE, describe_seen
from prowess.cli._output import Message, Result, pluralize

from ._plans import FORCE_HELP, Shown, add_allow_source, add_install_options

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from prowess.cli._parser import Arguments, Parser
    from prowess.lock import Lock
    from prowess.visibility import Comparison

EPILOG = """\
What the store on this machine has is copied from there, without the network; the rest is fetched from its source, at
the locked commit or digest. Every file is compared with the lock. If one differs, nothing is installed. The lock is
never changed. Skills that `npx skills` locked are compared by its `computedHash`."""


def options(parser: Parser) -> None:
    """Add the command's options."""
    parser.argument("skills", "SKILL", "the names of skills of the lock (default: all)", nargs="*")
    parser.flag("--force", FORCE_HELP)
    add_allow_source(parser)
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
    seen, before = _comparison(args, shown, changed.lock, names)
    data = {
        **shown.as_dict(),
        "skills": names,
        "installed": changed.installed,
        "hosts": {skill.path: {host: view.as_dict() for host, view in skill.views.items()} for skill in seen.skills},
    }
    return Result(data, [*lines, counted, *map(Message, describe_seen(seen.distinct, before))])


def _comparison(args: Arguments, shown: Shown, lock: Lock, names: Sequence[str]) -> tuple[Comparison, str]:
    """Return how the agents in use see skills of the lock, and what is said before it."""
    from prowess.filesystem import Question
    from prowess.lock import folders_of
    from prowess.visibility import compare

    target, (agents, note) = shown.target, hosts_in_use(args)
    entries = [lock.skills[name] for name in names]
    folders = [os.path.join(folder, entry.folder) for entry in entries for folder in folders_of(entry, target.scope)]
    files = [os.path.join(target.root, folder, SKILL_FILE) for folder in folders]
    question = Question.about(shown.cwd, args.home)
    return compare(question, hosts=agents, files=files, only_files=True), NO_AGENT_BEFORE if note else ""
