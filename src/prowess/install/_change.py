"""Install, restore and remove skills with their lock, in one transaction.

items to install, names to remove -> conflicts | folders and the lock changed together

Install exactly what the lock says: `prowess install`.

lock -> store, or else the source at the locked revision -> every digest compared -> installed, the lock unchanged

Remove installed skills, and nothing else: `prowess remove`.
"""

from __future__ import annotations

import os
import shlex

from prowess._internal.files import SKILL_FILE, real_path, real_path_or_none
from prowess._internal.frozen import Frozen
from prowess._internal.text import PATH_LIMIT, neutral, normalize_name, quoted
from prowess.errors import ConfigError, InstallError, SkillMountError, combine_errors
from prowess.hosts import host_names, load_host, skills_folder
from prowess.lock import (
    SHARED_FOLDER,
    Lock,
    check_paths,
    computed_hash,
    digest_of,
    folder_name,
    folders_of,
    has_own_permissions,
    hosts_for,
    is_unchanged,
    linked_folders,
    read_lock,
)

from ._entries import fetch_locked, same_source, source_of
from ._mounted import hold_mounts
from ._project import lock_project
from ._store import Store

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from prowess.errors import ProwessError
    from prowess.lock import LockedSkill

    from ._mounted import MountedCopy, Mounts
    from ._places import Installation, Scope, Target
    from ._store import StoredTree


class Item(Frozen):
    """A skill to install, whose files are in the store."""

    entry: LockedSkill
    digest: str
    """The tree digest."""
    link: str | None = None
    """What all installed links lead to, absolute; `None` if at least one copy is installed."""

    def link_in(self, folder: str, target: Target) -> str | None:
        """Return what the link in one of its folders leads to, absolute; `None` for a copy."""
        if self.link is None and folder in linked_folders(self.entry, target.scope):
            return os.path.join(target.root, SHARED_FOLDER, self.entry.folder)
        return self.link


class Changed(Frozen):
    """What was changed."""

    installed: tuple[str, ...] = ()
    """Folders of skills that were written, absolute."""
    removed: tuple[str, ...] = ()
    lock: Lock
    """The lock afterwards."""


def check_hosts(hosts: Iterable[str], scope: Scope) -> tuple[str, ...]:
    """Return the hosts as the lock names them: none if all use the folder that agents share.

    Raises:
        HostNotFoundError: an agent is unknown.
        ConfigError: an agent has no such folder.
    """
    names = sorted(set(hosts))
    for name in names:
        load_host(name)
        if skills_folder(name, scope) is None:
            whose = "a project's skills" if scope == "project" else "its user's skills"
            raise ConfigError(f"{quoted(name)} has no folder for {whose}", hint="`prowess hosts` shows the folders")
    return () if {skills_folder(name, scope) for name in names} <= {SHARED_FOLDER} else tuple(names)


def merged(item: Item, lock: Lock, scope: Scope) -> Item:
    """Return a skill to install with an entry that also names the agents for which it is installed already."""
    entry, old = item.entry, lock.skills.get(item.entry.name)
    if old is None or old.hosts == entry.hosts:
        return item
    shared = next(name for name in host_names() if skills_folder(name, scope) == SHARED_FOLDER)
    hosts = check_hosts({*(old.hosts or (shared,)), *(entry.hosts or (shared,))}, scope)
    return item.with_changes(entry=entry.with_changes(hosts=hosts))


# ── conflicts ────────────────────────────────────────────────────────────────────────────────────────────────────────


def check_conflicts(where: Installation, lock: Lock, items: Sequence[Item]) -> None:
    """Check that installing skills overwrites nothing but what was installed before.

    Args:
        where: they are installed.
        lock: the lock now.
        items: with entries that are merged with those of the lock.

    Raises:
        InstallError: a name is taken, or a skill was changed; the error lists all.
    """
    if problems := find_conflicts(where, lock, items):
        raise combine_errors(problems, "nothing was installed")


def find_conflicts(where: Installation, lock: Lock, items: Sequence[Item]) -> list[ProwessError]:
    """Return why skills cannot be installed."""
    problems: list[ProwessError] = []
    names: set[str] = set()
    for item in items:
        name = normalize_name(item.entry.folder)
        if name in names:
            message = f"two skills of the source are named {quoted(item.entry.folder)}"
            problems.append(_taken(message, "name the one that you want"))
        names.add(name)
    target = where.target
    listed = {folder: _names_in(target, folder) for item in items for folder in folders_of(item.entry, target.scope)}
    locked = {normalize_name(skill.folder): skill for skill in lock.skills.values()}
    for item in items:
        problem = _problem(where, locked, item, listed)
        if problem is not None:
            problems.append(problem)
    return problems


