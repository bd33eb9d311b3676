"""Remove mounted skills: all that are named, or none."""

from __future__ import annotations

import os

from prowess._internal.text import did_you_mean, neutral, quoted
from prowess.errors import SkillError, SkillMountError, SkillNotFoundError, combine_errors
from prowess.hosts import DEFAULT_HOST

from ._config import absolute_home, as_items, skills_root
from ._target import check_unchanged
from ._transaction import lock_skills_folder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ._config import Scope
    from ._record import RecordedMount
    from ._transaction import LockedSkillsFolder

    Path = str | os.PathLike[str]

__all__ = ["unmount"]


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
            staging.commit((), tuple(recorded.name for recorded in chosen))
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
