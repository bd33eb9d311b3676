"""Find the lock of a project or user, and the folders into which its skills are installed."""

from __future__ import annotations

import os

from prowess._internal.files import real_path
from prowess._internal.frozen import Frozen
from prowess._internal.text import PATH_LIMIT, quoted
from prowess._internal.user_dirs import data_folder
from prowess.errors import ConfigError
from prowess.install.lock import LOCK_FILE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping
    from typing import Literal

    from prowess.install.lock import LockedSkill

    from ._store import OpenStore

    Scope = Literal["project", "user"]

SHARED_FOLDER = ".agents/skills"
"""The folder that agents share, relative to the project or the home."""


class Target(Frozen):
    """Where skills are installed."""

    root: str
    """The folder of the project, or the home; absolute and without links."""
    lock_file: str
    scope: Scope
    data: str
    """The user's data folder."""

    @property
    def store_folder(self) -> str:
        """The folder of the store."""
        return os.path.join(self.data, "store")

    @property
    def lock_folder(self) -> str:
        """The folder to which paths in the lock are relative."""
        return os.path.dirname(self.lock_file)


class Installation(Frozen):
    """Where skills are installed, and how."""

    target: Target
    opened: OpenStore
    agents: tuple[str, ...] = ()
    """The agents on this machine."""
    force: bool = False
    """Whether installed skills that were changed may be replaced or removed."""
    progress: Callable[[str], None] | None = None
    """Called with what is being done."""
    waiting: Callable[[], None] | None = None
    """Called once if another process has to finish first."""


def find_project(cwd: str) -> str:
    """Return the folder whose lock counts for a working directory.

    It is the nearest one with a lock, up to the root of the git repository; without any lock it is that root, and
    outside a repository the working directory.
    """
    folder = cwd = real_path(cwd)
    nearest = None
    while True:
        if nearest is None and os.path.lexists(os.path.join(folder, LOCK_FILE)):
            nearest = folder
        if os.path.lexists(os.path.join(folder, ".git")):
            return nearest or folder
        parent = os.path.dirname(folder)
        if parent == folder:
            # Not a lock that another user has put into a folder above, such as /tmp.
            return cwd
        folder = parent


def global_lock(env: Mapping[str, str]) -> str:
    """Return the path of the lock for the skills of all projects of a user.

    Raises:
        ConfigError: the user has no folder for data.
    """
    folder = data_folder(env)
    if folder is None:
        raise ConfigError("this user has no folder for data", hint="set `PROWESS_DATA_DIR` to a folder")
    return os.path.join(folder, LOCK_FILE)


def find_target(cwd: str, home: str, env: Mapping[str, str], *, is_global: bool = False) -> Target:
    """Return where the skills of a working directory, or of the user, are installed.

    Raises:
        ConfigError: the user has no folder for data, or the working directory does not exist.
    """
    lock_file = global_lock(env)
    data = os.path.dirname(lock_file)
    if is_global:
        return Target(root=real_path(home), lock_file=lock_file, scope="user", data=data)
    if not os.path.isdir(cwd):
        raise ConfigError(f"no such folder: {quoted(cwd, PATH_LIMIT)}", hint="check `--cwd`")
    root = find_project(cwd)
    return Target(root=root, lock_file=os.path.join(root, LOCK_FILE), scope="project", data=data)


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
