"""Find the lock of a project or user, and the folders into which its skills are installed."""

from __future__ import annotations

import os

from prowess._internal.files import real_path
from prowess._internal.frozen import Frozen
from prowess._internal.text import PATH_LIMIT, quoted
from prowess.errors import ConfigError
from prowess.lock import LOCK_FILE, find_project, own_data_folder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Literal

    from prowess.filesystem import Question

    from ._lock_sources import LockSources
    from ._store import OpenStore

    Scope = Literal["project", "user"]


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
    question: Question
    """Where agents are started, for which user."""
    agents: tuple[str, ...] = ()
    """The agents in use there, for which it is said what they see."""
    force: bool = False
    """Whether installed skills that were changed may be replaced or removed."""
    progress: Callable[[str], None] | None = None
    """Called with what is being done."""
    waiting: Callable[[], None] | None = None
    """Called once if another process has to finish first."""
    sources: LockSources | None = None
    """The sources of the lock that the user allows; by default those that the user allowed before."""


def global_lock(env: Mapping[str, str]) -> str:
    """Return the path of the lock for the skills of all projects of a user.

    Raises:
        ConfigError: the user has no folder for data, or it is another user's.
    """
    return os.path.join(own_data_folder(env), LOCK_FILE)


def find_target(cwd: str, home: str, env: Mapping[str, str], *, is_global: bool = False) -> Target:
    """Return where the skills of a working directory, or of the user, are installed.

    Raises:
        ConfigError: the user has no folder for data, it is another user's, or the working directory does not exist.
    """
    lock_file = global_lock(env)
    data = os.path.dirname(lock_file)
    if is_global:
        return Target(root=real_path(home), lock_file=lock_file, scope="user", data=data)
    if not os.path.isdir(cwd):
        raise ConfigError(f"no such folder: {quoted(cwd, PATH_LIMIT)}", hint="check `--cwd`")
    root = find_project(cwd)
    return Target(root=root, lock_file=os.path.join(root, LOCK_FILE), scope="project", data=data)
