"""Find the folders into which the skills of a lock are installed, and whether they are as they were locked.

Whether other users can change what is installed is not in a lock: an installed skill is its user's own.
"""

from __future__ import annotations

import os
import stat

from prowess._internal.file_status import foreign_problem, is_shared
from prowess._internal.files import is_inside
from prowess._internal.fs import FOLDER_FLAGS, open_fd
from prowess._internal.ownership import users_of_project
from prowess._internal.text import PATH_LIMIT, quoted
from prowess.errors import ConfigError, InstallError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping
    from typing import Literal

    from ._lock import LockedSkill

    Scope = Literal["project", "user"]
    Problem = tuple[Literal["owner", "writable", "special"], str]

SHARED_FOLDER = ".agents/skills"
"""The folder that agents share, relative to the project or the home."""


def folders_of(skill: LockedSkill, scope: Scope) -> tuple[str, ...]:
    """Return the folders into which a skill was installed, relative to the project or the home.

    Raises:
        ConfigError: the lock names an agent that is not known, or has no such folder.
    """
    if not skill.hosts:
        return (SHARED_FOLDER,)
    from prowess.hosts import host_names, skills_folder

    folders: list[str] = []
    for host in skill.hosts:
        folder = skills_folder(host, scope) if host in host_names() else None
        if folder is None:
            problem = "has no skills folder" if host in host_names() else "is unknown"
            hint = "update Prowess, or remove the agent from the lock"
            raise ConfigError(f"the lock names the agent `{host}` for `{skill.name}`, which {problem}", hint=hint)
        folders.append(folder)
    return tuple(dict.fromkeys(folders))


def linked_folders(skill: LockedSkill, scope: Scope) -> tuple[str, ...]:
    """Return those folders of a skill in which it is a link to the skill in the folder that agents share.

    An agent that follows no links gets a copy, and so does every agent if the skill is not in the shared folder.

    Raises:
        ConfigError: as `folders_of` does.
    """
    folders = folders_of(skill, scope)
    if skill.is_link or SHARED_FOLDER not in folders or len(folders) == 1:
        return ()
    from prowess.hosts import load_host, skills_folder

    copied = {SHARED_FOLDER}
    for host in skill.hosts:
        folder = skills_folder(host, scope)
        for root in load_host(host).roots:
            is_root = root.scope == scope and root.path.rpartition("|")[2].removeprefix("~/") == folder
            if is_root and root.linked_folders == "skip":
                copied.add(folder or "")
    return tuple(folder for folder in folders if folder not in copied)


def agent_folders(scope: Scope) -> tuple[str, ...]:
    """Return the folders in which known agents look for installed skills, relative to the project or the home.

    A folder that is not hidden, such as `skills`, contains what the project publishes.
    """
    from prowess.hosts import host_names, load_host

    found = [SHARED_FOLDER]
    for host in host_names():
        for root in load_host(host).roots:
            path = root.path.rpartition("|")[2]
            if root.scope == scope and root.is_fixed and path.startswith("~/") == (scope == "user"):
                path = path.removeprefix("~/")
                if path.startswith(".") and path.endswith("/skills"):
                    found.append(path)
    return tuple(dict.fromkeys(found))


def hosts_for(folders: Collection[str], scope: Scope) -> tuple[str, ...]:
    """Return the agents that the lock names for a skill in some folders: none if it is only where agents share it.

    Of several agents that use a folder, it is one whose rules were observed.

    Args:
        folders: relative to the project or the home; those of no known agent do not count.
        scope: `project` or `user`.
    """
    if set(folders) <= {SHARED_FOLDER}:
        return ()
    from prowess.hosts import host_names, observed_hosts, skills_folder

    found, observed = set[str](), observed_hosts()
    for folder in folders:
        hosts = [host for host in host_names() if skills_folder(host, scope) == folder]
        found.update([host for host in hosts if host in observed and folder != SHARED_FOLDER][:1] or hosts[:1])
    return tuple(sorted(found))


def is_unchanged(path: str, entry: LockedSkill) -> bool:
    """Return whether an installed skill is as it was locked."""
    if entry.tree_digest is not None:
        return (entry.is_link and os.path.islink(path)) or digest_of(path) == entry.tree_digest
    from ._files import hash_of_everything

    return entry.computed_hash is not None and hash_of_everything(path) == entry.computed_hash


def digest_of(path: str) -> str | None:
    """Return the digest of all files of a folder, or `None` if they are not those of a skill."""
    from ._files import read_tree

    try:
        return read_tree(path).digest
    except InstallError:
        return None


_SPECIAL_BITS = (
    (stat.S_ISUID, "set-user-ID", "u-s"),
    (stat.S_ISGID, "set-group-ID", "g-s"),
    (stat.S_ISVTX, "sticky", "-t"),
)


class Permissions:
    """Says what is wrong with the owner and the mode of installed files.

    Args:
        root: the project, or the home of the user.
    """

    def __init__(self, root: str) -> None:
        self._root = root
        self._trusted: Collection[int] | None = None
        self._known: dict[tuple[int, int, int], tuple[Problem, ...]] = {}
        """For each owner, group and mode: most files of a project have the same ones."""

    def problems(self, folder: str, unusual: Mapping[str, os.stat_result]) -> Iterator[tuple[str, Problem]]:
        """Yield the path of each file in a skill that could be, or become, another user's work, and why.

        What is wrong ends with what to type. What the user shares on purpose may have another owner or mode.

        Args:
            folder: of the skill, absolute.
            unusual: as `read_files` returns it.
        """
        shared = bool(unusual) and is_shared(folder)
        for path, status in sorted(unusual.items()):
            key = status.st_uid, status.st_gid, status.st_mode
            if key not in self._known:
                self._known[key] = tuple(self._problems(status))
            for problem in self._known[key]:
                if problem[0] == "special" or not shared:
                    yield path, problem

    def problems_above(self, folder: str) -> Iterator[tuple[str, Problem]]:
        """Yield each folder of the project above a skill that others can change, and why: they can replace the skill.

        Args:
            folder: of the skill, absolute.
        """
        while is_inside(folder := os.path.dirname(folder), self._root) and folder != self._root:
            for kind, words in () if is_shared(folder) else self._problems(os.lstat(folder)):
                if kind != "special":
                    above = quoted(os.path.relpath(folder, self._root), PATH_LIMIT)
                    yield folder, (kind, f"above it, {above}: {words.partition(':')[0]}")

    def _problems(self, status: os.stat_result) -> Iterator[Problem]:
        if self._trusted is None:
            self._trusted = users_of_project(self._root)
        problem, mode = foreign_problem(status, also=self._trusted), status.st_mode
        if problem == "owner":
            yield problem, f"belongs to the user {status.st_uid}: `prowess install`"
        elif problem == "writable":
            who, bits = ("all users", "go-w") if mode & stat.S_IWOTH else ("its group", "g-w")
            yield problem, f"{who} can change it: `chmod {bits}`"
        special = [(words, bits) for bit, words, bits in _SPECIAL_BITS if mode & bit and stat.S_ISREG(mode)]
        if special:
            words, bits = (", ".join(each) for each in zip(*special, strict=True))
            yield "special", f"{words}: `chmod {bits.replace(' ', '')}`"


def has_own_permissions(path: str, root: str) -> bool:
    """Return whether an installed skill has no file that is, or could become, another user's work."""
    from ._files import read_files

    unusual: dict[str, os.stat_result] = {}
    try:
        with open_fd(path, FOLDER_FLAGS) as fd:
            read_files(fd, {}, unusual)
    except OSError:
        return False
    return not any(Permissions(root).problems(path, unusual))
