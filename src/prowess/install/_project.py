"""Change the skills of a project, in any number of its folders, and its lock together: all of them, or nothing.

    PROJECT/                              locked
        .agents/skills/NAME               what the clients see
        skills-lock.json
        .prowess-install-RANDOM/          see `prowess.transaction`
    DATA/transactions/RANDOM              shows that the staging folder is ours

Anyone can put a staging folder with a journal into a repository. So a journal counts only if the user's data
folder has a file with its random name.
"""

from __future__ import annotations

import os
from contextlib import contextmanager, suppress

from prowess._internal.file_status import shared_bits
from prowess._internal.files import real_path
from prowess._internal.fs import CREATE_FLAGS, FOLDER_FLAGS, open_fd
from prowess._internal.locked import unlock_and_close, wait_for_lock
from prowess._internal.ownership import own_folder
from prowess._internal.signals import deferred_signals
from prowess._internal.text import PATH_LIMIT, describe_os_error, quoted
from prowess.errors import InstallError
from prowess.lock import os_errors
from prowess.transaction import LockedFolder, inode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_PREFIX = ".prowess-install-"
_TIMEOUT = 60.0
"""Seconds to wait for another process."""
_QUIET = 0.5
"""Seconds to wait before the user is informed."""


def is_interrupted(project: str) -> bool:
    """Return whether a process was killed while it changed the skills of a project, or is changing them now."""
    try:
        with os.scandir(project) as entries:
            return any(entry.name.startswith(_PREFIX) for entry in entries)
    except OSError:
        return False


@contextmanager
def lock_project(
    project: str, lock_file: str, data: str, *, waiting: Callable[[], None] | None = None
) -> Iterator[LockedProject]:
    """Lock a project against other processes that change its skills, and recover what a killed one left.

    Args:
        project: an absolute path; the home for skills of the user.
        lock_file: the path of `skills-lock.json`, absolute.
        data: the user's data folder.
        waiting: is called once if another process has the lock.

    Raises:
        InstallError: the project cannot be used, another process keeps it locked, or a killed one left what cannot be
            undone.
    """
    with deferred_signals() as deliver_signals:
        with os_errors(f"{quoted(project, PATH_LIMIT)} cannot be used", "check the path and its permissions"):
            fd = os.open(project, FOLDER_FLAGS & ~getattr(os, "O_NOFOLLOW", 0))
        announced = waiting is None

        def wait(waited: float) -> None:
            nonlocal announced
            deliver_signals()
            if waited > _QUIET and not announced and waiting is not None:
                announced = True
                waiting()

        try:
            if not wait_for_lock(fd, _TIMEOUT, wait):
                message = f"another process is changing the skills of {quoted(project, PATH_LIMIT)}"
                raise InstallError(message, hint="wait until it has finished, or stop it")
            locked = LockedProject(project, lock_file, data, fd, deliver_signals)
            locked.recover()
            yield locked
        finally:
            unlock_and_close(fd)


class LockedProject(LockedFolder):
    """A project while no other process changes its skills."""

    prefix = _PREFIX
    is_durable = removes_emptied = True
    file_mode = 0o666

    def __init__(self, project: str, lock_file: str, data: str, fd: int, deliver_signals: Callable[[], None]) -> None:
        super().__init__(project, lock_file.removeprefix(project.rstrip(os.sep) + os.sep), fd, deliver_signals)
        self.tokens = os.path.join(data, "transactions")
        self.token_start = _name_of(project)
        self.folder_mode = 0o755 | shared_bits()

    def claim(self) -> str:
        token = f"{self.token_start}{os.urandom(8).hex()}"
        own_folder(self.tokens, os.path.dirname(self.tokens), follow=True)
        with open_fd(os.path.join(self.tokens, token), CREATE_FLAGS):
            return f"{self.prefix}{token}"

    def is_ours(self, name: str) -> bool:
        token = name.removeprefix(self.prefix)
        return token.isalnum() and os.path.isfile(os.path.join(self.tokens, token))

    def disclaim(self, name: str) -> None:
        with suppress(OSError):
            os.unlink(os.path.join(self.tokens, name.removeprefix(self.prefix)))

    def recover(self) -> None:
        """Undo what killed processes left, or finish what they had done; and forget staging folders that are gone.

        Raises:
            InstallError: that is not possible.
        """
        super().recover()
        with suppress(OSError):
            for token in os.listdir(self.tokens):
                name = f"{self.prefix}{token}"
                if token.startswith(self.token_start) and inode(self.fd, name) is None:
                    self.disclaim(name)

    def nothing_changed(self, error: OSError) -> InstallError:
        message = f"nothing was changed in {quoted(self.path, PATH_LIMIT)}: {describe_os_error(error)}"
        return InstallError(message, hint="fix that, then try again")

    def cannot_recover(self, path: str, error: OSError) -> InstallError:
        message = f"cannot recover from an interrupted change in {quoted(path, PATH_LIMIT)}: {describe_os_error(error)}"
        return InstallError(message, hint="fix that, then try again")

    def unusable(self, root: str, error: OSError) -> InstallError:
        if isinstance(error, PermissionError):
            return self.nothing_changed(error)
        shown = quoted(os.path.join(self.path, root), PATH_LIMIT)
        hint = "install into the folder to which the link leads, or replace the link by a folder"
        return InstallError(f"{shown} is or contains a link, or something that is not a folder", hint=hint)

    def other_file_system(self, root: str) -> InstallError:
        message = f"{quoted(root, PATH_LIMIT)} is on another file system than its project"
        return InstallError(message, hint="folders on different file systems cannot be changed in one step")


def _name_of(project: str) -> str:
    """Return how the random names of a project begin, so that those without a folder can be removed."""
    import hashlib

    return hashlib.sha256(os.fsencode(real_path(project))).hexdigest()[:8]