def _names_in(target: Target, folder: str) -> dict[str, str]:
    try:
        return {normalize_name(name): name for name in os.listdir(os.path.join(target.root, folder))}
    except OSError:
        return {}


def _problem(
    where: Installation, locked: Mapping[str, LockedSkill], item: Item, listed: Mapping[str, Mapping[str, str]]
) -> InstallError | None:
    """Return why a skill cannot be installed."""
    target, name = where.target, item.entry.folder
    try:
        check_paths([name])
    except InstallError as error:
        return error
    if name != folder_name(name):  # a lock may have any name, such as `-rf` or `.hidden`
        return _taken(f"{quoted(name)} is not a valid name for the folder of a skill", "remove it from the lock")
    old = locked.get(normalize_name(name))
    if old is not None and old.folder != name:
        hint = f"`prowess remove {shlex.quote(old.name)}` first"
        return _taken(f"{quoted(name)} is one name with the installed skill {quoted(old.name)} on some systems", hint)
    if old is not None and not same_source(old, item.entry):
        return _other_source(old, item.entry, target.lock_folder)
    for folder in folders_of(item.entry, target.scope):
        other = listed[folder].get(normalize_name(name))
        if other is None:
            continue
        path = os.path.join(target.root, folder, other)
        if other != name:
            message = f"{quoted(name)} and {quoted(path, PATH_LIMIT)} are one name on some systems"
            return _taken(message, "rename or remove the other")
        if is_installed(target, folder, item) or (old is not None and is_unchanged(path, old)):
            continue
        if old is None or folder not in folders_of(old, target.scope):
            if command := _unmount_command(where, folder, name):
                message = f"{quoted(path, PATH_LIMIT)} is a mounted copy"
                return _taken(message, f"`{command}`, then try again")
            message = f"{quoted(path, PATH_LIMIT)} exists, and was not installed by Prowess"
            return _taken(message, "move it away, then try again")
        if not where.force:
            return _taken(f"{quoted(path, PATH_LIMIT)} was changed after it was installed", _FORCE_HINT)
    return None


def _other_source(old: LockedSkill, new: LockedSkill, folder: str) -> InstallError:
    """Return that a skill is installed from elsewhere; a folder of a lock, absolute, is what its paths start from."""
    name = quoted(old.folder)
    remove = f"`prowess remove {old.folder}` first"
    if (old.source_type, old.source_url or old.source) == (new.source_type, new.source_url or new.source):
        place = quoted((old.skill_path or "").rpartition("/")[0] or ".", PATH_LIMIT)
        return _taken(f"{name} is installed from another folder of this source, {place}", remove)
    text = old.source_text(folder) if old.source_type == "git" else old.source
    if (old.source_url or old.source) == (new.source_url or new.source):
        # One address may be a repository of git and a folder that is used like a bucket.
        remove = f"`prowess add {shlex.quote(neutral(text))} {old.folder}`, or {remove}"
    return _taken(f"{name} is installed from another source: {quoted(text, PATH_LIMIT)}", remove)


def _unmount_command(where: Installation, folder: str, name: str) -> str:
    """Return the command that removes a mounted copy from a skills folder; empty if `mount` did not make it."""
    from prowess.mount import read_record

    root, scope = where.target.root, where.target.scope
    try:
        if not any(skill.name == name for skill in read_record(root, folder).skills):
            return ""
    except SkillMountError:
        return ""
    host = next(iter(hosts_for([folder], scope)), "prowess")
    project = " --project" if scope == "project" else ""
    return f"prowess mount {name} --remove --to {shlex.quote(neutral(root))}{project} --host {host}"


_FORCE_HINT = "save your changes elsewhere, then use `--force`"


def _taken(message: str, hint: str) -> InstallError:
    return InstallError(message, hint=hint)


def is_installed(target: Target, folder: str, item: Item) -> bool:
    """Return whether a skill is in one of its folders already, as it should be: a copy does in place of a link."""
    path, link = os.path.join(target.root, folder, item.entry.folder), item.link_in(folder, target)
    if item.link is not None or os.path.islink(path):
        return os.path.islink(path) and link == link_of(path)
    return os.path.lexists(path) and digest_of(path) == item.digest and has_own_permissions(path, target.root)


def link_of(path: str) -> str:
    """Return what a link leads to, absolute."""
    return os.path.normpath(os.path.join(os.path.dirname(path), os.readlink(path)))


