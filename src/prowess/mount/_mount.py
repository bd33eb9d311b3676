"""skills -> a plan -> a directory

A plan reads and refuses, and changes nothing; what it holds against the skills and the home is told at once. Applied, a
plan is there as a whole or not at all: `tree` copies, `transaction` puts the copies in their place. Which folder a
client looks in says its host file. Names, limits and errors are those of WINK's `SKILLS.md`.
"""

from __future__ import annotations

import os
from contextlib import contextmanager, suppress

from prowess._internal.files import SKILL_FILE, UnreadableError, read_file
from prowess._internal.frozen import EMPTY, Frozen
from prowess._internal.text import PATH_LIMIT, did_you_mean, neutral, quoted
from prowess.errors import (
    ConfigError,
    SkillError,
    SkillMountError,
    SkillNotFoundError,
    SkillValidationError,
    combine_errors,
)
from prowess.hosts import DEFAULT_HOST, load_host
from prowess.skill import change_name, from_document, integrity_digest, parse_frontmatter

from ._copy import MeasuredTree, copy_tree, measure_file, measure_folder
from ._record import RecordedMount, read_record
from ._transaction import LockedSkillsFolder, check_skills_path, lock_skills_folder
from ._validate import path_text, skill_file, validate_skill, validate_skill_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import Any

    Path = str | os.PathLike[str]

__all__ = [
    "PlannedCopy",
    "MountReport",
    "MountedSkill",
    "Plan",
    "SkillConfig",
    "SkillMount",
    "apply",
    "mount",
    "plan",
    "resolve_skill_name",
    "skills_root",
    "unmount",
]

_CODES_FROM_MEASURING = ("file-is-link", "file-not-regular", "file-too-large")
"""What measuring tells, of every file."""


class SkillMount(Frozen, kw_only=False):
    """A skill to put into a client's home."""

    source: Path
    """A skill's folder, or a single `.md` file, which becomes `NAME/SKILL.md`; relative to the working directory."""
    name: str | None = None
    """What it is called there; None for what `resolve_skill_name` says."""
    enabled: bool = True
    """Whether it is mounted at all."""


class SkillConfig(Frozen, kw_only=False):
    """Skills to put into a client's home."""

    skills: tuple[SkillMount, ...] = ()
    validate_on_mount: bool = True
    """Whether a skill that `validate_skill` refuses is refused; links, limits and names count in any case."""


class MountedSkill(Frozen):
    """A skill that was mounted."""

    name: str
    source: str
    """Absolute."""
    destination: str
    """Its folder, absolute."""
    files: int
    bytes: int
    digest: str
    """Of the copy, as `prowess show` tells it."""
    renamed_from: str | None = None
    """What its front matter called it, where the copy's was rewritten."""

    def as_dict(self) -> dict[str, object]:
        """Return it in the shape of `mount --json`."""
        names = ("name", "source", "destination", "files", "bytes", "digest", "renamed_from")
        return {name: getattr(self, name) for name in names}


class MountReport(Frozen):
    """What was mounted, or taken away."""

    home: str
    """Absolute."""
    host: str
    skills: tuple[MountedSkill, ...] = ()
    """In the order of the configuration."""

    def as_dict(self) -> dict[str, object]:
        """Return it in the shape of `mount --json`."""
        return {"home": self.home, "skills": [skill.as_dict() for skill in self.skills]}


class PlannedCopy(Frozen):
    """One skill of a plan."""

    name: str
    source: str
    tree: MeasuredTree
    overrides: Mapping[str, bytes] = EMPTY
    renamed_from: str | None = None


class Plan(Frozen):
    """Skills that can be mounted."""

    home: str
    host: str
    root: str
    """The skills folder, relative to the home, with `/`."""
    copies: tuple[PlannedCopy, ...] = ()


# ── names and rules ──────────────────────────────────────────────────────────────────────────────────────────────────


def resolve_skill_name(mount: SkillMount) -> str:
    """Return what a skill is called once it is mounted; nothing is validated.

    Its own name; else that of its folder; else that of its file without `.md`. A file called SKILL.md is named after
    the folder it lies in.
    """
    if mount.name is not None:
        return mount.name
    source = os.path.abspath(os.fspath(mount.source))
    folder, file = os.path.split(source)
    if os.path.isdir(source):
        return file
    if file.lower() == SKILL_FILE.lower():
        return os.path.basename(folder)
    return file[: -len(".md")] if file.lower().endswith(".md") else file


