"""Find out what newer versions of installed skills would change: `prowess update`.

lock -> sources now -> files, revisions, findings and permissions that change -> installed after a question
"""

from __future__ import annotations

import os

from prowess._internal.files import SKILL_FILE
from prowess._internal.frozen import Frozen
from prowess.errors import InstallError, combine_errors
from prowess.skill import load

from ._add import describe_skill, findings_of, link_target
from ._change import Item, check_conflicts
from ._entries import LINK_KEY, entry_for, is_pinned
from ._fetch_locked import fetch_locked
from ._lock import read_lock
from ._places import folders_of
from ._tree import read_tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from prowess.errors import ProwessError
    from prowess.findings import Finding

    from ._add import PlannedSkill
    from ._fetch_locked import FetchedEntry
    from ._lock import Lock, LockedSkill
    from ._places import Target
    from ._store import OpenStore

__all__ = ["PlannedUpdate", "UpdatePlan", "plan_update"]


class PlannedUpdate(Frozen):
    """A skill with a newer version, and what differs."""

    new: PlannedSkill
    old: LockedSkill
    added: tuple[str, ...]
    changed: tuple[str, ...]
    removed: tuple[str, ...]
    """Paths of files."""
    new_findings: tuple[Finding, ...]
    """Those that the locked version does not have."""
    fixed_findings: tuple[Finding, ...]
    """Those that only the locked version has."""
    permissions: Mapping[str, tuple[str, str]]
    """What may run or be used, before and after, where it changes: `allowed-tools`, `scripts` and so on."""

    @property
    def name(self) -> str:
        """The name of the skill."""
        return self.old.name


class UpdatePlan(Frozen):
    """What `prowess update` would do."""

    updates: tuple[PlannedUpdate, ...]
    current: tuple[str, ...]
    """Skills that are as their source has them."""
    pinned: tuple[LockedSkill, ...]
    """Skills at a commit, digest or version, which are not moved."""
    gone: tuple[str, ...]
    """Skills that their source does not have any more; they stay as they are."""


def plan_update(
    names: Sequence[str],
    *,
    target: Target,
    opened: OpenStore,
    force: bool = False,
    agents: Iterable[str] = (),
    progress: Callable[[str], None] | None = None,
) -> UpdatePlan:
    """Fetch what the sources of installed skills have now, and compare it with the lock.

    Args:
        names: the skills; all if empty.
        target: where they are installed.
        opened: the store.
        force: whether installed skills that were changed may be replaced.
        agents: the agents on this machine.
        progress: is called with what is being done.

    Raises:
        SkillNotFoundError: the lock has no skill of a name.
        InstallError: a source cannot be read, or lacks a skill.
        ConfigError: the lock is invalid.
    """
    lock = read_lock(target.lock_file)
    chosen = lock.select(names)
    pinned = tuple(skill for skill in chosen if is_pinned(skill))
    problems: list[ProwessError] = []
    gone: list[LockedSkill] = []
    fetched = fetch_locked(
        [skill for skill in chosen if not is_pinned(skill)],
        target.lock_folder,
        opened,
        problems,
        gone=gone,
        progress=progress,
    )
    if problems:
        raise combine_errors(problems, "nothing was updated")
    agents = tuple(agents)
    newer = [one for one in fetched if not _is_current(one)]
    updates = [_planned(one, lock, target, opened, agents) for one in newer if not _is_renamed(one)]
    check_conflicts(target, lock, [update.new.item for update in updates], force=force)
    gone += [one.entry for one in newer if _is_renamed(one)]
    changed = {one.entry.name for one in newer}
    return UpdatePlan(
        updates=tuple(updates),
        current=tuple(one.entry.name for one in fetched if one.entry.name not in changed),
        pinned=pinned,
        gone=tuple(skill.name for skill in gone),
    )


def _is_renamed(one: FetchedEntry) -> bool:
    """Return whether the skill has another name now; `skills` of Vercel may have locked it under a title."""
    return one.skill.name != one.entry.name and one.entry.tree_digest is not None


def _is_current(one: FetchedEntry) -> bool:
    """Return whether a skill is as its source has it; a new commit that leaves its files alone does not count."""
    from ._computed_hash import computed_hash

    if one.entry.tree_digest is not None:
        return one.entry.tree_digest == one.stored.tree.digest
    return one.entry.computed_hash is not None and one.entry.computed_hash == computed_hash(one.stored.folder)


