"""prowess mount -> skills in a home where an agent finds them, all of them or none"""

from __future__ import annotations

import os
from contextlib import contextmanager

from prowess._internal.files import SKILL_FILE
from prowess._internal.text import neutral, quoted
from prowess.catalog import State
from prowess.cli import OK, TERMINATED
from prowess.cli._options import (
    add_discovery_options,
    catalog_from_args,
    make_parser,
    pluralize,
    print_json,
    print_stderr,
    print_stdout,
)
from prowess.errors import ConfigError, SkillError, combine_errors
from prowess.hosts import DEFAULT_HOST
from prowess.mount import SkillConfig, SkillMount, mount, plan, read_record, skills_root, unmount

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Iterable, Iterator, Sequence

    from prowess.catalog import Catalog
    from prowess.mount import MountedSkill, RecordedMount

_EPILOG = """\
SKILL is a skill's folder, its SKILL.md, a single Markdown file, or a name as `prowess activate` takes it. What contains
a `/`, begins with `.` or `~`, or is there is taken as a path. NAME=SKILL mounts it under another name. A folder that
Prowess did not mount, or that was changed since, is neither replaced nor removed."""

_SELECTABLE_STATES = (State.ACTIVE, State.USER_ONLY, State.DEFERRED)
_MAX_QUOTED_CHARS = 200


def parser() -> ArgumentParser:
    """Build the command's parser."""
    result = make_parser("mount", epilog=_EPILOG)
    result.add_argument("skills", metavar="SKILL", nargs="*", help="a path, a name, or NAME= and one of them")
    result.add_argument("--to", metavar="DIR", help="the home to put them into; it is made if it is not there")
    result.add_argument(
        "--host",
        metavar="NAME",
        default=DEFAULT_HOST,
        help="the agent whose skills folder in that home is meant (default: %(default)s); `prowess hosts` lists them",
    )
    result.add_argument(
        "--remove",
        action="store_true",
        help="take away what was mounted for that agent: the skills that are named, or all if none is",
    )
    result.add_argument("--no-validate", action="store_true", help="also mount what breaks the rules for a SKILL.md")
    result.add_argument("--json", action="store_true", help="print JSON")
    add_discovery_options(result, host="none")
    return result


def run(args: Namespace) -> int:
    """Mount skills, or take mounted ones away."""
    home = _home(args)
    return _remove(args, home) if args.remove else _mount(args, home)


def _home(args: Namespace) -> str:
    """Return the home to mount into, absolute.

    Raises:
        ConfigError: none is named, or it is no folder.
    """
    if not args.to:
        raise ConfigError(
            "it is not said which home: `--to` is missing",
            hint=f"`prowess mount {'--remove' if args.remove else 'SKILL'} --to DIR`",
        )
    home = _absolute(args, args.to)
    if os.path.lexists(home) and not os.path.isdir(home):
        raise ConfigError(f"`--to` is not a folder: {neutral(home)}", hint="check the path")
    return home


def _absolute(args: Namespace, path: str) -> str:
    return os.path.abspath(os.path.join(args.cwd or ".", os.path.expanduser(path)))


# ── mounting ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def _mount(args: Namespace, home: str) -> int:
    if not args.skills:
        raise ConfigError("name at least one skill to mount", hint="`prowess mount --help` shows how it is used")
    skills_root(args.host)  # an agent that there is not is told first
    found, problems = resolve_each(args, args.skills)
    config = SkillConfig(skills=tuple(found), validate_on_mount=not args.no_validate)
    with _sigterm_as_exit():
        if problems:
            raise combine_errors([*problems, *_plan_errors(config, home, args.host)], "nothing was mounted")
        report = mount(config, home, host=args.host)
    if args.json:
        print_json(report.as_dict())
        return OK
    for item in report.skills:
        print_stdout(_format_mounted(item))
    return OK


def _plan_errors(config: SkillConfig, home: str, host: str) -> list[SkillError]:
    """Return what is wrong with those skills that were found."""
    try:
        plan(config, home, host=host)
    except SkillError as error:
        return [error]
    return []


def _format_mounted(item: MountedSkill) -> str:
    """Say of one skill what became of it."""
    renamed = "" if item.renamed_from is None else f", renamed from {quoted(item.renamed_from, _MAX_QUOTED_CHARS)}"
    measure = f"{pluralize(item.files, 'file')}, {_format_size(item.bytes)}"
    return f"mounted {quoted(item.name, _MAX_QUOTED_CHARS)} in {neutral(item.destination)} ({measure}){renamed}"


def _format_size(count: int) -> str:
    """Write a number of bytes: `812 bytes`, `4.1 kB`, `1.2 MB`."""
    if count < 1_000:
        return pluralize(count, "byte")
    return f"{count / 1e3:.1f} kB" if count < 999_950 else f"{count / 1e6:.1f} MB"


def resolve_mounts(args: Namespace, skills: Iterable[str]) -> tuple[SkillMount, ...]:
    """Return what is to be mounted.

    Args:
        args: with the options of `look_arguments`.
        skills: paths, names, or `NAME=` and one of them, as they were typed.

    Raises:
        SkillError: names lead to nothing; all of them are told.
    """
    found, problems = resolve_each(args, skills)
    if problems:
        raise combine_errors(problems, "nothing was mounted")
    return tuple(found)