def skills_root(host: str) -> str:
    """Return the folder a host looks in for its user's own skills, relative to the home.

    Raises:
        HostNotFoundError: there is no such host.
        ConfigError: it has none.
    """
    for root in load_host(host).roots:
        path = root.path.rpartition("|")[2]
        if root.scope == "user" and path.startswith("~/"):
            return path[2:]
    hint = "`prowess hosts` shows the folders of each"
    raise ConfigError(f"the host {quoted(host)} has no folder for its user's skills", hint=hint)


# ── planning ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def plan(config: SkillConfig | Iterable[SkillMount], home: Path, *, host: str = DEFAULT_HOST) -> Plan:
    """Read, measure and validate skills that are to be mounted.

    Nothing is changed; only what a process that was killed left there is settled first, where it is in the way.

    Args:
        config: the skills.
        home: the user's home that they are put into; it need not be there.
        host: whose skills folder.

    Raises:
        SkillNotFoundError: a source is not there.
        SkillValidationError: `validate_skill` refuses one.
        SkillMountError: a name is none or stands twice; a skill holds what is not copied, or too much of it; or what
            Prowess did not mount is in the way. Where there are several problems, of whatever kind, the first one is
            raised; the message tells all of them, and `problems` has them.
        HostNotFoundError: there is no such host.
        ConfigError: it has no folder for its user's skills.
    """
    root, home = skills_root(host), _absolute_home(home)
    problems: list[SkillError] = []
    validate = config.validate_on_mount if isinstance(config, SkillConfig) else True
    items = _as_tuple(config.skills if isinstance(config, SkillConfig) else config, "`skills`", "`[SkillMount(...)]`")
    copies: list[PlannedCopy] = []
    names: dict[str, str] = {}
    free = _TargetCheck(home, root)
    with _collect_problems(problems):
        free.load()
    for item in items:
        with _collect_problems(problems):
            if not isinstance(item, SkillMount):
                words = f"`skills` holds {quoted(repr(item))}, which is no SkillMount"
                raise SkillMountError(words, hint="write `SkillMount(PATH)`")
            if item.enabled:
                path_text(item.source, "the source of a skill")
                copies += _plan_skill(item, validate, free, names, problems)
    if problems:
        raise combine_errors(problems, "nothing was mounted")
    return Plan(home=home, host=host, root=root, copies=tuple(copies))


def _as_tuple(given: Any, what: str, example: str) -> tuple[Any, ...]:
    """Return what a list holds; a text is none, though Python would take it apart.

    Raises:
        SkillMountError: it is none.
    """
    if not isinstance(given, str | bytes):
        with suppress(TypeError):
            return tuple(given)
    raise SkillMountError(f"{what} is a list, not {type(given).__name__}", hint=f"write {example}")


def _absolute_home(given: Any) -> str:
    """Return a home's path, absolute.

    Raises:
        SkillMountError: it is none.
    """
    path = path_text(given, "the home")
    try:
        if b"\0" not in os.fsencode(path):
            return os.path.abspath(path)
    except UnicodeEncodeError:
        pass
    raise SkillMountError(f"{quoted(path, PATH_LIMIT)} can be no path", hint="leave out what no file may be called")


def _plan_skill(
    item: SkillMount,
    validate: bool,
    free: _TargetCheck,
    names: dict[str, str],
    problems: list[SkillError],
) -> Iterator[PlannedCopy]:
    """Take one skill into a plan, or add to its problems all that is wrong with it."""
    path = source = os.path.abspath(os.fspath(item.source))
    name = resolve_skill_name(item)
    try:
        skill_file(source)
        _reject_link(source)
    except SkillError as error:
        problems.append(error)
        if item.name is None:
            return  # the name says no more than the path that is wrong
        source = ""
    before = len(problems)
    with _collect_problems(problems, about=source):
        validate_skill_name(name)
        if name in names:
            words = f"two skills are called {quoted(name)}: {neutral(names[name])} is the other"
            raise SkillMountError(words, hint="give one of them another name")
        names[name] = path
        free.check_free(name)
    fit = len(problems) == before
    if source:
        try:
            if validate:
                validate_skill(source)
        except SkillValidationError as error:
            if not any(item.code in _CODES_FROM_MEASURING for item in error.findings):
                problems.append(error)
        with _collect_problems(problems, about=source):
            _reject_copy_into_itself(source, free.root)
            made = _plan_copy(source, name if fit else "")
            yield made
            problems += (_with_source(source, problem) for problem in made.tree.problems)


