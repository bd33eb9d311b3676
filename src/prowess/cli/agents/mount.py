"""prowess mount: copy skills to where an agent finds them, all of them or none."""

from __future__ import annotations

import os
import shlex

from prowess._internal.files import SKILL_FILE, real_path
from prowess._internal.signals import signals_as_exception
from prowess._internal.text import PATH_LIMIT, neutral, quoted
from prowess.catalog import REACHABLE
from prowess.cli._arguments import catalog_from_args
from prowess.cli._files import place_to_write
from prowess.cli._output import Message, Result, format_size, note, pluralize
from prowess.errors import ConfigError, SkillError, SkillValidationError, combine_errors
from prowess.hosts import DEFAULT_HOST, load_host
from prowess.mount import SkillConfig, SkillMount, mount, plan, read_record, skills_root, unmount

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Literal

    from prowess.catalog import Catalog
    from prowess.cli._parser import Arguments, Parser
    from prowess.mount import MountedSkill, MountReport, RecordedMount
    from prowess.visibility import Comparison

EPILOG = """\
SKILL is the folder of a skill, its SKILL.md, a single Markdown file, or a name as in `prowess activate`; a folder that
contains skills mounts all of them. An argument that contains a `/`, begins with `.` or `~`, or exists is a path.
NAME=SKILL mounts the skill under another name.
Folders that Prowess did not mount, or that have changed since, are neither replaced nor removed."""


def options(parser: Parser) -> None:
    """Add the command's options."""
    skill = "a path or a name, or NAME=PATH or NAME=NAME to mount it as NAME"
    parser.argument("skills", "SKILL", skill, nargs="*")
    parser.value("--to", "DIR", "the home directory to mount into; it is created if missing")
    parser.flag(
        "--project",
        "mount into the project's folder for that agent instead, below --to or where the working directory's "
        "repository begins",
    )
    folder = "mount into the skills folder of this agent (default: %(default)s); `prowess hosts` lists all"
    parser.once("--host", "NAME", folder, default=DEFAULT_HOST)
    parser.flag("--remove", "remove mounted skills of that agent: the named ones, or all of them")
    parser.flag("--no-validate", "also mount skills with an invalid SKILL.md")
    parser.add_json()
    parser.discovery(host="no")


def run(args: Arguments) -> Result:
    """Mount skills, or remove mounted ones."""
    home = _home(args)
    return _remove(args, home) if args.remove else _mount(args, home)


def _home(args: Arguments) -> str:
    """Return the home or project to mount into, absolute.

    Raises:
        ConfigError: `--to` is missing or not a folder.
    """
    if not args.to:
        if args.project:
            return _project_folder(args)
        command = f"prowess mount {'--remove' if args.remove else 'SKILL'}"
        raise ConfigError(
            "missing option `--to`: the home directory to mount into",
            hint=f"`{command} --to DIR`, or `{command} --project` to mount into the project",
        )
    home = _absolute(args, args.to)
    if os.path.lexists(home) and not os.path.isdir(home):
        raise ConfigError(f"`--to` is not a folder: {neutral(home)}", hint="check the path")
    place_to_write("--to", home, [args.cwd or "."])
    return home


def _project_folder(args: Arguments) -> str:
    """Return the folder of the project in which the agent looks: the repository's, or the working directory."""
    from prowess.visibility import mount_folder

    skills_root(args.host, scope="project")  # a host without a project folder is refused
    return mount_folder(args.host, cwd=real_path(args.cwd or "."), home="", user=False)[0]


def _scope(args: Arguments) -> Literal["project", "user"]:
    return "project" if args.project else "user"


def _absolute(args: Arguments, path: str) -> str:
    return os.path.abspath(os.path.join(args.cwd or ".", os.path.expanduser(path)))


# ── mounting ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def _mount(args: Arguments, home: str) -> Result:
    if not args.skills:
        raise ConfigError("no skill to mount", hint="`prowess mount SKILL --to DIR`")
    skills_root(args.host, scope=_scope(args))  # an unknown host is reported first
    mounts, problems = _resolve_each(args, args.skills)
    config = SkillConfig(skills=tuple(mounts), validate_on_mount=not args.no_validate)
    with signals_as_exception(("SIGTERM",)):
        if problems:
            raise combine_errors([*problems, *_plan_errors(args, config, home)], "nothing was mounted")
        try:
            report = mount(config, home, host=args.host, scope=_scope(args))
        except SkillValidationError as error:
            error.hint = _hint_without_validation(args, config, home, error)
            raise
    lines = [*map(_format_mounted, report.skills)]
    from prowess.cli._losses import describe_seen
    from prowess.filesystem import Question
    from prowess.visibility import stays_behind

    seen, here = _comparison(args, report), Question.about(args.cwd or ".", args.home)
    old = [item.name for item in report.skills if stays_behind(item.source, item.destination, here)]
    notes = [note(f"`prowess update` does not change {', '.join(old)} here; mount again after it")] if old else []
    hosts = {skill.path: {host: view.as_dict() for host, view in skill.views.items()} for skill in seen.skills}
    return Result(
        lambda: {**report.as_dict(), "hosts": hosts}, [*lines, *map(Message, describe_seen(seen.skills)), *notes]
    )


