"""prowess lock: add the digests of files to the lock, and import another lock."""

from __future__ import annotations

import os

from prowess._internal.text import PATH_LIMIT, did_you_mean, neutral, quoted
from prowess.errors import ConfigError, InstallError
from prowess.install import (
    find_target,
    lock_project,
    read_apm_lock,
    read_lock,
    record_files,
    with_installed_files,
)

from ._commands import FAILED, OK
from ._options import add_json_option, make_parser
from ._output import join_words, pluralize, print_json, print_stderr, print_stdout

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from prowess.install import Lock, Target

    _Result = dict[str, list[dict[str, object]]]

_EPILOG = """\
The files of a skill are locked only if they are what the lock says already, by its hash. With --from, skills of
apm.lock.yaml that the lock does not have are added; `prowess install` then installs those that are missing."""


def parser() -> ArgumentParser:
    """Build the command's parser."""
    result = make_parser("lock", epilog=_EPILOG)
    result.add_argument("skill", metavar="SKILL", nargs="*", help="lock only these skills (default: all in the lock)")
    result.add_argument("--from", dest="source", metavar="FILE", help="add the skills of an `apm.lock.yaml`")
    result.add_argument("--global", dest="is_global", action="store_true", help="the lock of skills for all projects")
    result.add_argument("--dry-run", action="store_true", help="only say what would be locked")
    result.add_argument("--cwd", metavar="DIR", help="the working directory (default: the current one)")
    result.add_argument("--home", metavar="DIR", help="the home directory (default: yours)")
    add_json_option(result)
    return result


def run(args: Namespace) -> int:
    """Change the lock, and print what was locked."""
    if args.source is not None and args.is_global:
        raise ConfigError(
            "`--from` and `--global` cannot be combined", hint="import the lock of a project in the project"
        )
    home = os.path.abspath(args.home or os.path.expanduser("~"))
    target = find_target(os.path.abspath(args.cwd or "."), home, os.environ, is_global=args.is_global)
    root, path = target.root, target.lock_file
    if args.source is None and not os.path.lexists(path):
        raise InstallError(
            f"no lock: {neutral(path)} does not exist", hint="`prowess add SOURCE` installs skills and locks them"
        )
    if args.dry_run:
        _, result = _locked(args, read_lock(path), target)
    else:
        with lock_project(root, path, target.data) as project:
            lock, result = _locked(args, before := read_lock(path), target)
            if lock != before:
                with project.staging() as staging:
                    staging.commit(lock.to_text())
    if args.json:
        print_json({"project": root, "lock": path, **result})
    else:
        _print_text(result, is_dry=args.dry_run)
    return FAILED if result["refused"] else OK


def _locked(args: Namespace, lock: Lock, target: Target) -> tuple[Lock, _Result]:
    """Return the new lock, and what is different in it."""
    if args.source is not None:
        return _imported(args, lock, target.root)
    found = record_files(lock, target.root, scope=target.scope, names=args.skill, store=target.store_folder)
    locked: list[dict[str, object]] = [
        {"name": name, "source": lock.skills[name].source, "files": True} for name in found.recorded
    ]
    return found.lock, {
        "locked": locked,
        "refused": [{"name": n, "reason": why} for n, why in found.refused],
        "left_out": [],
    }


def _imported(args: Namespace, lock: Lock, root: str) -> tuple[Lock, _Result]:
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
    locked: list[dict[str, object]] = [
        {"name": entry.name, "source": entry.source, "files": entry.tree_digest is not None} for entry in entries
    ]
    result: _Result = {
        "locked": locked,
        "refused": [],
        "left_out": [{"name": name, "reason": why} for name, why in left_out],
    }
    return lock.with_skills(entries), result


def _print_text(result: _Result, *, is_dry: bool) -> None:
    for item in result["locked"]:
        files = "" if item["files"] else " (not as installed: `prowess install` fetches its files)"
        print_stdout(f"locked      {neutral(str(item['name']))} from {neutral(str(item['source']))}{files}")
    for item in result["refused"]:
        print_stdout(f"not locked  {neutral(str(item['name']))}: it {neutral(str(item['reason']))}")
    for item in result["left_out"]:
        print_stdout(f"left out    {neutral(str(item['name']))}: it {neutral(str(item['reason']))}")
    locked, refused, left_out = (len(result[key]) for key in ("locked", "refused", "left_out"))
    parts = [f"{pluralize(locked, 'skill')} {'would be locked' if is_dry else 'locked'}"]
    parts += [f"{refused:,} not locked"] if refused else []
    parts += [f"{left_out:,} left out"] if left_out else []
    print_stderr(join_words(parts))