# ── making the change ────────────────────────────────────────────────────────────────────────────────────────────────


def make_change(
    where: Installation, *, items: Sequence[Item] = (), removed: Sequence[str] = (), keep_lock: bool = False
) -> Changed:
    """Install and remove skills, and write the lock: all of it, or nothing.

    Args:
        where: skills are installed.
        items: the skills to install.
        removed: the names of the skills to remove.
        keep_lock: leave the lock as it is; every item is in it.

    Raises:
        InstallError: a name is taken, a skill or a lock to keep was changed, or it cannot be done.
        ConfigError: the lock is invalid.
    """
    target = where.target
    with (
        lock_project(target.root, target.lock_file, target.data, waiting=where.waiting) as locked,
        hold_mounts(target) as mounts,
    ):
        lock = read_lock(target.lock_file)
        if keep_lock and any(lock.skills.get(item.entry.name) != item.entry for item in items):
            raise InstallError("the lock was changed meanwhile; nothing was installed", hint="try again")
        items = [merged(item, lock, target.scope) for item in items]
        check_conflicts(where, lock, items)
        gone = _installed_copies(where, lock, removed)
        after = lock if keep_lock else lock.with_skills(item.entry for item in items).without(removed)
        wanted = [
            (item, folder)
            for item in items
            for folder in folders_of(item.entry, target.scope)
            if not is_installed(target, folder, item)
        ]
        text = after.to_text() if after.skills or after.other else None
        if text is not None and items:  # before anything changes: it may fail
            Store(target.store_folder).register(target.lock_file)
        left = [copy for name in removed for copy in _mounted(mounts, target, lock.skills[name])]
        followed, installed = _mounted_items(mounts, target, lock, items, {item.entry.name for item, _ in wanted})
        if wanted or gone or left or followed or installed or after != lock:
            with locked.staging() as staging:
                for item, folder in wanted:
                    fd, link = staging.place(folder, item.entry.folder), item.link_in(folder, target)
                    if link is None:
                        where.opened.copy(item.digest, fd, item.entry.folder)
                    else:
                        os.symlink(_link_text(target, folder, link), item.entry.folder, dir_fd=fd)
                staged = mounts.stage(staging, where.opened, followed=followed, removed=left, installed=installed)
                staging.commit(_text_now(target.lock_file, lock) if keep_lock else text, [*gone, *staged])
    return Changed(
        installed=(
            *(os.path.join(target.root, folder, item.entry.folder) for item, folder in wanted),
            *(copy.path for copy in followed),
        ),
        removed=(*(copy.path for copy in left), *(os.path.join(target.root, *parts) for parts in gone)),
        lock=after,
    )


def _mounted(mounts: Mounts, target: Target, entry: LockedSkill) -> list[MountedCopy]:
    """Return the mounted copies of a skill of the lock."""
    folders = {real_path(path) for path in _paths(target, entry)}
    if entry.source_type == "local" and (source := real_path_or_none(_source_folder(entry, target.lock_folder))):
        folders.add(source)
    return mounts.of(folders, entry.folder, entry.tree_digest)


def _mounted_items(
    mounts: Mounts, target: Target, lock: Lock, items: Sequence[Item], changing: set[str]
) -> tuple[dict[MountedCopy, str], list[MountedCopy]]:
    """Return the mounted copies to replace, each with its new tree digest, and those that the lock contains now.

    Args:
        mounts: the mounted copies.
        target: where they are.
        lock: the lock as it was.
        items: the skills to install.
        changing: the names of those whose files change.
    """
    followed: dict[MountedCopy, str] = {}
    installed: list[MountedCopy] = []
    paths = {path for item in items for path in _paths(target, item.entry)}
    for item in items:
        entries = [item.entry, *filter(None, (lock.skills.get(item.entry.name),))]
        for copy in dict.fromkeys(copy for entry in entries for copy in _mounted(mounts, target, entry)):
            is_renamed = copy.name != item.entry.folder
            if copy.path in paths:
                installed.append(copy)
            elif item.entry.name in changing if is_renamed else digest_of(copy.path) != item.digest:
                followed[copy] = item.digest
    return followed, installed


def _paths(target: Target, entry: LockedSkill) -> list[str]:
    """Return the folders in which a skill of the lock is installed, absolute."""
    return [os.path.join(target.root, folder, entry.folder) for folder in folders_of(entry, target.scope)]


