"""Plan a mount: read, validate and measure the skills, and report every problem, without changing anything."""

from __future__ import annotations

import os
from contextlib import contextmanager, suppress

from prowess._internal.files import SKILL_FILE, UnreadableError, read_file, real_path
from prowess._internal.frozen import EMPTY, Frozen
from prowess._internal.text import PATH_LIMIT, neutral, quoted
from prowess.errors import SkillError, SkillMountError, SkillNotFoundError, SkillValidationError, combine_errors
from prowess.hosts import DEFAULT_HOST
from prowess.skill import change_name, from_document, has_integrity, parse_frontmatter

from ._config import SkillConfig, SkillMount, absolute_home, as_items, path_text, resolve_skill_name, skills_root
from ._copy import MeasuredTree, measure_file, measure_folder
from ._skills_folder import RecordedMount, check_skills_path, lock_skills_folder, read_record
from ._validate import reject_programs, skill_file, validate_frontmatter, validate_skill_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from ._config import Scope

    Path = str | os.PathLike[str]


def check_free(target: str, recorded: RecordedMount | None) -> None:
    """Check that mounting a skill loses nothing.

    Args:
        target: the folder to mount into.
        recorded: what the mount record says about this name.

    Raises:
        SkillMountError: the target exists, and Prowess did not mount it, or it has changed since.
    """
    if not os.path.lexists(target):
        return
    if recorded is None:
        message = f"{quoted(target, PATH_LIMIT)} already exists, and Prowess did not mount it"
        raise SkillMountError(message, hint="move it away, or mount the skill under another name: `NAME=PATH`")
    check_unchanged(target, recorded)


def check_unchanged(target: str, recorded: RecordedMount) -> None:
    """Check that a mounted skill is still as it was mounted.

    Raises:
        SkillMountError: it is not.
    """
    if os.path.islink(target) or not has_integrity(target, recorded.integrity):
        message = f"{quoted(target, PATH_LIMIT)} has changed since it was mounted"
        raise SkillMountError(message, hint="copy what you need from it, then remove the folder")


_CODES_FROM_MEASURING = ("file-is-link", "file-not-regular", "file-too-large")
"""Findings that measuring reports for every file, SKILL.md included."""


class PlannedCopy(Frozen):
    """One skill of a plan."""

    name: str
    """The name under which it is mounted."""
    source: str
    tree: MeasuredTree
    overrides: Mapping[str, bytes] = EMPTY
    """Files whose content differs from the source: path in the copy to content."""
    renamed_from: str | None = None
    """The name in its front matter, if the copy gets another one."""


class Plan(Frozen):
    """Skills that can be mounted."""

    home: str
    host: str
    root: str
    """The skills folder, relative to the home, with `/`."""
    copies: tuple[PlannedCopy, ...] = ()


def plan(
    config: SkillConfig | Iterable[SkillMount], home: Path, *, host: str = DEFAULT_HOST, scope: Scope = "user"
) -> Plan:
    """Read, validate and measure the skills to mount.

    Nothing is changed, with one exception: if a mount that was interrupted blocks a target, it is recovered first.

    Args:
        config: the skills.
        home: the user's home to mount them into, or the folder of a project; it need not exist.
        host: the host whose skills folder is used.
        scope: `user` for the host's folder below a home, `project` for its folder in a project.

    Raises:
        SkillNotFoundError: a source does not exist.
        SkillValidationError: `validate_skill` refuses a skill.
        SkillMountError: a name is invalid or used twice; a skill contains links or is too large; or a target exists
            that Prowess did not mount. If there are several problems of any type, the first one is raised; its message
            lists all of them, and so does `problems`.
        HostNotFoundError: there is no such host.
        ConfigError: the host has no such skills folder.
    """
    root, home = skills_root(host, scope=scope), absolute_home(home)
    problems: list[SkillError] = []
    validate = config.validate_on_mount if isinstance(config, SkillConfig) else True
    items = as_items(config.skills if isinstance(config, SkillConfig) else config, "`skills`", "`[SkillMount(...)]`")
    planner = _Planner(home, root, validate, problems)
    copies: list[PlannedCopy] = []
    with collect_problems(problems):
        planner.load_record()
    for item in items:
        with collect_problems(problems):
            if not isinstance(item, SkillMount):
                message = f"`skills` contains {quoted(repr(item))}, which is not a SkillMount"
                raise SkillMountError(message, hint="write `SkillMount(PATH)`")
            if item.enabled:
                path_text(item.source, "the source of a skill")
                copies += planner.plan_skill(item)
    if problems:
        raise combine_errors(problems, "nothing was mounted")
    return Plan(home=home, host=host, root=root, copies=tuple(copies))


