"""prowess lock: add the digests of files to the lock, and import another lock."""

from __future__ import annotations

import os

from prowess._internal.text import PATH_LIMIT, did_you_mean, neutral, quoted
from prowess.cli._commands import FAILED, OK
from prowess.cli._output import Message, Result, join_words, pluralize
from prowess.errors import ConfigError, InstallError
from prowess.install import lock_project, read_apm_lock, record_files, with_installed_files
from prowess.lock import read_lock

from ._plans import Shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from prowess.cli._parser import Arguments, Parser
    from prowess.install import Target
    from prowess.lock import Lock

    _Locked = Mapping[str, Sequence[Mapping[str, object]]]

EPILOG = """\
The files of a skill are locked only if they are what the lock says already, by its hash. With --from, skills of
apm.lock.yaml that the lock does not have are added; `prowess install` then installs those that are missing."""


def options(parser: Parser) -> None:
    """Add the command's options."""
    parser.argument("skill", "SKILL", "lock only these skills (default: all in the lock)", nargs="*")
    parser.value("--from", "FILE", "add the skills of an `apm.lock.yaml`", dest="source")
    parser.flag("--global", "the lock of skills for all projects", dest="is_global")
    parser.flag("--dry-run", "only say what would be locked")
    parser.add_place("the working directory", "the home directory")
    parser.add_json()


def run(args: Arguments) -> Result:
    """Change the lock, and return what was locked."""
    if args.source is not None and args.is_global:
        raise ConfigError(
            "`--from` and `--global` cannot be combined", hint="import the lock of a project in the project"
        )
    shown = Shown(args)
    target, path = shown.target, shown.target.lock_file
    if args.source is None and not os.path.lexists(path):
        raise InstallError(
            f"no lock: {neutral(path)} does not exist", hint="`prowess add SOURCE` installs skills and locks them"
        )
    if args.dry_run:
        _, found = _locked(args, read_lock(path), target)
    else:
        with lock_project(target.root, path, target.data) as project:
            lock, found = _locked(args, before := read_lock(path), target)
            if lock != before:
                with project.staging() as staging:
                    staging.commit(lock.to_text())
    text = _text(found, "would be locked" if args.dry_run else "locked")
    return Result({**shown.as_dict(), **found}, text, FAILED if found["refused"] else OK)


def _locked(args: Arguments, lock: Lock, target: Target) -> tuple[Lock, _Locked]:
    """Return the new lock, and what is different in it."""
    if args.source is not None:
        return _imported(args, lock, target.root)
    found = record_files(lock, target.root, scope=target.scope, names=args.skill, store=target.store_folder)
    locked = [{"name": name, "source": lock.skills[name].source, "files": True} for name in found.recorded]
    return found.lock, {"locked": locked, "refused": _with_reasons(found.refused), "left_out": []}


def _imported(args: Arguments, lock: Lock, root: str) -> tuple[Lock, _Locked]:
    """Return the lock with the skills of another one."""
    imported = read_apm_lock(os.path.join(args.cwd or os.getcwd(), args.source))
    left_out = list(imported.left_out)
    wanted = [skill for skill in imported.skills if not args.skill or skill.entry.name in args.skill]
    names = [skill.entry.name for skill in imported.skills]
    unknown = sorted(set(args.skill) - set(names))
    if unknown:
        hint = did_you_mean(unknown[0], names, f"it has {', '.join(map(quoted, sorted(names)[:10])) or 'no skills'}")
        raise ConfigError(f"{quoted(args.source, PATH_LIMIT)} has no skill {quoted(unknown[0])}", hint=hint)
    taken = {skill.folder.casefold() for skill in lock.skills.values()}
    entries = []
    for skill in wanted:
        if skill.entry.folder.casefold() in taken:
            left_out.append((skill.entry.name, "is locked already"))
        else:
            taken.add(skill.entry.folder.casefold())
            entries.append(with_installed_files(skill, root) or skill.entry)
    locked = [{"name": entry.name, "source": entry.source, "files": entry.tree_digest is not None} for entry in entries]
    return lock.with_skills(entries), {"locked": locked, "refused": [], "left_out": _with_reasons(left_out)}


def _with_reasons(pairs: Iterable[tuple[str, str]]) -> list[dict[str, object]]:
    return [{"name": name, "reason": reason} for name, reason in pairs]


def _text(found: _Locked, done: str) -> Iterator[str]:
    for item in found["locked"]:
        files = "" if item["files"] else " (not as installed: `prowess install` fetches its files)"
        yield f"locked      {neutral(str(item['name']))} from {neutral(str(item['source']))}{files}"
    for key, words in (("refused", "not locked"), ("left_out", "left out")):
        for item in found[key]:
            yield f"{words:<12}{neutral(str(item['name']))}: it {neutral(str(item['reason']))}"
    locked, refused, left_out = (len(found[key]) for key in ("locked", "refused", "left_out"))
    parts = [f"{pluralize(locked, 'skill')} {done}"]
    parts += [f"{refused:,} not locked"] if refused else []
    parts += [f"{left_out:,} left out"] if left_out else []
    yield Message(join_words(parts))