def _text_now(lock_file: str, lock: Lock) -> str | None:
    """Return the text of the lock as it is, so that its bytes stay the same."""
    try:
        with open(lock_file, encoding="utf-8", newline="") as file:
            return file.read()
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError):
        return lock.to_text()


def _link_text(target: Target, folder: str, leads_to: str) -> str:
    """Return the text of a link in a skills folder: relative if it stays in the project or the shared folder."""
    root = target.root if target.scope == "project" else os.path.join(target.root, SHARED_FOLDER)
    inside = leads_to.startswith(root + os.sep)
    return os.path.relpath(leads_to, os.path.join(target.root, folder)) if inside else leads_to


def _installed_copies(where: Installation, lock: Lock, names: Sequence[str]) -> list[tuple[str, str]]:
    """Return the folder and name of each installed copy of skills that are to be removed.

    Raises:
        SkillNotFoundError: the lock has no such skill.
        InstallError: a copy was changed.
    """
    found: list[tuple[str, str]] = []
    problems: list[ProwessError] = []
    target = where.target
    for entry in lock.select(names) if names else ():
        for folder in folders_of(entry, target.scope):
            path = os.path.join(target.root, folder, entry.folder)
            if not os.path.lexists(path):
                continue
            shared = os.path.join(target.root, SHARED_FOLDER, entry.folder)
            is_shared = folder in linked_folders(entry, target.scope) and os.path.islink(path)
            if not where.force and not (is_shared and link_of(path) == shared) and not is_unchanged(path, entry):
                message = f"{quoted(path, PATH_LIMIT)} was changed after it was installed"
                problems.append(InstallError(message, hint=_FORCE_HINT))
            found.append((folder, entry.folder))
    if problems:
        raise combine_errors(problems, "nothing was removed")
    return found


def install_locked(where: Installation, names: Sequence[str] = ()) -> Changed:
    """Install the skills of the lock, all of them or none; what the store has is not fetched.

    Args:
        where: they are locked.
        names: the skills; all of the lock if empty.

    Raises:
        ConfigError: the lock is missing or invalid.
        SkillNotFoundError: the lock has no skill of a name.
        InstallError: a source cannot be read, or has other files than the lock says; nothing is changed.
    """
    target = where.target
    lock = read_lock(target.lock_file)
    if not os.path.lexists(target.lock_file):
        hint = "`prowess add SOURCE` installs skills and locks them"
        raise ConfigError(f"no lock: {neutral(target.lock_file)} does not exist", hint=hint)
    items, missing = _from_store(lock.select(names), where)
    # All that refuses is said at once, and before anything is fetched.
    problems = find_conflicts(where, lock, [*items, *map(_unfetched, missing)])
    for fetched in fetch_locked(missing, where, problems):
        try:
            _check(fetched.entry, fetched.stored)
        except InstallError as error:
            problems.append(error)
        else:
            link = _link(fetched.entry, target, fetched.stored.folder)
            items.append(Item(entry=fetched.entry, digest=fetched.stored.tree.digest, link=link))
    if problems:
        raise combine_errors(problems, "nothing was installed")
    return make_change(where, items=items, keep_lock=True)


def _unfetched(entry: LockedSkill) -> Item:
    """Return a skill that is not in the store, as it will be installed."""
    return Item(entry=entry, digest=entry.tree_digest or "")


class Restoration(Frozen):
    """What restores skills that are not as they were locked."""

    installed: tuple[str, ...]
    """The names of those that `prowess install` restores."""
    updated: tuple[str, ...]
    """Those whose locked files exist nowhere any more: `prowess update` installs what their sources have now."""
    options: tuple[str, ...]
    """Without these options the commands would be refused; typed as they are."""


def plan_restoration(where: Installation, names: Sequence[str]) -> Restoration:
    """Return how skills of the lock are restored; nothing is fetched.

    Args:
        where: they are locked.
        names: the skills.

    Raises:
        SkillNotFoundError: the lock has no skill of a name.
        InstallError: one cannot be restored.
        ConfigError: the lock is invalid.
    """
    target = where.target
    lock, options, updated = read_lock(target.lock_file), dict[str, None](), dict[str, None]()
    items, missing = _from_store(lock.select(names), where)
    wanted = [*items, *map(_unfetched, missing)]
    # What is a link to its folder is as that is: only an update changes the lock.
    updated |= dict.fromkeys(set(names) - {item.entry.name for item in wanted})
    if problems := find_conflicts(where.with_changes(force=True), lock, wanted):
        raise problems[0]
    for entry in missing:
        source = source_of(entry, target.lock_folder)
        if entry.source_type == "local":
            folder = _source_folder(entry, target.lock_folder)
            if not os.path.isfile(os.path.join(folder, SKILL_FILE)):
                hint = f"bring it back, or `prowess remove {shlex.quote(neutral(entry.name))}`"
                message = f"the source of {quoted(entry.name)} is gone: {quoted(folder, PATH_LIMIT)} is no skill"
                raise InstallError(message, hint=hint)
            if not is_unchanged(folder, entry):
                updated[entry.name] = None
        if target.scope == "project" and where.sources is not None:
            options |= dict.fromkeys(where.sources.option(source, target.root))
    if find_conflicts(where, lock, wanted):
        options["--force"] = None
    return Restoration(
        installed=tuple(name for name in names if name not in updated), updated=(*updated,), options=(*options,)
    )