class _Planner:
    """Plans one skill after the other, and collects what is wrong with them."""

    def __init__(self, home: str, root: str, validate: bool, problems: list[SkillError]) -> None:
        self.home, self.root, self.validate, self.problems = home, root, validate, problems
        self.target_root = os.path.join(home, root)
        self.sources: dict[str, str] = {}
        """Each name that is taken, and the source of the skill that has it."""
        self.mounted: dict[str, RecordedMount] | None = None
        """What the mount record says; `None` if it could not be read."""

    def load_record(self) -> None:
        """Read the mount record.

        Raises:
            SkillMountError: nothing can be mounted into this skills folder, or the record is invalid.
        """
        check_skills_path(self.home, self.root)
        self.mounted = {recorded.name: recorded for recorded in read_record(self.home, self.root).skills}

    def plan_skill(self, item: SkillMount) -> Iterator[PlannedCopy]:
        """Yield the plan of one skill, and add everything that is wrong with it to the problems."""
        path = source = os.path.abspath(os.fspath(item.source))
        try:
            skill_file(source)
            _reject_link(source)
        except SkillError as error:
            self.problems.append(error)
            if item.name is None:
                return  # the name comes from the same wrong path
            source = ""
        name = resolve_skill_name(item)
        fits = self._check_name(name, path, source)
        if not source:
            return
        known = len(self.problems)
        if self.validate:
            self._validate(source)
        if len(self.problems) == known:
            # Also without validation: to list such a skill is to run it.
            with collect_problems(self.problems):
                reject_programs(source)
        with collect_problems(self.problems, source=source):
            _reject_copy_into_itself(source, self.target_root)
            planned = _plan_copy(source, name if fits else "")
            yield planned
            self.problems += (with_source(source, problem) for problem in planned.tree.problems)

    def _check_name(self, name: str, path: str, source: str) -> bool:
        """Check that a name is valid, not taken, and that its target is free; return whether it is."""
        before = len(self.problems)
        with collect_problems(self.problems, source=source):
            validate_skill_name(name)
            if name in self.sources:
                message = f"two skills have the name {quoted(name)}: the other is {neutral(self.sources[name])}"
                raise SkillMountError(message, hint="give one of them another name")
            self.sources[name] = path
            self._check_target(name)
        return len(self.problems) == before

    def _check_target(self, name: str) -> None:
        """Check that mounting under a name loses nothing.

        Raises:
            SkillMountError: it would.
        """
        if self.mounted is None:
            return
        target = os.path.join(self.target_root, name)
        try:
            check_free(target, self.mounted.get(name))
        except SkillMountError:
            # Another process may be mounting it now, or was killed during that: wait for it, or recover it.
            with suppress(SkillNotFoundError), lock_skills_folder(self.home, self.root, make=False) as locked:
                mounted = {recorded.name: recorded for recorded in locked.record.skills}
                check_free(target, mounted.get(name))

    def _validate(self, source: str) -> None:
        try:
            validate_frontmatter(source)
        except SkillValidationError as error:
            if not any(finding.code in _CODES_FROM_MEASURING for finding in error.findings):
                self.problems.append(error)


@contextmanager
def collect_problems(problems: list[SkillError], source: str = "") -> Iterator[None]:
    """Add the error that ends the block to the problems, and go on.

    Args:
        problems: the errors so far.
        source: the source of the skill, to begin the message with.
    """
    try:
        yield
    except SkillError as error:
        problems.append(with_source(source, error) if source else error)


def with_source(source: str, error: SkillError) -> SkillError:
    """Return an error whose message begins with the source of the skill."""
    if isinstance(error, SkillValidationError):
        return SkillValidationError(f"{neutral(source)}: {error}", findings=error.findings, hint=error.hint)
    return type(error)(f"{neutral(source)}: {error}", hint=error.hint)


def _reject_link(source: str) -> None:
    if os.path.islink(source):
        hint = f"give its target instead: {neutral(real_path(source))}"
        raise SkillMountError(f"{quoted(source, PATH_LIMIT)} is a link", hint=hint)


def _reject_copy_into_itself(source: str, target_root: str) -> None:
    real, real_root = real_path(source), real_path(target_root)
    if os.path.isdir(real) and os.path.commonpath((real, real_root)) == real:
        message = f"{quoted(target_root, PATH_LIMIT)} is inside the skill {quoted(source, PATH_LIMIT)}"
        raise SkillMountError(message, hint="choose a home outside the skill")


def _plan_copy(source: str, name: str) -> PlannedCopy:
    """Measure a skill, and rewrite its front matter if it gets another name.

    Args:
        source: a skill folder or a Markdown file.
        name: the name to mount it under; empty if that is not valid.

    Raises:
        SkillError: the skill cannot be measured, or cannot get this name.
    """
    is_folder = os.path.isdir(source)
    tree = measure_folder(source) if is_folder else measure_file(source, SKILL_FILE)
    if tree.problems:
        return PlannedCopy(name=name, source=source, tree=tree)
    path = os.path.join(source, SKILL_FILE) if is_folder else source
    try:
        data = read_file(path)
    except UnreadableError as error:
        raise SkillValidationError(f"{quoted(path, PATH_LIMIT)}: {error}", hint=error.hint) from None
    own_name = from_document(parse_frontmatter(data, path), path).name
    if own_name is None or own_name == name or not name:
        return PlannedCopy(name=name, source=source, tree=tree)
    renamed = change_name(data, name)
    if renamed is None:
        message = f"{quoted(path, PATH_LIMIT)}: the `name` cannot be changed to {quoted(name)}"
        raise SkillValidationError(message, hint=f"write `name: {name}` in it, or mount it as {quoted(own_name)}")
    return PlannedCopy(name=name, source=source, tree=tree, overrides={SKILL_FILE: renamed}, renamed_from=own_name)