def _comparison(args: Arguments, report: MountReport) -> Comparison:
    """Return how the agent that skills were mounted for sees them, and in a project or the user's home those in use."""
    from prowess.filesystem import Question
    from prowess.hosts import detected_hosts
    from prowess.visibility import compare

    cwd, top = real_path(args.cwd or "."), real_path(report.home)
    home = args.home if args.project else report.home
    is_own = not args.project and top == real_path(os.path.expanduser("~"))
    if not args.project:  # a home for one agent, unless it is that of the user
        question = Question.about(cwd, None if is_own else home)
    else:
        question = Question.about(cwd if f"{cwd}{os.sep}".startswith(f"{top}{os.sep}") else top, home)
    others = detected_hosts(question.cwd, question.home, [top]) if args.project or is_own else ()
    hosts = dict.fromkeys([load_host(report.host).name, *others])
    files = [os.path.join(skill.destination, SKILL_FILE) for skill in report.skills]
    return compare(question, hosts=hosts, files=files, only_files=True)


def _plan_errors(args: Arguments, config: SkillConfig, home: str) -> list[SkillError]:
    """Return the errors of the skills that were found."""
    try:
        plan(config, home, host=args.host, scope=_scope(args))
    except SkillError as error:
        return [error]
    return []


def _hint_without_validation(
    args: Arguments, config: SkillConfig, home: str, error: SkillValidationError
) -> str | None:
    """Return the hint of a refusal for a name, with the command for an agent that loads the skills as they are."""
    if not config.validate_on_mount or all(item.code != "name-not-folder" for item in error.findings):
        return error.hint
    as_they_are = SkillConfig(skills=config.skills, validate_on_mount=False)
    files = {item.path for item in error.findings}
    if _plan_errors(args, as_they_are, home) or any(path is None or not _is_loaded(path, args.host) for path in files):
        return error.hint
    values = [(f"--{name}", value) for name in ("to", "cwd", "home") if (value := getattr(args, name))]
    words = [*args.skills, *(["--project"] if args.project else []), *(word for pair in values for word in pair)]
    if any(neutral(word) != word for word in words):
        return error.hint  # it could not be typed again
    command = f"prowess mount {shlex.join(words)} --host {args.host} --no-validate"
    them = "it as it is" if len(files) == 1 else "them as they are"
    return f"{error.hint}; or `{command}`, since {load_host(args.host).title} loads {them}"


def _is_loaded(path: str, host: str) -> bool:
    """Return whether an agent loads the skill of a file."""
    from prowess.checks import evaluate_path

    return evaluate_path(path, host).state in REACHABLE


def _format_mounted(item: MountedSkill) -> str:
    """Return the line for one mounted skill."""
    renamed = "" if item.renamed_from is None else f", renamed from {quoted(item.renamed_from, PATH_LIMIT)}"
    size = f"{pluralize(item.files, 'file')}, {format_size(item.bytes)}"
    return f"mounted {quoted(item.name, PATH_LIMIT)} in {neutral(item.destination)} ({size}){renamed}"


def resolve_mounts(args: Arguments, skills: Iterable[str]) -> tuple[SkillMount, ...]:
    """Return the skills to mount.

    Args:
        args: the options of `add_discovery_options`.
        skills: paths, names, or `NAME=` and one of these, as the user typed them.

    Raises:
        SkillError: some names match no skill; the error lists all of them.
    """
    mounts, problems = _resolve_each(args, skills)
    if problems:
        raise combine_errors(problems, "nothing was mounted")
    return tuple(mounts)