def _planned(one: FetchedEntry, lock: Lock, target: Target, opened: OpenStore, agents: Sequence[str]) -> PlannedUpdate:
    old, stored = one.entry, one.stored
    is_link = bool(old.other_prowess.get(LINK_KEY))
    new = entry_for(
        one.source, one.skill, one.fetched, stored, folder=target.lock_folder, hosts=old.hosts, link=is_link
    )
    # What other tools wrote stays; so does the way in which they wrote the source.
    entry = new.with_changes(
        name=old.name, source=old.source, source_type=old.source_type, source_url=old.source_url, other=old.other
    )
    link = link_target(one.source, one.skill, stored) if is_link else None
    planned = describe_skill(Item(entry=entry, digest=stored.tree.digest, link=link), stored, lock, target, agents)
    before, after = _old_files(old, target), dict(entry.files)
    old_file = _old_skill_file(old, target, opened)
    old_findings = findings_of(old_file, old.name) if old_file else ()
    known = {(item.code, item.message) for item in old_findings}
    left = {(item.code, item.message) for item in planned.findings}
    return PlannedUpdate(
        new=planned,
        old=old,
        added=tuple(path for path in after if path not in before),
        changed=tuple(path for path in after if path in before and after[path] != before[path]),
        removed=tuple(path for path in before if path not in after),
        new_findings=tuple(item for item in planned.findings if (item.code, item.message) not in known),
        fixed_findings=tuple(item for item in old_findings if (item.code, item.message) not in left),
        permissions=_permissions(old_file, before, planned, opened),
    )


def _old_files(old: LockedSkill, target: Target) -> dict[str, str]:
    """Return the files of the locked version, or those that are installed if the lock does not list them."""
    if old.files:
        return dict(old.files)
    for place in folders_of(old, target.scope):
        try:
            tree = read_tree(os.path.join(target.root, place, old.folder))
        except InstallError:
            continue
        return {file.path: f"{file.mode} sha256:{file.sha256}" for file in tree.files}
    return {}


def _old_skill_file(old: LockedSkill, target: Target, opened: OpenStore) -> str | None:
    """Return the SKILL.md of the locked version in the store, or the one that is installed."""
    stored = opened.get(old.tree_digest) if old.tree_digest else None
    places = (os.path.join(target.root, place, old.folder) for place in folders_of(old, target.scope))
    files = (os.path.join(folder, SKILL_FILE) for folder in (stored, *places) if folder)
    return next((file for file in files if os.path.isfile(file)), None)


def _permissions(
    old_file: str | None, before: Mapping[str, str], new: PlannedSkill, opened: OpenStore
) -> dict[str, tuple[str, str]]:
    """Return what may run or be used, before and after, where it differs."""
    then = _declared(old_file) if old_file else {}
    now = _declared(os.path.join(opened.get(new.item.digest) or "", SKILL_FILE))
    found = {key: (then.get(key, ""), now.get(key, "")) for key in now if then.get(key, "") != now[key]}
    after = new.item.entry.files
    scripts = [
        {path: value for path, value in files.items() if value.startswith("100755") or path.startswith("scripts/")}
        for files in (before, after)
    ]
    if scripts[0] != scripts[1]:
        differing = sorted(
            path for path in {**scripts[0], **scripts[1]} if scripts[0].get(path) != scripts[1].get(path)
        )
        found["scripts"] = (
            ", ".join(path for path in differing if path in scripts[0]),
            ", ".join(path for path in differing if path in scripts[1]),
        )
    return found


def _declared(path: str) -> dict[str, str]:
    """Return the fields of a SKILL.md that say what a skill may use or run."""
    import json

    skill = load(path)
    return {
        key: value if isinstance(value, str) else json.dumps(value, default=_plain, ensure_ascii=False)
        for key in ("allowed-tools", "tools", "hooks", "compatibility", "shell")
        for value in [skill.fields[key].value if key in skill.fields else ""]
    }


def _plain(value: object) -> object:
    """Return a mapping that JSON does not know as one that it knows."""
    from collections.abc import Mapping

    return dict(value) if isinstance(value, Mapping) else str(value)
