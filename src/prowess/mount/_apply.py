"""Mount the skills of a plan, and remove mounted skills: all of them, or none."""

from __future__ import annotations

import os

from prowess._internal.frozen import Frozen
from prowess._internal.text import did_you_mean, neutral, quoted
from prowess.errors import SkillError, SkillMountError, SkillNotFoundError, combine_errors
from prowess.hosts import DEFAULT_HOST

from ._config import absolute_home, as_items, skills_root
from ._copy import copy_tree
from ._plan import check_free, check_unchanged, plan, with_source
from ._skills_folder import RecordedMount, lock_skills_folder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ._config import Scope, SkillConfig, SkillMount
    from ._copy import CopyResult
    from ._plan import Plan, PlannedCopy
    from ._skills_folder import LockedSkillsFolder

    Path = str | os.PathLike[str]


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
    """The digest of the copy, as `prowess show` prints it."""
    renamed_from: str | None = None
    """The name in the front matter of the source, if the copy has another one."""

    def as_dict(self) -> dict[str, object]:
        """Return it in the shape of `mount --json`."""
        names = ("name", "source", "destination", "files", "bytes", "digest", "renamed_from")
        return {name: getattr(self, name) for name in names}


class MountReport(Frozen):
    """The skills that were mounted."""

    home: str
    """Absolute."""
    host: str
    skills: tuple[MountedSkill, ...] = ()
    """In the order of the configuration."""

    def as_dict(self) -> dict[str, object]:
        """Return it in the shape of `mount --json`."""
        return {"home": self.home, "skills": [skill.as_dict() for skill in self.skills]}


def mount(
    config: SkillConfig | Iterable[SkillMount], home: Path, *, host: str = DEFAULT_HOST, scope: Scope = "user"
) -> MountReport:
    """Mount skills into an agent's home: all of them, or none.

    A skill that Prowess mounted there before under the same name is replaced in one step; nothing else is touched.

    Args:
        config: the skills.
        home: the user's home, or the folder of a project; it is created if it is missing.
        host: the host whose skills folder is used.
        scope: `user` for the host's folder below a home, `project` for its folder in a project.

    Raises:
        SkillError: as `plan` and `apply` say.
        HostNotFoundError: there is no such host.
        ConfigError: the host has no such skills folder.
    """
    return apply(plan(config, home, host=host, scope=scope))


def apply(plan: Plan) -> MountReport:
    """Mount everything a plan contains, or nothing.

    Raises:
        SkillMountError: something changed since the plan was made, or cannot be read or written; the home is unchanged.
    """
    if not plan.copies:
        return MountReport(home=plan.home, host=plan.host)
    skills: list[MountedSkill] = []
    records: list[RecordedMount] = []
    with lock_skills_folder(plan.home, plan.root) as locked:
        mounted = {recorded.name: recorded for recorded in locked.record.skills}
        with locked.staging() as staging:
            for planned in plan.copies:
                locked.deliver_signals()
                target = os.path.join(plan.home, plan.root, planned.name)
                check_free(target, mounted.get(planned.name))
                try:
                    into_fd = staging.place(locked.name, planned.name)
                    copied = copy_tree(planned.tree, into_fd, planned.name, planned.overrides)
                except SkillMountError as error:
                    raise with_source(planned.source, error) from None
                records.append(RecordedMount(name=planned.name, source=planned.source, integrity=copied.integrity))
                skills.append(_mounted_skill(planned, target, copied))
            locked.commit(staging, records)
    return MountReport(home=plan.home, host=plan.host, skills=tuple(skills))


def _mounted_skill(planned: PlannedCopy, target: str, copied: CopyResult) -> MountedSkill:
    return MountedSkill(
        name=planned.name,
        source=planned.source,
        destination=target,
        files=copied.files,
        bytes=copied.size,
        digest=copied.digest,
        renamed_from=planned.renamed_from,
    )


def unmount(
    names: Iterable[str] | None, home: Path, *, host: str = DEFAULT_HOST, scope: Scope = "user"
) -> tuple[str, ...]:
    """Remove mounted skills, all of them or none, and return their folders.

    Folders that were created for them are removed too, once they are empty.

    Args:
        names: the names of mounted skills; `None` for all of them.
        home: the user's home, or the folder of a project.
        host: the host whose skills folder is used.
        scope: `user` for the host's folder below a home, `project` for its folder in a project.

    Raises:
        SkillNotFoundError: no skill of that name was mounted there.
        SkillMountError: a name is not a string, or a skill has changed since it was mounted; nothing is removed.
    """
    root, home = skills_root(host, scope=scope), absolute_home(home)
    wanted = None if names is None else as_items(names, "`names`", "`[NAME]`")
    for name in wanted or ():
        if not isinstance(name, str):
            raise SkillMountError(f"a skill name must be a string, not {type(name).__name__}", hint="pass a string")
    wanted = wanted and tuple(dict.fromkeys(wanted))
    if not os.path.isdir(os.path.join(home, os.path.dirname(root))):
        _recorded_mounts({}, wanted or (), os.path.join(home, root))
        return ()
    try:
        with lock_skills_folder(home, root, make=False) as locked:
            return _unmount_locked(locked, wanted)
    except SkillNotFoundError:
        if wanted:
            raise
        return ()  # another process removed the last one


def _unmount_locked(locked: LockedSkillsFolder, wanted: tuple[str, ...] | None) -> tuple[str, ...]:
    skills_folder = os.path.join(locked.home, locked.root)
    mounted = {recorded.name: recorded for recorded in locked.record.skills}
    chosen = _recorded_mounts(mounted, mounted if wanted is None else wanted, skills_folder)
    problems: list[SkillError] = []
    for recorded in chosen:
        path = os.path.join(skills_folder, recorded.name)
        try:
            if os.path.lexists(path):
                check_unchanged(path, recorded)
        except SkillMountError as error:
            problems.append(error)
    if problems:
        raise combine_errors(problems, "nothing was removed")
    if chosen:
        with locked.staging() as staging:
            locked.commit(staging, (), (recorded.name for recorded in chosen))
    return tuple(os.path.join(skills_folder, recorded.name) for recorded in chosen)


def _recorded_mounts(
    mounted: Mapping[str, RecordedMount], wanted: Iterable[str], skills_folder: str
) -> list[RecordedMount]:
    """Return what the mount record says about the wanted names.

    Raises:
        SkillNotFoundError: one of them is not in it.
    """
    problems: list[SkillError] = []
    for name in wanted:
        if name not in mounted:
            hint = did_you_mean(name, mounted, "only skills that Prowess mounted can be removed")
            message = f"{quoted(name)} was not mounted in {neutral(skills_folder)}"
            problems.append(SkillNotFoundError(message, hint=hint))
    if problems:
        raise combine_errors(problems, "nothing was removed")
    return [mounted[name] for name in wanted]