class _TargetCheck:
    """Asks whether the place of a skill is free, or may be made so."""

    def __init__(self, home: str, inner: str) -> None:
        self.home, self.inner = home, inner
        self.root = os.path.join(home, inner)
        self.mounted: dict[str, RecordedMount] | None = None
        """What is on record; None where nothing can be said."""

    def load(self) -> None:
        """Read what is on record.

        Raises:
            SkillMountError: no skill can be put there.
        """
        check_skills_path(self.home, self.inner)
        self.mounted = {row.name: row for row in read_record(self.home, self.inner).skills}

    def check_free(self, name: str) -> None:
        """See that nothing would be lost.

        Raises:
            SkillMountError: something would be.
        """
        if self.mounted is None:
            return
        try:
            _check_target_free(os.path.join(self.root, name), self.mounted.get(name))
        except SkillMountError:
            # Another process may be just about it, or was killed while it was: that is waited for, and settled.
            with suppress(SkillNotFoundError), lock_skills_folder(self.home, self.inner, make=False) as place:
                rows = {row.name: row for row in place.record.skills}
                _check_target_free(os.path.join(self.root, name), rows.get(name))


@contextmanager
def _collect_problems(problems: list[SkillError], about: str = "") -> Iterator[None]:
    """Add what is raised to the problems, and go on."""
    try:
        yield
    except SkillError as error:
        problems.append(_with_source(about, error) if about else error)


def _reject_link(source: str) -> None:
    if os.path.islink(source):
        hint = f"name what it leads to: {neutral(os.path.realpath(source))}"
        raise SkillMountError(f"{quoted(source, PATH_LIMIT)} is a link", hint=hint)


def _with_source(source: str, error: SkillError) -> SkillError:
    """Say of which skill a problem is told."""
    if isinstance(error, SkillValidationError):
        return SkillValidationError(f"{neutral(source)}: {error}", findings=error.findings, hint=error.hint)
    return type(error)(f"{neutral(source)}: {error}", hint=error.hint)


def _check_target_free(target: str, row: RecordedMount | None) -> None:
    """See that nothing would be lost where a skill is put.

    Raises:
        SkillMountError: something is there that Prowess did not put there, or that was changed since.
    """
    if not os.path.lexists(target):
        return
    if row is None:
        words = f"{quoted(target, PATH_LIMIT)} is there already, and Prowess did not mount it"
        raise SkillMountError(words, hint="move it away, or mount the skill under another name: `NAME=PATH`")
    _check_unchanged(target, row)


def _check_unchanged(target: str, row: RecordedMount) -> None:
    """See that a mounted skill is as it was mounted.

    Raises:
        SkillMountError: it is not.
    """
    if os.path.islink(target) or integrity_digest(target) != row.seal:
        words = f"{quoted(target, PATH_LIMIT)} has changed since it was mounted"
        raise SkillMountError(words, hint="keep elsewhere what you need of it, then remove the folder")


def _reject_copy_into_itself(source: str, root: str) -> None:
    """See that a skill is not copied into itself.

    Raises:
        SkillMountError: it would be.
    """
    real, inner = os.path.realpath(source), os.path.realpath(root)
    if os.path.isdir(real) and os.path.commonpath((real, inner)) == real:
        words = f"{quoted(root, PATH_LIMIT)} lies inside the skill {quoted(source, PATH_LIMIT)}"
        raise SkillMountError(words, hint="mount elsewhere")


def _plan_copy(source: str, name: str) -> PlannedCopy:
    """Measure one skill, and read what must be rewritten where it is to have a name.

    Raises:
        SkillError: it cannot be measured, or not be given its name.
    """
    folder = os.path.isdir(source)
    tree = measure_folder(source) if folder else measure_file(source, SKILL_FILE)
    if tree.problems:
        return PlannedCopy(name=name, source=source, tree=tree)
    path = os.path.join(source, SKILL_FILE) if folder else source
    try:
        data = read_file(path)
    except UnreadableError as error:
        raise SkillValidationError(f"{quoted(path, PATH_LIMIT)}: {error}", hint=error.hint) from None
    before = from_document(parse_frontmatter(data, path), path).name
    if before is None or before == name or not name:
        return PlannedCopy(name=name, source=source, tree=tree)
    new = change_name(data, name)
    if new is None:
        words = f"{quoted(path, PATH_LIMIT)}: its `name` cannot be rewritten as {quoted(name)}"
        raise SkillValidationError(words, hint=f"write `name: {name}` in it, or mount it as {quoted(before)}")
    return PlannedCopy(name=name, source=source, tree=tree, overrides={SKILL_FILE: new}, renamed_from=before)