def _from_store(skills: Sequence[LockedSkill], where: Installation) -> tuple[list[Item], list[LockedSkill]]:
    """Return what the store has, or is installed already, and the skills that must be fetched."""
    target = where.target
    items: list[Item] = []
    missing: list[LockedSkill] = []
    for skill in skills:
        folders = folders_of(skill, target.scope)
        paths = [os.path.join(target.root, folder, skill.folder) for folder in folders]
        if _are_links_to_source(skill, paths, target.lock_folder):
            continue
        if skill.tree_digest is None:
            if not all(is_unchanged(path, skill) for path in paths):
                missing.append(skill)
            continue
        stored = where.opened.get(skill.tree_digest)
        item = Item(entry=skill, digest=skill.tree_digest, link=_link(skill, target, stored or ""))
        # What a link leads to is compared with the lock: the copy in the store, or the folder before the link is made.
        is_there = item.link is None and all(is_installed(target, folder, item) for folder in folders)
        is_folder_link = item.link is not None and skill.source_type == "local"
        is_stored = stored is not None and not is_folder_link and digest_of(stored) == item.digest
        if is_there or is_stored:
            items.append(item)
        else:
            missing.append(skill)
    return items, missing


def _are_links_to_source(skill: LockedSkill, paths: Sequence[str], folder: str) -> bool:
    """Return whether a skill is installed as links to its folder, where its author may change it at any time."""
    if not skill.is_link or skill.source_type != "local":
        return False
    source = _source_folder(skill, folder)
    return all(os.path.islink(path) and link_of(path) == source for path in paths)


def _link(skill: LockedSkill, target: Target, folder: str) -> str | None:
    """Return what the link of a skill leads to, or `None` if a copy is installed.

    Anyone may have written the lock, so a link to a folder is made inside the project only.

    Args:
        skill: the entry.
        target: where it is installed.
        folder: of the skill in the store.
    """
    if not skill.is_link:
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
    name = quoted(entry.name)
    hint = "the source or the lock was changed: `prowess update` shows how, or restore the lock"
    if entry.tree_digest is not None:
        if stored.tree.digest != entry.tree_digest:
            message = f"{name}: the source has other files than the lock says: {stored.tree.digest}"
            raise InstallError(message, hint=hint)
    elif entry.computed_hash is None:
        raise InstallError(f"{name}: the lock has no digest to compare its files with", hint="`prowess add` it again")
    elif computed_hash(stored.folder) != entry.computed_hash:
        message = f"{name}: the source has other files than the lock says, by `computedHash`"
        raise InstallError(message, hint=hint)


def plan_removal(where: Installation, names: Sequence[str]) -> tuple[str, ...]:
    """Return the folders that `remove_installed` removes, absolute.

    Raises:
        SkillNotFoundError: a skill is not in the lock.
        InstallError: a skill was changed.
        ConfigError: the lock is invalid.
    """
    target, lock = where.target, read_lock(where.target.lock_file)
    gone = _installed_copies(where, lock, names)
    with hold_mounts(target) as mounts:
        left = [copy.path for name in names for copy in _mounted(mounts, target, lock.skills[name])]
    return (*left, *(os.path.join(target.root, *parts) for parts in gone))


def remove_installed(where: Installation, names: Sequence[str]) -> Changed:
    """Remove skills from the folders into which they were installed, and from the lock.

    Folders that are empty then are removed too, and a lock without skills.

    Raises:
        SkillNotFoundError: a skill is not in the lock; nothing is removed.
        InstallError: a skill was changed, or cannot be removed; nothing is removed.
        ConfigError: the lock is invalid.
    """
    return make_change(where, removed=tuple(dict.fromkeys(names)))
