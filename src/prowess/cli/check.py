"""prowess check -> findings, and what was repaired"""

from __future__ import annotations

import os
import sys

from prowess._internal.text import describe_os_error, neutral
from prowess.catalog import Filesystem, Report, find_skill_files, git_root, report
from prowess.cli import FAILED, OK
from prowess.cli._options import (
    add_discovery_options,
    catalog_from_args,
    make_parser,
    print_error,
    print_json,
    print_stderr,
    print_stdout,
    skill_dirs,
)
from prowess.errors import ConfigError
from prowess.findings import Severity

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Iterator

FORMATS = ("text", "json", "sarif", "github")


def parser() -> ArgumentParser:
    """Build the command's parser."""
    result = make_parser(
        "check",
        epilog="ends with 0 where nothing is wrong, 1 where errors were found (with --strict warnings too)",
    )
    result.add_argument(
        "path",
        metavar="PATH",
        nargs="*",
        help="a SKILL.md, a flat NAME.md, a skill's folder, or any folder above (default: all skills seen from here)",
    )
    result.add_argument(
        "--policy",
        choices=("spec", "guide"),
        default="guide",
        help="`spec`: agentskills.io to the letter; `guide`: load what can be loaded (the default)",
    )
    result.add_argument("--fix", action="store_true", help="first repair on the disk what cannot change the meaning")
    result.add_argument("--format", choices=FORMATS, default="text", help="how findings are written (default: text)")
    result.add_argument("--json", dest="format", action="store_const", const="json", help="the same as --format json")
    result.add_argument("--strict", action="store_true", help="fail on warnings too")
    result.add_argument("--quiet", action="store_true", help="show only what makes it fail, and no counts")
    add_discovery_options(result, host="many")
    return result


def run(args: Namespace) -> int:
    """Check, and repair before if that is asked for."""
    _check_paths(args)
    repaired, wrong = _fix_files(args) if args.fix else ([], False)
    progress = _Progress()
    result = report(
        args.path or None,
        policy=args.policy,
        hosts=args.host or (),
        cwd=args.cwd or ".",
        home=args.home,
        skill_dirs=skill_dirs(args),
        role=args.role,
        progress=progress.show if sys.stderr.isatty() else None,
    )
    progress.clear()
    failing = (Severity.ERROR, Severity.WARNING) if args.strict else (Severity.ERROR,)
    _print_report(args, result, repaired, failing)
    return FAILED if wrong or any(item.severity in failing for item in result.findings) else OK


def _print_report(
    args: Namespace, result: Report, repaired: list[tuple[str, tuple[str, ...]]], failing: tuple[str, ...]
) -> None:
    cwd = os.path.realpath(args.cwd or ".")
    shown = [item for item in result.findings if item.severity in failing] if args.quiet else list(result.findings)
    if args.format == "json":
        value: dict[str, object] = {"findings": [item.as_dict() for item in shown], "counts": result.counts}
        if args.fix:
            value["fixed"] = [{"path": path, "done": list(done)} for path, done in repaired]
        print_json(value)
        return
    from . import _formats as formats

    if args.format == "sarif":
        print_json(formats.sarif(shown, git_root(cwd) or cwd))
        return
    lines = formats.github(shown, git_root(cwd) or cwd) if args.format == "github" else formats.text(shown, cwd)
    for line in lines:
        print_stdout(line, command=args.format == "github")
    if not args.quiet:
        print_stderr(("\n" if shown and args.format == "text" and sys.stdout.isatty() else "") + _summary(result))


def _summary(result: Report) -> str:
    counts = result.counts
    if not counts["skills"] and not result.findings:
        return "no skills found"
    parts = [_pluralize(counts[key], word) for key, word in (("error", "error"), ("warning", "warning")) if counts[key]]
    parts += [f"{counts['info']} info"] if counts["info"] else []
    return f"{_pluralize(counts['skills'], 'skill')} checked: {', '.join(parts) or 'nothing wrong'}"


def _pluralize(count: int, word: str) -> str:
    return f"{count:,} {word}{'' if count == 1 else 's'}"


def _check_paths(args: Namespace) -> None:
    for option in ("cwd", "home"):
        value = getattr(args, option)
        if value is not None and not os.path.isdir(value):
            raise ConfigError(f"`--{option}` is not a folder: {neutral(value)}", hint="check the path")
    if args.role is not None and not os.path.isfile(args.role):
        raise ConfigError(f"`--role` is not a file: {neutral(args.role)}", hint="check the path")


def _fix_files(args: Namespace) -> tuple[list[tuple[str, tuple[str, ...]]], bool]:
    """Repair the files asked for; return what was done, and whether one could not be written."""
    from prowess.skill import fix_file

    repaired: list[tuple[str, tuple[str, ...]]] = []
    wrong = False
    cwd = os.path.realpath(args.cwd or ".")
    for path in dict.fromkeys(_files_to_fix(args)):
        try:
            new_path, done = fix_file(path)
        except OSError as error:
            reason = neutral(describe_os_error(error))
            print_error(
                f"{neutral(path)} cannot be repaired: {reason}",
                "mend the permissions of its folder, or make room on the disk",
            )
            wrong = True
            continue
        if done:
            repaired.append((new_path, done))
            shown = new_path[len(cwd) + 1 :] if new_path.startswith(cwd + os.sep) else new_path
            print_stderr(f"fixed {neutral(shown)}: {neutral(', '.join(done))}")
    return repaired, wrong


def _files_to_fix(args: Namespace) -> Iterator[str]:
    """Yield the files to repair: below the named paths, else the project's own that no link leads to."""
    if args.path:
        for path in args.path:
            files, _ = find_skill_files(os.path.abspath(os.path.join(args.cwd or ".", os.path.expanduser(path))))
            yield from files
        return
    filesystem, left = Filesystem(), 0
    for host in args.host or ["prowess"]:
        catalog = catalog_from_args(args, host=host, filesystem=filesystem)
        project = git_root(catalog.cwd) or catalog.cwd
        for entry in catalog.skills:
            top = entry.root if entry.scope == "extra" else project
            inside = os.path.join(os.path.realpath(top), os.path.relpath(entry.path, top))
            if entry.path.startswith(top + os.sep) and os.path.realpath(entry.path) == inside:
                yield entry.path
            else:
                left += 1
    if left:
        print_stderr(f"{_pluralize(left, 'skill')} outside the project left alone; name a path to repair it")


class _Progress:
    """One line on a terminal, rewritten while a long check runs."""

    shown = False

    def show(self, count: int) -> None:
        """Say how far the check is, once in a hundred skills."""
        if count % 100 == 0:
            sys.stderr.write(f"\rchecking: {count:,} skills")
            sys.stderr.flush()
            self.shown = True

    def clear(self) -> None:
        """Take the line away."""
        if self.shown:
            sys.stderr.write("\r\x1b[K")
