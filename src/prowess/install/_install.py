"""Install exactly what the lock says: `prowess install`.

lock -> store, or else the source at the locked revision -> every digest compared -> installed, the lock unchanged
"""

from __future__ import annotations

import os

from prowess._internal.files import real_path_or_none
from prowess._internal.text import neutral, quoted
from prowess.errors import ConfigError, InstallError, combine_errors

from ._change import Item, is_installed, is_unchanged, link_of, make_change
from ._computed_hash import computed_hash
from ._entries import LINK_KEY, source_of
from ._fetch_locked import fetch_locked
from ._lock import read_lock
from ._places import folders_of
from ._tree import read_tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from prowess.errors import ProwessError

    from ._change import Changed
    from ._lock import LockedSkill
    from ._places import Target
    from ._store import OpenStore, StoredTree

__all__ = ["install_locked"]


def install_locked(
    target: Target,
    opened: OpenStore,
    *,
    names: Sequence[str] = (),
    force: bool = False,
    progress: Callable[[str], None] | None = None,
    waiting: Callable[[], None] | None = None,
) -> Changed:
    """Install the skills of the lock, all of them or none.

    Args:
        target: where they are installed.
        opened: the store; what it has is not fetched.
        names: the skills; all of the lock if empty.
        force: whether installed skills that were changed may be replaced.
        progress: is called with what is being done.
        waiting: is called once if another process has to finish first.

    Raises:
        ConfigError: the lock is missing or invalid.
        SkillNotFoundError: the lock has no skill of a name.
        InstallError: a source cannot be read, or has other files than the lock says; nothing is changed.
    """
    lock = read_lock(target.lock_file)
    if not os.path.lexists(target.lock_file):
        hint = "`prowess add SOURCE` installs skills and locks them"
        raise ConfigError(f"no lock: {neutral(target.lock_file)} does not exist", hint=hint)
    items, missing = _from_store(lock.select(names), target, opened)
    problems: list[ProwessError] = []
    for fetched in fetch_locked(missing, target.lock_folder, opened, problems, progress=progress):
        try:
            _check(fetched.entry, fetched.stored)
        except InstallError as error:
            problems.append(error)
        else:
            link = _link(fetched.entry, target, fetched.stored.folder)
            items.append(Item(entry=fetched.entry, digest=fetched.stored.tree.digest, link=link))
    if problems:
        raise combine_errors(problems, "nothing was installed")
    return make_change(target, opened, items=items, force=force, keep_lock=True, waiting=waiting)


def _from_store(
    skills: Sequence[LockedSkill], target: Target, opened: OpenStore
) -> tuple[list[Item], list[LockedSkill]]:
    """Return what the store has, or is installed already, and the skills that must be fetched."""
    items: list[Item] = []
    missing: list[LockedSkill] = []
    for skill in skills:
        paths = [os.path.join(target.root, place, skill.folder) for place in folders_of(skill, target.scope)]
        if _are_links_to_source(skill, paths, target.lock_folder):
            continue
        if skill.tree_digest is None:
            if not all(is_unchanged(path, skill) for path in paths):
                missing.append(skill)
            continue
        folder = opened.get(skill.tree_digest)
        item = Item(entry=skill, digest=skill.tree_digest, link=_link(skill, target, folder or ""))
        # What a link leads to is compared with the lock: the copy in the store, or the folder before the link is made.
        is_there = item.link is None and all(is_installed(path, item) for path in paths)
        is_stored = folder is not None and not _is_folder_link(item) and _has(folder, item.digest)
        if is_there or is_stored:
            items.append(item)
        else:
            missing.append(skill)
    return items, missing


def _are_links_to_source(skill: LockedSkill, paths: Sequence[str], folder: str) -> bool:
    """Return whether a skill is installed as links to its folder, where its author may change it at any time."""
    if not skill.other_prowess.get(LINK_KEY) or skill.source_type != "local":
        return False
    source = _source_folder(skill, folder)
    return all(os.path.islink(path) and link_of(path) == source for path in paths)


def _has(folder: str, digest: str) -> bool:
    """Return whether the copy in the store is undamaged."""
    try:
        return read_tree(folder).digest == digest
    except InstallError:
        return False


def _is_folder_link(item: Item) -> bool:
    return item.link is not None and item.entry.source_type == "local"


def _link(skill: LockedSkill, target: Target, folder: str) -> str | None:
    """Return what the link of a skill leads to, or `None` if a copy is installed.

    Anyone may have written the lock, so a link to a folder is made inside the project only.

    Args:
        skill: the entry.
        target: where it is installed.
        folder: of the skill in the store.
    """
    if not skill.other_prowess.get(LINK_KEY):
        return None
    if skill.source_type != "local":
        return folder
    path = _source_folder(skill, target.lock_folder)
    is_inside = target.scope == "project" and (real_path_or_none(path) or "").startswith(target.root + os.sep)
    return path if is_inside else None


def _source_folder(skill: LockedSkill, folder: str) -> str:
    """Return the folder of a skill of a folder source."""
    inner = (skill.skill_path or "SKILL.md").rpartition("/")[0]
    return os.path.join(source_of(skill, folder).url, inner).rstrip("/")


def _check(entry: LockedSkill, stored: StoredTree) -> None:
    """Compare what was fetched with the lock.

    Raises:
        InstallError: it differs.
    """
    name, hint = (
        quoted(entry.name),
        "the source or the lock was changed: `prowess update` shows how, or restore the lock",
    )
    if entry.tree_digest is not None:
        if stored.tree.digest != entry.tree_digest:
            message = f"{name}: the source has other files than the lock says: {stored.tree.digest}"
            raise InstallError(message, hint=hint)
    elif entry.computed_hash is None:
        raise InstallError(f"{name}: the lock has no digest to compare its files with", hint="`prowess add` it again")
    elif computed_hash(stored.folder) != entry.computed_hash:
        message = f"{name}: the source has other files than the lock says, by `computedHash`"
        raise InstallError(message, hint=hint)