def resolve_each(args: Namespace, skills: Iterable[str]) -> tuple[list[SkillMount], list[SkillError]]:
    """Return what is to be mounted, and what is wrong with the names that lead to nothing."""
    catalog: Catalog | None = None
    found: list[SkillMount] = []
    problems: list[SkillError] = []
    for text in skills:
        name, skill = _split_name(args, text)
        if _is_path(args, skill):
            found.append(SkillMount(_skill_folder(_absolute(args, skill)), name))
            continue
        catalog = catalog or _prowess_catalog(args)
        try:
            found.append(_mount_by_name(catalog, skill, name))
        except SkillError as error:
            problems.append(error)
    return found, problems


def _split_name(args: Namespace, text: str) -> tuple[str | None, str]:
    """Take `NAME=SKILL` apart; the name of a folder may hold a `=` as well."""
    name, equals, skill = text.partition("=")
    return (name, skill) if equals and not _is_path(args, name, text) else (None, text)


def _is_path(args: Namespace, text: str, whole: str | None = None) -> bool:
    """Say whether something is taken as a path: by how it looks, or because it is there."""
    path = text if whole is None else whole
    looks = text.startswith((".", "~")) or os.sep in text or (os.altsep or os.sep) in text
    return looks or (path != "" and os.path.lexists(_absolute(args, path)))


def _skill_folder(path: str) -> str:
    """Return a skill's folder for its SKILL.md; any other path as it is."""
    folder, file = os.path.split(path)
    return folder if file.lower() == SKILL_FILE.lower() and not os.path.isdir(path) else path


def _prowess_catalog(args: Namespace) -> Catalog:
    """Return what names mean: what Prowess sees, since the agent that they are mounted for need not see them yet."""
    return catalog_from_args(args, DEFAULT_HOST)


def _mount_by_name(catalog: Catalog, reference: str, name: str | None) -> SkillMount:
    """Find a skill in the catalog.

    Raises:
        SkillNotFoundError: none or several are called so.
        SkillError: it is one that nobody may choose.
    """
    entry = catalog.resolve(reference)
    if entry.state not in _SELECTABLE_STATES:
        why = f": {neutral(entry.reason)}" if entry.reason else ""
        hint = f"`prowess why {neutral(reference)}` says why; its path would mount it all the same"
        raise SkillError(f"the skill {quoted(entry.name)} is {entry.state}{why}", hint=hint)
    # Only the folder's own links are followed: what its SKILL.md may be a link to is not the skill.
    folder, file = os.path.split(entry.path)
    called = entry.name.removeprefix(f"{entry.namespace}:") if entry.namespace else entry.name
    return SkillMount(_skill_folder(os.path.join(os.path.realpath(folder), file)), called if name is None else name)


@contextmanager
def _sigterm_as_exit() -> Iterator[None]:
    """Let SIGTERM end the command as Ctrl-C does: what was begun is taken back, and nothing is said."""
    import signal

    def stop(*_: object) -> None:
        raise SystemExit(TERMINATED)

    if signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        yield  # whoever called us has something else in mind
        return
    try:
        signal.signal(signal.SIGTERM, stop)
    except ValueError:
        yield  # only the main thread gets signals
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


# ── removing ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def _remove(args: Namespace, home: str) -> int:
    root = skills_root(args.host)
    names = _names_to_remove(args, home, root) if args.skills else None
    with _sigterm_as_exit():
        folders = unmount(names, home, host=args.host)
    removed = [{"name": os.path.basename(folder), "destination": folder} for folder in folders]
    if args.json:
        print_json({"home": home, "removed": removed})
        return OK
    for row in removed:
        print_stdout(f"removed {quoted(row['name'], _MAX_QUOTED_CHARS)} from {neutral(row['destination'])}")
    if not removed:
        print_stderr(f"nothing was mounted in {neutral(os.path.join(home, root))}")
    return OK


def _names_to_remove(args: Namespace, home: str, root: str) -> list[str]:
    """Return the names on record that are meant. What means none stays as it was typed: `unmount` says so."""
    rows = read_record(home, root).skills
    return [name for text in args.skills for name in _matching_names(args, text, rows) or [text]]


def _matching_names(args: Namespace, text: str, rows: Sequence[RecordedMount]) -> list[str]:
    """Return the mounted skills that an argument stands for: by their names, or by what they were mounted from."""
    name, skill = _split_name(args, text)
    called = text if name is None else name
    if any(row.name == called for row in rows):
        return [called]
    if name is not None:
        return []
    if _is_path(args, skill):
        source = _skill_folder(_absolute(args, skill))
    else:
        try:
            source = os.fspath(_mount_by_name(_prowess_catalog(args), skill, None).source)
        except SkillError:
            return []
    real = os.path.realpath(source)
    return [row.name for row in rows if source == row.source or real == os.path.realpath(row.source)]
