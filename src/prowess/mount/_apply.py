"""Mount the skills of a plan: all of them, or none."""

from __future__ import annotations

import os

from prowess._internal.frozen import Frozen
from prowess.errors import SkillMountError
from prowess.hosts import DEFAULT_HOST

from ._copy import copy_tree
from ._plan import plan, with_source
from ._record import RecordedMount
from ._target import check_free
from ._transaction import lock_skills_folder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from ._config import Scope, SkillConfig, SkillMount
    from ._copy import CopyResult
    from ._plan import Plan, PlannedCopy

    Path = str | os.PathLike[str]

__all__ = ["MountReport", "MountedSkill", "apply", "mount"]


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
                    copied = copy_tree(planned.tree, staging.new_fd, planned.name, planned.overrides)
                except SkillMountError as error:
                    raise with_source(planned.source, error) from None
                records.append(RecordedMount(name=planned.name, source=planned.source, integrity=copied.integrity))
                skills.append(_mounted_skill(planned, target, copied))
            staging.commit(tuple(records))
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