# ── applying ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def mount(config: SkillConfig | Iterable[SkillMount], home: Path, *, host: str = DEFAULT_HOST) -> MountReport:
    """Put skills into a client's home: all of them, or none.

    A skill that Prowess mounted there before under the same name is replaced in one step; nothing else is touched.

    Args:
        config: the skills.
        home: the user's home; it is made if it is not there.
        host: whose skills folder.

    Raises:
        SkillError: as `plan` and `apply` say.
        HostNotFoundError: there is no such host.
        ConfigError: it has no folder for its user's skills.
    """
    return apply(plan(config, home, host=host))


def apply(plan: Plan) -> MountReport:
    """Do what a plan says, all of it or nothing.

    Raises:
        SkillMountError: something changed since the plan was made, or cannot be read or written; the home is as it was.
    """
    if not plan.copies:
        return MountReport(home=plan.home, host=plan.host)
    done: list[MountedSkill] = []
    rows: list[RecordedMount] = []
    with lock_skills_folder(plan.home, plan.root) as place:
        mounted = {row.name: row for row in place.record.skills}
        with place.staging() as staging:
            for item in plan.copies:
                place.deliver_signals()
                target = os.path.join(plan.home, plan.root, item.name)
                _check_target_free(target, mounted.get(item.name))
                try:
                    copied = copy_tree(item.tree, staging.new, item.name, item.overrides)
                except SkillMountError as error:
                    raise _with_source(item.source, error) from None
                rows.append(RecordedMount(name=item.name, source=item.source, seal=copied.seal))
                done.append(
                    MountedSkill(
                        name=item.name,
                        source=item.source,
                        destination=target,
                        files=copied.files,
                        bytes=copied.size,
                        digest=copied.digest,
                        renamed_from=item.renamed_from,
                    )
                )
            staging.commit(tuple(rows))
    return MountReport(home=plan.home, host=plan.host, skills=tuple(done))


def unmount(names: Iterable[str] | None, home: Path, *, host: str = DEFAULT_HOST) -> tuple[str, ...]:
    """Take away what was mounted, all of it or nothing, and return its folders.

    Folders that were made on the way to it go too, once nothing else is in them.

    Args:
        names: of mounted skills; None for all of them.
        home: the user's home.
        host: whose skills folder.

    Raises:
        SkillNotFoundError: a name was not mounted there.
        SkillMountError: a name is no text, or a skill was changed since it was mounted; nothing is taken away.
    """
    root, home = skills_root(host), _absolute_home(home)
    wanted = None if names is None else _as_tuple(names, "`names`", "`[NAME]`")
    for name in wanted or ():
        if not isinstance(name, str):
            raise SkillMountError(f"a name is text, not {type(name).__name__}", hint="give it as text")
    wanted = wanted and tuple(dict.fromkeys(wanted))
    if not os.path.isdir(os.path.join(home, os.path.dirname(root))):
        _recorded_mounts({}, wanted or (), home, root)
        return ()
    try:
        with lock_skills_folder(home, root, make=False) as place:
            return _unmount_locked(place, wanted)
    except SkillNotFoundError:
        if wanted:
            raise
        return ()  # another process took away the last one


def _unmount_locked(place: LockedSkillsFolder, wanted: tuple[str, ...] | None) -> tuple[str, ...]:
    home, root = place.home, place.root
    known = {row.name: row for row in place.record.skills}
    chosen = _recorded_mounts(known, known if wanted is None else wanted, home, root)
    problems: list[SkillError] = []
    for row in chosen:
        path = os.path.join(home, root, row.name)
        with _collect_problems(problems):
            if os.path.lexists(path):
                _check_unchanged(path, row)
    if problems:
        raise combine_errors(problems, "nothing was taken away")
    if chosen:
        with place.staging() as staging:
            staging.commit((), tuple(row.name for row in chosen))
    return tuple(os.path.join(home, root, row.name) for row in chosen)


def _recorded_mounts(
    known: Mapping[str, RecordedMount], wanted: Iterable[str], home: str, root: str
) -> list[RecordedMount]:
    """Return what is on record under names.

    Raises:
        SkillNotFoundError: one is not.
    """
    problems: list[SkillError] = []
    for name in wanted:
        if name not in known:
            hint = did_you_mean(name, known, "only what was mounted is taken away")
            where = neutral(os.path.join(home, root))
            problems.append(SkillNotFoundError(f"{quoted(name)} was not mounted in {where}", hint=hint))
    if problems:
        raise combine_errors(problems, "nothing was taken away")
    return [known[name] for name in wanted]