def _resolve_each(args: Arguments, skills: Iterable[str]) -> tuple[list[SkillMount], list[SkillError]]:
    """Return the skills to mount, and an error for each name that matches no skill."""
    catalog: Catalog | None = None
    mounts: list[SkillMount] = []
    problems: list[SkillError] = []
    for text in skills:
        name, skill = _split_name(args, text)
        if _is_path(args, skill):
            path = _skill_folder(_absolute(args, skill))
            below = _skills_in_folder(path) if name is None else []
            mounts += [SkillMount(folder) for folder in below] or [SkillMount(path, name)]
            continue
        # Names are those of Prowess, because the agent may not see the skills yet.
        catalog = catalog or catalog_from_args(args, DEFAULT_HOST)
        try:
            mounts.append(_mount_by_name(catalog, skill, name))
        except SkillError as error:
            problems.append(error)
    return mounts, problems


def _split_name(args: Arguments, text: str) -> tuple[str | None, str]:
    """Split `NAME=SKILL`; the path of a folder may contain `=` too."""
    name, equals, skill = text.partition("=")
    return (name, skill) if equals and not _is_path(args, name, text) else (None, text)


def _is_path(args: Arguments, text: str, whole: str | None = None) -> bool:
    """Return whether an argument is a path: because of its characters, or because it exists."""
    path = text if whole is None else whole
    is_written_as_path = text.startswith((".", "~")) or os.sep in text or (os.altsep or os.sep) in text
    return is_written_as_path or (path != "" and os.path.lexists(_absolute(args, path)))


def _skill_folder(path: str) -> str:
    """Return the folder of a SKILL.md, or any other path unchanged."""
    folder, file = os.path.split(path)
    return folder if file.lower() == SKILL_FILE.lower() and not os.path.isdir(path) else path


def _skills_in_folder(path: str) -> list[str]:
    """Return the folders of the skills in a folder that is not a skill itself, without those inside a skill."""
    if not os.path.isdir(path) or os.path.lexists(os.path.join(path, SKILL_FILE)):
        return []
    from prowess.checks import find_skill_files

    folders: list[str] = []
    for file in find_skill_files(path)[0]:
        folder = os.path.dirname(file)
        if folder == path:
            return []
        if not any(folder.startswith(other + os.sep) for other in folders):
            folders.append(folder)
    return folders


def _mount_by_name(catalog: Catalog, reference: str, name: str | None) -> SkillMount:
    """Find a skill in the catalog.

    Raises:
        SkillNotFoundError: no skill, or several, have that name.
        SkillError: the skill cannot be selected.
    """
    entry = catalog.resolve(reference)
    if entry.state not in REACHABLE:
        reason = f": {neutral(entry.reason)}" if entry.reason else ""
        hint = f"`prowess why {neutral(reference)}` says why; to mount it anyway, give its path"
        raise SkillError(f"the skill {quoted(entry.name)} is {entry.state}{reason}", hint=hint)
    # If SKILL.md itself is a link, its target is not the skill, so only links to the folder are resolved.
    folder, file = os.path.split(entry.path)
    plain_name = entry.name.removeprefix(f"{entry.namespace}:") if entry.namespace else entry.name
    return SkillMount(_skill_folder(os.path.join(real_path(folder), file)), plain_name if name is None else name)


# ── removing ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def _remove(args: Arguments, home: str) -> Result:
    root = skills_root(args.host, scope=_scope(args))
    names = _names_to_remove(args, home, root) if args.skills else None
    with signals_as_exception(("SIGTERM",)):
        folders = unmount(names, home, host=args.host, scope=_scope(args))
    removed = [{"name": os.path.basename(folder), "destination": folder} for folder in folders]
    lines = [f"removed {quoted(item['name'], PATH_LIMIT)} from {neutral(item['destination'])}" for item in removed]
    none = Message(f"no mounted skills in {neutral(os.path.join(home, root))}")
    return Result({"home": home, "removed": removed}, lines or [none])


def _names_to_remove(args: Arguments, home: str, root: str) -> list[str]:
    """Return the recorded names that match the arguments. `unmount` reports the arguments that match none."""
    records = read_record(home, root).skills
    return [name for text in args.skills for name in _matching_names(args, text, records) or [text]]


def _matching_names(args: Arguments, text: str, records: Sequence[RecordedMount]) -> list[str]:
    """Return the names of the mounted skills that match an argument, by name or by source."""
    name, skill = _split_name(args, text)
    mounted_name = text if name is None else name
    if any(record.name == mounted_name for record in records):
        return [mounted_name]
    if name is not None:
        return []
    if _is_path(args, skill):
        source = _skill_folder(_absolute(args, skill))
    else:
        try:
            source = os.fspath(_mount_by_name(catalog_from_args(args, DEFAULT_HOST), skill, None).source)
        except SkillError:
            return []
    real = real_path(source)
    return [record.name for record in records if source == record.source or real == real_path(record.source)]
